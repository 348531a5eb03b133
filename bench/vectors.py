"""What pretrained word vectors add where rows are few: SICK, titles of AG News, and SST, with and without them.

    python bench/vectors.py local/data                              vectors made of WikiText-2 (PMI and SVD)
    python bench/vectors.py local/data --vectors glove.6B.100d.txt  these vectors as well, or a folder of model2vec
    python bench/vectors.py local/data --tasks sick --jobs 4

AG News takes the place of TREC: short texts of four classes; a digest of the title decides which are train, dev or
test. SST is whole sentences of two classes. The vectors have the format of GloVe: log p(a, b) / p(a) p(b) of words
within five of each other, negative values left out, and its first 100 singular vectors times the roots of their values.

For each task and each source of vectors, the learning rate, and whether vectors are trained, are chosen on dev with
seed 0; then further seeds are trained with these settings. Two more rows have vectors that stay as they are, without
and with the words of the file that the training rows lack (`extend`). The table shows the test accuracy, and the gain
over random vectors with its interval of 95 % (Student's t over the seeds). Exits with 1 if the vectors of WikiText-2 do
not help.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import math
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from written import parse, write_json

RATES = (0.003, 0.01)
WINDOW, WORDS, SIZE = 5, 20_000, 100
EXTENDED = 40_000
"""Words at the beginning of a file that a model knows beyond those of its training rows."""
WORD = re.compile(r"\w+|[^\w\s]")
Rows = dict[str, list[dict[str, str]]]


def find(folder: Path, name: str) -> Path:
    """A file of the data, in the folder itself or in one below it."""
    for path in (folder / name, *sorted(folder.glob(f"*/{name}"))):
        if path.is_file():
            return path
    sys.exit(f"{folder} holds no {name}")


def words(text: str) -> str:
    return " ".join(WORD.findall(text.lower()))


def sick(data: Path) -> Rows:
    found: Rows = {"train": [], "dev": [], "test": []}
    names = {"TRAIN": "train", "TRIAL": "dev", "TEST": "test"}
    with lzma.open(find(data, "SICK.txt.xz"), "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            pair = {"first": words(row["sentence_A"]), "second": words(row["sentence_B"])}
            found[names[row["SemEval_set"]]].append({**pair, "answer": row["entailment_label"]})
    return found


def titles(data: Path) -> Rows:
    found: Rows = {"train": [], "dev": [], "test": []}
    with lzma.open(find(data, "test.csv.xz"), "rt", encoding="utf-8", newline="") as file:
        for label, title, _ in csv.reader(file):
            text = words(title)
            digest = blake2b(text.encode(), digest_size=2).digest()[0]
            split = "dev" if digest < 26 else "test" if digest < 77 else "train"
            found[split].append({"text": text, "answer": label})
    return found


def sst(data: Path) -> Rows:
    found: Rows = {}
    for split in ("train", "dev", "test"):
        with lzma.open(find(data, f"{split}.txt.xz"), "rt", encoding="utf-8") as file:
            trees = [line for line in file if line[1] != "2"]
        leaves = (re.findall(r"\(\d ([^() ]+)\)", tree) for tree in trees)
        found[split] = [
            {"text": " ".join(some).lower(), "answer": "good" if tree[1] in "34" else "bad"}
            for tree, some in zip(trees, leaves, strict=True)
        ]
    return found


TASKS = {"sick": sick, "titles": titles, "sst": sst}


def sentences(data: Path) -> Iterator[list[str]]:
    with lzma.open(find(data, "wiki.train.variant.tokens.xz"), "rt", encoding="utf-8") as file:
        for line in file:
            yield line.lower().split()


def make_vectors(data: Path, path: Path) -> None:
    """Write vectors of WikiText-2 in the format of GloVe."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.linalg import svds

    lines = list(sentences(data))
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


def described(task: str, folder: Path, embedding: Any, rate: float, seed: int, epochs: int) -> dict[str, Any]:
    files = {split: str(folder / f"{task}.{split}.jsonl") for split in ("train", "dev", "test")}
    one = {"type": "recurrent", "cell": "gru", "size": 64, "dropout": 0.3, "embedding": embedding}
    training = {"epochs": epochs, "lr": rate, "seed": seed, "metric": "accuracy", "patience": 6, "ema": 0.99}
    training["batch_rows"] = 32  # batches of many tokens make too few updates where rows are few
    if task == "sick":
        one = {"type": "mean", "dropout": 0.2, "word_dropout": 0.05, "embedding": embedding}
        training |= {"optimizer": "adamw", "weight_decay": 0.05}
        return {
            "inputs": {"first": {"type": "text"}, "second": {"type": "text", "shared": "first"}},
            "outputs": {"answer": {"type": "label"}},
            "encoder": {"first": one, "second": {"type": "shared", "of": "first"}},
            "decoder": {"type": "decomposable", "size": 100, "dropout": 0.2},
            "training": training,
            "data": files,
        }
    return {
        "inputs": {"text": {"type": "text"}},
        "outputs": {"answer": {"type": "label"}},
        "encoder": one,
        "decoder": {"type": "label", "attention": {"score": "additive"}},
        "training": training,
        "data": files,
    }


