"""A task of the matrix: a system of the zoo, and the changes for each mechanism."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from regard.course.matrix.mechanism import Mechanism

Lengths = Callable[[Mapping[str, str]], int]
GRID = "covers neighbors on a line, but the positions of an image form a grid."


@dataclass(frozen=True)
class Task:
    """A task with a recurrent decoder, which writes word by word or letter by letter.

    system      the system of the zoo
    about       its inputs and outputs, in words
    metric      the score; dev chooses the weights by it
    looks       the metric of the attention; "" if its truth is unknown
    length      the length of a row, in `unit`; `edges` are the longest lengths of all columns but the last
    settings    changes to the system that all rows share
    ways        how the encoding reaches a decoder with attention
    attention   options that all attentions share, besides score and selection
    units       units of the additive score; None: as many as the decoder has
    window      window of local attention
    without     further changes for rows without attention
    refused     {mechanism: why it does not fit this task}
    notes       {mechanism: a note on its row}
    unaligned   why the true alignment is unknown; "" if it is known
    """

    name: str
    system: str
    about: str
    metric: str
    length: Lengths
    unit: str
    edges: tuple[int, ...]
    looks: str = ""
    settings: tuple[str, ...] = ()
    ways: tuple[str, ...] = ("start", "attention")
    attention: Mapping[str, Any] = field(default_factory=dict)
    units: int | None = None
    window: int = 5
    without: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    unaligned: str = ""

    def reason(self, mechanism: Mechanism) -> str:
        """Why a mechanism does not fit the task; "" if it does."""
        if mechanism.uses_truth and self.unaligned:
            return self.unaligned
        return self.refused.get(mechanism.name, "")

    def changes(self, mechanism: Mechanism, updates: int) -> list[str]:
        """The changes of a row to the spec of the system, as for `--set`."""
        return [*self.settings, *self._between(mechanism, updates)]

    def measures(self, mechanism: Mechanism) -> list[str]:
        """The settings for the metrics of a row, in the same form: dev chooses the weights by the score."""
        metrics = [self.metric, *([self.looks] if self.looks and mechanism.looks else [])]
        return [f"metrics=[{', '.join(metrics)}]", f"training.metric={self.metric}"]

    def _between(self, mechanism: Mechanism, updates: int) -> list[str]:
        if not mechanism.looks:
            return ["attention=null", _condition(mechanism.ways), *self.without]
        attention = {**self.attention, **self._look(mechanism, updates)}
        return [f"attention={json.dumps(attention)}", _condition(self.ways)]

    def _look(self, mechanism: Mechanism, updates: int) -> dict[str, Any]:
        """Score, selection and guide; selections that ignore scores get none."""
        look: dict[str, Any] = {"score": "additive", **mechanism.attention}
        if look["score"] == "additive" and self.units is not None:
            look["score"] = {"type": "additive", "size": self.units}
        if look.get("select") in ("uniform", "oracle"):
            del look["score"]
        elif look.get("select") == "local":
            look["select"] = {"type": "local", "window": self.window}
        elif look.get("select") == "hard":  # samples give little signal before the weights are meaningful
            look["select"] = {"type": "hard", "reward": 1.0, "warmup": updates // 3}
        return look


@dataclass(frozen=True)
class LabelTask(Task):
    """A task with a label as its answer.

    decoder     the key of its decoder in the spec
    over        the input to attend to
    glimpses    decoder options that come with attention
    """

    decoder: str = "decoder"
    over: str = ""
    glimpses: Mapping[str, Any] = field(default_factory=dict)

    def _between(self, mechanism: Mechanism, updates: int) -> list[str]:
        options: dict[str, Any] = {"type": "label", "hidden": 256}
        if mechanism.name == "gate":
            options["combine"] = "gated"
        if mechanism.looks:
            attention = {"over": self.over, **self.attention, **self._look(mechanism, updates)}
            options |= {**self.glimpses, "attention": attention}
        return [f"{self.decoder}={json.dumps(options)}"]


def _condition(ways: tuple[str, ...]) -> str:
    return f"decoder.condition=[{', '.join(ways)}]"
