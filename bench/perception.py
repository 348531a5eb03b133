"""Does the loader keep up? Images from files, decoded in two threads, against training steps of a ResNet.

    python bench/perception.py                 JPEG of 112 × 112 and PNG of 64 × 64, generated
    python bench/perception.py --json perception.json

The loader alone reads, decodes and collates every image once, without caching. The training step is forward,
backward and update of `encoder: {type: image, network: resnet}` with a label decoder, on batches that are
already in memory. Both use two threads. The best of several rounds counts, for both. Exit status 1 if the
loader delivers less than three times as many images per second as training consumes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from rich.console import Console
from rich.table import Table
from written import parse, write_json

from regard.data import Batches, Dataset
from regard.data.sources import open_splits
from regard.model import Model
from regard.model.building import fit_columns, make_columns
from regard.model.saving import versions
from regard.spec import Spec
from regard.training.machine import make_accelerator
from regard.training.objective import Updater
from regard.training.optimizers import make_optimizer

BAR = 3.0
KINDS = {"jpg": 112, "png": 64}
CLASSES = ("circle", "square", "triangle", "star")
ROWS = 64


@dataclass(frozen=True)
class Measured:
    """Images per second.

    loader     read, decoded, collated
    training   trained on, from batches in memory
    fed        trained on, while the loader prepares the batches
    """

    kind: str
    size: int
    loader: float
    training: float
    fed: float

    @property
    def ratio(self) -> float:
        return self.loader / self.training


def make_files(folder: Path, kind: str, size: int, count: int) -> None:
    """Write images of soft colors with some grain; the files are about as large as photographs."""
    generator = np.random.default_rng(0)
    for number in range(count):
        coarse = Image.fromarray(generator.integers(0, 256, (size // 14, size // 14, 3), dtype=np.uint8))
        soft = np.asarray(coarse.resize((size, size), Image.Resampling.BICUBIC)).astype(int)
        grain = generator.integers(-8, 9, (size, size, 1))
        place = folder / CLASSES[number % len(CLASSES)] / f"{number}.{kind}"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.clip(soft + grain, 0, 255).astype(np.uint8)).save(place)


def spec_of(folder: Path, size: int) -> Spec:
    return Spec.parse(
        {
            "inputs": {"image": {"type": "image", "size": size}},
            "outputs": {"label": {"type": "label"}},
            "encoder": {"type": "image", "network": "resnet"},
            "decoder": {"type": "label"},
            "data": {"train": str(folder), "dev": str(folder), "format": "folder"},
            "training": {"batch_rows": ROWS},
        }
    )


def measure(folder: Path, kind: str, size: int, threads: int, rounds: int, steps: int) -> Measured:
    spec = spec_of(folder, size)
    rows, columns = open_splits(spec)["train"], make_columns(spec)
    fit_columns(columns, spec, lambda: rows)
    torch.manual_seed(spec.training.seed)
    network = Model.build(spec, columns).network.train()
    update = Updater(
        make_accelerator("fp32", "cpu"),
        network,
        make_optimizer(network, spec.training.optimizer, spec.training.lr),
        spec.training.clip,
    )
    built = Dataset.build(rows, columns.values())

    def batches() -> Batches:
        """Batches of a dataset with an empty image cache."""
        return Batches(built.subset(range(len(built))), rows=ROWS, vary=True, workers=threads)

    ready = list(batches().epoch(0))[:steps]
    update([ready[0]], spec.training.lr)  # warm-up
    loader, training, fed = 0.0, 0.0, 0.0
    for number in range(rounds):
        loader = max(loader, rate(batches().epoch(number)))
        training = max(training, rate(ready, update, spec.training.lr))
        fed = max(fed, rate(batches().epoch(number), update, spec.training.lr))
    return Measured(kind, size, loader, training, fed)


def rate(batches: object, update: Updater | None = None, lr: float = 0.0) -> float:
    """Examples per second of wall time."""
    start, count = time.perf_counter(), 0
    for batch in batches:  # type: ignore[attr-defined]
        if update is not None:
            update([batch], lr)
        count += len(batch)
    return count / (time.perf_counter() - start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2, help="of the loader, and of the arithmetic")
    parser.add_argument("--pictures", type=int, default=1024, help="of each kind")
    parser.add_argument("--steps", type=int, default=16, help="of training, in a round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parse(parser)
    torch.set_num_threads(options.threads)
    found = []
    for kind, size in KINDS.items():
        with tempfile.TemporaryDirectory() as folder:
            make_files(Path(folder), kind, size, options.pictures)
            found.append(measure(Path(folder), kind, size, options.threads, options.rounds, options.steps))
    table = Table(box=None, title="pictures a second", title_justify="left", header_style="bold")
    for name in (
        "files",
        "size",
        "loader alone",
        "training alone",
        "ratio",
        "bar",
        "training fed by the loader",
    ):
        table.add_column(name, justify="right")
    for one in found:
        table.add_row(
            one.kind,
            f"{one.size} × {one.size}",
            f"{one.loader:,.0f}",
            f"{one.training:,.0f}",
            f"{one.ratio:.1f}",
            f"{BAR:.0f}",
            f"{one.fed:,.0f}",
        )
    Console().print(table)
    figures = [asdict(one) | {"ratio": one.ratio} for one in found]
    write_json(options.json, {"found": figures, "bar": BAR, "versions": versions()})
    return 0 if all(one.ratio >= BAR for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
