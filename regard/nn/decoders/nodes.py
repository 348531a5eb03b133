"""Nodes decoder: a label for each node of a tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.data.batch import UNLABELED, UNSEEN, Forest
from regard.data.brackets import BracketTree
from regard.data.columns.brackets import labeled_input
from regard.errors import RegardError
from regard.nn.class_weights import class_cost, class_count
from regard.nn.decoders.decoder import BatchView
from regard.nn.decoders.tags import Tags, TagsDecoder
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import Mistakes, Plan, register
from regard.trace import Nodes, Trace
from regard.trace.prediction import Prediction


@dataclass(frozen=True)
class NodeLabels(Tags):
    """`Tags` with the parents (B, S) of the nodes."""

    above: Tensor


@register("decoder", "nodes")
class NodesDecoder(TagsDecoder):
    """p(y_j) = softmax(V h_j + b) for each node j of a tree, words and root included.

    The loss is over the nodes that have a label.
    """

    class Options(TagsDecoder.Options):
        """A label for each node of a tree: softmax(V h_j + b)."""

    writes = ("brackets",)

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        of = next(iter(cls.reads_positions(options, name, plan)), None)
        if options.over is not None:
            mistakes.add(
                f"over has no effect: a nodes decoder reads the nodes of {of} alone.",
                "over",
                fix="Leave over out.",
            )
        if options.constraints != "none":
            mistakes.add(
                "constraints has no effect: schemes of spans are about the words of a text, not about nodes.",
                "constraints",
                fix="Leave constraints out.",
            )
        encoder = plan.encoder.get(of) if of else None
        if encoder is not None and getattr(encoder, "structure", None) != "given":
            mistakes.add(
                f"a nodes decoder labels the nodes of given trees; the encoder of {of} does not read given trees.",
                fix=f"Use  encoder: {{type: tree, structure: given}}  for {of}, or an output of type label.",
            )

    @classmethod
    def reads_positions(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        trees = [one for one, column in plan.inputs.items() if column.part.can_be("brackets")]
        return (labeled_input(plan.outputs[name], plan),) if trees else ()

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        lines = super().board_loss(options, memories)
        return [
            line.replace("mean over the positions", "mean over the nodes that have a label") for line in lines
        ]

    def _true(self, target: Forest) -> Tensor:
        """(N) the labels of the nodes, with UNSEEN for padding and for nodes without a label."""
        return target.labels.masked_fill(target.labels == UNLABELED, UNSEEN)

    def count(self, target: Any) -> Tensor:
        return class_count(self._true(target), self.class_weights)

    def loss(self, memories: Mapping[str, Memory], target: Any, *, truth: Any = None) -> Loss:
        logits, true = self.calibrated(self(memories)), self._true(target)
        if logits.shape[:2] != true.shape:
            raise RegardError(
                f"There are {true.shape[1]} labels for {logits.shape[1]} nodes of {self.of!r}.",
                fix="Label every node of the same tree.",
            )
        total = class_cost(logits.flatten(0, 1), true.flatten(), self.class_weights)
        return Loss(total, self.count(target), {"likelihood": total.detach()})

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Any = None) -> NodeLabels:
        memory = memories[self.of]
        assert memory.above is not None
        return NodeLabels(torch.log_softmax(self.calibrated(self(memories)), -1), memory.mask, memory.above)

    def predictions(self, found: Any, column: Any, view: BatchView) -> list[Prediction]:
        """The trees with the most probable label of each node."""
        values, scores, lengths = found.value.tolist(), found.scores.tolist(), found.mask.sum(1).tolist()
        parents, best = found.above.tolist(), found.token_scores.cpu().numpy()
        answers = []
        for row, (ids, score, length) in enumerate(zip(values, scores, lengths, strict=True)):
            labels = [column.classes[number] for number in ids[:length]]
            above, pieces = parents[row][:length], view.inputs(row)[self.of]
            inner = set(above)
            words = [None if place in inner else piece for place, piece in enumerate(pieces)]
            text = BracketTree(words, labels, above).written()
            seen = None
            if view.trace:
                drawn = Nodes(above, labels, _truth(view, column, row, length))
                seen = Trace(
                    view.inputs(row),
                    labels,
                    scores=best[row, :length],
                    structures={self.of: drawn},
                    kind="tags",
                )
            answers.append(Prediction(text, text, score, seen))
        return answers


def _truth(view: BatchView, column: Any, row: int, length: int) -> list[str]:
    """The true labels, if the batch has them; empty for a node without one."""
    if not isinstance(view.target, Forest):
        return []
    return [column.label(number) for number in view.target.labels[row, :length].tolist()]
