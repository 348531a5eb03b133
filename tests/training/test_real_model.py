"""The same guarantees with a real model: attention, dropout, batches by cost, the command line."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from regard.fitting.experiment import Experiment
from regard.training.checkpoint import STATE, read

SPEC = """
name: tiny
inputs:    {source: {type: text, unit: char}}
outputs:   {target: {type: text, unit: char}}
encoder:   {type: recurrent, cell: gru, size: 12, embedding: 8, dropout: 0.2}
attention: {score: additive, select: softmax}
decoder:   {type: recurrent, cell: gru, size: 12, embedding: 8, dropout: 0.2, condition: [start, attention]}
training:  {epochs: 3, batch_tokens: 60, checkpoint_every: 4, ema: 0.99, schedule: {type: cosine, warmup: 5}}
data:      {train: train.tsv, dev: dev.tsv}
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    draw = random.Random(3)
    for name, count in (("train", 240), ("dev", 20)):
        words = ["".join(draw.choices("abcdef", k=draw.randint(1, 9))) for _ in range(count)]
        (tmp_path / f"{name}.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in words))
    (tmp_path / "tiny.yaml").write_text(SPEC)
    return tmp_path / "tiny.yaml"


@pytest.mark.thorough
def test_a_killed_training_resumes_to_the_same_bits(spec: Path) -> None:
    whole, killed = spec.parent / "whole", spec.parent / "killed"
    Experiment.start(str(spec), run=whole, device="cpu", quiet=True).train()
    command = [
        sys.executable,
        "-m",
        "regard",
        "train",
        str(spec),
        "-o",
        str(killed),
        "--device",
        "cpu",
        "-q",
    ]
    process = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE)
    while not (killed / STATE).exists() and process.poll() is None:
        time.sleep(0.002)
    time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors
    reached = read(killed / STATE)[1]["position"]["step"]
    Experiment.resume(killed, device="cpu", quiet=True).train()
    assert 0 < reached < read(whole / STATE)[1]["position"]["step"]
    one, other = load_file(whole / "model.safetensors"), load_file(killed / "model.safetensors")
    assert all(torch.equal(one[name], other[name]) for name in one) and one.keys() == other.keys()
