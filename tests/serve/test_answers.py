"""What a server answers equals what the models answer in Python."""

from __future__ import annotations

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from regard.cli.chatting import Chat
from regard.trace.prediction import Prediction

TEXTS = ["the dog sleeps", "I see the old man", "my fish is fat and the cat is sad", "the"]
CLOSE = 1e-5


def predicted(client: httpx.Client, **request: Any) -> list[dict[str, Any]]:
    answer = client.post("/predict", json=request)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["answers"]
    return found


def events(client: httpx.Client, **request: Any) -> list[tuple[str, Any]]:
    answer = client.post("/stream", json=request)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n") for block in answer.text.strip().split("\n\n")]
    return [
        (first.removeprefix("event: "), json.loads(second.removeprefix("data: "))) for first, second in blocks
    ]


def test_answers_scores_alternatives_and_attention_are_those_of_predict(
    client: httpx.Client, load: Any
) -> None:
    found = predicted(client, text=TEXTS, beam=3, n_best=2, trace=True)
    for one, truth in zip(found, load("translation").predict(TEXTS, beam=3, n_best=2), strict=True):
        read = Prediction.from_dict(one)
        assert read.text == truth.text
        assert read.score == pytest.approx(truth.score, rel=CLOSE, abs=CLOSE)
        assert [other.text for other in read.alternatives] == [other.text for other in truth.alternatives]
        assert np.abs(read.trace.attention["source"] - truth.trace.attention["source"]).max() < CLOSE
    assert "trace" not in predicted(client, text="the dog sleeps")[0]


def test_many_clients_at_once_get_their_own_answers(client: httpx.Client, load: Any) -> None:
    words = ["dog", "man", "fish", "cat", "old", "the", "I", "see"]
    texts = [" ".join(words[(n + k) % 8] for k in range(1 + n % 9)) for n in range(48)]
    truth = {text: load("translation").predict(text).text for text in texts}
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda text: predicted(client, text=text)[0]["text"], texts))
    assert found == [truth[text] for text in texts]
    assert len(set(found)) > 5


def test_a_sample_does_not_depend_on_who_else_asks(client: httpx.Client, load: Any) -> None:
    alone = load("translation").predict("the dog sleeps", method="sample", seed=7).text
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(
                lambda _: predicted(client, text="the dog sleeps", method="sample", seed=7)[0]["text"],
                range(12),
            )
        )
    assert set(found) == {alone}
    others = [predicted(client, text="the dog sleeps", method="sample", seed=n)[0]["text"] for n in range(6)]
    assert len(set(others)) > 1


def test_one_bad_input_spoils_its_own_request_only(client: httpx.Client, load: Any) -> None:
    def asked(text: str) -> int:
        return client.post("/predict", json={"text": text}).status_code

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(asked, ["the dog", "", "the cat", "   ", "I see"] * 4))
    assert found == [200, 422, 200, 422, 200] * 4


def test_tokens_are_streamed_and_make_the_answer(client: httpx.Client, load: Any) -> None:
    for options in ({}, {"method": "sample", "seed": 3}):
        found = events(client, text="I see the old man", trace=True, **options)
        truth = load("translation").predict("I see the old man", **options)
        assert [name for name, _ in found] == ["token"] * (len(found) - 1) + ["answer"]
        assert "".join(content["text"] for _, content in found[:-1]) == truth.text == found[-1][1]["text"]
        assert len(found) > 3
        assert found[-1][1]["score"] == pytest.approx(truth.score, rel=CLOSE)
        looks = np.array(found[-1][1]["trace"]["attention"]["source"])
        assert np.abs(looks - truth.trace.attention["source"]).max() < CLOSE


def test_a_beam_answers_at_once_and_says_so(client: httpx.Client, load: Any) -> None:
    ((name, content),) = events(client, text="the dog", beam=3)
    assert name == "answer" and content["streamed"] is False and "beam search" in content["why"]
    assert content["text"] == load("translation").predict("the dog", beam=3).text


def test_a_dialog_goes_on(client: httpx.Client, load: Any) -> None:
    chat = Chat(load("dialog-context"), "answer" if "answer" in load("dialog-context").spec.outputs else
                next(iter(load("dialog-context").spec.outputs)), "U", "B")  # fmt: skip
    history: list[Any] = []
    for said in ("hello there", "what is it", "bye"):
        answer = client.post("/chat", json={"model": "dialog-context", "text": said, "history": history})
        assert answer.status_code == 200, answer.text
        assert answer.json()["answers"][0]["text"] == chat.say(said).text
        history = answer.json()["history"]
        assert [turn["text"] for turn in history] == [turn.text for turn in chat.turns]


def test_a_text_is_continued_as_generate_does(client: httpx.Client, load: Any) -> None:
    options = {"length": 9, "temperature": 0.8, "seed": 5}
    truth = load("lm").generate("the ", **options)
    answer = client.post("/generate", json={"model": "lm", "prompt": "the ", **options}).json()
    assert answer["text"] == truth.text
    assert answer["score"] == pytest.approx(truth.score, rel=CLOSE)
    found = events(client, model="lm", text="the ", **options)
    assert "the " + "".join(content["text"] for name, content in found if name == "token") == truth.text
    assert found[-1] == (
        "answer",
        pytest.approx({"model": "lm", "text": truth.text, "score": found[-1][1]["score"]}),
    )
    assert client.post("/predict", json={"model": "lm", "text": "the"}).status_code == 422


def test_an_image_is_sent_as_bytes_and_no_file_is_opened(
    client: httpx.Client, load: Any, tmp_path: Path
) -> None:
    from PIL import Image

    path = tmp_path / "image.png"
    pixels = np.random.default_rng(1).integers(0, 255, (48, 48, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    (name,) = load("caption").spec.inputs
    content = {"base64": base64.b64encode(path.read_bytes()).decode()}
    found = predicted(client, model="caption", inputs={name: content})
    assert found[0]["text"] == load("caption").predict(path.read_bytes()).text
    refused = client.post("/predict", json={"model": "caption", "inputs": {name: str(path)}})
    assert refused.status_code == 422 and "opens no files" in refused.json()["error"]["message"]
    broken = {"base64": base64.b64encode(b"no image").decode()}
    assert client.post("/predict", json={"model": "caption", "inputs": {name: broken}}).status_code == 422
