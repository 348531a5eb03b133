"""The data: rows and lengths of each split, vocabularies, rejected and repeated rows, unknown words."""

from __future__ import annotations

from regard.inspect import PageSection
from regard.report.context import ReportContext, ReportedRun
from regard.report.data import DataSummary
from regard.report.sections.section import ReportSection, filled, shown


class DataSection(ReportSection):
    title = "Data"

    def of_run(self, run: ReportedRun, context: ReportContext) -> PageSection:
        data = run.data
        columns = list(dict.fromkeys(name for one in data.splits.values() for name in one.lengths))
        rows = [
            [split, one.rows, *(_lengths(data, split, name) for name in columns), sum(one.rejected.values())]
            for split, one in data.splits.items()
        ]
        head = ["split", "rows", *(f"units of {name}" for name in columns), "rejected"]
        text = "Units of a column: the shortest, the median and the longest row."
        sizes = {f"vocabulary of {name}": f"{size:,}" for name, size in data.vocabularies.items()}
        below = [one for one in (_repeated(data), _unknown(data), _rejected(data)) if one is not None]
        return PageSection(text=text, facts=sizes, table=(head, rows), below=below)


def _lengths(data: DataSummary, split: str, name: str) -> str:
    found = data.splits[split].lengths.get(name)
    return "" if found is None else f"{found.least} · {found.median:g} · {found.most}"


def _repeated(data: DataSummary) -> PageSection | None:
    known = {split: one.repeated for split, one in data.splits.items() if one.repeated is not None}
    if not known:
        return None
    rows = [
        [split, one.of, one.inputs, one.rows, shown(", ".join(one.examples))] for split, one in known.items()
    ]
    any_known = any(one.inputs for one in known.values())
    text = (
        "The model was trained on these inputs: the scores are not of new inputs alone."
        if any_known
        else "No input of another split occurs in the training data."
    )
    head = ("split", "rows", "input also in train", "output the same", "such as")
    return PageSection("Rows that are in train too", text, table=filled(head, rows))


def _unknown(data: DataSummary) -> PageSection | None:
    rows = []
    for split, one in data.splits.items():
        for name, found in one.unknown.items():
            most = ", ".join(f"{shown(word, 40)} ({count})" for word, count in found.most)
            rows.append([split, name, found.of, found.count, f"{found.count / max(1, found.of):.2%}", most])
    if not rows:
        return None
    head = ("split", "column", "units", "unknown", "share", "most frequent")
    return PageSection("Units outside the vocabulary", table=filled(head, rows))


def _rejected(data: DataSummary) -> PageSection | None:
    rows = [
        [split, count, shown(reason)]
        for split, one in data.splits.items()
        for reason, count in one.rejected.items()
    ]
    return PageSection("Rejected rows", table=(("split", "rows", "because"), rows)) if rows else None
