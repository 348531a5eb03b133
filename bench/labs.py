"""Time every lab as a user runs it: `regard lab NAME -o FIGURE`, in its own process, with default settings.

    python bench/labs.py                         all of them
    python bench/labs.py --only ladder timing    some of them

A lab must take less than 5 seconds on two idle cores, including the start of Python and its imports; `ladder`
and `clipping`, which train networks, less than 60; `word-order`, which trains one, and `structure-speed`, which
compiles kernels, less than 20. Prints a table with wall time and CPU time (for cores that are not idle), writes the
figures with --json FILE. Exit status 1 if the wall time of a lab exceeds its bar.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table
from written import parse, write_json

from regard import RegardError
from regard.parts import find, names

BAR = 5.0
BARS = {"ladder": 60.0, "clipping": 60.0, "structure-speed": 20.0, "word-order": 20.0}
"""Bars in seconds, for labs that need more than BAR."""


def seconds(name: str, figure: Path) -> tuple[float, float]:
    """Wall time and CPU time of a lab."""
    command = [sys.executable, "-m", "regard", "lab", name, "-o", str(figure)]
    # Allow bytecode caches, as on a user's machine.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    began, before = time.monotonic(), os.times()
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", check=False, env=environment
    )
    took, after = time.monotonic() - began, os.times()
    if done.returncode:
        raise RegardError(done.stderr.strip(), where=f"regard lab {name}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return took, used


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these labs")
    options = parse(parser)
    chosen = options.only or names("lab")
    for name in chosen:
        find("lab", name)  # raises an error that names the nearest lab
    table = Table(box=None, header_style="bold", pad_edge=False)
    for head in ("lab", "seconds", "CPU", "bar", ""):
        table.add_column(head, justify="left" if head in ("lab", "") else "right")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        seconds(chosen[0], Path(folder) / "first.svg")  # fills the caches of bytecode and kernels
        for name in chosen:
            (took, used), bar = seconds(name, Path(folder) / f"{name}.svg"), BARS.get(name, BAR)
            met = took < bar
            rows.append(
                {"lab": name, "seconds": round(took, 2), "cpu": round(used, 2), "bar": bar, "met": met}
            )
            verdict = "[green]ok[/green]" if met else "[red]MISSED[/red]"
            table.add_row(name, f"{took:.2f}", f"{used:.2f}", f"{bar:g}", verdict)
    Console(highlight=False).print(table)
    write_json(options.json, {"rows": rows})
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RegardError as error:
        sys.exit(f"error: {error}")
