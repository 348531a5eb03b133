"""The page of a sweep, OUT/sweep.html: one file that works offline."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev

from regard.fitting.experiment import name_of_run
from regard.inspect import Card, PageSection, page
from regard.live import live_module
from regard.sweep.figures import all_settings, best_over_trials, done, importance_bars, values_by_setting
from regard.sweep.folder import PAGE, write_owned
from regard.sweep.importance import importance
from regard.sweep.plan import SweepPlan
from regard.sweep.result import SweepResult
from regard.sweep.study import SweepStudy

LINES = "Each line is a trial: the stronger its color, the better. The orange line is the best."
FEW = 2
"""Trials from which there is something to draw."""


def write_page(plan: SweepPlan, found: SweepResult, study: SweepStudy) -> Path:
    """Write the page."""
    sections = [_best(plan, found)]
    if len(done(found)) >= FEW:
        sections += [_shown(plan, found, study), _by_setting(plan, found)]
    sections += [_trials(found), _search(plan)]
    subtitle = f"A search over settings of {name_of_run(plan.what, plan.base)}, by regard."
    text = page(
        f"Sweep {plan.output.absolute().name}",
        sections,
        subtitle=subtitle,
        contents=True,
        sealed=True,
        live=live_module(),
    )
    return write_owned(plan.output, PAGE, text)


def _best(plan: SweepPlan, found: SweepResult) -> PageSection:
    best = found.best
    if best is None or best.value is None:
        reasons = list(dict.fromkeys(one.reason for one in found.trials if one.reason))
        return PageSection(
            "Best setting", "No trial is done.", table=(["reason"], [[one] for one in reasons])
        )
    spread = f" ± {stdev(best.seeds.values()):.2g}" if len(best.seeds) > 1 else ""
    facts = {f"dev {found.metric}": f"{best.value:.4g}{spread}"}
    for name in next(iter(found.test.values()), {}):
        facts[f"test {name}"] = f"{mean(one[name] for one in found.test.values()):.4g}"
    facts |= {"trial": f"{best.number} of {len(found.trials)}"}
    facts |= best.values
    looks = {0: "The data have no test split.", 1: "Test was looked at once, for this setting alone."}
    told = looks.get(
        found.looks if found.test else 0,
        f"Test was looked at {found.looks} times: the sweep was prolonged, and found a better setting.",
    )
    over = f"the mean over {len(plan.seeds)} seeds" if len(plan.seeds) > 1 else "one seed"
    text = f"Chosen by dev {found.metric}, {over}. {told}"
    if len(plan.seeds) > 1:
        text += f" The command trains the first seed; the others are `--seed {plan.seeds[1]}` and so on."
    head = ["seed", f"dev {found.metric}", *(f"test {name}" for name in next(iter(found.test.values()), {}))]
    rows = [[seed, value, *found.test.get(seed, {}).values()] for seed, value in best.seeds.items()]
    return PageSection(
        "Best setting",
        text,
        facts=facts,
        table=(head, rows) if len(plan.seeds) > 1 else None,
        code=best.command,
    )


def _shown(plan: SweepPlan, found: SweepResult, study: SweepStudy) -> PageSection:
    shares, how = importance(study)
    cards = [
        Card(best_over_trials(found), "The best over trials"),
        *([Card(importance_bars(shares), "Which setting matters", note=how)] if shares else []),
        Card(all_settings(plan, found), "All settings together", note=LINES),
    ]
    return PageSection("What the trials show", figures=cards)


def _by_setting(plan: SweepPlan, found: SweepResult) -> PageSection:
    return PageSection("Each setting", figures=[values_by_setting(plan, found, path) for path in plan.ranges])


def _trials(found: SweepResult) -> PageSection:
    paths = list(dict.fromkeys(path for one in found.trials for path in one.values))
    failed = any(one.reason for one in found.trials)
    rows: list[list[object]] = [
        [
            one.number,
            "" if one.value is None else one.value,
            *(_number(one.values.get(path, "")) for path in paths),
            "" if one.seconds is None else round(one.seconds, 1),
            one.state,
            *([one.reason] if failed else []),
        ]
        for one in found.trials
    ]
    head = ["trial", f"dev {found.metric}", *paths, "seconds", "state", *(["reason"] if failed else [])]
    return PageSection("Trials", table=(head, rows), sortable=True)


def _number(text: str) -> object:
    """A number where the text is one, so that the table sorts it."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _search(plan: SweepPlan) -> PageSection:
    facts = {
        "trials": str(plan.trials),
        "seeds": ", ".join(map(str, plan.seeds)),
        "sampler": plan.sampler,
        "pruner": plan.pruner,
        "storage": plan.place,
    }
    rows = [[path, one.text()] for path, one in plan.ranges.items()]
    return PageSection("How it was searched", facts=facts, table=(["setting", "values"], rows))
