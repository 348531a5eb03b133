"""Time every lab as a person runs it: `regard lab NAME -o FIGURE`, in a process of its own, with its default settings.

    python bench/labs.py                         all of them
    python bench/labs.py --only ladder timing    some of them

A lab is to take under 5 seconds on two idle cores, start and import of Python included; `ladder` and `clipping`, which
train networks, under 60. Prints a table, writes the figures with --json FILE, exits with 1 where a lab takes longer.
"""

from __future__ import annotations

import argparse
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
BARS = {"ladder": 60.0, "clipping": 60.0}
"""Seconds."""


def seconds(name: str, figure: Path) -> float:
    """How long the lab took, by the clock."""
    command = [sys.executable, "-m", "regard.cli", "lab", name, "-o", str(figure)]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    took = time.monotonic() - began
    if done.returncode:
        raise RegardError(done.stderr.strip(), where=f"regard lab {name}")
    return took


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these labs")
    options = parse(parser)
    chosen = options.only or names("lab")
    for name in chosen:
        find("lab", name)  # raises, with the nearest name, where there is none
    table = Table(box=None, header_style="bold", pad_edge=False)
    for head in ("lab", "seconds", "bar", ""):
        table.add_column(head, justify="right" if head in ("seconds", "bar") else "left")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            took, bar = seconds(name, Path(folder) / f"{name}.svg"), BARS.get(name, BAR)
            rows.append({"lab": name, "seconds": round(took, 2), "bar": bar, "met": took < bar})
            table.add_row(
                name, f"{took:.2f}", f"{bar:g}", "[green]ok[/green]" if took < bar else "[red]MISSED[/red]"
            )
    Console(highlight=False).print(table)
    write_json(options.json, {"rows": rows})
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RegardError as error:
        sys.exit(f"error: {error}")
