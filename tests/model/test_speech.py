"""A model of audio: valid inputs, and times in its traces."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import soundfile

import regard
from regard.data.contents import data_content
from regard.errors import RegardError
from regard.model import Model
from regard.worlds import world

SMALL = [
    "data.world={type: tones, train: 24, dev: 6, test: 6, words: 2}",
    "training.steps=2",
    "encoder.size=6",
    "decoder.size=8",
    "decoder.embedding=4",
    "search.max_length=9",
]


@pytest.fixture(scope="module")
def listener(tmp_path_factory: pytest.TempPathFactory) -> Model:
    run = tmp_path_factory.mktemp("speech") / "run"
    regard.fit("speech-location", run=run, overrides=SMALL, device="cpu", quiet=True)
    return Model.load(run)


@pytest.fixture(scope="module")
def sound() -> bytes:
    return data_content(world("tones", train=1, dev=1, test=1).splits()["test"][0]["audio"])


def test_a_path_bytes_and_samples_are_one_sound(listener: Model, sound: bytes, tmp_path: Path) -> None:
    path = tmp_path / "one.wav"
    path.write_bytes(sound)
    samples, rate = soundfile.read(io.BytesIO(sound), dtype="int16")
    told = [
        listener.predict(given)
        for given in (path, str(path), sound, (samples, rate), {"audio": (samples, rate)})
    ]
    assert len({answer.text for answer in told}) == 1
    assert len({answer.score for answer in told}) == 1
    assert [answer.text for answer in listener.predict([path, sound])] == [told[0].text] * 2


def test_the_trace_knows_the_time(listener: Model, sound: bytes) -> None:
    trace = listener.predict(sound).trace
    assert trace is not None
    seconds = soundfile.info(io.BytesIO(sound)).duration
    names = trace.input["audio"]
    assert names[:3] == ["0.00 s", "0.04 s", "0.08 s"]
    assert abs(len(names) * 0.04 - seconds) < 0.06
    assert trace.layout["audio"] == "frames" and trace.attention["audio"].shape[1] == len(names)
    seen = trace.seen["audio"]
    assert seen.values.shape[1] == 32 and abs(seen.seconds - seconds) < 0.03


def test_what_cannot_be_heard_is_named(listener: Model, sound: bytes, tmp_path: Path) -> None:
    (tmp_path / "words.wav").write_text("these are words", encoding="utf-8")
    for given, words in (
        (tmp_path / "missing.wav", "missing.wav', but there is no such file"),
        (tmp_path / "words.wav", "words.wav', which is not audio that can be read"),
        (sound[:30], "data URI of audio/wav, which is not audio"),
    ):
        with pytest.raises(RegardError, match=words):
            listener.predict(given)
