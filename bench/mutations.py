"""Break the subject of every computed check of the lectures: it must then fail.

    python bench/mutations.py                     every entry whose checks are computed
    python bench/mutations.py --only 003.13 004   one entry, one deck
    python bench/mutations.py --survivors         tells each mutation that a check survived

A computed check runs once, while the functions of regard that it calls are noted. Then it runs again and again, each
time with one of them broken (`mutating.py`): its answers constant, negated, in other places, or one too large; or with
optimizers that do nothing. The outermost functions come first, since they are what the check asks about; deeper ones
follow while the time lasts. Counted are:

killed      the check ran and found a wrong value
raised      it stopped with an error; this is no kill
survived    it passed although something below it was broken. Not each of those is a fault: the order of the words of an
            example does not matter to most claims.

A check whose subject is arithmetic alone is broken in its own code: an operator or a number is changed. Exit status 1
if a check has no mutation that kills it, or passes while all that it asks about is constant.
"""

from __future__ import annotations

import argparse
import ast
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from mutating import WAYS, Site, broken, forget, idle, reached
from written import parse, write_json

SECONDS = 2.0
FEWEST, MOST = 6, 24
PATIENCE = 3.0


@dataclass
class Outcome:
    """The mutations of one check: {name of the mutation: what became of it}."""

    entry: str
    check: str
    place: str
    found: dict[str, str] = field(default_factory=dict)
    outermost: list[str] = field(default_factory=list)
    note: str = ""

    def count(self, told: str) -> int:
        return sum(one == told for one in self.found.values())

    @property
    def severed(self) -> bool | None:
        """Whether it fails when all that it asks about is constant; None if nothing could be severed."""
        outermost = [name for name in self.outermost if not _builds(name)]
        tried = [self.found[name] for name in outermost if name.endswith(" severed") and name in self.found]
        return any(one != "survived" for one in tried) if tried else None

    @property
    def holds(self) -> bool:
        return self.count("killed") > 0 and self.severed is not False


def outcome(check: Any, seconds: float = 0.0) -> str:
    """What becomes of a check: passed, failed, or raised; a loop that does not end is stopped after some seconds."""
    from regard.structures.kernels import plainly

    def stop(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with plainly():
            torch.manual_seed(0)
            return "passed" if check.holds(check.value()) else "failed"
    except Exception:
        return "raised"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def mutated(
    entry: str, check: Any, place: str, seconds: float = SECONDS, longest: float = 0.0
) -> Outcome | None:
    """Run the mutations of a check; None if it takes longer than `longest` seconds, where that is given."""
    found = Outcome(entry, check.told(), place)
    states: list[str] = []
    sites = reached(lambda: states.append(outcome(check)))
    if states != ["passed"]:
        found.note = f"{states[0]} without a mutation"
        return found
    forget()  # a cached answer would take no time
    began = time.process_time()
    outcome(check)
    once = max(time.process_time() - began, 1e-3)
    if longest and once > longest:
        return None
    limit = max(FEWEST, min(MOST, int(seconds / once)))
    plans = list(planned(sites))
    found.outermost = [f"{site} {way}" for site, way in plans if site.depth == 0]
    with idle() as count:
        told = outcome(check, PATIENCE + 3 * once)
    if count["changed"]:
        found.found["nothing is learned"] = (
            "survived" if told == "passed" else told.replace("failed", "killed")
        )
    for site, way in plans:
        if len(found.found) >= limit:
            break
        try:
            with broken(site, way) as count:
                told = outcome(check, PATIENCE + 3 * once)
        except (AttributeError, TypeError):  # a function inside another, or none that can be replaced
            continue
        if count["changed"]:
            found.found[f"{site} {way}"] = (
                "survived" if told == "passed" else told.replace("failed", "killed")
            )
    if not found.count("killed") and hasattr(check, "python"):
        found.found |= own_code(check)
        found.note = "arithmetic" if not sites else ""
    return found


def planned(sites: list[Site]) -> Iterator[tuple[Site, str]]:
    """Which function is broken in which way, the most telling first."""
    nearest = sites[0].depth if sites else 0
    outermost = sorted((one for one in sites if one.depth == nearest), key=lambda one: _builds(one.name))
    for way in WAYS:
        yield from ((site, way) for site in outermost)
    for way in WAYS[:3]:
        yield from ((site, way) for site in sites if site.depth > nearest)


def _builds(name: str) -> bool:
    """Whether a function builds something, rather than computing with it."""
    return any(word in name for word in ("build", "make", "__init__"))


OTHER = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.Pow: ast.Mult}
OTHER |= {ast.Mod: ast.FloorDiv, ast.MatMult: ast.Add}


