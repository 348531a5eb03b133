"""Attention against human word alignments: alignment error rates on two hand-aligned test sets.

    python bench/alignments.py DATA                        Hansards en-fr and KFTT ja-en: the diagonal, IBM-1 and an HMM
    python bench/alignments.py DATA --only enfr --pairs 20000
    python bench/alignments.py DATA --only enfr --write pairs.tsv          the pairs that the aligners learn from
    regard train recipes/hansards.yaml --set data.train=pairs.tsv -o runs/forth
    python bench/alignments.py DATA --only enfr --run runs/forth           also the attention of that model
    python bench/alignments.py DATA --only enfr --run runs/forth --back runs/back
    python bench/alignments.py DATA --json alignments.json

DATA is a folder with `gold_alignments/examples`, `tatoeba`, `multi30k` and `small_parallel_enja`. AER is Och
and Ney's (2003), with sure and possible links; lower is better. The aligners are unsupervised. As is usual,
they are trained by EM on other pairs and on the gold sentences themselves, without the gold links. `--write`
writes all of these pairs. With `--links` it also writes the HMM's links of each pair, both directions
symmetrized: `alignment` from source to target, `turned` from target to source.

**Domain shift.** No training data comes from the domain of the gold: en-fr uses Tatoeba and image
descriptions of Multi30k instead of Canadian parliament, ja-en the Tanaka corpus instead of Wikipedia on
Kyoto. Published figures are far lower: they are of aligners trained on 1.1 million Hansard pairs or 330,000
pairs of KFTT.

Exit status 1 if a bar is missed, symmetrized: on both test sets both aligners must have a lower AER than the
diagonal, and on the Hansards the HMM a lower one than IBM-1. There is no such bar for KFTT, where the HMM is
not better: the jumps it learns from short sentences do not carry over.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
import time
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aligners import HMM, IBM1, Corpus, Links, Pair, diagonal, symmetrized
from rich.console import Console
from rich.table import Table
from written import parse, write_json, writing

import regard
from regard import RegardError
from regard.metrics.alignment import alignment_error_rate, hard_links
from regard.storage.files import write_text

ELISIONS = {
    "l": "le",
    "d": "de",
    "j": "je",
    "n": "ne",
    "s": "se",
    "c": "ce",
    "m": "me",
    "t": "te",
    "qu": "que",
}
"""Written out as in the gold of the Hansards: de épine for d'épine."""
SEED = 0


@dataclass
class Gold:
    """Sentence pairs with human links, positions from 0.

    sure, possible   the sure links; all acceptable links, which include the sure ones
    """

    pairs: list[Pair]
    sure: list[Links]
    possible: list[Links]


def read_gold(texts: Path, links: Path) -> Gold:
    """Read two files: `source ||| target`, and links `1-2 3p4` (from 1; - is sure, p is possible)."""
    said, linked = _lines(texts), _lines(links)
    if len(said) != len(linked):
        raise RegardError(
            f"{len(said)} pairs and {len(linked)} lines of links.",
            where=str(links),
            fix=f"Each line of links belongs to the line of {texts.name} with the same number.",
        )
    gold = Gold([], [], [])
    for number, (text, line) in enumerate(zip(said, linked, strict=True), 1):
        parts = text.split("|||")
        if len(parts) != 2 or not all(part.split() for part in parts):
            raise RegardError(
                f"expected two texts with ||| between them, received {text[:60]!r}.",
                where=f"{texts}:{number}",
                fix="Write `source words ||| target words`.",
            )
        # Split at blanks only: an ideographic space is a word of the gold.
        source, target = ([word for word in part.split(" ") if word] for part in parts)
        sure, possible = _links(line, f"{links}:{number}", len(source), len(target))
        gold.pairs.append((source, target))
        gold.sure.append(sure)
        gold.possible.append(possible)
    if not gold.pairs:
        raise RegardError("the file is empty.", where=str(texts), fix="Name the gold's `.src-tgt` file.")
    return gold