def trained(job: tuple[str, str, Any, float, int, str, int]) -> dict[str, Any]:
    """Train one model; its accuracies on dev and test, and what the vectors cover."""
    import torch

    import regard
    from regard.fitting.experiment import Experiment

    torch.set_num_threads(1)
    task, source, embedding, rate, seed, folder, epochs = job
    spec = regard.Spec(**described(task, Path(folder), embedding, rate, seed, epochs))
    kept = "" if isinstance(embedding, int) else embedding["train"]
    run = Path(folder) / f"{task}-{source}-{kept}-{rate}-{seed}"
    experiment = Experiment(spec, run, device="cpu", quiet=True)
    model = experiment.train()
    scores = {split: model.metrics["scores"][split]["accuracy"]["value"] for split in ("dev", "test")}
    return {"task": task, "source": source, "embedding": embedding, "rate": rate, "seed": seed, **scores} | {
        "covered": model.metrics.get("pretrained", {})
    }


def gain(vectors: Sequence[float], random: Sequence[float]) -> tuple[float, float]:
    """The mean difference of the seeds, and half its interval."""
    from scipy.stats import t

    differences = np.array(vectors) - np.array(random)
    quantile = float(t.ppf(0.975, len(differences) - 1))
    return float(differences.mean()), quantile * float(differences.std(ddof=1)) / math.sqrt(len(differences))


def table_rows(sources: Mapping[str, str]) -> dict[str, list[Any]]:
    """The settings of `embedding` that each row of the table chooses from."""
    found: dict[str, list[Any]] = {"": [SIZE]}
    for name, file in sources.items():
        fixed = {"vectors": file, "train": False}
        found[name] = [{"vectors": file, "train": True}, fixed]
        found[f"{name}, fixed"] = [fixed]
        found[f"{name}, extended"] = [{**fixed, "extend": EXTENDED}]
    return found


def measured(
    tasks: Sequence[str], sources: Mapping[str, str], folder: Path, jobs: int, epochs: int, seeds: int
) -> list[dict[str, Any]]:
    with ProcessPoolExecutor(jobs) as pool:
        first = [
            (task, row, embedding, rate, 0, str(folder), epochs)
            for task in tasks
            for row, settings in table_rows(sources).items()
            for embedding in settings
            for rate in RATES
        ]
        tried = list(pool.map(trained, first))
        best = {}
        for one in tried:
            key = one["task"], one["source"]
            if key not in best or one["dev"] > best[key]["dev"]:
                best[key] = one
        more = [
            (task, source, one["embedding"], one["rate"], seed, str(folder), epochs)
            for (task, source), one in best.items()
            for seed in range(1, seeds)
        ]
        return [*best.values(), *pool.map(trained, more)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="the folder of the data sets")
    parser.add_argument("--vectors", type=Path, metavar="FILE", help="a file of vectors to measure as well")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="trainings at a time")
    parser.add_argument("--epochs", type=int, default=30, metavar="N")
    parser.add_argument("--seeds", type=int, default=3, metavar="N")
    parser.add_argument("--rows", type=int, metavar="N", help="train on the first N rows of each task")
    given = parse(parser)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for task in given.tasks:
            for split, rows in TASKS[task](given.data).items():
                some = rows[: given.rows] if split == "train" else rows
                text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in some)
                (folder / f"{task}.{split}.jsonl").write_text(text, encoding="utf-8")
        made = folder / "wikitext2.txt"
        make_vectors(given.data, made)
        sources = {"wikitext2": str(made)}
        if given.vectors is not None:
            sources[given.vectors.name.partition(".")[0]] = str(given.vectors)
        found = measured(given.tasks, sources, folder, given.jobs, given.epochs, given.seeds)
    table = Table("task", "vectors", "covered", "setting", "test accuracy", "gain")
    figures, helped = [], True
    for task in given.tasks:
        of = {
            source: [one for one in found if (one["task"], one["source"]) == (task, source)]
            for source in table_rows(sources)
        }
        for source, runs in of.items():
            tests = [100 * one["test"] for one in runs]
            covered = next(iter(runs[0]["covered"].values()), {})
            row: dict[str, Any] = {"task": task, "vectors": source or "random", "test": tests}
            told = ""
            if source:
                mean, half = gain(tests, [100 * one["test"] for one in of[""]])
                row |= {
                    "gain": mean,
                    "interval": half,
                    "tokens": covered["tokens"],
                    "types": covered["types"],
                    "splits": covered.get("splits", {}),
                }
                told = f"{mean:+.1f} ± {half:.1f}"
                helped &= mean > 0 or source != "wikitext2"
            kept = (
                ""
                if isinstance(runs[0]["embedding"], int)
                else f", train: {str(runs[0]['embedding']['train']).lower()}"
            )
            row["setting"] = f"lr {runs[0]['rate']}{kept}"
            share = f"{100 * covered['tokens']:.1f} %" if covered else ""
            share += f" (test {100 * covered['splits']['test']:.1f} %)" if covered.get("splits") else ""
            table.add_row(
                task,
                row["vectors"],
                share,
                row["setting"],
                f"{np.mean(tests):.1f} ({min(tests):.1f} to {max(tests):.1f})",
                told,
            )
            figures.append(row)
    Console(width=130).print(table)
    write_json(
        given.json, {"rows": given.rows, "epochs": given.epochs, "seeds": given.seeds, "found": figures}
    )
    return 0 if helped else 1


if __name__ == "__main__":
    sys.exit(main())
