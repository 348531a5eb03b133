"""The files that these scripts write: `--json FILE` and others, by the rule of regard's own commands.

A file that is there already is replaced where one of them wrote it and nobody has changed it since. Any other file
stays, and the script ends before it measures anything, unless `--overwrite` is given.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    parser.add_argument(
        "--overwrite", action="store_true", help="replace files that no script wrote, or that were changed"
    )


def parse(parser: argparse.ArgumentParser, *more: str) -> argparse.Namespace:
    """The options, with --json and --overwrite; `more` are those that name files to write too."""
    add_options(parser)
    given = parser.parse_args()
    check(parser, {f"--{name}": getattr(given, name) for name in ("json", *more)}, overwrite=given.overwrite)
    return given


def check(parser: argparse.ArgumentParser, files: dict[str, Path | None], *, overwrite: bool) -> None:
    """End here, with status 2, where a file may not be replaced; `files` are {option: file}."""
    from regard import RegardError
    from regard.cli.outputs import outputs

    try:
        with outputs(files, overwrite=overwrite):
            pass
    except RegardError as error:
        parser.error(str(error))


@contextmanager
def writing(paths: Sequence[Path]) -> Iterator[None]:
    """Remember that the files which are written inside are ours; they have been checked."""
    from regard.cli.outputs import outputs

    with outputs({str(path): path for path in paths}, overwrite=True):
        yield


def write_json(path: Path | None, content: Any) -> None:
    """The figures, atomically, where a file was named."""
    if path is not None:
        from regard.files import write_text

        with writing([path]):
            write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
