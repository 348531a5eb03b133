"""One attack: a command in a folder of its own, and how it must end."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MOST_MEMORY = 6 << 30  # bytes of address space: torch alone reserves two to three


@dataclass(frozen=True)
class Attack:
    """A command typed in a shell, in a folder that holds `runs/` and `words.tsv`.

    ends      "refused" (exit 2), "answered" (exit 0) or "either"
    says      a regular expression that the output must match
    prepare   writes the files of the attack into the folder
    check     returns what is wrong afterwards, or None
    """

    kind: str
    name: str
    command: str
    ends: str = "either"
    says: str = ""
    prepare: Callable[[Path], None] | None = None
    check: Callable[[Path, str], str | None] | None = None
    environment: Mapping[str, str | None] = field(default_factory=dict)
    seconds: float = 120.0


@dataclass(frozen=True)
class Ended:
    """How an attack ended; `fell` says what is wrong, or is empty."""

    attack: Attack
    fell: str
    seconds: float
    output: str


def run_attack(attack: Attack, ground: Path) -> Ended:
    """Run one attack in a copy of the ground. Never raises."""
    folder = Path(tempfile.mkdtemp(prefix="attack-"))
    began = time.monotonic()
    try:
        place = folder / "place"
        shutil.copytree(ground, place, symlinks=True)
        if attack.prepare is not None:
            attack.prepare(place)
        code, output = _run(attack, place, folder)
        return Ended(attack, _judge(attack, place, code, output), time.monotonic() - began, output)
    except Exception as error:  # an attack that cannot be prepared has not been walked
        return Ended(attack, f"not run: {type(error).__name__}: {error}", time.monotonic() - began, "")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(attack: Attack, place: Path, folder: Path) -> tuple[int, str]:
    (folder / "home").mkdir()
    environment: dict[str, str | None] = {
        **os.environ,
        "HOME": str(folder / "home"),
        "REGARD_CACHE": str(folder / "cache"),
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "100",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        **attack.environment,
    }
    process = subprocess.Popen(
        ["bash", "-c", f'regard() {{ "{sys.executable}" -m regard "$@"; }}\n{attack.command}'],
        cwd=place,
        env={name: value for name, value in environment.items() if value is not None},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )
    try:
        output, _ = process.communicate(timeout=attack.seconds)
    except subprocess.TimeoutExpired:
        _end_session(process.pid)
        output, _ = process.communicate()
        return -1, output.decode("utf-8", "replace")
    return process.returncode, output.decode("utf-8", "replace")


def _end_session(leader: int) -> None:
    """Kill every process of a session: with job control a shell gives what it starts groups of their own."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(int(folder.name)) == leader:
                os.kill(int(folder.name), signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _judge(attack: Attack, place: Path, code: int, output: str) -> str:
    """What is wrong with how it ended, or an empty string."""
    if code == -1:
        return f"ran longer than {attack.seconds:g} s"
    if "Traceback (most recent call last)" in output:
        return "traceback: " + output.strip().splitlines()[-1][:200]
    allowed = {"refused": {2}, "answered": {0}, "either": {0, 2}}[attack.ends]
    if code not in allowed:
        return f"exit {code}, expected {' or '.join(map(str, sorted(allowed)))}: {_end(output)}"
    if attack.says and not re.search(attack.says, " ".join(output.split())):
        return f"does not say {attack.says!r}: {_end(output)}"
    return (attack.check(place, output) if attack.check is not None else None) or ""


def _end(output: str) -> str:
    return " ".join(output.split())[-300:]
