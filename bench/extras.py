"""What each extra brings: its packages, their size on disk, and the time of their import.

    python bench/extras.py                  of the environment that runs this script
    python bench/extras.py --page docs/releasing.md      writes the table between its two marks

A package that regard needs anyway counts as nothing. The time is the processor time of importing the packages that
pyproject.toml names for the extra, in a fresh process that has imported torch and numpy. Exit status 1 if an import
failed; what is not installed is listed as such.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from written import parse, write_json

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
BEGIN, END = "<!-- extras: python bench/extras.py --page docs/releasing.md -->", "<!-- end of extras -->"
FOR_OTHERS = ("all", "dev", "docs", "bench", "release")
"""Extras that bring others, or that nobody needs to use regard."""
IMPORTED = {
    "mlflow-skinny": "mlflow", "scikit-learn": "sklearn", "pyyaml": "yaml", "zensical": "zensical", "ray": "ray.data",
}  # fmt: skip
"""Names of modules that differ from those of their packages."""


@cache
def brought(requirement: str) -> frozenset[str]:
    """The installed packages that a requirement brings, itself included."""
    found: set[str] = set()
    waiting = [Requirement(requirement)]
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        marks = [name, *(f"{name}[{extra}]" for extra in one.extras)]
        if all(mark in found for mark in marks):
            continue
        found.update(marks)
        try:
            needed = metadata.requires(one.name) or []
        except metadata.PackageNotFoundError:
            continue
        for text in needed:
            further = Requirement(text)
            markers = [{"extra": extra} for extra in ("", *one.extras)]
            if further.marker is None or any(further.marker.evaluate(given) for given in markers):
                waiting.append(further)
    return frozenset(name for name in found if "[" not in name)


def installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


@cache
def size(name: str) -> int:
    """Bytes of a package's files."""
    files = metadata.distribution(name).files or []
    return sum(path.stat().st_size for one in files if (path := Path(str(one.locate()))).is_file())


def seconds(modules: list[str], repeat: int) -> float | None:
    """The processor time of an import after torch and numpy; None if it fails."""
    code = "import time, numpy, torch; began = time.process_time()\n"
    code += "".join(f"import {module}\n" for module in modules) + "print(time.process_time() - began)"
    found = []
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(repeat + 1):
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=variables)
        if told.returncode:
            return None
        found.append(float(told.stdout.split()[-1]))
    return statistics.median(found[1:])  # the first one may compile


def measured(extra: str, base: frozenset[str], repeat: int) -> dict[str, Any]:
    needed = [Requirement(text) for text in EXTRAS[extra]]
    missing = [one.name for one in needed if not installed(one.name)]
    if missing:
        return {"extra": extra, "missing": missing}
    new = sorted({name for text in EXTRAS[extra] for name in brought(text)} - base)
    new = [name for name in new if installed(name)]
    modules = [IMPORTED.get(name, name.replace("-", "_")) for name in (one.name.lower() for one in needed)]
    modules = [metadata_module(one) for one in modules]
    return {
        "extra": extra,
        "packages": len(new),
        "megabytes": round(sum(map(size, new)) / 1e6, 1),
        "seconds": seconds(modules, repeat),
    }


def metadata_module(name: str) -> str:
    """The module as Python spells it: PIL for pillow, babel for Babel."""
    for module, packages in metadata.packages_distributions().items():
        if name in (canonicalize_name(one).replace("-", "_") for one in packages) and module.lower() == name:
            return module
    return name


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| extra | further packages | MB | import, CPU s |", "|---|---|---|---|"]
    for row in rows:
        if "missing" in row:
            lines.append(f"| `{row['extra']}` | not installed: {', '.join(row['missing'])} | | |")
        else:
            told = "failed" if row["seconds"] is None else f"{row['seconds']:.2f}"
            lines.append(f"| `{row['extra']}` | {row['packages']} | {row['megabytes']:,.1f} | {told} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--only", nargs="+", default=[name for name in EXTRAS if name not in FOR_OTHERS])
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="the median of N imports")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the table into this page")
    options = parse(parser)
    base = frozenset(name for text in PROJECT["dependencies"] for name in brought(text))
    rows = [measured(extra, base, options.repeat) for extra in options.only]
    text = table(rows)
    print(text)
    write_json(options.json, rows)
    if options.page:
        page = options.page.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        options.page.write_text(
            f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8"
        )
    return 1 if any("missing" not in row and row["seconds"] is None for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
