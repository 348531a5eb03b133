"""Documents without padding: the share of padding in a batch, and the speed-up over padded documents.

    python bench/documents.py                              random words, in documents as long as film reviews
    python bench/documents.py --data local/data/imdb       real reviews (train, val and test.tsv.xz)
    python bench/documents.py --data … --linear            also a linear model of n-grams (scikit-learn)
    python bench/documents.py --device cuda --json documents.json

Padding is the share of unused positions, of words in sentences and of sentences in documents together. The
rival is the straightforward implementation: it pads every document of a batch to the largest number of
sentences and the longest sentence, and torch's own GRU reads all of it. Sizes, attention, batches, loss and
optimizer are the same. The best of several rounds counts, for both. Exit status 1 if more than 15 % is
padding, or if the rival takes less than twice as long.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from written import parse, write_json

from regard.data import Batches, Dataset, DocumentColumn, Row, Sentences, read_rows
from regard.data.columns import LabelColumn
from regard.model.saving import versions
from regard.nn.attention import Attention
from regard.nn.decoders import LabelDecoder
from regard.nn.encoders.hierarchical import HierarchicalEncoder, LevelOptions, WordsOptions

MOST_PADDING = 0.15
FASTER = 2.0
FIELDS = ["label", "stars", "id", "text"]
EMBEDDING, SIZE = 100, 50
ROWS = 64


@dataclass(frozen=True)
class Figures:
    """padding: share of unused positions; seconds: time of a training step."""

    device: str
    documents: int
    padding: float
    padding_of_words: float
    padding_of_sentences: float
    padding_of_rival: float
    seconds: float
    seconds_of_rival: float

    @property
    def ratio(self) -> float:
        return self.seconds_of_rival / self.seconds


class PaddedDocuments(nn.Module):
    """A straightforward Hierarchical Attention Network: ids (B, S, L), padded in both dimensions."""

    def __init__(self, vocabulary: int, classes: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, EMBEDDING, padding_idx=0)
        self.words = nn.GRU(EMBEDDING, SIZE, bidirectional=True, batch_first=True)
        self.sentences = nn.GRU(2 * SIZE, SIZE, bidirectional=True, batch_first=True)
        self.looks = nn.ModuleList(nn.Linear(2 * SIZE, 2 * SIZE) for _ in range(2))
        self.queries = nn.Parameter(torch.randn(2, 2 * SIZE) * 0.1)
        self.output = nn.Linear(2 * SIZE, classes)

    def attend(self, level: int, states: Tensor, mask: Tensor) -> Tensor:
        scores = torch.tanh(self.looks[level](states)) @ self.queries[level]
        weights = torch.softmax(scores.masked_fill(~mask, -1e9), -1)
        return (weights.unsqueeze(1) @ states).squeeze(1)

    def forward(self, ids: Tensor) -> Tensor:
        documents, count, longest = ids.shape
        words = ids != 0
        states, _ = self.words(self.embedding(ids.view(-1, longest)))
        sentences = self.attend(0, states, words.view(-1, longest)).view(documents, count, -1)
        states, _ = self.sentences(sentences)
        return self.output(self.attend(1, states, words.any(-1)))


class RaggedDocuments(nn.Module):
    """Our network, with the same sizes."""

    def __init__(self, column: DocumentColumn, classes: int) -> None:
        super().__init__()
        look = Attention.Options(score={"type": "additive", "size": 2 * SIZE})
        options = HierarchicalEncoder.Options(
            words=WordsOptions(embedding=EMBEDDING, size=SIZE),
            sentences=LevelOptions(size=SIZE),
            attention=look,
        )
        self.encoder = HierarchicalEncoder.build(options, column)
        attention = Attention.build(look, 2 * SIZE, self.encoder)
        self.decoder = LabelDecoder(classes, {"text": self.encoder}, attention={"text": attention})

    def forward(self, documents: Sentences) -> Tensor:
        logits, _ = self.decoder({"text": self.encoder(documents)})
        return logits


def padded(documents: Sentences) -> Tensor:
    """The same documents as ids (B, S, L)."""
    longest = max(bucket.ids.shape[1] for bucket in documents.buckets)
    rows = torch.cat(
        [nn.functional.pad(one.ids, (0, longest - one.ids.shape[1])) for one in documents.buckets]
    )
    table = rows.new_zeros(*documents.mask.shape, longest)
    table[documents.mask] = rows[documents.places]
    return table


def made_up(count: int) -> list[Row]:
    """Random documents with about as many sentences, and words per sentence, as film reviews have."""
    generator = np.random.default_rng(0)
    words = [f"w{number}" for number in range(5000)]
    rows = []
    for number in range(count):
        sentences = max(1, int(generator.gamma(2.0, 6.5)))
        lengths = np.clip(generator.gamma(2.2, 9.5, sentences), 1, 100).astype(int)
        text = "\n".join(" ".join(generator.choice(words, length)) for length in lengths)
        rows.append(Row({"label": ("neg", "pos")[number % 2], "text": text}))
    return rows


def dataset_of(rows: Sequence[Row], *, lines: bool) -> Dataset:
    options: dict[str, Any] = (
        {"by": "lines"} if lines else {"case": "lower", "split": "punctuation", "min_count": 3}
    )
    text, label = DocumentColumn("text", max_length=60, **options), LabelColumn("label")
    text.learn(row["text"] for row in rows)
    label.learn(row["label"] for row in rows)
    return Dataset.build(rows, [text, label])


def padding(batches: Sequence[Any]) -> tuple[float, float, float, float]:
    """Shares of padding: of all positions, of words, of sentences, and of words in the rival's batches."""
    words = places = sentences = slots = rival = 0
    for batch in batches:
        documents: Sentences = batch["text"]
        words += int(documents.words.sum())
        places += sum(bucket.ids.numel() for bucket in documents.buckets)
        sentences += int(documents.lengths.sum())
        slots += documents.mask.numel()
        rival += documents.mask.numel() * max(bucket.ids.shape[1] for bucket in documents.buckets)
    whole = 1 - (words + sentences) / (places + slots)
    return whole, 1 - words / places, 1 - sentences / slots, 1 - words / rival


