"""Comprehensiveness and sufficiency of regard beside those of ferret (Attanasio et al. 2023), on one model.

    pip install --no-deps --target ferret ferret-xai        # 0.4.2; nothing else of it is needed
    PYTHONPATH=ferret python bench/faithful_ferret.py runs/translation

ferret's evaluators ask a helper for the tokens of a text and for the logits of a class. Here the helper asks a model of
regard: the tokens are the words of the input, the classes are the vocabulary at one step of the answer, and their
logits are log p given the answer up to it. So ferret's own code removes words, and ferret's own code takes the mean. It
leaves out a share that removes the same words as the one before; regard counts it. Shares are therefore chosen so that
each removes one word more. Exit status 1 if a value differs by more than 1e-6.
"""

from __future__ import annotations

import argparse
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from faithful import SEED, inputs_of
from written import parse, write_json

import regard

BAR = 1e-6
APART = 1e-7
"""Weights that differ by less may be ordered either way."""


def evaluators() -> Any:
    """ferret's module of measures, without the explainers, data sets and transformers that it imports."""
    package = next((f"{folder}/ferret" for folder in sys.path if (_file(folder)).is_file()), None)
    if package is None:
        raise SystemExit("ferret is not on the path: pip install --no-deps --target ferret ferret-xai")
    for name, path in (("ferret", package), ("ferret.explainers", f"{package}/explainers")):
        module = ModuleType(name)
        module.__path__ = [path]
        sys.modules[name] = module
    helper = ModuleType("ferret.model_utils")
    helper.ModelHelper = SimpleNamespace  # type: ignore[attr-defined]
    sys.modules["ferret.model_utils"] = helper
    from ferret.evaluators import faithfulness_measures  # type: ignore[import-not-found]

    return faithfulness_measures


def _file(folder: str) -> Any:
    from pathlib import Path

    return Path(folder) / "ferret" / "evaluators" / "faithfulness_measures.py"


class Helper:
    """What ferret asks of a model, answered by a model of regard: p of one word of one answer."""

    def __init__(self, model: regard.Model, answer: str, step: int) -> None:
        self.model, self.answer, self.step = model, answer, step
        self.words: list[str] = []
        self.tokenizer = SimpleNamespace(cls_token=None, decode=self._decode)

    def _decode(self, ids: Any) -> str:
        return " ".join(self.words[int(one)] for one in ids)

    def _tokenize(self, text: str) -> dict[str, torch.Tensor]:
        self.words = text.split()
        ids = torch.arange(len(self.words)).unsqueeze(0)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def _forward(self, texts: Any, **_: Any) -> tuple[None, torch.Tensor]:
        """(N, 2) logits of the other words together and of the word at the step."""
        given = [texts] if isinstance(texts, str) else list(texts)
        found = self.model.score(given, [self.answer] * len(given))
        scores = torch.tensor([one.trace.scores[self.step] for one in found], dtype=torch.float64)
        return None, torch.stack([torch.log(-torch.expm1(scores)), scores], 1)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run")
    parser.add_argument("--rows", type=int, default=8)
    given = parse(parser)
    theirs = evaluators()
    model = regard.load(given.run, device="cpu")
    model.network.double()  # in single precision, sums of other batches differ by 2e-6
    inputs, _ = inputs_of(model, "test", given.rows)
    largest, count = {"comprehensiveness": 0.0, "sufficiency": 0.0}, 0
    for row in inputs:
        text = next(iter(row.values()))
        positions = len(text.split())
        sizes = list(range(1, min(positions, 4)))
        bins = tuple(size / positions for size in sizes)
        found = regard.faithful(model, [text], quick=True, bins=bins, seed=SEED)
        answer = model.predict(text)
        assert answer.trace is not None
        (weights,) = model.score([text], [answer.text])[0].trace.attention.values()
        for piece in found.pieces:
            first = np.sort(weights[piece.step])[::-1][: len(sizes) + 1]
            if first[-1] <= 0 or (-np.diff(first)).min() < APART:
                continue  # regard breaks ties at random
            helper = Helper(model, answer.text, piece.step)
            explained = SimpleNamespace(text=text, tokens=text.split(), scores=weights[piece.step])
            for name, kind in (
                ("comprehensiveness", theirs.AOPC_Comprehensiveness_Evaluation),
                ("sufficiency", theirs.AOPC_Sufficiency_Evaluation),
            ):
                evaluator = kind.__new__(kind)
                evaluator.helper = helper
                value = evaluator.compute_evaluation(
                    explained,
                    target=1,
                    remove_first_last=False,
                    removal_args={"remove_tokens": True, "based_on": "k", "thresholds": sizes},
                ).score
                gap = abs(float(value) - piece.values[name]["attention"])
                largest[name] = max(largest[name], gap)
            count += 1
    for name, gap in largest.items():
        print(f"{name}: {count} words, largest difference {gap:.1e}")
    write_json(given.json, {"words": count, "largest": largest})
    return 0 if count and max(largest.values()) <= BAR and np.isfinite(list(largest.values())).all() else 1


if __name__ == "__main__":
    sys.exit(main())
