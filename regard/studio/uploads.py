"""Images, videos and audio dropped on the page: only in memory, bounded, and of a type that their content shows.

The name and the type that the browser gives are not asked. Sizes are read from headers, before anything is decoded.
"""

from __future__ import annotations

import io
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from regard.errors import RegardError

MOST_BYTES = 16 << 20
MOST_PIXELS = 25_000_000
MOST_FRAMES = 2_000
MOST_SECONDS = 600.0
MOST_KEPT = 24
MOST_KEPT_BYTES = 64 << 20
IMAGES = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
FIX = "Drop a PNG, JPEG, WebP, GIF or BMP image, a WAV, FLAC or Ogg recording, or an MP4, WebM or AVI video."


@dataclass(frozen=True)
class Upload:
    """media: image, audio or video; seen: its size in words, for the page."""

    content: bytes
    media: str
    seen: dict[str, Any]


class Uploads:
    """The latest uploads, by an identifier that nobody can guess."""

    def __init__(self) -> None:
        self._known, self._lock = OrderedDict[str, Upload](), threading.Lock()

    def add(self, content: bytes) -> tuple[str, Upload]:
        upload = recognized(content)
        identifier = secrets.token_urlsafe(16)
        with self._lock:
            self._known[identifier] = upload
            while len(self._known) > MOST_KEPT or self.size > MOST_KEPT_BYTES:
                self._known.popitem(last=False)
        return identifier, upload

    def find(self, identifier: str) -> Upload:
        with self._lock:
            if identifier not in self._known:
                raise RegardError("this file is no longer here.", where="upload", fix="Drop it again.")
            return self._known[identifier]

    @property
    def size(self) -> int:
        return sum(len(one.content) for one in self._known.values())

    def __len__(self) -> int:
        return len(self._known)


def recognized(content: bytes) -> Upload:
    """The upload, by its first bytes; refused if it is of another type, or too large."""
    if not content:
        raise RegardError("the file is empty.", where="upload", fix=FIX)
    if len(content) > MOST_BYTES:
        raise too_large(len(content))
    head = content[:16]
    if (head[:4] == b"RIFF" and head[8:12] == b"WAVE") or head[:4] in (b"fLaC", b"OggS"):
        return _audio(content)
    if (
        head[4:8] == b"ftyp"
        or head[:4] == b"\x1aE\xdf\xa3"
        or (head[:4] == b"RIFF" and head[8:12] == b"AVI ")
    ):
        return Upload(content, "video", {"bytes": len(content)})
    return _image(content)


def too_large(size: int) -> RegardError:
    return RegardError(
        f"the file has {size:,} bytes; at most {MOST_BYTES:,} are read.",
        where="upload",
        fix="Make it smaller.",
    )


def _image(content: bytes) -> Upload:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(content), formats=IMAGES) as picture:  # reads the header alone
            width, height = picture.size
            frames = int(getattr(picture, "n_frames", 1)) if width * height <= MOST_PIXELS else 1
    except Image.DecompressionBombError:
        raise _too_many_pixels() from None
    except Exception:  # what readers of damaged files raise
        raise RegardError(
            "this is no image, audio or video that can be read.", where="upload", fix=FIX
        ) from None
    if width * height > MOST_PIXELS or frames > MOST_FRAMES or width * height * frames > 8 * MOST_PIXELS:
        raise _too_many_pixels()
    return Upload(content, "image", {"width": width, "height": height, "frames": frames})


def _too_many_pixels() -> RegardError:
    return RegardError(
        f"the image has too many pixels; at most {MOST_PIXELS:,} are read.",
        where="upload",
        fix="Make it smaller.",
    )


def _audio(content: bytes) -> Upload:
    import soundfile

    try:
        about = soundfile.info(io.BytesIO(content))
    except Exception:
        raise RegardError("this recording cannot be read.", where="upload", fix=FIX) from None
    seconds = about.frames / max(about.samplerate, 1)
    if seconds > MOST_SECONDS or about.channels > 16:
        raise RegardError(
            f"the recording takes {seconds:,.0f} s; at most {MOST_SECONDS:.0f} s are read.",
            where="upload",
            fix="Cut it.",
        )
    return Upload(content, "audio", {"seconds": round(seconds, 3), "rate": about.samplerate})