def own_code(check: Any) -> dict[str, str]:
    """A check with one operator or number of its own code changed."""
    found = {}
    nodes = [one for one in ast.walk(ast.parse(check.python)) if isinstance(one, ast.BinOp | ast.Constant)]
    for number in range(min(len(nodes), 12)):
        tree = ast.parse(check.python)
        node = [one for one in ast.walk(tree) if isinstance(one, ast.BinOp | ast.Constant)][number]
        if isinstance(node, ast.BinOp) and type(node.op) in OTHER:
            node.op = OTHER[type(node.op)]()
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            node.value = node.value + 1
        elif isinstance(node, ast.Constant) and any(sign in "12345678" for sign in str(node.value)):
            node.value = str(node.value).translate(str.maketrans("12345678", "23456789"))
        else:
            continue
        told = outcome(check.model_copy(update={"python": ast.unparse(tree)}), PATIENCE)
        found[f"its own code, line {node.lineno}, place {number}"] = (
            "survived" if told == "passed" else told.replace("failed", "killed")
        )
    return found


def computed(only: list[str]) -> Iterator[tuple[str, Any, str]]:
    """(entry, check, place) of the computed checks: those of errata are the corrected ones."""
    from regard.course.lectures import decks
    from regard.course.lectures.checks import LabCheck, PythonCheck

    for deck in decks():
        for entry in deck.entries:
            name = f"{deck.deck}.{entry.number}"
            if only and name not in only and deck.deck not in only:
                continue
            places = [(one, f"check {number}") for number, one in enumerate(entry.checks, 1)]
            places += [(one.corrected, f"erratum {number}") for number, one in enumerate(entry.errata, 1)]
            yield from (
                (name, one, place) for one, place in places if isinstance(one, LabCheck | PythonCheck)
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="ENTRY", help="these entries or decks")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S", help="time for each check")
    parser.add_argument(
        "--longest", type=float, default=0.0, metavar="S", help="leave out checks that take longer"
    )
    parser.add_argument("--survivors", action="store_true", help="tell what each check survived")
    options = parse(parser)
    found = []
    for name, check, place in computed(options.only):
        one = mutated(name, check, place, options.seconds, options.longest)
        if one is None:
            continue
        found.append(one)
        print(line(one), flush=True)
        if options.survivors:
            print(
                *(
                    f"            {told:9}{mutation}"
                    for mutation, told in one.found.items()
                    if told == "survived"
                ),
                sep="\n",
            )
    print(table(found))
    write_json(options.json, [{**asdict(one), "holds": one.holds} for one in found])
    return 0 if all(one.holds for one in found) else 1


def line(one: Outcome) -> str:
    counts = "  ".join(f"{one.count(told):3} {told}" for told in ("killed", "raised", "survived"))
    severed = {True: "", False: "; passes with its subject severed", None: ""}[one.severed]
    told = "" if one.holds else f"  WEAK{severed}"
    return f"{one.entry:8}{one.place:12}{counts}{told}  {one.note}"


def table(found: list[Outcome]) -> str:
    """Counts for each deck."""
    heads = ("entries", "checks", "mutations", "killed", "raised", "survived", "weak")
    lines = ["deck  " + "".join(f"{head:>11}" for head in heads)]
    for deck in [*sorted({one.entry[:3] for one in found}), "all"]:
        of = [one for one in found if deck in ("all", one.entry[:3])]
        counts = [sum(one.count(told) for one in of) for told in ("killed", "raised", "survived")]
        numbers = (
            len({one.entry for one in of}),
            len(of),
            sum(counts),
            *counts,
            sum(not one.holds for one in of),
        )
        lines.append(f"{deck:6}" + "".join(f"{number:11}" for number in numbers))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
