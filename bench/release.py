"""Build a release and try it: sdist and wheel, their checks, and the first page from the wheel alone.

    python bench/release.py                     everything, into dist/
    python bench/release.py --no-install        only build and check
    python bench/release.py --with 'torch==2.13.0' --installer uv

Bars: the version is the same everywhere; `twine check --strict` and `check-wheel-contents` find nothing; the wheel
holds exactly the tracked files of regard/, in less than 5 MB; and in an empty environment the commands of docs/index.md
run as printed, the first model trained and shown within five minutes. Exit status 1 if a bar is missed. Needs the extra
`release`.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

from environments import ROOT, Environment, page_commands, write_words
from written import parse, write_json

DIST = ROOT / "dist"
LARGEST = 5_000_000
"""Bytes of a wheel."""
MINUTES = 5.0
WAIT = ("regard studio", "regard serve", "regard chat")
"""Commands that wait for somebody."""


def tracked(under: str = "") -> set[str]:
    """The files of the repository that git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", under or "."],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return {name for name in listed.split("\0") if name and (ROOT / name).is_file()}


def versions() -> dict[str, str]:
    """The version, as each file that has it says."""

    def found(file: str, pattern: str) -> str:
        match = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.M)
        return match[1] if match else "none"

    return {
        "regard/version.py": found("regard/version.py", r'^__version__ = "(.*)"$'),
        "CITATION.cff": found("CITATION.cff", r"^version: (.*)$"),
        "CHANGELOG.md": found("CHANGELOG.md", r"^## (\d\S*)"),
    }


def build() -> tuple[Path, Path]:
    """The sdist, from a copy of the tracked files, and the wheel, from the sdist."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "regard"
        for one in sorted(tracked()):
            (copy / one).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / one, copy / one)
        told = subprocess.run(
            [sys.executable, "-m", "build", "--outdir", str(DIST), str(copy)], capture_output=True, text=True
        )
    if told.returncode:
        sys.exit(f"The build failed.\n{told.stdout[-2000:]}{told.stderr[-2000:]}")
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    return sdist, wheel


def checked(sdist: Path, wheel: Path) -> list[str]:
    """What is wrong with the two files."""
    wrong = []
    for line in (
        ["twine", "check", "--strict", str(sdist), str(wheel)],
        ["check_wheel_contents", str(wheel)],
    ):
        told = subprocess.run([sys.executable, "-m", *line], capture_output=True, text=True)
        print(f"{line[0]:24}{'fine' if not told.returncode else 'failed'}")
        if told.returncode:
            wrong.append(f"{line[0]}:\n{told.stdout}{told.stderr}")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wrong += [f"the wheel lacks {name}" for name in sorted(tracked("regard") - held)]
    wrong += [f"the wheel holds {name}" for name in sorted(held - tracked("regard"))]
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    wrong += [f"the sdist lacks {name}" for name in sorted(tracked("regard") - inside)]
    if wheel.stat().st_size > LARGEST:
        wrong.append(f"the wheel has {wheel.stat().st_size:,} bytes, at most {LARGEST:,} are allowed")
    return wrong


def tried(wheel: Path, *, installer: str, also: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """The commands of the first page in an empty environment; each with its seconds, and what is wrong."""
    rows, wrong = [], []
    with tempfile.TemporaryDirectory() as name:
        environment = Environment(Path(name) / "environment", installer=installer)
        empty = Path(name) / "empty"
        empty.mkdir()
        write_words(empty / "words.tsv")
        began = 0.0
        for line in page_commands():
            if line.startswith(WAIT):
                continue
            if line.startswith("pip install"):
                (given,) = re.findall(r"regard(\[[\w,]+\])?", line)
                done = environment.install(f"{wheel}{given}", *also)
            else:
                began = began or time.monotonic()
                done = environment.run(line, empty)
            rows.append({"command": line, "seconds": round(done.seconds, 1), "fine": done.fine})
            print(f"{done.seconds:7.1f} s  {'fine' if done.fine else 'failed':8}{line}", flush=True)
            if not done.fine:
                wrong.append(f"{line}\n{done.tail()}")
                break
            if line.startswith("regard show") and "shown" not in {row.get("what") for row in rows}:
                rows[-1] |= {"what": "shown", "after": round(time.monotonic() - began, 1)}
                if time.monotonic() - began > 60 * MINUTES:
                    wrong.append(f"the first model was shown after {time.monotonic() - began:.0f} s")
    return rows, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--no-install", action="store_true", help="only build and check")
    parser.add_argument("--installer", choices=("pip", "uv"), default="pip")
    parser.add_argument(
        "--with", nargs="+", default=[], dest="also", metavar="WHAT", help="install these too"
    )
    options = parse(parser)
    said = versions()
    wrong = [] if len(set(said.values())) == 1 else [f"the version is not the same everywhere: {said}"]
    sdist, wheel = build()
    sizes = {path.name: path.stat().st_size for path in (sdist, wheel)}
    print(*(f"{name:40}{size / 1e6:6.2f} MB" for name, size in sizes.items()), sep="\n")
    wrong += checked(sdist, wheel)
    rows: list[dict[str, Any]] = []
    if not options.no_install and not wrong:
        rows, more = tried(wheel, installer=options.installer, also=options.also)
        wrong += more
    write_json(options.json, {"versions": said, "bytes": sizes, "commands": rows, "wrong": wrong})
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
