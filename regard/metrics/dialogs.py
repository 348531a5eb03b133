"""Accuracy of whole dialogs."""

from __future__ import annotations

from regard.metrics.metric import Inference, Metric, OutputInfo, Score
from regard.parts import register

COLUMN = "conversation"


@register("metric", "dialog_accuracy")
class DialogAccuracy(Metric):
    """The share of dialogs in which every response equals one of its references (per-dialog accuracy, Bordes 2017). For
    single responses use `exact`, or `accuracy` of candidates.

    The rows of a dialog share a value in the column of type group named `conversation`:
    `truth: {conversation: {type: group}}`.
    """

    def refuses(self, output: OutputInfo) -> str | None:
        found = output.columns.get(COLUMN)
        if found is not None and found.can_be("group"):
            return None
        return f"{self.name} needs the dialog of each row: truth: {{{COLUMN}: {{type: group}}}}"

    def measure(self, inference: Inference) -> Score | None:
        right: dict[str, bool] = {}
        answers = zip(inference.predictions, inference.references, strict=True)
        for row, (answer, true) in enumerate(answers):
            dialog = inference.raw(row)[COLUMN].strip()
            right[dialog] = right.get(dialog, True) and answer.value in true
        share = sum(right.values()) / len(right)
        rows = len(inference)
        return Score(self.name, share, rows, f"share of {len(right)} dialogs with every response right")
