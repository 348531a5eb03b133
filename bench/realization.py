"""From a graph to a sentence, on real data: Universal Dependencies, English EWT.

Each node is a word's lemma with its part of speech and features; each edge is a dependency. The order of the nodes
makes no difference to the encoder, so the model must find the order of the words and their forms (the task of the
surface realization shared tasks). The true node of each word is known: `looked right` is the share of words that
looked at their own node, at chance 1 / nodes.

    python bench/realization.py UD_FOLDER [--longest 12] [--steps 4000] [--json FILE]

Beside it, the same nodes without edges: what the words alone tell. Exits 1 if edges do not help.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from written import parse, write_json

FIELDS = ("words", "lemmas", "upos", "feats", "tree")


def rows(path: Path, longest: int, *, edges: bool) -> list[dict[str, Any]]:
    from regard.data import read_rows

    made = []
    for row in read_rows(str(path), fields=list(FIELDS), bad_rows="skip"):
        words, lemmas, upos, feats, tree = (row[field].split() for field in FIELDS)
        if not 3 <= len(words) <= longest or not len(words) == len(lemmas) == len(upos) == len(tree):
            continue
        heads = [one.partition(":")[::2] for one in tree]
        marks = feats if len(feats) == len(words) else ["_"] * len(words)
        made.append(
            {
                "graph": {
                    "nodes": [
                        " ".join([lemma, kind, *(mark.split("|") if mark != "_" else ())])
                        for lemma, kind, mark in zip(lemmas, upos, marks, strict=True)
                    ],
                    "edges": [
                        [int(head) - 1, place, relation]
                        for place, (head, relation) in enumerate(heads)
                        if edges and int(head) > 0
                    ],
                },
                "sentence": " ".join(words),
                "alignment": " ".join(f"{place}-{place}" for place in range(len(words))),
            }
        )
    return made


def spec(folder: Path, steps: int) -> dict[str, Any]:
    return {
        "name": "realization",
        "inputs": {"graph": {"type": "graph", "min_count": 2}},
        "outputs": {"sentence": {"type": "text", "min_count": 2}},
        "truth": {"alignment": {"type": "alignment"}},
        "encoder": {"words": {"embedding": 128, "dropout": 0.2}, "size": 192, "steps": 3},
        "attention": {"score": "history", "state": "current"},
        "decoder": {"size": 256, "embedding": 128, "condition": ["start", "attention"], "dropout": 0.2},
        "training": {
            "steps": steps, "batch_rows": 64, "lr": 2e-3, "clip": 1.0, "metric": "bleu", "evaluate_every": 500,
            "schedule": {"type": "cosine", "warmup": 100},
        },
        "data": {split: str(folder / f"{split}.jsonl") for split in ("train", "dev", "test")},
        "metrics": ["bleu", "exact", "aer"],
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "data", type=Path, help="the folder of en_ewt-ud-{train,dev,test}.conllu, plain or .gz"
    )
    parser.add_argument("--longest", type=int, default=12, help="words of a sentence, at most")
    parser.add_argument("--steps", type=int, default=4000, help="updates of each model")
    parser.add_argument("--seeds", type=int, default=1)
    given = parse(parser)
    import regard

    found: dict[str, Any] = {}
    for name, edges in (("graph", True), ("nodes alone", False)):
        for seed in range(1, given.seeds + 1):
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                counts = {}
                for split in ("train", "dev", "test"):
                    (path,) = sorted(given.data.glob(f"en_ewt-ud-{split}.conllu*"))[:1]
                    made = rows(path, given.longest, edges=edges)
                    counts[split] = len(made)
                    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in made)
                    (folder / f"{split}.jsonl").write_text(text, encoding="utf-8")
                document = spec(folder, given.steps)
                document["training"]["seed"] = seed
                begun = time.perf_counter()
                model = regard.fit(document, run=folder / "run", quiet=True)
                scores = {name: one.value for name, one in model.evaluate("test").scores.items()}
                found.setdefault(name, []).append(
                    {**scores, "seconds": time.perf_counter() - begun, "rows": counts}
                )
                if edges and seed == 1:
                    first = json.loads((folder / "test.jsonl").read_text(encoding="utf-8").splitlines()[0])
                    print(first["sentence"], "→", model.predict({"graph": first["graph"]}).text)
    print(f"rows {found['graph'][0]['rows']}, sentences of 3 to {given.longest} words")
    print(f"{'':14}{'BLEU':>8}{'exact':>8}{'looked right':>14}{'seconds':>9}")
    for name, several in found.items():
        for one in several:
            print(
                f"{name:14}{one['bleu']:8.1f}{one['exact']:8.3f}{1 - one['aer']:14.3f}{one['seconds']:9.0f}"
            )
    write_json(given.json, found)
    means = {name: sum(one["bleu"] for one in several) / len(several) for name, several in found.items()}
    return 0 if means["graph"] > means["nodes alone"] else 1


if __name__ == "__main__":
    sys.exit(main())
