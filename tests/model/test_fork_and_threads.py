"""Several workers answer at once as one does: forked from a process that has answered already, and in threads."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from regard import Model
from tests.model.small import build, spec, words

WORKERS = 8
FORKING = """
import json, os, sys
import torch
torch.set_num_threads(2)
import regard

model = regard.load(sys.argv[1], device="cpu")
inputs = json.loads(sys.argv[2])

def answers():
    return [[one.text, one.score] for one in model.predict(inputs, beam=3)]

alone = answers()  # the parent has used its pools of threads: what gunicorn's --preload and fork pools do
workers = []
for _ in range(int(sys.argv[3])):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        found = answers()
        near = all(abs(mine[1] - theirs[1]) < 1e-4 for mine, theirs in zip(found, alone, strict=True))
        os.write(writing, json.dumps([near, [text for text, _ in found]]).encode())
        os._exit(0)
    os.close(writing)
    workers.append((child, reading))
print(json.dumps([text for text, _ in alone]))
for child, reading in workers:
    with os.fdopen(reading) as file:
        print(file.read())
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.fixture(params=["fused", "segments", "transformer"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    transformer = {"type": "transformer", "size": 8, "heads": 2, "layers": 1}
    parts = {
        "fused": {},
        "segments": {"attention": {"score": "additive", "select": "segments"}},
        "transformer": {"encoder": transformer, "decoder": transformer, "attention": None},
    }[request.param]
    build(spec(**parts)).save(tmp_path / "model")
    return tmp_path / "model"


def test_forked_workers_answer_as_one(folder: Path) -> None:
    inputs = json.dumps(words(30))
    command = [sys.executable, "-c", FORKING, str(folder), inputs, str(WORKERS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    alone, *workers = map(json.loads, done.stdout.splitlines())
    assert len(workers) == WORKERS
    for near, texts in workers:
        assert near and texts == alone


def test_threads_answer_as_one(folder: Path) -> None:
    model = Model.load(folder, device="cpu")
    chunks = [words(12, seed=number) for number in range(WORKERS)]

    def answers(chunk: list[str]) -> list[tuple[str, float]]:
        return [(one.text, one.score) for one in model.predict(chunk, beam=3)]

    alone = [answers(chunk) for chunk in chunks]
    with ThreadPoolExecutor(WORKERS) as pool:
        for _ in range(3):
            assert list(pool.map(answers, chunks)) == alone
