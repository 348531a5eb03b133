"""The implementation of `regard lecture`: list the decks, run entries, check them, show a figure."""

from __future__ import annotations

import json
import tempfile
import time
import webbrowser
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regard.cli.outputs import STANDARD, write_output
from regard.course import lectures
from regard.course.lectures import CheckResult, EntryResult
from regard.course.lectures.catalog import answered_by, command
from regard.course.lectures.checks import PREAMBLE, PythonCheck
from regard.course.lectures.drawing import drawn, has_figure
from regard.course.lectures.session import session
from regard.errors import RegardError
from regard.inspect.saving import check_target, save
from regard.reporting.console import safe_console

STYLES = {
    "computed": "green",
    "trained": "cyan",
    "board": "blue",
    "fail": "bold red",
    "unshown": "yellow",
    "unknown": "yellow",
    "nothing": "dim",
}
WORDS = {
    "computed": "computed",
    "trained": "trained (evidence)",
    "board": "board",
    "fail": "FAIL",
    "unshown": "not shown",
    "unknown": "unknown",
    "nothing": "nothing to compute",
}


def list_decks(*, code: bool, output: Path | None, browser: bool, json_file: Path | None) -> None:
    """List every deck with its title and number of entries."""
    _refuse(output, browser, "--open ENTRY")
    if json_file is not None:
        raise RegardError("--json needs a deck, an entry or --check.", where="regard lecture")
    if code:
        raise RegardError("--code needs a deck or an entry.", where="regard lecture")
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title, side in (("deck", "left"), ("title", "left"), ("course", "left"), ("entries", "right")):
        table.add_column(title, justify=side)  # type: ignore[arg-type]
    table.add_column("errata", justify="right")
    for deck in lectures.decks():
        errata = len(lectures.errata(deck))
        cells = (deck.deck, deck.title, deck.course, str(len(deck.entries)), str(errata))
        table.add_row(*map(Text, cells))
    console = safe_console()
    console.print(table)
    console.print(
        "\n[dim]regard lecture 004[/dim] walks through one, [dim]regard lecture 000.32[/dim] shows one entry, "
        "[dim]--check[/dim] runs all quick ones, [dim]--open 004.29[/dim] shows a figure."
    )


def walk(
    what: Sequence[str],
    *,
    check: bool,
    code: bool,
    output: Path | None,
    browser: bool,
    json_file: Path | None,
) -> None:
    """Run the named entries, or all, and print each as it finishes."""
    _refuse(output, browser, "--open ENTRY")
    names = _entries(what)
    console = safe_console(stderr=json_file == STANDARD, highlight=False)
    torch.set_num_threads(1)  # entries are small: a second thread would only slow them down
    began, counts, found = time.perf_counter(), Counter[str](), []
    for name in names:
        result = lectures.examine(lectures.entry(name))
        counts[result.state] += 1
        found.append(_as_data(name, result))
        (_print_line if check else _print_entry)(console, name, result)
        if code:
            _print_code(console, name)
    if len(names) > 1:
        console.print(_summary(counts, time.perf_counter() - began))
    if json_file is not None:
        text = json.dumps(found, ensure_ascii=False, indent=1) + "\n"
        write_output(json_file, text)
    if counts["fail"]:
        raise typer.Exit(1)


def show_figure(name: str, *, alone: bool, output: Path | None, browser: bool) -> None:
    """Draw the figure of an entry in the terminal, write it, and print the file name."""
    if not alone:
        raise RegardError(
            "--open can be combined only with -o and --browser.",
            where="regard lecture",
            fix=f"regard lecture --open {name}",
        )
    if output is not None:
        check_target(output)
    figure = drawn(name)
    target = output or Path(tempfile.mkdtemp(prefix="regard-")) / f"{name}.html"
    console = safe_console(highlight=False)
    console.print(figure)
    save(figure, target)
    console.print(Text(f"{name}: {lectures.entry(name).claim}", style="bold"))
    console.print(Text(f"The figure is in {target}"), soft_wrap=True)
    if browser and not webbrowser.open(target.resolve().as_uri()):
        console.print(Text("No browser could be opened; open the file above.", style="yellow"))


def _entries(what: Sequence[str]) -> list[str]:
    """The entries of the given decks and entry names, in order."""
    found = []
    for name in what or lectures.names():
        if "." in name:
            lectures.entry(name)
            found.append(name)
        else:
            found += [f"{name}.{one.number}" for one in lectures.deck(name).entries]
    return list(dict.fromkeys(found))


