"""Text to text on the CPU: our training and search beside JoeyNMT's, on the same work, in one run.

    python bench/text_cpu.py --make-peer PEER                      once: JoeyNMT 2.3 in a virtual environment of its own
    python bench/text_cpu.py --peer-python PEER/bin/python --json result.json

Both models: bi-GRU encoder of 256 per direction, embeddings of 256, one GRU decoder layer of 256 with additive
attention and input feeding, a vocabulary of 4,000 types, batches of 64 sentences, Adam 1e-3, clipping at 1. The data
are random pairs of 10 to 30 tokens; decoding writes exactly 20 tokens. The two take turns; of each the best round
counts, by wall clock and by seconds of processor time, which other programs disturb less. Exit status 1: a bar was
missed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

BARS = {"train": 2.5, "greedy": 2.5, "beam 5": 3.0}
UNITS = {"train": "target tokens", "greedy": "sentences", "beam 5": "sentences"}
PEER_PACKAGES = [
    "numpy",
    "pyyaml",
    "pillow",
    "packaging",
    "six",
    "pandas",
    "matplotlib",
    "seaborn",
    "sacrebleu",
]
PEER_PACKAGES += ["sentencepiece", "subword-nmt", "protobuf", "tensorboard", "datasets", "unidecode"]
PEER_PACKAGES += ["importlib_metadata"]
SPLITS = {"train": 20_000, "dev": 200, "test": 1_000}
ROWS, TYPES, LENGTH, WARM_UP = 64, 4_000, 20, 5


def make_data(folder: Path) -> None:
    """Random pairs, one sentence a line: SPLIT.src and SPLIT.trg."""
    generator = random.Random(0)
    for split, count in SPLITS.items():
        for side in ("src", "trg"):
            lines = (
                " ".join(f"w{generator.randrange(TYPES)}" for _ in range(generator.randint(10, 30)))
                for _ in range(count)
            )
            (folder / f"{split}.{side}").write_text("\n".join(lines) + "\n")


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def timed(work: Iterable[Callable[[], int]], warm_up: int) -> dict[str, float]:
    """Units of work per second; the first few pieces are not counted."""
    done = 0
    clock, processor = time.perf_counter(), processor_seconds()
    for index, piece in enumerate(work):
        if index == warm_up:
            done, clock, processor = 0, time.perf_counter(), processor_seconds()
        done += piece()
    return {"wall": done / (time.perf_counter() - clock), "cpu": done / (processor_seconds() - processor)}


def run_ours(folder: Path, steps: int, sentences: int) -> dict[str, dict[str, float]]:
    """Through the public names of `regard.data` and `regard.nn`."""
    import torch

    from regard.data import Batches, Dataset, TextColumn, read_rows, values
    from regard.nn import Attention, Embedding, RecurrentDecoder, RecurrentEncoder
    from regard.nn.search import Beam, Greedy, Limits

    torch.manual_seed(0)
    columns = [TextColumn("src", max_length=40), TextColumn("trg", max_length=40)]

    def rows(split: str) -> Any:
        return read_rows(f"{folder / split}.src+{folder / split}.trg", fields=["src", "trg"])

    for column in columns:
        column.learn(values(rows("train"), column.field))
    train, test = (Dataset.build(rows(split), columns) for split in ("train", "test"))
    encoder = RecurrentEncoder(Embedding(columns[0].size, 256), size=256)
    attention = Attention(256, encoder.value_size, score="additive")
    decoder = RecurrentDecoder(
        Embedding(columns[1].size, 256),
        {"src": encoder},
        size=256,
        attention={"src": attention},
        state="current",
    )
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3, fused=True)

    def learn(batch: Any) -> int:
        loss = decoder.loss({"src": encoder(batch["src"])}, batch["trg"])
        loss.mean.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad()
        return int(loss.count)

    batches = Batches(train, rows=ROWS, seed=1).epoch(0)
    work = (lambda: learn(next(batches)) for _ in range(WARM_UP + steps))
    rates = {"train": timed(work, WARM_UP)}
    encoder.eval()
    decoder.eval()
    limits = Limits(minimum=LENGTH - 1, maximum=LENGTH - 1)  # the END is the twentieth
    for name, search in (("greedy", Greedy(limits)), ("beam 5", Beam(5, limits=limits))):
        batches = Batches(test, rows=ROWS, shuffle=False).epoch(0)

        def write(batch: Any, search: Any = search) -> int:
            with torch.inference_mode():
                found = decoder.predict({"src": encoder(batch["src"])}, search)
            return len(found.tokens)

        rates[name] = timed((lambda: write(next(batches)) for _ in range(1 + sentences // ROWS)), 1)  # noqa: B023
    return rates


def peer_configuration(folder: Path) -> dict[str, Any]:
    special = {"unk_token": "<unk>", "unk_id": 0, "pad_token": "<pad>", "pad_id": 1}
    special |= {"bos_token": "<s>", "bos_id": 2, "eos_token": "</s>", "eos_id": 3}
    text = {"level": "word", "voc_limit": TYPES, "voc_min_freq": 0, "max_length": 40}
    layer = {"type": "recurrent", "rnn_type": "gru", "embeddings": {"embedding_dim": 256}, "hidden_size": 256}
    layer |= {"dropout": 0.0, "num_layers": 1, "activation": "tanh"}
    return {
        "name": "text_cpu",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder / "peer"),
        "use_cuda": False,
        "fp16": False,
        "random_seed": 42,
        "data": {
            **{split: str(folder / split) for split in SPLITS},
            "dataset_type": "plain",
            "src": {"lang": "src", **text},
            "trg": {"lang": "trg", **text},
            "special_symbols": special,
        },
        "testing": {
            "n_best": 1,
            "beam_size": 1,
            "beam_alpha": 1.0,
            "eval_metrics": ["bleu"],
            "batch_size": ROWS,
        }
        | {"batch_type": "sentence", "max_output_length": LENGTH, "min_output_length": LENGTH},
        "training": {"optimizer": "adam", "learning_rate": 1e-3, "clip_grad_norm": 1.0, "batch_size": ROWS}
        | {
            "batch_type": "sentence",
            "normalization": "tokens",
            "scheduling": "exponential",
            "decrease_factor": 1.0,
        }
        | {
            "early_stopping_metric": "loss",
            "epochs": 1,
            "updates": 300,
            "validation_freq": 300,
            "overwrite": True,
        }
        | {"logging_freq": 50, "shuffle": True, "print_valid_sents": [0], "keep_best_ckpts": 1},
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "normal",
            "embed_init_weight": 0.1,
            "bias_initializer": "zeros",
            "encoder": {**layer, "bidirectional": True},
            "decoder": {**layer, "hidden_dropout": 0.0, "input_feeding": True, "init_hidden": "bridge"}
            | {"attention": "bahdanau"},
        },
    }


def peer_model(folder: Path) -> tuple[Any, Any, Any, Any, Any]:
    """JoeyNMT's options, model, training data, test data and training manager."""
    import logging

    import yaml  # type: ignore[import-untyped]
    from joeynmt.config import load_config, parse_global_args, set_validation_args  # type: ignore[import-not-found]
    from joeynmt.helpers import make_model_dir  # type: ignore[import-not-found]
    from joeynmt.prediction import prepare  # type: ignore[import-not-found]
    from joeynmt.training import TrainManager  # type: ignore[import-not-found]

    logging.disable(logging.INFO)
    path = folder / "peer.yaml"
    path.write_text(yaml.safe_dump(peer_configuration(folder)))
    configuration = load_config(path)
    make_model_dir(Path(configuration["model_dir"]), overwrite=True)
    options = parse_global_args(configuration, rank=0, mode="train")
    model, train, _, test = prepare(options, rank=0, mode="train")
    manager = TrainManager(
        rank=0,
        model=model,
        model_dir=options.model_dir,
        device=options.device,
        autocast=options.autocast,
        seed=42,
        train_args=options.train,
        dev_args=set_validation_args(options.test),
    )

    return options, model, train, test, manager


