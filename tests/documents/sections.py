"""The sections of docs/machines.md, and a place in which their commands are run as they are printed.

A block of bash is run line by line. `regard …` is run in this process, which is fast; a line with a pipe, a
redirection, a variable or another program is given to bash. A line that ends in `&` runs in the background until the
test ends; if it names a port (`--port 8000`), the next line waits until something answers there. Every port on the page
is replaced by a free one. A block of Python is run in this process. All blocks of a section share one folder, which has

    words.tsv, dev.tsv   pairs: a word, and the same word backwards
    inputs.txt           20 words, one in a line
    my.yaml              the spec of a small model of these files
    runs/my              the trained model
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.documents.pages import ROOT

PAGE = ROOT / "docs" / "machines.md"
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.S | re.M)
FOR_BASH = re.compile(r"[|<>;$*`&]|^\w+=")
PORT = re.compile(r"(?:--port[ =]|http\.server |(?:127\.0\.0\.1|localhost):)(\d{4,5})\b")
PATIENCE = 60.0
PROGRAMS = {
    "regard": "-m regard",
    "python": "",
    "torchrun": "-m torch.distributed.run",
    "accelerate": "-m accelerate.commands.accelerate_cli",
}
"""Programs of the page, as arguments of this Python."""
SPEC = """
inputs:    {source: {type: text, unit: char}}
outputs:   {target: {type: text, unit: char}}
encoder:   {type: recurrent, cell: gru, size: 8, embedding: 8}
attention: {score: additive, select: softmax}
decoder:   {type: recurrent, cell: gru, size: 8, embedding: 8}
training:  {steps: 6, batch_rows: 8, evaluate_every: 3}
search:    {max_length: 8}
data:      {train: words.tsv, dev: dev.tsv}
"""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of the page where it begins."""

    language: str
    text: str
    line: int

    @property
    def commands(self) -> list[str]:
        joined = re.sub(r"\\\n\s*", "", self.text)
        return [line.strip() for line in joined.splitlines() if line.strip() and line.strip()[0] != "#"]


def sections(page: str | None = None) -> dict[str, list[Block]]:
    """Heading → the blocks below it that are run."""
    text = PAGE.read_text(encoding="utf-8") if page is None else page
    found: dict[str, list[Block]] = {}
    heading, places = "", [(one.start(), one[1]) for one in re.finditer(r"^## (.+)$", text, re.M)]
    for block in FENCE.finditer(text):
        heading = next((name for place, name in reversed(places) if place < block.start()), "")
        if block[1] in ("bash", "python"):
            line = text[: block.start()].count("\n") + 2
            found.setdefault(heading, []).append(Block(block[1], block[2], line))
    return found


OWNERS: dict[str, Callable[..., Any]] = {}
"""Heading → the test that runs its section."""


def runs(heading: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Says of a test that it runs this section."""

    def named(test: Callable[..., Any]) -> Callable[..., Any]:
        assert heading not in OWNERS, heading
        OWNERS[heading] = test
        return test

    return named


@dataclass(frozen=True)
class Ran:
    """A command that was run, and what it printed."""

    command: str
    printed: str


class Place:
    """A folder in which the commands of a section are run; `regard` runs one in this process."""

    def __init__(self, folder: Path, regard: Callable[..., tuple[int, str, str]]) -> None:
        self.folder, self.regard = folder, regard
        self.ports: dict[str, str] = {}
        self.background: list[subprocess.Popen[str]] = []
        self.environment = dict(os.environ) | {"OMP_NUM_THREADS": "1"}
        programs = folder / ".programs"
        programs.mkdir()
        for name, arguments in PROGRAMS.items():
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
            (programs / name).chmod(0o755)
        path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environment |= {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(path),
        }

    def run(self, heading: str) -> list[Ran]:
        """Run every block of a section, in order."""
        ran = []
        names: dict[str, Any] = {}
        for block in sections()[heading]:
            if block.language == "python":
                exec(compile(self.with_free_ports(block.text), f"{PAGE.name}:{block.line}", "exec"), names)
                continue
            for command in block.commands:
                ran.append(Ran(command, self.run_line(self.with_free_ports(command))))
        return ran

    def run_line(self, line: str) -> str:
        """Run one line; its standard output. A line that fails is an error."""
        if line.endswith("&"):
            self._start(line.removesuffix("&").strip())
            return ""
        if not FOR_BASH.search(line) and line.startswith("regard "):
            code, out, err = self.regard(*shlex.split(line, comments=True)[1:])
        else:
            done = subprocess.run(
                ["bash", "-c", line], cwd=self.folder, env=self.environment, text=True, capture_output=True,
                timeout=PATIENCE,
            )  # fmt: skip
            code, out, err = done.returncode, done.stdout, done.stderr
        assert code == 0, f"{line}\nended with {code}\n{out}\n{err}"
        return out

    def with_free_ports(self, text: str) -> str:
        return PORT.sub(lambda found: found[0].replace(found[1], self._free(found[1])), text)

    def _free(self, port: str) -> str:
        if port not in self.ports:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.ports[port] = str(probe.getsockname()[1])
        return self.ports[port]

    def _start(self, line: str) -> None:
        with (self.folder / f".background-{len(self.background)}").open("w") as said:
            process = subprocess.Popen(
                ["bash", "-c", line], cwd=self.folder, env=self.environment, text=True, stdout=said,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.background.append(process)
        if named := PORT.search(line):
            _await_answer(int(named[1]), process, line, Path(said.name))

    def close(self) -> None:
        """End what runs in the background, and check that none of it is left."""
        for process in self.background:
            for number in (signal.SIGTERM, signal.SIGKILL):
                if _signal_group(process.pid, number):
                    process.poll() is None and _ended(process, 10.0)
            process.wait(timeout=10)


def _signal_group(group: int, number: int) -> bool:
    """Whether there was a process left to send a signal to."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _ended(process: subprocess.Popen[str], seconds: float) -> bool:
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _await_answer(port: int, process: subprocess.Popen[str], line: str, said: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"{line}\nnothing answers at port {port}\n{said.read_text()}")
