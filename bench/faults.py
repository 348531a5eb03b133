"""Break one thing in every model, and see which rows of the lectures notice.

    python bench/faults.py                    every row with computed checks
    python bench/faults.py --only 003.13 004  one row, one deck

`mutations.py` breaks any function that a check calls. Here a fault is one that a lecturer would name: the attention is
severed, looks everywhere alike, has the wrong sign or does not see who asks, encoders or networks for images return
zeros, all words are alike, cells forget their state, or a search does not read what it wrote. A row that computes with
the part and passes is printed. That is no mistake if its claim is about something else. Exit status 1 if a row passes
with every fault that reaches it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any

from mutations import computed, outcome
from written import parse, write_json

LONGEST = 60.0
"""CPU seconds after which a check is stopped."""
Change = Callable[[Callable[..., Any]], Callable[..., Any]]


@contextmanager
def changed(owner: Any, name: str, change: Change, count: list[int]) -> Iterator[None]:
    """Replace a function of a class or module; count its calls."""
    original = getattr(owner, name)
    made = change(original)

    @wraps(original)
    def counted(*given: Any, **more: Any) -> Any:
        count[0] += 1
        return made(*given, **more)

    setattr(owner, name, counted)
    try:
        yield
    finally:
        setattr(owner, name, original)


def _severed(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: original(*given) * 0


def _scores_times(factor: float) -> Change:
    def change(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, scores, *given, **more: original(self, scores * factor, *given, **more)

    return change


def _empty(original: Callable[..., Any]) -> Callable[..., Any]:
    def forward(*given: Any, **more: Any) -> Any:
        memory = original(*given, **more)
        keys = None if memory.keys is None else memory.keys * 0
        last = None if memory.last is None else tuple(one * 0 for one in memory.last)
        return replace(memory, values=memory.values * 0, summary=memory.summary * 0, keys=keys, last=last)

    return forward


def _zero(original: Callable[..., Any]) -> Callable[..., Any]:
    def forward(*given: Any, **more: Any) -> Any:
        found = original(*given, **more)
        return tuple(one * 0 for one in found) if isinstance(found, tuple) else found * 0

    return forward


def _forgetting(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, inputs, state, *given, **more: original(self, inputs, state * 0, *given, **more)


def _same_question(original: Callable[..., Any]) -> Callable[..., Any]:
    def forward(self: Any, query: Any, *given: Any, **more: Any) -> Any:
        return original(self, query * 0 + 1, *given, **more)

    return forward


def _begun_again(original: Callable[..., Any]) -> Callable[..., Any]:
    def step(self: Any, tokens: Any, *given: Any, **more: Any) -> Any:
        return original(self, tokens * 0 + self.begin, *given, **more)

    return step


def faults() -> dict[str, list[tuple[Any, str, Change]]]:
    """{name: what is replaced, and how}."""
    from regard.nn import attention
    from regard.nn.cells import GRUCell, LSTMCell, RNNCell
    from regard.nn.embedding import Embedding
    from regard.nn.search.stepper import Stepper
    from regard.parts import registry

    for kind in ("encoder", "network"):
        registry.load_own(kind)  # a row would load its own too late
    networks = {one for one in registry.PARTS["network"].values() if "forward" in vars(one)}
    encoders = {one for one in registry.PARTS["encoder"].values() if "forward" in vars(one)}
    return {
        "attention severed": [(attention, "_read", _severed)],
        "attention uniform": [(attention.Attention, "look", _scores_times(0.0))],
        "score negated": [(attention.Attention, "look", _scores_times(-1.0))],
        "question ignored": [(attention.Reading, "forward", _same_question)],
        "encoder zero": [(one, "forward", _empty) for one in encoders],
        "images alike": [(one, "forward", _zero) for one in networks],
        "words alike": [(Embedding, "forward", _zero)],
        "nothing fed back": [(Stepper, "step", _begun_again)],
        "state forgotten": [(one, "advance", _forgetting) for one in (RNNCell, GRUCell, LSTMCell)],
    }


def told(check: Any, places: list[tuple[Any, str, Change]]) -> str:
    """What becomes of a check with a fault: passed, failed or raised; empty if it does not reach it."""
    count = [0]
    with ExitStack() as stack:
        for owner, name, change in places:
            stack.enter_context(changed(owner, name, change, count))
        found = outcome(check, LONGEST)
    return found if count[0] else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="ROW", help="these rows or decks")
    options = parse(parser)
    rows: dict[str, list[Any]] = {}
    for name, check, _ in computed(options.only):
        rows.setdefault(name, []).append(check)
    results: dict[str, dict[str, str]] = {}
    for name, checks in rows.items():
        found = results[name] = {}
        for fault, places in faults().items():
            every = [one for one in (told(check, places) for check in checks) if one]
            if every:
                found[fault] = "survived" if set(every) == {"passed"} else "noticed"
        survived = [fault for fault, one in found.items() if one == "survived"]
        if survived:
            mark = "WEAK  " if len(survived) == len(found) else "      "
            print(f"{mark}{name:8}survives: {', '.join(survived)}", flush=True)
    weak = [name for name, one in results.items() if one and set(one.values()) == {"survived"}]
    reached = sum(bool(one) for one in results.values())
    print(f"{len(results)} rows, {reached} reached by a fault, {len(weak)} notice none: {' '.join(weak)}")
    write_json(options.json, results)
    return 1 if weak else 0


if __name__ == "__main__":
    sys.exit(main())
