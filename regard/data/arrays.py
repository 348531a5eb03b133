"""NumPy arrays as values of a row: the name of an .npy or .npz file, or the array itself as a data URI."""

from __future__ import annotations

import base64
import io
import zlib

import numpy as np

from regard.data.contents import MOST_BYTES, Unreadable, data_content, shown
from regard.data.ragged import Array

PLAIN, GZIPPED = "data:application/x-npy;", "data:application/x-npy+gzip;"
FASTEST = 1
GZIP_WINDOW = 16 + zlib.MAX_WBITS
"""The `wbits` value with which zlib expects a gzip header."""
SIGNS = (b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06")
"""The first bytes of .npy and .npz files, empty archives included."""


def array_uri(array: Array) -> str:
    """The array as a data URI: the bytes of an .npy file, gzipped, in base64."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
    packing = zlib.compressobj(FASTEST, wbits=GZIP_WINDOW)
    packed = packing.compress(stream.getbuffer()) + packing.flush()
    return f"{GZIPPED}base64,{base64.b64encode(packed).decode('ascii')}"


def is_array_uri(value: str) -> bool:
    return value.startswith((PLAIN, GZIPPED))


def array_from_uri(value: str) -> Array:
    """The inverse of `array_uri`; the bytes may be gzipped or plain."""
    written = data_content(value)
    if value.startswith(GZIPPED):
        try:
            unpacking = zlib.decompressobj(wbits=GZIP_WINDOW)
            written = unpacking.decompress(written, MOST_BYTES)
        except zlib.error as error:
            raise Unreadable(f"{shown(value)} that cannot be unpacked ({error})") from None
        if not unpacking.eof:
            more = len(written) == MOST_BYTES
            reason = f"has more than {MOST_BYTES:,} bytes" if more else "is cut short"
            raise Unreadable(f"{shown(value)} that cannot be unpacked (it {reason})")
    return array_from_bytes(written, shown(value))


def is_array(content: bytes) -> bool:
    return content.startswith(SIGNS)


def array_from_bytes(content: bytes, shown: str) -> Array:
    """The array of an .npy file, or the first one of an .npz file.

    shown   how error messages refer to the file, after the name of its field: "names 'a.npy'"
    """
    try:
        found = np.load(io.BytesIO(content), allow_pickle=False)
        if isinstance(found, np.ndarray):
            return found
        with found:
            if not found.files:
                raise ValueError("the archive is empty")
            size = max(member.file_size for member in found.zip.infolist())
            if size > MOST_BYTES:
                raise ValueError(f"it has {size:,} bytes, at most {MOST_BYTES:,} are read")
            return np.asarray(found[found.files[0]])
    except Exception as error:  # numpy and zipfile raise many kinds for a broken file
        raise Unreadable(f"{shown}, which contains no numpy array that can be read ({error})") from None
