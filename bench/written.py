"""The files that these scripts write, such as `--json FILE`. The rule is that of regard's own commands.

A script replaces an existing file only if a script wrote it and nobody has changed it since. Otherwise it
stops before it measures anything, unless `--overwrite` is given.
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
    """Parse the options, with --json and --overwrite; `more` names further options for files to write."""
    add_options(parser)
    given = parser.parse_args()
    check(parser, {f"--{name}": getattr(given, name) for name in ("json", *more)}, overwrite=given.overwrite)
    return given


def check(parser: argparse.ArgumentParser, files: dict[str, Path | None], *, overwrite: bool) -> None:
    """Exit with status 2 if a file must not be replaced; `files` is {option: file}."""
    from regard import RegardError
    from regard.cli.outputs import outputs

    try:
        with outputs(files, overwrite=overwrite):
            pass
    except RegardError as error:
        parser.error(str(error))


@contextmanager
def writing(paths: Sequence[Path]) -> Iterator[None]:
    """Register the files written inside as ours, without checking them again."""
    from regard.cli.outputs import outputs

    with outputs({str(path): path for path in paths}, overwrite=True):
        yield


def write_json(path: Path | None, content: Any) -> None:
    """Write the figures atomically, if `path` is given."""
    if path is not None:
        from regard.storage.files import write_text

        with writing([path]):
            write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
