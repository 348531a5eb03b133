"""The frames of a video: from a folder of images, an array, or a video file, up to a maximum number.

    a folder      its images in the natural order of their names: 2.png before 10.png
    an array      .npy, .npz or a data URI: (T, H, W) gray or (T, H, W, 3), bytes
    a video file  any format PyAV reads (the extra `video`): MP4, WebM, AVI, GIF, …; rotated as its metadata say

From a longer video, frames are sampled evenly: the middle frame of each of as many equal parts. The others are never
decoded to images.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image

from regard.data.arrays import array_from_bytes, array_from_uri, is_array, is_array_uri
from regard.data.contents import Contents, Unreadable, shown
from regard.data.image import MOST_PIXELS, open_picture
from regard.data.ragged import Array
from regard.errors import MissingExtra

PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".ppm", ".pgm")
Frame = Image.Image | Array
"""An image, or its pixels (H, W) or (H, W, 3)."""


def evenly(count: int, most: int) -> Array:
    """(min(count, most),) indices of the sampled frames: the middle of each of `most` equal parts."""
    if count <= most:
        return np.arange(count)
    return np.floor((np.arange(most) + 0.5) * count / most).astype(np.int64)


def natural(name: str) -> list[tuple[int, int | str]]:
    """Sort key for the natural order of names, in which numbers are compared by value."""
    parts = re.findall(r"\d+|\D+", name)
    return [(0, int(part)) if part.isdecimal() else (1, part.lower()) for part in parts]


def frames_of(value: str, contents: Contents, *, most: int, at_least: tuple[int, int]) -> list[Frame]:
    """The sampled frames; raises `Unreadable` if there are none.

    at_least   required (height, width) of each frame
    """
    if is_array_uri(value):
        return list(_of_array(array_from_uri(value), shown(value), most))
    if os.path.isdir(value):
        return list(_of_folder(value, contents, most, at_least))
    content = contents.read(value)
    if is_array(content):
        return list(_of_array(array_from_bytes(content, shown(value)), shown(value), most))
    found: list[Frame] = list(_of_file(content, shown(value), most))
    if not found:
        raise Unreadable(f"{shown(value)}, a video without frames")
    return found


def _of_folder(
    folder: str, contents: Contents, most: int, at_least: tuple[int, int]
) -> Iterator[Image.Image]:
    names = [name for name in os.listdir(folder) if not name.startswith(".")]
    pictures = sorted((name for name in names if name.lower().endswith(PICTURES)), key=natural)
    if not pictures:
        holds = f"{len(names)} other files" if names else "nothing"
        raise Unreadable(f"{shown(folder)}, a folder without images: it contains {holds}")
    for number in evenly(len(pictures), most).tolist():
        path = os.path.join(folder, pictures[number])
        yield open_picture(contents.read(path), shown(path), at_least=at_least)


def _of_array(array: Array, shown: str, most: int) -> Iterator[Array]:
    colors = array.ndim == 4 and array.shape[3] in (1, 3)
    if not (array.ndim == 3 or colors) or array.dtype != np.uint8:
        raise Unreadable(
            f"{shown}, an array of {array.dtype} with shape {array.shape}, expected bytes (uint8) of (frames, height, "
            "width) or (frames, height, width, 3)"
        )
    if not array.size:
        raise Unreadable(f"{shown}, a video without frames: its array has shape {array.shape}")
    if array.shape[1] * array.shape[2] > MOST_PIXELS:
        raise Unreadable(f"{shown}, a video whose frames have more than {MOST_PIXELS:,} pixels")
    taken = array[evenly(len(array), most)]
    yield from taken[..., 0] if array.ndim == 4 and array.shape[3] == 1 else taken


def _of_file(content: bytes, shown: str, most: int) -> Iterator[Image.Image]:
    try:
        import av
    except ImportError:
        raise MissingExtra("av", "video", "reading video files") from None
    try:
        count = _count(av, content)
        wanted = set(evenly(count, most).tolist())
        with av.open(io.BytesIO(content), "r") as film:
            stream = film.streams.video[0]
            if stream.width * stream.height > MOST_PIXELS:
                raise Unreadable(f"{shown}, a video whose frames have more than {MOST_PIXELS:,} pixels")
            for number, frame in enumerate(film.decode(stream)):
                if number in wanted:
                    picture = frame.to_image()
                    turn = getattr(frame, "rotation", 0)
                    yield picture.rotate(turn, expand=True) if turn else picture
    except IndexError:
        raise Unreadable(f"{shown}, a file that contains no video") from None
    except (av.error.FFmpegError, ValueError, EOFError) as error:
        if isinstance(error, Unreadable):
            raise
        reason = getattr(error, "strerror", None) or error
        raise Unreadable(f"{shown}, which is not a video, or damaged or cut short ({reason})") from None


def _count(av: Any, content: bytes) -> int:
    """The number of frames, from the header of the file or else from its packets, without decoding."""
    with av.open(io.BytesIO(content)) as film:
        stream = film.streams.video[0]
        return int(stream.frames) or sum(packet.size > 0 for packet in film.demux(stream))
