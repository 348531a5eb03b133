"""The Open Inference Protocol: by hand, and with Triton's client."""

from __future__ import annotations

import json
import struct
from typing import Any

import httpx
import numpy as np
import pytest

from regard.serve.running import Serving

TEXTS = ["the dog sleeps", "I see the old man"]
INFER = "/v2/models/translation/infer"


def tensor(**changes: Any) -> dict[str, Any]:
    return {"name": "source", "datatype": "BYTES", "shape": [len(TEXTS)], "data": TEXTS, **changes}


def test_health_and_metadata(client: httpx.Client) -> None:
    assert client.get("/v2").json()["name"] == "regard"
    for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/translation/ready"):
        assert client.get(path).status_code == 200
    about = client.get("/v2/models/translation").json()
    assert about["inputs"] == [{"name": "source", "datatype": "BYTES", "shape": [-1]}]
    outputs = {one["name"]: (one["datatype"], len(one["shape"])) for one in about["outputs"]}
    assert outputs["target"] == ("BYTES", 1) and outputs["target.attention.source"] == ("FP32", 3)
    assert client.get("/v2/models/nobody").status_code == 404
    assert isinstance(client.get("/v2/models/nobody").json()["error"], str)
    assert client.get("/v2/models/translation/versions/1").status_code == 200
    assert client.get("/v2/models/translation/versions/2").status_code == 404


def test_tensors_in_json(client: httpx.Client, load: Any) -> None:
    names = ["target", "target.score", "target.n_best", "target.attention.source", "target.pieces.source"]
    request = {"id": "7", "inputs": [tensor()], "outputs": [{"name": name} for name in names]}
    found = client.post(INFER, json={**request, "parameters": {"n_best": 3, "beam": 3}}).json()
    assert found["id"] == "7" and [one["name"] for one in found["outputs"]] == names
    made = {one["name"]: np.array(one["data"]).reshape(one["shape"]) for one in found["outputs"]}
    truth = load("translation").predict(TEXTS, n_best=3, beam=3)
    assert made["target"].tolist() == [one.text for one in truth]
    assert made["target.n_best"].tolist() == [[other.text for other in one.alternatives] for one in truth]
    assert made["target.score"] == pytest.approx([one.score for one in truth], rel=1e-5)
    for look, one in zip(made["target.attention.source"], truth, strict=True):
        steps, places = one.trace.attention["source"].shape
        assert np.abs(look[:steps, :places] - one.trace.attention["source"]).max() < 1e-5
        assert look[steps:].sum() == look[:, places:].sum() == 0
    assert made["target.pieces.source"].tolist()[0] == ["the", "dog", "sleeps", "", ""]


def test_binary_tensors(client: httpx.Client, load: Any) -> None:
    packed = b"".join(struct.pack("<I", len(text)) + text.encode() for text in TEXTS)
    about = tensor(parameters={"binary_data_size": len(packed)})
    del about["data"]
    head = json.dumps({"inputs": [about], "parameters": {"binary_data_output": True}}).encode()
    answer = client.post(
        INFER, content=head + packed, headers={"inference-header-content-length": str(len(head))}
    )
    assert answer.status_code == 200, answer.text
    size = int(answer.headers["inference-header-content-length"])
    outputs = json.loads(answer.content[:size])["outputs"]
    rest = answer.content[size:]
    length = outputs[0]["parameters"]["binary_data_size"]
    texts, scores = rest[:length], np.frombuffer(rest[length:], "<f4")
    truth = load("translation").predict(TEXTS)
    for one in truth:
        (count,) = struct.unpack("<I", texts[:4])
        assert texts[4 : 4 + count].decode() == one.text
        texts = texts[4 + count :]
    assert texts == b"" and scores == pytest.approx([one.score for one in truth], rel=1e-5)
    for wrong in ("3", "-1", "x", "9" * 30):
        refused = client.post(
            INFER, content=head + packed, headers={"inference-header-content-length": wrong}
        )
        assert refused.status_code == 400, wrong


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": [3]},
        {"shape": [1, 2]},
        {"shape": [0]},
        {"datatype": "FP32"},
        {"name": "nothing"},
        {"data": [1, 2]},
        {"data": None},
        {"shape": [10**6]},
    ],
)
def test_tensors_that_do_not_fit_are_refused(client: httpx.Client, changes: dict[str, Any]) -> None:
    answer = client.post(INFER, json={"inputs": [tensor(**changes)]})
    assert answer.status_code == 422, answer.text
    assert isinstance(answer.json()["error"], str)


def test_a_language_model_continues_prompts(client: httpx.Client, load: Any) -> None:
    prompt = {"name": "prompt", "datatype": "BYTES", "shape": [2], "data": ["the ", "a"]}
    request = {"inputs": [prompt], "parameters": {"length": 5, "seed": 2}}
    found = client.post("/v2/models/lm/infer", json=request).json()["outputs"]
    assert found[0]["data"] == [load("lm").generate(one, length=5, seed=2).text for one in ("the ", "a")]


def test_tritons_client(serving: Serving, load: Any) -> None:
    triton = pytest.importorskip("tritonclient.http", reason="needs tritonclient[http]")
    made = triton.InferenceServerClient(serving.url.removeprefix("http://"))
    assert made.is_server_live() and made.is_server_ready() and made.is_model_ready("translation")
    assert made.get_model_metadata("translation")["name"] == "translation"
    truth = load("translation").predict(TEXTS)
    for binary in (True, False):
        given = triton.InferInput("source", [2], "BYTES")
        given.set_data_from_numpy(np.array(TEXTS, dtype=object), binary_data=binary)
        wanted = [
            triton.InferRequestedOutput(name, binary_data=binary)
            for name in ("target", "target.attention.source")
        ]
        answer = made.infer("translation", [given], outputs=wanted)
        texts = [one.decode() if binary else one for one in answer.as_numpy("target")]
        assert texts == [one.text for one in truth]
        looks = answer.as_numpy("target.attention.source")
        assert looks.dtype == np.float32 and looks.shape[0] == 2
        first = truth[0].trace.attention["source"]
        assert np.abs(looks[0, : first.shape[0], : first.shape[1]] - first).max() < 1e-5
    made.close()
