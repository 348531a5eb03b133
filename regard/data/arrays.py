"""Numpy arrays as one string: the value of a row that is a film or a series itself, not the name of a file."""

from __future__ import annotations

import base64
import binascii
import io
import zlib

import numpy as np

from regard.data.ragged import Array

PLAIN, GZIPPED = "data:application/x-npy;base64,", "data:application/x-npy+gzip;base64,"
FASTEST = 1
GZIP_WINDOW = 16 + zlib.MAX_WBITS
"""zlib's word for a gzip header around the stream."""


def array_uri(array: Array) -> str:
    """The array as a data URI: the bytes of an .npy file, gzipped, in base64."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
    packing = zlib.compressobj(FASTEST, wbits=GZIP_WINDOW)
    packed = packing.compress(stream.getbuffer()) + packing.flush()
    return GZIPPED + base64.b64encode(packed).decode("ascii")


def is_array_uri(value: str) -> bool:
    return value.startswith((PLAIN, GZIPPED))


def array_from_uri(value: str) -> Array:
    """The inverse of `array_uri`; gzipped or not. ValueError where it holds no array."""
    gzipped = value.startswith(GZIPPED)
    try:
        packed = base64.b64decode(value[len(GZIPPED if gzipped else PLAIN) :], validate=True)
        written = zlib.decompress(packed, wbits=GZIP_WINDOW) if gzipped else packed
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"a data URI that cannot be unpacked ({error})") from None
    return array_from_bytes(written)


def array_from_bytes(written: bytes) -> Array:
    """The array of an .npy file, or the first of an .npz file. ValueError where there is none."""
    try:
        found = np.load(io.BytesIO(written), allow_pickle=False)
        if isinstance(found, np.ndarray):
            return found
        with found:
            if not found.files:
                raise ValueError("the archive is empty")
            first: Array = found[found.files[0]]
            return first
    except Exception as error:  # numpy and zipfile raise many kinds for a broken file
        raise ValueError(f"not a numpy array ({error})") from None
