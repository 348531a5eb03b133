"""Figures of longer trainings: what a training measured, with the command, the commit and the machine.

One JSON file for each training lies in `regard/course/results`, written by `bench/evidence.py`. A file counts as
evidence only if nobody has changed it since (its seal), and if the spec that its command names today is the one that
was trained: a system of the zoo, or a recipe. A wheel has no recipes; there the results of recipes count by their seal
alone. What has no evidence is unknown.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from regard import zoo
from regard.errors import RegardError

FOLDER = Path(__file__).parents[1] / "results"
ROOT = Path(__file__).parents[3]
"""The folder of a clone, with pyproject.toml and the recipes."""
SEAL = "seal"


class NoEvidence(LookupError):
    """No stored result shows a figure; the message says why."""


@dataclass(frozen=True)
class StoredResult:
    """A stored result.

    words    what `regard train` was given, without the seed
    """

    words: tuple[str, ...]
    seed: int | None
    content: Mapping[str, Any]

    def score(self, path: str) -> float:
        """A score by split and metric, as test.bleu; BLEU by length, as by_length.5–6; the first metric by a column
        of the data, as by.things.1."""
        first, _, rest = path.partition(".")
        if first in ("by_length", "by"):
            rows = self.content.get(first, [])
            if first == "by":
                column, _, rest = rest.partition(".")
                rows = rows.get(column, []) if rows else []
            found = {row[0]: row[2] for row in rows}
            if rest not in found:
                raise NoEvidence(f"the result has no {path}")
            return float(found[rest])
        try:
            return float(self.content["scores"][first][rest]["value"])
        except KeyError:
            raise NoEvidence(f"the result has no {path}") from None

    def answer(self, given: str) -> str:
        """What the trained model wrote for an input."""
        answers = self.content.get("answers", {})
        if given not in answers:
            raise NoEvidence(f"the result has no answer to {given!r}")
        return str(answers[given])

    @property
    def source(self) -> str:
        """Where it comes from, in one line."""
        machine, commit = self.content["machine"], self.content["commit"][:8]
        return f"{self.content['command']}; {machine['device']}, commit {commit}"


def split_words(words: str | Sequence[str]) -> tuple[tuple[str, ...], int | None]:
    """The words of a training without its seed, and the seed."""
    given, seed = list(shlex.split(words) if isinstance(words, str) else words), None
    if "--seed" in given:
        place = given.index("--seed")
        seed = int(given[place + 1])
        del given[place : place + 2]
    return tuple(given), seed


def sealed(content: Mapping[str, Any]) -> str:
    """The digest of a result, without the seal itself."""
    text = json.dumps(
        {key: value for key, value in content.items() if key != SEAL}, sort_keys=True, ensure_ascii=False
    )
    return hashlib.sha256(text.encode()).hexdigest()


def spec_digest(words: Sequence[str]) -> str | None:
    """The digest of the spec that a command trains today, with its settings; empty for what is no system of the zoo and
    no recipe, None for a recipe outside a clone."""
    name, *rest = words
    if name.startswith("recipes/"):
        if not (ROOT / "pyproject.toml").is_file():
            return None
        name = str(ROOT / name)
    elif name not in zoo.names():
        return ""
    changes = [value for option, value in pairwise(rest) if option == "--set"]
    text = json.dumps(zoo.find(name, changes).written(), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def evidence_for(words: str, folder: Path | None = None) -> list[StoredResult]:
    """The results of a training, one for each seed; raises `NoEvidence`."""
    wanted, seed = split_words(words)
    stored = _stored(folder or FOLDER)
    found = [one for one in stored.get(wanted, []) if seed is None or one.seed == seed]
    if not found:
        raise NoEvidence("no stored result")
    today = _today(wanted)
    for one in found:
        if one.content.get(SEAL) != sealed(one.content):
            raise NoEvidence("the stored result was changed after it was written")
        if today is not None and one.content.get("spec") != today:
            raise NoEvidence("the stored result is of another spec")
    return found


@cache
def _today(words: tuple[str, ...]) -> str | None:
    try:
        return spec_digest(words)
    except RegardError:
        return "no longer valid"


@cache
def _stored(folder: Path) -> dict[tuple[str, ...], list[StoredResult]]:
    found: dict[tuple[str, ...], list[StoredResult]] = {}
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        words, seed = split_words(content["command"].removeprefix("regard train "))
        found.setdefault(words, []).append(StoredResult(words, seed, content))
    return found
