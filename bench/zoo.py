"""Train the systems of the zoo on their default data and compare them with their bars.

    python bench/zoo.py                          all of them (make zoo)
    python bench/zoo.py --only g2p reverse       some of them (make zoo ONLY="g2p reverse")
    python bench/zoo.py --seeds 1 2 3            three seeds, each to meet the bar (make zoo SEEDS="1 2 3")

Resumable: a finished run is not trained again, an interrupted one is continued (--fresh starts over). Prints
a table, writes the figures with --json FILE. Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import operator
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from written import parse, write_json

from regard import RegardError, zoo
from regard.fitting.experiment import Experiment
from regard.metrics import metric
from regard.model.loading import read_metrics
from regard.model.saving import versions
from regard.training.checkpoint import STATE

Scores = dict[str, dict[str, dict[str, float]]]
"""{split: {metric: {"value": …, and where known "chance": …}}}"""


@dataclass(frozen=True)
class Trained:
    """A finished run: its scores, and the seconds of its training."""

    scores: Scores
    seconds: float

    def figure(self, wanted: str) -> dict[str, float]:
        """`split.metric`: its value, and where known its chance level."""
        split, _, name = wanted.partition(".")
        return self.scores[split][name]


Found = dict[str, Trained]
"""{system: its run}"""


@dataclass(frozen=True)
class Bar:
    """`split.metric` must be at least `value` (at most, if lower is better). With `behind`, the bar applies
    to the difference from that system; with `by`, to the ratio."""

    figure: str
    value: float
    behind: str = ""
    by: str = ""

    @property
    def other(self) -> str:
        """The system that this one is compared with, or an empty string."""
        return self.behind or self.by

    @property
    def higher_is_better(self) -> bool:
        return metric(self.figure.rpartition(".")[2]).higher_is_better

    @property
    def met_by(self) -> Callable[[float, float], bool]:
        return operator.ge if self.higher_is_better else operator.le

    @property
    def label(self) -> str:
        """The measured quantity, as the table shows it."""
        if self.behind:
            return f"{self.figure} ahead of {self.behind}"
        return f"{self.figure} ÷ that of {self.by}" if self.by else self.figure

    def measured(self, name: str, found: Found) -> float:
        """The value for one system; `found` has the runs of all systems trained with the same seed."""
        value = found[name].figure(self.figure)["value"]
        if not self.other:
            return value
        other = found[self.other].figure(self.figure)["value"]
        return value - other if self.behind else value / other

    def worst(self, values: list[float]) -> float:
        return min(values) if self.higher_is_better else max(values)


BARS: dict[str, list[Bar]] = {
    "copy": [Bar("test.exact", 0.95), Bar("test.aer", 0.10)],
    "reverse": [Bar("test.exact", 0.95), Bar("test.aer", 0.10)],
    "g2p": [Bar("test.per", 0.12)],
    "transliteration": [Bar("test.cer", 0.30)],
    "translation": [
        Bar("test.bleu", 95.0),
        Bar("test.aer", 0.10),
        Bar("long.bleu", 70.0),
        Bar("long.bleu", 10.0, behind="translation-no-attention"),
    ],
    "translation-luong": [Bar("test.bleu", 95.0)],
    "translation-segments-char": [
        Bar("test.bleu", 55.0),
        Bar("test.segment_f1", 0.10, behind="translation-simple-char"),
    ],
    "translation-simple-char": [],
    "translation-sigmoid-char": [],
    "translation-segments-word": [Bar("test.bleu", 35.0)],
    "ntm-copy": [Bar("long.bit_accuracy", 0.999)],
    "ntm-repeat": [Bar("long.bit_accuracy", 0.999)],
    "ntm-recall": [Bar("long.bit_accuracy", 0.999)],
    "lie-access": [Bar("long.bit_accuracy", 0.999)],
    "dnc": [Bar("long.bit_accuracy", 0.999)],
    "summary": [Bar("test.unseen_words", 0.95), Bar("test.copied_right", 0.90)],
    "summary-hierarchical": [Bar("test.unseen_words", 0.95), Bar("test.key_sentence", 0.90)],
    "summary-plain": [Bar("test.rouge1", 70.0)],
    "table-text": [Bar("test.exact", 0.99), Bar("test.aer", 0.05)],
    "headline": [],
    "tagger": [Bar("test.tag_accuracy", 0.97)],
    "tagger-crf": [Bar("test.tag_accuracy", 0.97), Bar("test.tag_accuracy", 0.0, behind="tagger")],
    "parser-crf": [Bar("test.uas", 0.90)],
    "parser-constituents": [Bar("test.bracket_f1", 0.95)],
    "facts": [Bar("test.accuracy", 0.95)],
    "facts-structured": [
        Bar("test.accuracy", 0.95),
        Bar("test.fact_accuracy", 0.90),
        Bar("test.fact_accuracy", 0.0, behind="facts"),
    ],
    "document-class": [
        Bar("test.key_sentence", 0.95),
        Bar("test.key_words", 0.90),
        Bar("test.accuracy", 0.0, behind="document-class-flat"),
        Bar("long.accuracy", 0.05, behind="document-class-flat"),
    ],
    "document-class-states": [
        Bar("test.accuracy", 0.95),
        Bar("long.accuracy", 0.20, behind="document-class-last"),
    ],
    "document-class-last": [Bar("test.accuracy", 0.95)],
    "document-class-hierarchical": [],
    "document-class-flat": [Bar("test.accuracy", 0.80)],
    "sentiment": [Bar("test.accuracy", 0.95)],
    "dialog": [Bar("test.loss", 0.66)],  # 0.642: knows everything but which of twenty films
    "dialog-context": [Bar("test.exact", 0.95), Bar("test.exact", 0.80, behind="dialog")],
    "dialog-memory": [Bar("test.accuracy", 0.95)],
    "dialog-last": [Bar("test.exact", 0.95)],
    "dialog-single": [Bar("test.exact", 0.95)],
    "nli-syntax": [
        Bar("test.accuracy", 0.90),
        Bar("test.accuracy", 0.03, behind="nli-plain"),
        Bar("test.latent_uas", 0.50),
    ],
    "nli-parent": [Bar("test.accuracy", 0.90)],
    "nli-self": [],
    "nli-plain": [],
    "nli-words": [],
    "cloze": [Bar("test.accuracy", 0.95)],
    "entailment-generation": [Bar("test.valid_conclusions", 0.90)],
    "entailment-generation-start": [],
    "entailment-generation-every-step": [],
    "speech": [Bar("test.wer", 0.10)],
    "speech-location": [Bar("test.wer", 0.10), Bar("test.pointing", 0.85)],
    "pointer-hull": [Bar("test.exact", 0.75)],
    "pointer-delaunay": [],
    "pointer-tsp": [],
    "tree-lstm": [Bar("test.accuracy", 0.97), Bar("test.accuracy", 0.15, behind="tree-lstm-chain")],
    "tree-lstm-chain": [],
    "tree-rnn": [Bar("test.accuracy", 0.97)],
    "tree-tensor": [Bar("test.accuracy", 0.97)],
    "parse-as-text": [
        Bar("test.bracket_f1", 0.95),
        Bar("test.bracket_f1", 0.25, behind="parse-as-text-no-attention"),
    ],
    "parse-as-text-no-attention": [],
    "tree-transduction": [Bar("test.before_failure", 0.95)],
    "caption-hard": [Bar("test.exact", 0.90), Bar("test.pointing", 0.85)],
    "formula": [Bar("test.exact", 0.80)],
    "video-class": [Bar("test.accuracy", 0.95)],
    "video-class-attention": [Bar("test.accuracy", 0.95)],
    "video-class-last": [Bar("test.accuracy", 0.95)],
    "video-caption-last": [Bar("test.exact", 0.85)],
    "video-caption": [],
    "video-caption-local": [],
    "video-caption-global": [],
    "video-caption-both": [Bar("test.exact", 0.85)],
    "image-class": [Bar("test.accuracy", 0.95)],
    "image-class-residual": [Bar("test.accuracy", 0.95)],
    "caption": [
        Bar("test.exact", 0.90),
        Bar("test.pointing", 0.85),
        Bar("crowded.exact", 0.50, behind="caption-start"),
        Bar("crowded.exact", 0.50, behind="caption-every-step"),
    ],
    "caption-start": [Bar("test.exact", 0.10)],
    "caption-every-step": [Bar("test.exact", 0.15), Bar("test.exact", 0.0, behind="caption-start")],
    "caption-vgg": [Bar("test.exact", 0.85)],
    "caption-gate": [Bar("test.exact", 0.80)],
    "image-qa-linear": [Bar("test.accuracy", 0.95)],
    "image-qa": [Bar("test.accuracy", 0.90)],
    "image-qa-attention": [Bar("test.answer.accuracy", 0.95)],
    "translation-no-attention": [],
    "translation-every-step": [],
    "add": [Bar("test.exact", 0.99)],
    "execute": [],
    "copy-vector": [],
    "parity": [Bar("long.accuracy", 1.0)],
    "parity-by-hand": [Bar("long.accuracy", 1.0)],
    "sum": [Bar("test.absolute_error", 0.01), Bar("long.absolute_error", 0.01)],
    "sum-by-hand": [Bar("long.absolute_error", 1e-5)],
    "compare": [Bar("test.accuracy", 0.98)],
    "compare-by-hand": [Bar("long.accuracy", 1.0)],
    "lm-word": [Bar("test.perplexity", 0.8, by="lm-window")],
    "lm-window": [Bar("test.perplexity", 1.0, by="lm-memoryless")],
    "lm-memoryless": [],
    "lm-char": [],
}


def train(name: str, folder: Path, *, seed: int | None, fresh: bool, console: Console) -> Trained:
    """A run, trained first if it is not finished; `seed` None is the seed of the spec."""
    run = folder / (name if seed is None else f"{name}-seed-{seed}")
    overrides = [] if seed is None else [f"training.seed={seed}"]
    if not fresh and "scores" in read_metrics(run):
        console.print(f"[dim]{name}: found finished in {run}[/dim]")
    elif not fresh and (run / STATE).exists():
        Experiment.resume(run).train()
    else:
        Experiment.start(name, run=run, overrides=overrides, overwrite=True).train()
    found = read_metrics(run)
    return Trained(found["scores"], found["training"]["seconds"])


def held(names: list[str], found: list[Found]) -> tuple[Table, list[dict[str, Any]]]:
    """A table of the systems and their bars, and its rows; `found` has one entry per seed."""
    several = len(found) > 1
    heads = (
        "system",
        "figure",
        *(("worst", "median") if several else ("reached",)),
        "bar",
        "chance",
        "",
        "seconds",
    )
    table = Table(box=None, header_style="bold", pad_edge=False)
    for head in heads:
        table.add_column(head, justify="left" if head in ("system", "figure", "") else "right")
    rows = []
    for name in names:
        seconds = f"{max(one[name].seconds for one in found):,.0f}"
        for place, bar in enumerate(BARS.get(name, [])):
            values = [bar.measured(name, one) for one in found]
            worst = bar.worst(values)
            chance = None if bar.other else found[0][name].figure(bar.figure).get("chance")
            met = bar.met_by(worst, bar.value)
            row = {"system": name, "figure": bar.label, "value": worst, "bar": bar.value, "met": met}
            rows.append({**row, "chance": chance} | ({"values": values} if several else {}))
            table.add_row(
                name,
                bar.label,
                *(f"{value:.4g}" for value in ([worst, statistics.median(values)] if several else [worst])),
                f"{bar.value:g}",
                "" if chance is None else f"{chance:.4g}",
                "[green]ok[/green]" if met else "[red]MISSED[/red]",
                seconds if place == 0 else "",
            )
        if not BARS.get(name):
            for one in found:
                shown = ", ".join(
                    f"{key} {value['value']:.4g}" for key, value in one[name].scores.get("test", {}).items()
                )
                table.add_row(name, "test", shown, *[""] * (len(heads) - 4), f"{one[name].seconds:,.0f}")
    return table, rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", action="extend", default=[], metavar="NAME", help="these systems"
    )
    parser.add_argument(
        "--seeds",
        nargs="+",
        type=int,
        metavar="SEED",
        help="train each system from each of these seeds instead of that of its spec; every one is to meet the bar, a "
        "comparison with another system for the runs of each seed",
    )
    parser.add_argument("--folder", type=Path, default=Path("runs/zoo"), help="where the runs are kept")
    parser.add_argument("--fresh", action="store_true", help="train again what is finished")
    options = parse(parser)
    console = Console(highlight=False)
    names = [name for part in options.only for name in part.split()] or zoo.names()
    for name in names:
        zoo.text(name)  # raises an error that names the nearest system
    needed = dict.fromkeys(
        [*names, *(bar.other for name in names for bar in BARS.get(name, []) if bar.other)]
    )
    seeds: list[int | None] = [None] if options.seeds is None else [*dict.fromkeys(options.seeds)]
    found: list[Found] = [
        {
            name: train(name, options.folder, seed=seed, fresh=options.fresh, console=console)
            for name in needed
        }
        for seed in seeds
    ]

    table, rows = held(names, found)
    console.print(table)
    by_seed = {
        what: {
            str(seed): {name: getattr(run, what) for name, run in one.items()}
            for seed, one in zip(seeds, found, strict=True)
        }
        for what in ("scores", "seconds")
    }
    written = by_seed if options.seeds is not None else {what: one["None"] for what, one in by_seed.items()}
    write_json(options.json, {"rows": rows, **written, "versions": versions()})
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RegardError as error:
        sys.exit(f"error: {error}")