def _print_line(console: Console, name: str, result: EntryResult) -> None:
    """Print one line; if the entry failed, also the expected and the actual result."""
    line = Text(f"{name:<8}")
    line.append(f"{WORDS[result.state]:<20}", style=STYLES[result.state])
    line.append(f"{result.seconds:6.2f} s  ", style="dim")
    line.append(lectures.entry(name).claim)
    console.print(line, no_wrap=True, overflow="ellipsis")
    if result.state in ("fail", "unknown"):
        for one in result.findings:
            if not one.passed:
                role = f"{one.role}: " if one.role else ""
                console.print(
                    Padding(Text(f"{role}expected {one.expected}, found {one.found}"), (0, 0, 0, 8))
                )


def _print_entry(console: Console, name: str, result: EntryResult) -> None:
    """Print the entry in full: location, claim, command, expected and actual result, errata and remarks."""
    entry = lectures.entry(name)
    head = Text(name, style="bold")
    head.append(f"  {entry.place} · {entry.kind}  ", style="dim")
    head.append(WORDS[result.state], style=STYLES[result.state])
    console.print(head)
    _indented(console, Text(entry.claim))
    for line in session(name):
        if line.text != f"regard lecture {name}":
            # Not wrapped, so that a copied command stays in one piece.
            console.print(Text(f"    $ {line}", style="cyan"), soft_wrap=True)
    source = answered_by(name)
    checks = len(source.checks)
    _print_findings(console, result.findings[:checks])
    for place, erratum in enumerate(source.errata):
        _indented(console, Text(f"Erratum: {erratum.says}", style="yellow"))
        _print_findings(console, result.findings[checks + 2 * place : checks + 2 * place + 2])
    if source.unshown:
        _indented(console, Text(f"Not shown: {source.unshown}", style="yellow"))
    for note in (entry.nothing, entry.note or source.note):
        if note:
            _indented(console, Text(note, style="dim"))
    if has_figure(name):
        _indented(console, Text(f"Figure: regard lecture --open {name}", style="dim"))
    console.print()


def _print_code(console: Console, name: str) -> None:
    """Print the Python code of an entry's computations, runnable as it is."""
    source = answered_by(name)
    checks = [
        *source.checks,
        *(one for erratum in source.errata for one in (erratum.printed, erratum.corrected)),
    ]
    found = dict.fromkeys(check.python.strip() for check in checks if isinstance(check, PythonCheck))
    if not found:
        _indented(console, Text("No Python code: the command above computes it.", style="dim"))
    for text in [PREAMBLE.strip(), *found] if found else []:
        for line in text.splitlines():
            console.print(Text(line), soft_wrap=True)
        console.print()


def _print_findings(console: Console, findings: Sequence[CheckResult]) -> None:
    """Print expected and actual results; for an erratum, that the printed value fails and the corrected one passes."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(overflow="fold")
    for one in findings:
        outcome = {"as printed": "  fails, as expected", "corrected": "  passes"}.get(one.role, "")
        table.add_row(
            Text(one.role, style="dim"),
            Text(f"expected {one.expected}", style="dim"),
            Text(
                f"{'trained' if one.kind == 'trained' else 'found'} {one.found}{outcome if one.passed else '  ✗'}",
                style="default" if one.passed else "red",
            ),
        )
    if findings:
        _indented(console, table)


def _indented(console: Console, what: Text | Table) -> None:
    console.print(Padding(what, (0, 0, 0, 4)))


def _summary(counts: Counter[str], seconds: float) -> Text:
    total, answered = sum(counts.values()), sum(counts[state] for state in lectures.ANSWERED)
    rest = [f"{counts[state]} {word}" for state, word in WORDS.items() if counts[state]]
    return Text(
        f"{answered} of {total} entries answered ({', '.join(rest)}) in {seconds:.0f} s", style="bold"
    )


def _as_data(name: str, result: EntryResult) -> dict[str, Any]:
    lines = session(name)
    more = [line.text for line in lines if not line.first][1:]
    return {
        "entry": name,
        "claim": lectures.entry(name).claim,
        "before": [line.text for line in lines if line.first],
        "command": command(name),
        **({"also": more} if more else {}),
        "state": result.state,
        "findings": [vars(one) for one in result.findings],
    }


def _refuse(output: Path | None, browser: bool, needs: str) -> None:
    """Refuse options that have no effect here."""
    for given, option in ((output is not None, "-o"), (browser, "--browser")):
        if given:
            raise RegardError(f"{option} works only with {needs}.", where="regard lecture")
