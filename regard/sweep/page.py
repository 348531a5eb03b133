"""The page of a sweep: OUT/sweep.html."""

from __future__ import annotations

from pathlib import Path

from regard.inspect import PageSection, page
from regard.live import live_module
from regard.sweep.folder import PAGE, write_owned
from regard.sweep.plan import SweepPlan
from regard.sweep.result import Sweep
from regard.sweep.study import SweepStudy


def write_page(plan: SweepPlan, found: Sweep, study: SweepStudy) -> Path:
    """Write the page."""
    sections = [PageSection("Trials", table=_table(found), sortable=True)]
    text = page(f"Sweep of {plan.what}", sections, contents=True, sealed=True, live=live_module())
    return write_owned(plan.output, PAGE, text)


def _table(found: Sweep) -> tuple[list[str], list[list[object]]]:
    paths = list(dict.fromkeys(path for one in found.trials for path in one.values))
    rows: list[list[object]] = [
        [
            one.number,
            "" if one.value is None else one.value,
            *(one.values.get(path, "") for path in paths),
            one.state,
        ]
        for one in found.trials
    ]
    return ["trial", f"dev {found.metric}", *paths, "state"], rows