def _links(line: str, where: str, source: int, target: int) -> tuple[Links, Links]:
    found: dict[str, Links] = {"-": set(), "p": set()}
    for piece in line.split():
        match = re.fullmatch(r"(\d+)([-p])(\d+)", piece)
        if match is None:
            raise RegardError(
                f"expected links such as 1-2 or 3p4, received {piece!r}.",
                where=where,
                fix="Write a source position, - or p, and a target position, from 1.",
            )
        s, t = int(match[1]), int(match[3])
        if not (1 <= s <= source and 1 <= t <= target):
            raise RegardError(
                f"the link {piece} leaves the sentences, of {source} and {target} words.",
                where=where,
                fix="Positions are from 1; check that links and texts are of one release.",
            )
        found[match[2]].add((s - 1, t - 1))
    return found["-"], found["p"] | found["-"]


def _lines(path: Path) -> list[str]:
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")
        return text.removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise RegardError("the file is no UTF-8.", where=str(path), fix="Convert it with iconv.") from error
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise RegardError(
            f"{reason}.", where=str(path), fix="Name the folder of the data as the first argument."
        ) from error


def words(text: str, language: str) -> list[str]:
    """Words and punctuation in lower case, with French elisions written out."""
    if language == "ja":
        return text.lower().split()
    found = re.findall(r"\w+['’]|\w+|[^\w\s]", text.lower())
    if language == "fr":
        return [ELISIONS.get(one[:-1], one) if one[-1] in "'’" and len(one) > 1 else one for one in found]
    return [
        piece for one in found for piece in ([one[:-1], "'"] if one[-1] in "'’" and len(one) > 1 else [one])
    ]


def tatoeba(data: Path) -> Iterator[Pair]:
    path = data / "tatoeba" / "fra-eng.zip"
    try:
        with zipfile.ZipFile(path) as archive:
            text = archive.read("fra.txt").decode("utf-8")
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise RegardError(
            f"cannot be read: {error}.", where=str(path), fix="Name the folder of the data."
        ) from error
    for line in text.splitlines():
        english, french = line.split("\t")[:2]
        yield words(english, "en"), words(french, "fr")


def multi30k(data: Path) -> Iterator[Pair]:
    folder = data / "multi30k"
    for english, french in zip(_lines(folder / "train.en.gz"), _lines(folder / "train.fr.gz"), strict=True):
        yield words(english, "en"), words(french, "fr")


def tanaka(data: Path) -> Iterator[Pair]:
    folder = data / "small_parallel_enja"
    for japanese, english in zip(_lines(folder / "train.ja.gz"), _lines(folder / "train.en.gz"), strict=True):
        yield words(japanese, "ja"), words(english, "en")


GOLDS = {
    "enfr": ("Hansards en-fr", (tatoeba, multi30k), "Tatoeba and Multi30k"),
    "jaen": ("KFTT ja-en", (tanaka,), "Tanaka corpus"),
}
"""{gold: (title, readers of the training pairs, name of the training pairs)}"""


def sampled(pairs: Iterable[Pair], count: int, longest: int) -> list[Pair]:
    """`count` evenly spaced pairs, none with a side longer than `longest`."""
    kept = [pair for pair in pairs if all(0 < len(side) <= longest for side in pair)]
    step = max(1.0, len(kept) / count)
    return [kept[int(place * step)] for place in range(min(count, len(kept)))]


