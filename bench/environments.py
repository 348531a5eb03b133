"""Fresh environments in which scripts install regard, by pip or uv, and the commands of the first page."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "index.md"
LINES = 12
"""Lines of a failed command's output that are shown."""


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    command: str
    seconds: float
    status: int
    output: str

    @property
    def fine(self) -> bool:
        return self.status == 0

    def tail(self) -> str:
        return "\n".join(f"    {line}" for line in self.output.strip().splitlines()[-LINES:])


class Environment:
    """A virtual environment in a folder, without anything from the one that runs this script."""

    def __init__(self, folder: Path, python: str = sys.executable, *, installer: str = "pip") -> None:
        self.folder, self.installer = folder, installer
        # uv brings its own installer; pip needs one in the environment
        bare = ["--without-pip"] if installer == "uv" else []
        subprocess.run([python, "-m", "venv", "--clear", *bare, str(folder)], check=True)
        self.bin = folder / "bin"
        self.python = self.bin / "python"

    def install(self, *what: str) -> Ended:
        """Install packages as a user does, with nothing but the index that pip or uv is set to."""
        if self.installer == "uv":
            uv = shutil.which("uv") or "uv"
            return self.run([uv, "pip", "install", "--quiet", "--python", str(self.python), *what])
        return self.run([str(self.python), "-m", "pip", "install", "--quiet", *what])

    def run(
        self, command: Sequence[str] | str, folder: Path | None = None, *, timeout: float | None = None
    ) -> Ended:
        """Run a command in the environment; a text is run by the shell."""
        dropped = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "REGARD_SET")
        variables = {key: value for key, value in os.environ.items() if key not in dropped}
        variables |= {"PATH": f"{self.bin}{os.pathsep}{os.environ.get('PATH', '')}", "COLUMNS": "100"}
        shell = isinstance(command, str)
        began = time.monotonic()
        try:
            done = subprocess.run(
                command, shell=shell, cwd=folder, env=variables, timeout=timeout,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
            )  # fmt: skip
            status, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as error:
            told = error.stdout or b""
            status, output = 124, told if isinstance(told, str) else told.decode(errors="replace")
        text = command if isinstance(command, str) else shlex.join(command)
        return Ended(text, time.monotonic() - began, status, output)

    def size(self) -> int:
        """Bytes of its files."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def page_commands(page: Path = PAGE) -> list[str]:
    """The commands of a page, in their order, without their remarks."""
    blocks = re.findall(r"^```bash\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)
    lines = [re.split(r"\s+#\s", line)[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]


def write_words(path: Path, most: int = 400) -> None:
    """A file of pairs for the commands of the page: words of the documents, and their letters as sounds."""
    text = "".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md")))
    words = sorted(set(re.findall(r"\b[a-z]{3,9}\b", text)))[:most]
    path.write_text("".join(f"{word}\t{' '.join(word.upper())}\n" for word in words), encoding="utf-8")


def built_wheel(folder: Path) -> Path:
    """The wheel of this copy of the repository, built into a folder."""
    line = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(line, check=True)
    (wheel,) = folder.glob("regard-*.whl")
    return wheel