def run_peer(folder: Path, steps: int, sentences: int) -> dict[str, dict[str, float]]:
    """JoeyNMT through its own data iterator, training step and search."""
    from joeynmt.search import search  # type: ignore[import-not-found]

    options, model, train, test, manager = peer_model(folder)

    def batches(data: Any, shuffle: bool) -> Any:
        return iter(
            data.make_iter(
                batch_size=ROWS,
                batch_type="sentence",
                seed=42,
                shuffle=shuffle,
                num_workers=0,
                device=options.device,
                eos_index=model.eos_index,
                pad_index=model.pad_index,
            )
        )

    def learn(batch: Any) -> int:
        manager._train_step(batch)
        manager.clip_grad_fun(parameters=model.parameters())
        manager.optimizer.step()
        model.zero_grad()
        return int(batch.ntokens)

    training = batches(train, True)
    rates = {"train": timed((lambda: learn(next(training)) for _ in range(WARM_UP + steps)), WARM_UP)}
    model.eval()
    for name, size in (("greedy", 1), ("beam 5", 5)):
        testing = batches(test, False)

        def write(batch: Any, size: int = size) -> int:
            batch.sort_by_src_length()
            search(
                model=model,
                batch=batch,
                beam_size=size,
                beam_alpha=1.0,
                max_output_length=LENGTH,
                min_output_length=LENGTH,
                n_best=1,
                return_attention=False,
                return_prob="none",
                autocast=options.autocast,
            )
            return int(batch.nseqs)

        rates[name] = timed((lambda: write(next(testing)) for _ in range(1 + sentences // ROWS)), 1)  # noqa: B023
    return rates


def make_peer(folder: Path) -> None:
    """A virtual environment with JoeyNMT 2.3, whose own requirements no longer fit together."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "torch", *PEER_PACKAGES], check=True)
    subprocess.run([*pip, "--no-deps", "joeynmt==2.3.0"], check=True)


def measure(python: str, role: str, folder: Path, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """One round in a process of its own; its last line is the result."""
    command = [python, __file__, "--role", role, "--data", str(folder), "--threads", str(options.threads)]
    command += ["--steps", str(options.steps), "--decode", str(options.decode)]
    threads = {name: str(options.threads) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")}
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", **threads}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"The {role} side failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    result: dict[str, dict[str, float]] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def best(rounds: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    return {
        task: {clock: max(found[task][clock] for found in rounds) for clock in ("wall", "cpu")}
        for task in BARS
    }


def report(ours: dict[str, dict[str, float]], peer: dict[str, dict[str, float]]) -> bool:
    """Prints the table; whether every bar is reached by the wall clock."""
    print(f"{'':8} {'per':14} {'clock':>5} {'ours':>9} {'JoeyNMT':>9} {'ratio':>6} {'bar':>5}")
    for task, bar in BARS.items():
        for clock in ("wall", "cpu"):
            mine, other = ours[task][clock], peer[task][clock]
            print(
                f"{task:8} {UNITS[task]:14} {clock:>5} {mine:9.1f} {other:9.1f} {mine / other:6.2f} {bar:5.1f}"
            )
    return all(ours[task]["wall"] >= bar * peer[task]["wall"] for task, bar in BARS.items())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--peer-python", help="the interpreter of the peer's virtual environment")
    parser.add_argument("--make-peer", type=Path, help="make that virtual environment in a folder, and stop")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=60, help="training steps of a round")
    parser.add_argument("--decode", type=int, default=512, help="sentences to decode in a round")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--role", choices=("ours", "peer"), help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make_peer:
        make_peer(options.make_peer)
        return 0
    if options.role:
        import torch

        torch.set_num_threads(options.threads)
        run = run_ours if options.role == "ours" else run_peer
        print(json.dumps(run(options.data, options.steps, options.decode)))
        return 0
    if not options.peer_python:
        parser.error("give --peer-python, or make the peer's environment first with --make-peer DIR")
    rounds: dict[str, list[dict[str, dict[str, float]]]] = {"peer": [], "ours": []}
    with tempfile.TemporaryDirectory() as folder:
        make_data(Path(folder))
        for _ in range(options.rounds):
            rounds["peer"].append(measure(options.peer_python, "peer", Path(folder), options))
            rounds["ours"].append(measure(sys.executable, "ours", Path(folder), options))
    ours, peer = best(rounds["ours"]), best(rounds["peer"])
    reached = report(ours, peer)
    if options.json:
        options.json.write_text(
            json.dumps({"ours": ours, "peer": peer, "bars": BARS, "rounds": rounds}, indent=2)
        )
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
