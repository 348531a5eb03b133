"""Several workers answer as one does: in threads, and forked from a process that has already predicted."""

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

count, inputs, *folders = map(json.loads, sys.argv[1:])
for folder in folders:
    model = regard.load(folder, device="cpu")

    def answers():
        return [[one.text, one.score] for one in model.predict(inputs, beam=3)]

    alone = answers()  # the parent has used its pools of threads: what gunicorn's --preload and fork pools do
    workers = []
    for _ in range(count):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            found = answers()
            near = all(abs(mine[1] - theirs[1]) < 1e-4 for mine, theirs in zip(found, alone, strict=True))
            os.write(writing, json.dumps([near, [text for text, _ in found]]).encode())
            os._exit(0)
        os.close(writing)
        workers.append((child, reading))
    texts = []
    for child, reading in workers:
        with os.fdopen(reading) as file:
            texts.append(json.loads(file.read()))
        assert os.waitpid(child, 0)[1] == 0
    print(json.dumps([[text for text, _ in alone], texts]))
"""
TRANSFORMER = {"type": "transformer", "size": 8, "heads": 2, "layers": 1}
KINDS = {
    "fused": {},
    "segments": {"attention": {"score": "additive", "select": "segments"}},
    "transformer": {"encoder": TRANSFORMER, "decoder": TRANSFORMER, "attention": None},
}


def saved(kind: str, folder: Path) -> Path:
    build(spec(**KINDS[kind])).save(folder / kind)
    return folder / kind


def test_forked_workers_answer_as_one(tmp_path: Path) -> None:
    given = [WORKERS, words(30), *(str(saved(kind, tmp_path)) for kind in KINDS)]
    command = [sys.executable, "-c", FORKING, *map(json.dumps, given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    for kind, line in zip(KINDS, done.stdout.splitlines(), strict=True):
        alone, workers = json.loads(line)
        assert len(workers) == WORKERS, kind
        for near, texts in workers:
            assert near and texts == alone, kind


@pytest.mark.parametrize("kind", KINDS)
def test_threads_answer_as_one(kind: str, tmp_path: Path) -> None:
    model = Model.load(saved(kind, tmp_path), device="cpu")
    chunks = [words(12, seed=number) for number in range(WORKERS)]

    def answers(chunk: list[str]) -> list[tuple[str, float]]:
        return [(one.text, one.score) for one in model.predict(chunk, beam=3)]

    alone = [answers(chunk) for chunk in chunks]
    with ThreadPoolExecutor(WORKERS) as pool:
        for _ in range(3):
            assert list(pool.map(answers, chunks)) == alone
