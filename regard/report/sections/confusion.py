"""Of outputs that are labels: which are confused, and precision and recall of each."""

from __future__ import annotations

import numpy as np

from regard.evaluation.evaluation import MOST_LABELS
from regard.inspect import Card, PageSection, confusion
from regard.report.context import ReportContext, ReportedRun
from regard.report.sections.section import ReportSection


class ConfusionSection(ReportSection):
    title = "Confusion of labels"

    def of_run(self, run: ReportedRun, context: ReportContext) -> PageSection | None:
        labels = run.evaluation.labels
        if not labels:
            return None
        cards = [
            Card(confusion(one.confusion.astype(np.float64), one.labels), output if len(labels) > 1 else "")
            for output, one in labels.items()
            if 1 < len(one.labels) <= MOST_LABELS
        ]
        rows = [
            [
                *([output] if len(labels) > 1 else []),
                label,
                f"{score.precision:.3f}",
                f"{score.recall:.3f}",
                f"{score.f1:.3f}",
                score.support,
            ]
            for output, one in labels.items()
            for label, score in one.per_label.items()
        ]
        head = [*(["output"] if len(labels) > 1 else []), "label", "precision", "recall", "F1", "rows"]
        return PageSection(figures=cards, table=(head, rows), sortable=True)
