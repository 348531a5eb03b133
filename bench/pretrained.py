"""What an epoch costs with a frozen pretrained encoder: its states are computed once, and then read.

    python bench/pretrained.py                      a BERT of 4 layers and 256 features with random weights
    python bench/pretrained.py --model FOLDER       this model

Four times of an epoch of the same model (a label by attention), taken in turns: the first epoch of a frozen encoder, a
later one, one whose memories lie ready (the cost of everything but the encoder), and one that trains the encoder too.
Exits with 1 if a later epoch costs more than 1.5 times the rest, or more than a fifth of training the encoder.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from written import parse, write_json

import regard
from regard.testing.tiny import write_tiny_encoder

ROWS, BATCH, WORDS, ROUNDS = 384, 32, 16, 3
MOST_OF_REST, MOST_OF_TRAINED = 1.5, 0.2


def write_model(folder: Path) -> None:
    """A BERT with random weights, and the tokenizer of the tiny one."""
    import transformers

    write_tiny_encoder(folder, positions=256)
    config = transformers.AutoConfig.from_pretrained(str(folder))
    config.update(
        {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
    )
    torch.manual_seed(0)
    transformers.AutoModel.from_config(config).save_pretrained(str(folder))


def rows(count: int) -> list[dict[str, str]]:
    drawn = random.Random(0)
    known = ["".join(drawn.choices("abcdefgh", k=4)) for _ in range(200)]
    made = []
    for _ in range(count):
        some = drawn.choices(known, k=drawn.randint(WORDS // 2, WORDS))
        made.append({"source": " ".join(some), "target": "yes" if known[0] < some[0] else "no"})
    return made


def built(model: str, train: str) -> Any:
    spec = regard.Spec(
        inputs={"source": {"type": "text"}},
        outputs={"target": {"type": "label"}},
        encoder={"type": "pretrained", "model": model, "train": train},
        decoder={"type": "label", "attention": {"score": "additive"}},
    )
    torch.manual_seed(0)
    return regard.Model.build(spec, rows=rows(ROWS))


def batches(model: Any) -> list[Any]:
    from regard.data import Dataset

    data = Dataset.build(rows(ROWS), list(model.columns.values()))
    return [data.batch(range(start, start + BATCH)) for start in range(0, len(data), BATCH)]


def epoch(model: Any, some: list[Any]) -> Callable[[], float]:
    """A function that trains one epoch and returns its seconds."""
    trained = [one for one in model.network.parameters() if one.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=1e-3)

    def run() -> float:
        model.network.train()
        start = time.perf_counter()
        for batch in some:
            optimizer.zero_grad()
            sum(loss.mean for loss in model.network(batch).values()).backward()
            optimizer.step()
        return time.perf_counter() - start

    return run


class Ready(torch.nn.Module):
    """In place of an encoder: the memory of each batch as it was."""

    def __init__(self, encoder: Any, some: list[Any]) -> None:
        super().__init__()
        self.value_size, self.summary_size = encoder.value_size, encoder.summary_size
        with torch.no_grad():
            self.known = {id(batch["source"]): encoder(batch["source"]) for batch in some}

    def forward(self, collated: Any) -> Any:
        return self.known[id(collated)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", metavar="FOLDER", help="the folder of a pretrained encoder")
    given = parse(parser)
    with tempfile.TemporaryDirectory() as name:
        model = given.model or name
        if given.model is None:
            write_model(Path(name))
        frozen, full = built(model, "frozen"), built(model, "full")
        some = batches(frozen)
        later, trained = epoch(frozen, some), epoch(full, batches(full))
        first = later()
        rest = built(model, "frozen")
        rest.network.encoders["source"] = Ready(frozen.network.encoders["source"], some)
        ready = epoch(rest, some)
        times: dict[str, list[float]] = {"later": [], "rest": [], "full": []}
        for _ in range(ROUNDS):
            for which, run in (("later", later), ("rest", ready), ("full", trained)):
                times[which].append(run())
    found = {"first": first, **{which: median(one) for which, one in times.items()}}
    of_rest, of_trained = found["later"] / found["rest"], found["later"] / found["full"]
    table = Table("epoch", "seconds", "of a later one")
    told = {
        "first": "frozen, the first",
        "later": "frozen, a later one",
        "rest": "without the encoder",
        "full": "train: full",
    }
    for which, words in told.items():
        table.add_row(words, f"{found[which]:.3f}", f"{found[which] / found['later']:.2f}")
    Console().print(table)
    write_json(given.json, {**found, "later / rest": of_rest, "later / full": of_trained})
    return 0 if of_rest <= MOST_OF_REST and of_trained <= MOST_OF_TRAINED else 1


if __name__ == "__main__":
    sys.exit(main())