def to_learn(name: str, data: Path, count: int) -> list[Pair]:
    """The training pairs, without those of the gold."""
    _, sources, _ = GOLDS[name]
    return [pair for source in sources for pair in sampled(source(data), count // len(sources), 25)]


def flipped(links: Iterable[Links]) -> list[Links]:
    return [{(t, s) for s, t in one} for one in links]


def gold_of(name: str, data: Path) -> Gold:
    folder = data / "gold_alignments" / "examples"
    return read_gold(folder / f"{name}.src-tgt", folder / f"{name}.gold")


def lowered(gold: Gold) -> list[Pair]:
    return [([w.lower() for w in source], [w.lower() for w in target]) for source, target in gold.pairs]


def as_text(words: Sequence[str]) -> str:
    """The words joined by blanks; a word that is itself whitespace (an ideographic space) is written ␣."""
    return " ".join(word if word.split() == [word] else "␣" for word in words)


@dataclass
class Aligned:
    """The links of an aligner trained in each direction, both as (source, target), and its CPU seconds."""

    forth: list[Links]
    back: list[Links]
    seconds: float


def aligned(pairs: Sequence[Pair], passes: int) -> dict[str, Aligned]:
    """IBM-1 and an HMM, trained on the pairs in both directions."""
    said: dict[str, list[list[Links]]] = {"IBM-1": [], "HMM": []}
    spent = dict.fromkeys(said, 0.0)
    for turned in (False, True):
        corpus = Corpus.of([(b, a) if turned else (a, b) for a, b in pairs])
        began = time.process_time()
        first = IBM1(corpus, passes)
        spent["IBM-1"] += time.process_time() - began
        second = HMM(first, passes)
        spent["HMM"] += time.process_time() - began
        for aligner, model in (("IBM-1", first), ("HMM", second)):
            every = model.links()
            links = [every.get(place, set()) for place in range(len(pairs))]
            said[aligner].append(flipped(links) if turned else links)
    return {aligner: Aligned(*both, spent[aligner]) for aligner, both in said.items()}


def measured(
    name: str, data: Path, count: int, passes: int, run: Path | None, back: Path | None
) -> list[dict[str, object]]:
    """One row per aligner: AER from source to target, from target to source, and symmetrized."""
    title, _, learned_from = GOLDS[name]
    gold = gold_of(name, data)
    texts = lowered(gold)
    others = to_learn(name, data, count)

    def row(
        aligner: str, forth: list[Links] | None, back: list[Links] | None, seconds: float, note: str = ""
    ) -> dict[str, object]:
        rates: dict[str, object] = {
            "gold": title,
            "aligner": aligner,
            "seconds": round(seconds, 1),
            "note": note,
        }
        ways = {"forth": forth, "back": back}
        if forth is not None and back is not None:
            ways["both"] = [symmetrized(a, b) for a, b in zip(forth, back, strict=True)]
        for way, links in ways.items():
            if links is not None:
                rates[way] = round(alignment_error_rate(links, gold.sure, gold.possible).value, 4)
        return rates

    straight = [diagonal(len(source), len(target)) for source, target in texts]
    other = flipped(diagonal(len(target), len(source)) for source, target in texts)
    found = [row("diagonal", straight, other, 0.0)]
    note = f"EM on {len(others):,} pairs of {learned_from} and the {len(texts)} of the gold"
    for aligner, one in aligned(texts + others, passes).items():
        found.append(row(aligner, one.forth[: len(texts)], one.back[: len(texts)], one.seconds, note))
    if run is not None or back is not None:
        began = time.process_time()
        ways = [
            None if model is None else attended(model, gold, reverse)
            for model, reverse in ((run, False), (back, True))
        ]
        named = " and ".join(str(model) for model in (run, back) if model is not None)
        found.append(row(f"attention of {named}", ways[0], ways[1], time.process_time() - began))
    return found


def write_pairs(path: Path, name: str, data: Path, count: int, passes: int, links: bool) -> None:
    """Write the training pairs, the gold sentences included; with `links` also the HMM's links."""
    pairs = lowered(gold_of(name, data)) + to_learn(name, data, count)
    fields = ["source", "target"]
    lines = ["\t".join(as_text(side) for side in pair) for pair in pairs]
    if links:
        fields += ["alignment", "turned"]
        hmm = aligned(pairs, passes)["HMM"]
        both = [symmetrized(a, b) for a, b in zip(hmm.forth, hmm.back, strict=True)]
        lines = [
            f"{line}\t{_written(one)}\t{_written({(t, s) for s, t in one})}"
            for line, one in zip(lines, both, strict=True)
        ]
    write_text(path, "\n".join(["\t".join(fields), *lines]) + "\n")


def _written(links: Links) -> str:
    return " ".join(f"{s}-{t}" for s, t in sorted(links))


def attended(run: Path, gold: Gold, reverse: bool) -> list[Links]:
    """The most attended source word of each target word while a trained model scores the gold targets."""
    model = regard.load(run)
    pairs = [(target, source) if reverse else (source, target) for source, target in gold.pairs]
    found: list[Links] = []
    for source, target in pairs:
        answer = model.score(as_text(source).lower(), as_text(target).lower())
        looks = None if answer.trace is None else next(iter(answer.trace.attention.values()), None)
        if looks is None:
            raise RegardError(
                "this model has no attention to show.", where=str(run), fix="Name a run with attention."
            )
        table = looks[: len(target), : len(source)]
        if table.shape != (len(target), len(source)):
            raise RegardError(
                f"the model reads {looks.shape[1]} and writes {looks.shape[0]} pieces where the gold has "
                f"{len(source)} and {len(target)} words.",
                where=str(run),
                fix="Train with `unit: word` on both sides, so that its positions are the words of the gold.",
            )
        found.append(hard_links(table))
    return flipped(found) if reverse else found


BARS = {
    "Hansards en-fr": (("IBM-1", "diagonal"), ("HMM", "diagonal"), ("HMM", "IBM-1")),
    "KFTT ja-en": (("IBM-1", "diagonal"), ("HMM", "diagonal")),
}
"""{gold: pairs of aligners; the first must have a lower AER than the second}"""


def missed(rows: Sequence[dict[str, object]]) -> list[str]:
    """The bars that are missed."""
    found = []
    for gold in dict.fromkeys(str(row["gold"]) for row in rows):
        rates = {
            str(row["aligner"]): float(str(row["both"]))
            for row in rows
            if row["gold"] == gold and "both" in row
        }
        for better, worse in BARS[gold]:
            if rates[better] >= rates[worse]:
                found.append(f"{gold}: {better} {rates[better]:.3f} is not below {worse} {rates[worse]:.3f}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="the folder of the data")
    parser.add_argument("--only", choices=list(GOLDS), help="one gold")
    parser.add_argument(
        "--pairs", type=int, default=40000, help="pairs to learn from beside the gold's (default 40000)"
    )
    parser.add_argument("--passes", type=int, default=5, help="of EM, for each aligner (default 5)")
    parser.add_argument(
        "--run", type=Path, help="a trained model whose attention is measured too; with --only"
    )
    parser.add_argument(
        "--back", type=Path, metavar="RUN", help="one that reads the gold's target and writes its source"
    )
    parser.add_argument(
        "--write", type=Path, metavar="FILE.tsv", help="write the pairs to learn from and stop; with --only"
    )
    parser.add_argument(
        "--scores",
        type=Path,
        metavar="FILE.json",
        help="write the error rate of --run as a score of test, for bench/evidence.py",
    )
    parser.add_argument("--links", action="store_true", help="with --write: and what the HMM says of them")
    given = parse(parser, "write", "scores")
    if given.only is None and any(one is not None for one in (given.run, given.back, given.write)):
        parser.error("--run, --back and --write need --only: a model has one pair of languages")
    if given.links and given.write is None:
        parser.error("--links needs --write: it is what is written beside the pairs")
    rows: list[dict[str, object]] = []
    try:
        if given.write is not None:
            with writing([given.write]):
                write_pairs(given.write, given.only, given.data, given.pairs, given.passes, given.links)
            return 0
        for name in [given.only] if given.only else GOLDS:
            rows += measured(name, given.data, given.pairs, given.passes, given.run, given.back)
        write_json(given.json, rows)
        if given.run is not None:
            rate = {"value": rows[-1]["forth"], "n": len(gold_of(given.only, given.data).pairs)}
            write_json(given.scores, {"test": {"aer": rate}})
    except RegardError as error:
        print(error, file=sys.stderr)
        return 2
    table = Table("gold", "aligner", "AER forth", "back", "symmetrized", "CPU s", "learned from")
    for row in rows:
        rates = [f"{row[way]:.3f}" if way in row else "" for way in ("forth", "back", "both")]
        table.add_row(str(row["gold"]), str(row["aligner"]), *rates, str(row["seconds"]), str(row["note"]))
    Console().print(table)
    failed = missed(rows)
    for line in failed:
        print("missed:", line, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
