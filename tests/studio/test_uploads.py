"""Uploads are bounded, stay in memory, and are what their content says, whatever they are called."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import httpx
import numpy as np
import pytest
import soundfile
from PIL import Image

from regard.errors import RegardError
from regard.studio.uploads import MOST_BYTES, MOST_KEPT, Uploads, recognized
from tests.studio.client import Client


def png(width: int = 40, height: int = 30) -> bytes:
    content = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 255, (height, width, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(content, "PNG")
    return content.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A small file that says it is an enormous image."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(1000)))
        + chunk(b"IEND", b"")
    )


def sound(seconds: float, rate: int = 8000) -> bytes:
    content = io.BytesIO()
    soundfile.write(content, np.sin(np.arange(int(seconds * rate)) / 9), rate, format="WAV")
    return content.getvalue()


def send(client: Client, content: bytes, kind: str = "application/octet-stream") -> httpx.Response:
    return client.post("/api/upload", content=content, headers={"x-regard": "1", "content-type": kind})


def test_an_image_is_looked_at_as_in_python(client: Client, load: Any) -> None:
    answer = send(client, png(), "text/plain")  # what the browser says of it does not matter
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["media"] == "image" and (told["seen"]["width"], told["seen"]["height"]) == (40, 30)
    found = load("caption").predict(png())
    seen = client.look("caption", {"image": {"upload": told["upload"]}})
    assert seen["text"] == found.text and seen["score"] == pytest.approx(found.score, rel=1e-5)
    question = "is there a circle ?"
    mixed = {"image": {"upload": told["upload"]}, "question": question}
    expected = load("image-qa-attention").predict({"image": png(), "question": question}, output="answer")
    assert client.look("image-qa-attention", mixed, output="answer")["score"] == pytest.approx(
        expected.score, rel=1e-5
    )
    assert "FILE" in seen["python"] and "FILE" in seen["command"]


def test_audio_is_looked_at_and_fits_no_image(client: Client, load: Any) -> None:
    told = send(client, sound(0.5)).json()
    assert told["media"] == "audio" and told["seen"]["seconds"] == 0.5
    found = load("speech").predict(sound(0.5))
    assert client.look("speech", {"audio": {"upload": told["upload"]}})["score"] == pytest.approx(
        found.score, rel=1e-5
    )
    error = client.refused("look", run="caption", inputs={"image": {"upload": told["upload"]}})
    assert "audio" in error["message"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"%!PS-Adobe-3.0 EPSF-3.0\n",
        b"#EXTM3U\nhttp://evil.example/a.ts\n",
        b"\x89PNG\r\n\x1a\n",
        b"RIFF\x00\x00\x00\x00WAVE",
        b"GIF89a\x01",
        bomb(60_000, 60_000),
        bomb(30_000, 2_000),
        bomb(0, 5),
    ],
)
def test_what_cannot_be_read_or_is_a_bomb_is_refused(client: Client, content: bytes) -> None:
    answer = send(client, content, "image/png")
    assert answer.status_code == 400 and answer.json()["error"]["where"] == "upload", answer.text


def test_a_file_that_ends_too_early_is_refused_when_it_is_looked_at(client: Client) -> None:
    told = send(client, png()[:200]).json()
    error = client.refused("look", run="caption", inputs={"image": {"upload": told["upload"]}})
    assert "image" in error["message"]


def test_too_many_bytes_are_not_read(client: Client) -> None:
    answer = send(client, bytes(MOST_BYTES + 1))
    assert answer.status_code == 400 and "at most" in answer.json()["error"]["message"]

    def parts() -> Any:
        for _ in range(40):
            yield bytes(1 << 20)

    chunked = client.post("/api/upload", content=parts(), headers={"x-regard": "1"})
    assert chunked.status_code == 400 and "at most" in chunked.json()["error"]["message"]


def test_a_long_recording_and_many_frames_are_refused() -> None:
    with pytest.raises(RegardError, match="at most 600 s"):
        recognized(sound(700, rate=100))
    content = io.BytesIO()
    frames = [Image.new("RGB", (4, 4), (number % 256, number // 256, 0)) for number in range(2_100)]
    frames[0].save(content, "GIF", save_all=True, append_images=frames[1:], duration=20)
    with pytest.raises(RegardError, match="pixels"):
        recognized(content.getvalue())


def test_only_the_latest_uploads_are_kept() -> None:
    uploads, content = Uploads(), png()
    first, _ = uploads.add(content)
    for _ in range(MOST_KEPT):
        uploads.add(content)
    assert len(uploads) == MOST_KEPT
    with pytest.raises(RegardError, match="no longer here"):
        uploads.find(first)
