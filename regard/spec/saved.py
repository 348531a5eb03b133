"""The spec in a model's folder, with the list of its parts that are not regard's own."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from regard.errors import RegardError, Setting
from regard.parts import Provenance, as_data, check_installed, missing_parts, used_parts
from regard.parts.options import Saved, reading_saved
from regard.spec.changes import Change
from regard.spec.data import SPLITS
from regard.spec.document import Document, parse_file
from regard.spec.spec import Spec
from regard.spec.unneeded import needed, without_unneeded
from regard.storage.files import read_json, write_text
from regard.storage.manifest import is_data
from regard.version import __version__

SPEC, PARTS = "spec.yaml", "parts.json"


def foreign_parts(spec: Spec) -> list[Provenance]:
    """The parts of a spec that come from other packages or from scripts."""
    return used_parts(spec, metrics=(*spec.metrics, spec.training.metric))


def write_spec(folder: Path, spec: Spec) -> None:
    """Write spec.yaml and parts.json, each atomically. The spec comes last, because it makes a folder a run."""
    listed = [one.to_dict() for one in foreign_parts(spec)]
    text = json.dumps({"regard": __version__, "parts": listed}, ensure_ascii=False, indent=1)
    write_text(folder / PARTS, text + "\n")
    write_text(folder / SPEC, spec.to_yaml())


def load_spec(folder: Path, changes: Sequence[Change] = (), *, to_answer: bool = False) -> Spec:
    """The spec in a folder; an unregistered part is refused with what to install.

    to_answer   the model will not be trained: parts that only training and measuring need may be missing, and are left
                out with a warning
    """
    parts = read_parts(folder)
    absent = missing_parts(parts) if to_answer else []
    check_installed(
        parts if needed(absent) else [one for one in parts if one not in absent], where=str(folder)
    )
    versions = {(one.kind, one.name): one.version for one in parts}
    document = parse_file(folder / SPEC)
    if to_answer:
        document, left = without_unneeded(document)
        _warn(folder, left, absent)
    with reading_saved(Saved(_version(folder), versions)) as saved:
        spec = Spec.parse(document, changes)
    if saved.changed:  # written anew, so that it can be changed and saved
        spec = Spec.parse(Document(as_data(spec)))
    found = {split: _moved_rows(folder, getattr(spec.data, split)) for split in SPLITS}
    moved = [Setting(f"data.{split}", files) for split, files in found.items() if files]
    return spec.changed(*moved) if moved else spec


def _version(folder: Path) -> str:
    """The version of regard that wrote the folder; empty if it does not say."""
    path = folder / PARTS
    found = read_json(path).get("regard", "") if path.is_file() else ""
    return found if isinstance(found, str) else ""


def _warn(folder: Path, left: Sequence[tuple[str, str]], absent: Sequence[Provenance]) -> None:
    known = {(one.kind, one.name): str(one) for one in absent}
    told = {**known, **{one: known.get(one, " ".join(one)) for one in left}}
    if told:
        warnings.warn(
            f"{folder}: not registered here: {', '.join(told.values())}. No answer depends on it; it is needed only to "
            "train the model, or to measure it.",
            stacklevel=4,
        )


def nearest_run(folder: Path) -> Path | None:
    """The run beside a missing folder whose name is most similar; None if there is none."""
    beside = sorted(path.parent.name for path in folder.parent.glob(f"*/{SPEC}"))
    near = get_close_matches(folder.name, beside, n=1)
    return folder.with_name(near[0]) if near else None


def _moved_rows(folder: Path, files: Sequence[str]) -> list[str]:
    """The current paths of the rows that a run keeps, in case its folder was moved."""
    here = [
        str((folder / Path(file).name).absolute())
        if not Path(file).exists() and is_data(Path(file).name) and (folder / Path(file).name).is_file()
        else file
        for file in files
    ]
    return here if here != list(files) else []


def read_parts(folder: Path) -> list[Provenance]:
    """The parts that a folder lists; empty for folders written before parts were listed."""
    path = folder / PARTS
    if not path.is_file():
        return []
    try:
        content = read_json(path)
        return [Provenance.from_dict(one) for one in content["parts"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RegardError(
            f"the list of parts cannot be read: {error}.", where=str(path), fix="Copy the folder again."
        ) from None
