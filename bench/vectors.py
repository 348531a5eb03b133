"""What pretrained word vectors add where rows are few: SICK, titles of AG News, and SST, with and without them.

    python bench/vectors.py local/data                              vectors made of WikiText-2 (PMI and SVD)
    python bench/vectors.py local/data --vectors glove.6B.100d.txt  these vectors as well, or a folder of model2vec
    python bench/vectors.py local/data --corpora imdb --tasks sst   vectors made of film reviews, without labels
    python bench/vectors.py local/data --corpora captions --tasks sick      made of descriptions of pictures

The vectors have the format of GloVe: log p(a, b) / p(a) p(b) of words within five of each other, negative values left
out, and its first 100 singular vectors times the roots of their values. Tasks, rows, seeds and decoders are those of
`few_rows.py`. Random vectors and each kind of given ones, trained, fixed, and fixed with the words of the file that the
training rows lack (extended), have the same four settings: read by a GRU or as they are, two rates.

The table shows the test accuracy, and the gain over random vectors with its interval of 95 % (Student's t over the
seeds). Exits with 1 if the vectors made here, of the kind that is best on dev, are not clearly above random ones.
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from few_rows import SIZE, TASKS, Setting, Trainings, find, random_settings, told, with_gains, words
from rich.console import Console
from rich.table import Table
from written import parse, write_json

WINDOW, WORDS = 5, 20_000
EXTENDED = 40_000
"""Words at the beginning of a file that a model knows beyond those of its training rows."""


def wikitext2(data: Path) -> Iterator[list[str]]:
    with lzma.open(find(data, "wiki.train.variant.tokens.xz"), "rt", encoding="utf-8") as file:
        for line in file:
            yield line.lower().split()


def imdb(data: Path) -> Iterator[list[str]]:
    with lzma.open(find(data / "imdb", "train.tsv.xz"), "rt", encoding="utf-8") as file:
        for line in file:
            yield words(line.rpartition("\t")[2]).split()


def captions(data: Path) -> Iterator[list[str]]:
    with gzip.open(find(data / "multi30k", "train.en.gz"), "rt", encoding="utf-8") as file:
        for line in file:
            yield words(line).split()


def both(data: Path) -> Iterator[list[str]]:
    yield from wikitext2(data)
    yield from captions(data)


CORPORA: dict[str, Callable[[Path], Iterator[list[str]]]] = {
    "wikitext2": wikitext2,
    "imdb": imdb,
    "captions": captions,
    "wikitext2+captions": both,
}


def make_vectors(lines: Sequence[list[str]], path: Path) -> None:
    """Write vectors of the words of some texts, in the format of GloVe."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.linalg import svds

    known = Counter(word for line in lines for word in line)
    kept = [word for word, count in known.most_common(WORDS) if count > 2 and word != "<unk>"]
    ids = {word: number for number, word in enumerate(kept)}
    text = np.concatenate(
        [np.array([*(ids.get(word, -1) for word in line), *[-1] * WINDOW]) for line in lines]
    )
    pairs: Any = 0
    for gap in range(1, WINDOW + 1):
        first, second = text[:-gap], text[gap:]
        both = (first >= 0) & (second >= 0)
        ones = np.full(int(both.sum()), 1 / gap)
        pairs = pairs + coo_matrix((ones, (first[both], second[both])), shape=(len(kept), len(kept))).tocsr()
    pairs = (pairs + pairs.T).tocoo()
    sums = np.asarray(pairs.sum(1)).ravel() ** 0.75
    share = pairs.data * sums.sum() / (np.asarray(pairs.sum(1)).ravel()[pairs.row] * sums[pairs.col])
    pairs.data = np.maximum(np.log(share), 0.0)
    left, values, _ = svds(pairs.tocsr(), k=SIZE, random_state=0)
    vectors = left * np.sqrt(values)
    vectors /= np.sqrt((vectors**2).sum(1).mean())  # as long as random ones
    with path.open("w", encoding="utf-8") as file:
        for word, vector in zip(kept, vectors, strict=True):
            file.write(f"{word} {' '.join(f'{value:.5f}' for value in vector)}\n")


def kinds(source: str, file: str) -> dict[str, dict[str, Any]]:
    """The ways in which a file of vectors is used, and the `embedding` of each."""
    fixed = {"vectors": file, "train": False}
    return {
        source: {"vectors": file, "train": True},
        f"{source}, fixed": fixed,
        f"{source}, extended": {**fixed, "extend": EXTENDED},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="the folder of the data sets")
    parser.add_argument("--vectors", type=Path, metavar="FILE", help="a file of vectors to measure as well")
    parser.add_argument("--corpora", nargs="+", choices=list(CORPORA), default=["wikitext2"])
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--rows", type=int, default=500, metavar="N", help="rows of training")
    parser.add_argument("--folder", type=Path, help="keep the figures of finished trainings here")
    given = parse(parser)
    with tempfile.TemporaryDirectory() as name:
        ways: dict[str, Any] = {"random": SIZE}
        for corpus in given.corpora:
            made = Path(name) / f"{corpus}.txt"
            make_vectors(list(CORPORA[corpus](given.data)), made)
            ways |= kinds(corpus, str(made))
        ours = [way for way in ways if way != "random"]
        if given.vectors is not None:
            ways |= kinds(given.vectors.name.partition(".")[0], str(given.vectors))

        def settings(way: str, rows: int) -> list[Setting]:
            return [
                ({**encoder, "embedding": ways[way]}, training) for encoder, training in random_settings()
            ]

        trainings = Trainings(given.data, settings, given.folder or Path(name) / "kept", Path(name))
        found = [with_gains([trainings.way(task, way, given.rows) for way in ways]) for task in given.tasks]
    table = Table("task", "vectors", "covered", "setting", "test accuracy", "gain")
    helped = True
    for figures in found:
        own = [one for one in figures if one["way"] in ours]
        best = max(own, key=lambda one: float(np.mean(one["dev"])))
        helped &= best["gain"] > best["interval"]
        for one in figures:
            covered = one["covered"]
            share = f"{100 * covered['tokens']:.1f} %" if covered else ""
            share += f" (test {100 * covered['splits']['test']:.1f} %)" if covered.get("splits") else ""
            setting = f"{one['setting']['type']}, lr {one['setting']['lr']:g}"
            table.add_row(one["task"], one["way"] + " *" * (one is best), share, setting, *told(one))
    Console(width=130).print(table)
    Console().print("* best on dev of the vectors made here")
    write_json(given.json, {"rows": given.rows, "found": [one for figures in found for one in figures]})
    return 0 if helped else 1


if __name__ == "__main__":
    sys.exit(main())
