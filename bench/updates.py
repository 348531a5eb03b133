"""Updates per second of a text-to-text recipe that attends after its recurrence, beside plain PyTorch.

    python bench/updates.py --data FOLDER                         recipes/cmudict.yaml, the files in FOLDER
    python bench/updates.py --data FOLDER --precision bf16 --before 47

`ours` is an update of `regard train`: a batch, the network, its loss, backward, clipping, Adam, the moving
average. `plain` does the same with the same batches, as written by hand: `torch.nn.LSTM` (cuDNN) over packed
sequences in the encoder and over whole ones in the decoder, additive attention, cross-entropy,
`clip_grad_norm_`, fused Adam and a fused average. The two take turns on the same batches. The first three
turns of each do not count, because new shapes are recorded then.

Exit status 1 if a bar is missed. Ours must make at least as many updates per second as plain. In the last of
the precisions it must also make at least four times N, if `--before N` is given.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from written import parse, write_json

from regard.data import Batches
from regard.data.batch import BEGIN, END, PAD, Batch, Tokens
from regard.fitting.experiment import Experiment
from regard.spec import Spec
from regard.training.ema import MovingAverage
from regard.training.machine import make_accelerator, sent_ahead
from regard.training.objective import Updater
from regard.training.optimizers import make_optimizer

RECIPE = Path(__file__).parent.parent / "recipes" / "cmudict.yaml"
TIMES = 4
"""Least speed-up over `--before`."""


class Plain(nn.Module):
    """The recipe's model in plain torch."""

    def __init__(self, spec: Spec, reads: int, writes: int) -> None:
        super().__init__()
        (encoder,), (decoder,) = spec.encoder.values(), spec.decoder.values()  # type: ignore[union-attr]
        size, self.dropout = decoder.size, nn.Dropout(decoder.dropout)
        self.source, self.target = (
            nn.Embedding(reads, encoder.embedding),
            nn.Embedding(writes, decoder.embedding),
        )
        self.encoder, self.decoder = (
            nn.LSTM(
                part.embedding,
                part.size,
                num_layers=part.layers,
                dropout=part.dropout,
                bidirectional=part is encoder,
                batch_first=True,
            )
            for part in (encoder, decoder)
        )
        self.bridge = nn.Linear(2 * encoder.size, 2 * decoder.layers * size)
        self.query, self.key = (
            nn.Linear(size, size, bias=False),
            nn.Linear(2 * encoder.size, size, bias=False),
        )
        self.vector = nn.Parameter(torch.randn(size) * size**-0.5)
        self.combine, self.output = nn.Linear(size + 2 * encoder.size, size), nn.Linear(size, writes)
        self.smoothing = decoder.label_smoothing

    def forward(self, source: Tokens, target: Tokens) -> Tensor:
        counts = source.lengths if source.counts is None else source.counts  # on the CPU, as torch requires
        packed = pack_padded_sequence(
            self.dropout(self.source(source.ids)), counts, batch_first=True, enforce_sorted=False
        )
        states, (last, _) = self.encoder(packed)
        memory = pad_packed_sequence(states, batch_first=True)[0]
        first = torch.tanh(self.bridge(torch.cat([last[-2], last[-1]], -1)))
        hidden, carry = first.unflatten(-1, (2, self.decoder.num_layers, -1)).permute(1, 2, 0, 3).contiguous()
        begin = target.ids.new_full((len(target.ids), 1), BEGIN)
        said, _ = self.decoder(
            self.dropout(self.target(torch.cat([begin, target.ids], 1))),
            (hidden, carry),
        )
        energies = torch.tanh(self.query(said).unsqueeze(2) + self.key(memory).unsqueeze(1)) @ self.vector
        energies = energies.masked_fill(~source.mask.unsqueeze(1), -torch.inf)
        context = torch.softmax(energies, -1) @ memory
        readout = torch.tanh(self.combine(torch.cat([said, context], -1)))
        words = torch.cat([target.ids, begin * 0], 1).scatter(1, target.lengths[:, None], END)
        return nn.functional.cross_entropy(
            self.output(self.dropout(readout)).flatten(0, 1),
            words.flatten(),
            ignore_index=PAD,
            label_smoothing=self.smoothing,
        )


