"""Write a matrix as an HTML page, Markdown, JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

from regard.course.matrix.mechanism import MECHANISMS
from regard.course.matrix.plan import EVALUATIONS
from regard.course.matrix.summary import summarize
from regard.course.matrix.table import Figure, MatrixRow, MatrixTable, shown, title
from regard.errors import RegardError
from regard.inspect.page import page
from regard.inspect.section import PageSection
from regard.inspect.shaded_table import ShadedCell, ShadedRow, ShadedTable
from regard.storage.files import write_text

_BY_NAME = {mechanism.name: mechanism for mechanism in MECHANISMS}


def write_matrix(table: MatrixTable, path: Path) -> None:
    """Write the table in the format of the file extension."""
    write_text(path, writer_of(path)(table))


def writer_of(path: Path) -> Callable[[MatrixTable], str]:
    """The writer for a file extension; a RegardError if it is unknown."""
    ending = path.suffix.lower()
    if ending not in WRITERS:
        raise RegardError(
            f"a matrix cannot be written as {ending or 'a file without an extension'}; supported are "
            f"{', '.join(WRITERS)}.",
            where=str(path),
            fix="Change the file extension.",
        )
    return WRITERS[ending]


def heading(table: MatrixTable) -> str:
    return f"{table.task.name}: {table.task.about}"


def budget(table: MatrixTable) -> str:
    """The settings that all rows share, in words."""
    text = (
        f"Every row has {table.updates:,} updates of the same batches in the same order, the same seed "
        f"({table.seed}), encoder and decoder ({table.task.system} of the zoo). The weights are the best of "
        f"{EVALUATIONS} evaluations on dev by {title(table.task.metric)}; test is measured once. "
        "Intervals: the middle 95 % of 1,000 resamples of the test rows."
    )
    settings = [*table.task.settings, *table.settings]
    return f"{text} Changed in every row: {', '.join(settings)}." if settings else text


def heads(table: MatrixTable) -> list[str]:
    looks = [title(table.task.looks)] if table.task.looks else []
    unit = table.task.unit
    lengths = [f"{label} {unit.removesuffix('s') if label == '1' else unit}" for label in table.columns]
    return ["mechanism", title(table.task.metric), *lengths, *looks, "parameters", "ms/update"]


def remarks(table: MatrixTable) -> dict[str, str]:
    """Notes on rows, and reasons for missing rows; mechanisms with the same text are grouped."""
    here = {row.mechanism for row in table.rows}
    notes = {name: note for name, note in table.task.notes.items() if name in here}
    waiting = dict.fromkeys(table.waiting, "not finished.")
    names: dict[str, list[str]] = {}
    for name, why in {**notes, **table.refused, **table.failed, **waiting}.items():
        names.setdefault(why, []).append(name)
    return {", ".join(together): why for why, together in names.items()}


def to_html(table: MatrixTable) -> str:
    """A self-contained HTML page."""
    shading = _shading(table)
    rows = []
    looked = False
    for row in table.rows:
        mechanism = _BY_NAME[row.mechanism]
        rows.append(
            ShadedRow(
                row.mechanism,
                mechanism.what,
                _cells(table, row, shading),
                rule=mechanism.looks and not looked,
            )
        )
        looked = looked or mechanism.looks
    sections = [PageSection(shaded=ShadedTable(heads(table), rows)) if rows else PageSection()]
    if remarks(table):
        sections.append(PageSection("Remarks", table=(["mechanism", "remark"], list(remarks(table).items()))))
    commands = "\n".join(_command(table, row) for row in table.rows)
    sections += [
        PageSection("Shared settings", budget(table)),
        PageSection("Commands", "Each command trains one row:", code=commands) if commands else PageSection(),
    ]
    return page(heading(table), sections, subtitle=summarize(table))


def _cells(table: MatrixTable, row: MatrixRow, shading: Callable[[Figure], float]) -> list[ShadedCell]:
    def cell(name: str, figure: Figure | None, weight: float | None = None) -> ShadedCell:
        return ShadedCell() if figure is None else ShadedCell(*shown(name, figure), weight)

    name, found = table.task.metric, [row.lengths.get(label) for label in table.columns]
    return [
        cell(name, row.score, shading(row.score)),
        *(cell(name, one, None if one is None else shading(one)) for one in found),
        *([cell(table.task.looks, row.looks)] if table.task.looks else []),
        ShadedCell(f"{row.parameters:,}"),
        ShadedCell(f"{1000 * row.seconds_per_update:.0f}"),
    ]


def _shading(table: MatrixTable) -> Callable[[Figure], float]:
    """From 0, the worst of all numbers of the table, to 1, the best."""
    values = [one.value for row in table.rows for one in (row.score, *row.lengths.values())]
    low, high = min(values, default=0.0), max(values, default=1.0)

    def weight(figure: Figure) -> float:
        share = (figure.value - low) / ((high - low) or 1.0)
        return share if table.best_is_high else 1.0 - share

    return weight


def to_markdown(table: MatrixTable) -> str:
    lines = [f"# {heading(table)}", "", summarize(table), "", budget(table), ""]
    if table.rows:
        lines += [_line(heads(table)), _line(["---", *["---:"] * (len(heads(table)) - 1)])]
        for row in table.rows:
            cells = [
                " ".join(filter(None, (cell.text, f"[{cell.small}]" if cell.small else "")))
                for cell in _cells(table, row, _shading(table))
            ]
            lines.append(_line([row.mechanism, *cells]))
        lines.append("")
    lines += [f"- {name}: {why}" for name, why in remarks(table).items()]
    return "\n".join(lines).rstrip() + "\n"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def to_json(table: MatrixTable) -> str:
    return json.dumps({**table.to_dict(), "see": summarize(table)}, ensure_ascii=False, indent=1) + "\n"


def to_csv(table: MatrixTable) -> str:
    """One line per number: the whole test (length: all), each range of lengths, the attention."""
    target = io.StringIO()
    write = csv.writer(target, lineterminator="\n").writerow
    write(
        ["mechanism", "metric", "length", "value", "low", "high", "rows", "parameters", "seconds_per_update"]
    )
    for row in table.rows:
        figures = [(table.task.metric, "all", row.score)]
        figures += [(table.task.metric, label, one) for label, one in row.lengths.items()]
        figures += [] if row.looks is None else [(table.task.looks, "all", row.looks)]
        for name, length, one in figures:
            write(
                [
                    row.mechanism,
                    name,
                    length,
                    one.value,
                    one.low,
                    one.high,
                    one.n,
                    row.parameters,
                    row.seconds_per_update,
                ]
            )
    return target.getvalue()


def _command(table: MatrixTable, row: MatrixRow) -> str:
    """The shell command that trains one row."""
    changes = " ".join(f"--set '{setting}'" for setting in row.settings)
    return f"regard train {table.task.system} -o runs/{table.task.name}-{row.mechanism} {changes}"


WRITERS = {".html": to_html, ".md": to_markdown, ".json": to_json, ".csv": to_csv}