def seconds(step: Callable[[Any], None], batches: Sequence[Any], rounds: int, device: str) -> float:
    """Seconds per step in the best round; the first round is a warm-up."""
    best = float("inf")
    for number in range(rounds + 1):
        begin = time.perf_counter()
        for batch in batches:
            step(batch)
        if device != "cpu":
            torch.cuda.synchronize()
        if number:
            best = min(best, time.perf_counter() - begin)
    return best / len(batches)


def training_step(network: nn.Module) -> Callable[[Any], None]:
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)

    def step(batch: tuple[Any, Tensor]) -> None:
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(network(batch[0]), batch[1]).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()

    return step


def measure(dataset: Dataset, device: str, steps: int, rounds: int) -> Figures:
    batches = Batches(dataset, rows=ROWS, seed=1)
    shares = padding(list(batches.epoch(0)))
    column: Any = dataset.columns["text"]
    classes = dataset.columns["label"].size  # type: ignore[attr-defined]
    torch.manual_seed(1)
    ours, rival = (
        RaggedDocuments(column, classes).to(device),
        PaddedDocuments(column.size, classes).to(device),
    )
    some = [batch for batch, _ in zip(batches.epoch(0), range(steps), strict=False)]
    labels = [batch["label"].to(device) for batch in some]
    ragged = [(batch["text"].to(device), label) for batch, label in zip(some, labels, strict=True)]
    full = [(padded(batch["text"]).to(device), label) for batch, label in zip(some, labels, strict=True)]
    mine = seconds(training_step(ours), ragged, rounds, device)
    theirs = seconds(training_step(rival), full, rounds, device)
    return Figures(device, len(dataset), *shares, mine, theirs)


def linear(folder: Path) -> dict[str, float]:
    """Test accuracy of a logistic regression on unigrams and bigrams, its regularization chosen on dev."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        sys.exit(
            "error: the linear model needs scikit-learn.\n       Install it:  pip install 'regard[bench]'"
        )

    def read(split: str, target: str) -> tuple[list[str], list[str]]:
        rows = list(read_rows(folder / f"{split}.tsv.xz", fields=FIELDS, format="tsv"))
        return [row["text"].replace("<br />", " ") for row in rows], [row[target] for row in rows]

    found = {}
    for target in ("label", "stars"):
        texts, labels = read("train", target)
        vectors = TfidfVectorizer(
            ngram_range=(1, 2), min_df=2, sublinear_tf=True, token_pattern=r"(?u)\b\w+\b|[!?]"
        )
        train = vectors.fit_transform(texts)
        parts = {}
        for split in ("val", "test"):
            held, truth = read(split, target)
            parts[split] = vectors.transform(held), truth
        best = max(
            (
                LogisticRegression(C=strength, max_iter=1000).fit(train, labels)
                for strength in (1.0, 4.0, 16.0, 64.0)
            ),
            key=lambda model: model.score(*parts["val"]),
        )
        found[target] = float(best.score(*parts["test"]))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the folder of train.tsv.xz; default: made-up documents")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--documents", type=int, default=2000, help="how many are read")
    parser.add_argument("--steps", type=int, default=8, help="batches of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--linear", action="store_true", help="also the linear model of n-grams (scikit-learn)"
    )
    given = parse(parser)
    if given.data is None:
        rows = made_up(given.documents)
    else:
        read = iter(read_rows(given.data / "train.tsv.xz", fields=FIELDS, format="tsv"))
        rows = [row for row, _ in zip(read, range(given.documents), strict=False)]
    found = measure(dataset_of(rows, lines=given.data is None), given.device, given.steps, given.rounds)
    table = Table("", "hierarchical", "padded", "bar", title=f"{found.documents:,} documents, {found.device}")
    table.add_row("padding", f"{found.padding:.1%}", f"{found.padding_of_rival:.1%}", f"≤ {MOST_PADDING:.0%}")
    table.add_row("  of words", f"{found.padding_of_words:.1%}", "", "")
    table.add_row("  of sentences", f"{found.padding_of_sentences:.1%}", "", "")
    table.add_row("ms a step", f"{1000 * found.seconds:.1f}", f"{1000 * found.seconds_of_rival:.1f}", "")
    table.add_row("times as fast", f"{found.ratio:.2f}", "1", f"≥ {FASTER:g}")
    console = Console()
    console.print(table)
    scores = linear(given.data) if given.linear and given.data is not None else {}
    for target, score in scores.items():
        console.print(f"linear model of 1- and 2-grams: test accuracy of {target} {score:.3f}")
    content = {**asdict(found), "ratio": found.ratio, "linear": scores, "versions": versions()}
    write_json(given.json, content)
    return int(found.padding > MOST_PADDING or found.ratio < FASTER)


if __name__ == "__main__":
    sys.exit(main())