def plain_update(spec: Spec, names: tuple[str, str], sizes: tuple[int, int]) -> Callable[[Batch], None]:
    options = spec.training
    model = Plain(spec, *sizes).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr, betas=options.optimizer.betas, fused=True)
    averages = [one.detach().clone() for one in model.parameters()]
    narrow = options.precision == "bf16"

    def update(batch: Batch) -> None:
        with torch.autocast("cuda", torch.bfloat16, enabled=narrow):
            loss = model(batch[names[0]], batch[names[1]])
        loss.backward()
        if options.clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), options.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if options.ema is not None:
            torch._foreach_lerp_(averages, [one.detach() for one in model.parameters()], 1 - options.ema)

    return update


def our_update(spec: Spec, network: Any) -> Callable[[Batch], None]:
    options = spec.training
    accelerator = make_accelerator(options.precision, "cuda")
    network.to("cuda").train()
    average = None if options.ema is None else MovingAverage(network, options.ema)
    updater = Updater(
        accelerator, network, make_optimizer(network, options.optimizer, options.lr), options.clip, average
    )
    taken = 0

    def update(batch: Batch) -> None:
        nonlocal taken
        taken += 1
        updater([batch], options.lr, taken)

    return update


def passing(batches: Batches) -> Iterator[Batch]:
    """Epoch after epoch, each batch sent to the device ahead of time."""
    epoch = 0
    while True:
        yield from sent_ahead(batches.epoch(epoch), torch.device("cuda"))
        epoch += 1


def timed(update: Callable[[Batch], None], batches: Iterator[Batch], count: int) -> float:
    """Updates per second."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        update(next(batches))
    torch.cuda.synchronize()
    return count / (time.perf_counter() - start)


def measured(spec: Spec, folder: Path, options: argparse.Namespace) -> dict[str, float]:
    torch.set_float32_matmul_precision("highest" if spec.training.precision == "fp32" else "high")
    experiment = Experiment(spec, folder, device="cuda", quiet=True)
    (source,), (target,) = spec.inputs, spec.outputs
    training = spec.training
    batches = Batches(
        experiment.dataset("train"), rows=training.batch_rows, seed=training.seed, window=training.bucket
    )
    columns: Any = experiment.columns
    sizes = columns[source].size, columns[target].size
    updates = {
        "ours": our_update(spec, experiment.model.network),
        "plain": plain_update(spec, (source, target), sizes),
    }
    found: dict[str, list[float]] = {name: [] for name in updates}
    streams = {name: passing(batches) for name in updates}
    for turn in range(options.warm + options.turns):
        for name, update in updates.items():
            speed = timed(update, streams[name], options.updates)
            if turn >= options.warm:
                found[name].append(speed)
    experiment.close()
    return {name: statistics.median(speeds) for name, speeds in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--recipe", type=Path, default=RECIPE)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the recipe's files")
    parser.add_argument("--precision", nargs="+", default=["tf32", "bf16"], choices=("fp32", "tf32", "bf16"))
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="change the recipe")
    parser.add_argument("--updates", type=int, default=426, help="in a turn; 426 are two epochs of CMUdict")
    parser.add_argument("--warm", type=int, default=3, help="turns that do not count")
    parser.add_argument("--turns", type=int, default=3, help="turns that count")
    parser.add_argument("--before", type=float, help="updates a second of other code on this machine")
    options = parse(parser)
    if not torch.cuda.is_available():
        print("this bench needs a GPU that speaks CUDA", file=sys.stderr)
        return 2
    files = Spec.load(options.recipe).data
    places = [f"data.{split}={options.data / getattr(files, split)[0]}" for split in ("train", "dev", "test")]
    table = Table(title=f"{options.recipe.name} {' '.join(options.set)}, {torch.cuda.get_device_name()}")
    for head in ("precision", "ours, updates/s", "plain", "ratio", "times before", ""):
        table.add_column(head, justify="left" if head in ("precision", "") else "right")
    rows, met = [], True
    for precision in options.precision:
        spec = Spec.load(options.recipe).changed(*places, f"training.precision={precision}", *options.set)
        with tempfile.TemporaryDirectory() as folder:
            found = measured(spec, Path(folder) / "run", options)
        ratio = found["ours"] / found["plain"]
        times = found["ours"] / options.before if options.before else None
        good = ratio >= 1 and (times is None or precision != options.precision[-1] or times >= TIMES)
        met = met and good
        rows.append({"precision": precision, **found, "ratio": ratio, "times": times, "met": good})
        table.add_row(
            precision, f"{found['ours']:.0f}", f"{found['plain']:.0f}", f"{ratio:.2f}",
            "" if times is None else f"{times:.2f}", "met" if good else "missed",
        )  # fmt: skip
    Console().print(table)
    write_json(options.json, rows)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
