"""A summary of a matrix, as sentences computed from its numbers."""

from __future__ import annotations

from regard.course.matrix.mechanism import MECHANISMS
from regard.course.matrix.table import Figure, MatrixRow, MatrixTable, chosen, shown, title

_BY_NAME = {mechanism.name: mechanism for mechanism in MECHANISMS}


def summarize(table: MatrixTable) -> str:
    """One to four sentences; fewer if rows are missing."""
    if not table.rows:
        return "No row is finished."
    return " ".join(filter(None, (_overall(table), _by_length(table), _looking(table), _truth(table))))


def _overall(table: MatrixTable) -> str:
    """The best row with and without attention, and whether their intervals overlap; no row that uses the
    truth."""
    name = title(table.task.metric)
    apart, looking = _families(table)
    if not apart or not looking:
        best = chosen(table.rows, table.best_is_high)
        lone = "" if len(table.rows) > 1 else "the only row so far, "
        return f"{name}: {lone}{_told(table, best, best.score)}."
    one, other = chosen(apart, table.best_is_high), chosen(looking, table.best_is_high)
    sure = "their intervals overlap" if _overlap(one.score, other.score) else "their intervals do not overlap"
    return (
        f"{name}: the best row with attention has {_told(table, other, other.score)}, the best without "
        f"{_told(table, one, one.score)}; {sure}."
    )


def _by_length(table: MatrixTable) -> str:
    """How the scores of the best rows of both families change from the shortest inputs to the longest."""
    columns = table.columns
    apart, looking = _families(table)
    if len(columns) < 2 or not apart or not looking:
        return ""
    first, last, unit = columns[0], columns[-1], table.task.unit
    parts = []
    for row in (chosen(apart, table.best_is_high), chosen(looking, table.best_is_high)):
        if first not in row.lengths or last not in row.lengths:
            return ""
        short, long = row.lengths[first], row.lengths[last]
        parts.append(f"{row.mechanism} {_moved(table, short, long)}")
    return f"From {first} to {last} {unit}, {parts[0]}, {parts[1]}."


def _moved(table: MatrixTable, short: Figure, long: Figure) -> str:
    before, after = (shown(table.task.metric, one)[0] for one in (short, long))
    if _overlap(short, long):
        return f"stays within its intervals ({before} and {after})"
    return f"{'rises' if long.value > short.value else 'falls'} from {before} to {after}"


def _looking(table: MatrixTable) -> str:
    """The row whose attention is nearest to the truth, among those that do not use the truth."""
    known = [
        (row, row.looks)
        for row in table.rows
        if row.looks is not None and not _BY_NAME[row.mechanism].uses_truth
    ]
    if not table.task.looks or not known:
        return ""
    sign = 1.0 if table.looks_best_is_high else -1.0
    best, looks = max(known, key=lambda pair: sign * pair[1].value)
    uniform = table.row("uniform")
    beside = ""
    if uniform is not None and uniform.looks is not None and best.mechanism != "uniform":
        beside = f"; uniform weights have {shown(table.task.looks, uniform.looks)[0]} %"
    name = title(table.task.looks).removesuffix(", %")
    value = shown(table.task.looks, looks)[0]
    return f"Without supervision, the attention of {best.mechanism} is the best ({name}: {value} %){beside}."


def _truth(table: MatrixTable) -> str:
    """The score with the true alignment."""
    oracle = table.row("oracle")
    looking = _families(table)[1]
    if oracle is None or not looking:
        return ""
    best = chosen(looking, table.best_is_high)
    better = (
        oracle.score.value > best.score.value if table.best_is_high else oracle.score.value < best.score.value
    )
    value = shown(table.task.metric, oracle.score)[0]
    if _overlap(oracle.score, best.score):
        return f"With the true alignment (oracle) the score is {value}; the intervals overlap."
    verdict = f"{'better' if better else 'worse'} than {best.mechanism}"
    return f"With the true alignment (oracle) the score is {value}, {verdict}."


def _families(table: MatrixTable) -> tuple[list[MatrixRow], list[MatrixRow]]:
    """The rows without attention, and those with attention that do not use the truth."""
    apart = [row for row in table.rows if not _BY_NAME[row.mechanism].looks]
    looking = [
        row for row in table.rows if _BY_NAME[row.mechanism].looks and not _BY_NAME[row.mechanism].uses_truth
    ]
    return apart, looking


def _told(table: MatrixTable, row: MatrixRow, figure: Figure) -> str:
    value, bounds = shown(table.task.metric, figure)
    return f"{value} [{bounds}] ({row.mechanism})"


def _overlap(one: Figure, other: Figure) -> bool:
    return one.low <= other.high and other.low <= one.high
