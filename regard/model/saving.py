"""A finished model as a folder: weights, spec, columns, card, metrics. Nothing in it is pickled or executed.

model.safetensors   the weights
spec.yaml           the description of the model
columns.json        vocabularies and classes
metrics.json        the scores, with splits, training, seed and versions
card.md             the same for people
parts.json          the parts that are not part of regard, and the package of each
manifest.json       which files of the folder regard has written
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.columns import Column, column_from_state
from regard.errors import RegardError
from regard.parts import Provenance
from regard.reporting.terminal import printable
from regard.spec import Spec
from regard.spec.document import parse_file
from regard.storage.files import read_bytes, reading_remedy, write_text
from regard.storage.manifest import MODEL_FILES
from regard.storage.tensors import first_not_finite, write_tensors
from regard.version import __version__

SPEC, COLUMNS, WEIGHTS, METRICS, CARD, PARTS = MODEL_FILES
FORMAT = 1
ANSWERING = ("inputs", "outputs", "truth", "encoder", "attention", "decoder", "search")
"""The keys of a spec on which answers depend."""
BLOCKS = "▁▂▃▄▅▆▇█"
LONGEST = 80
"""Maximum number of characters of a text in the table of examples."""
SPECIAL = re.compile(r"([\\`*_\[\]<>&#|!])")
"""Characters with a meaning in Markdown or HTML."""


def write_weights(path: Path, network: nn.Module) -> None:
    """Write the weights, with the digests of spec and columns; tied tensors once, under their first name."""
    tensors: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in network.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            tensors[name] = tensor.detach().to("cpu").contiguous()
    refuse_not_finite(path, tensors, "Nothing was written. Train the model again with a lower training.lr.")
    write_tensors(path, tensors, file_digests(path.parent))


def refuse_not_finite(path: Path, tensors: Mapping[str, Tensor], fix: str) -> None:
    name = first_not_finite(tensors.items())
    if name is not None:
        raise RegardError(
            f"the weights {name} are not finite numbers (NaN or infinite).", where=str(path), fix=fix
        )


def file_digests(folder: Path) -> dict[str, str]:
    """Digests of the columns and of the parts of the spec on which answers depend: model and search.
    Training, data and name may change, as they do when a run is resumed."""
    written = parse_file(folder / SPEC).data
    spec = json.dumps([[key, written.get(key)] for key in ANSWERING], sort_keys=True, default=str)
    try:
        columns = read_bytes(folder / COLUMNS)
    except (OSError, ValueError) as error:
        raise RegardError(
            f"the columns cannot be read: {error}.",
            where=str(folder / COLUMNS),
            fix=reading_remedy(error, folder / COLUMNS, "Copy the folder again."),
        ) from None
    return {
        "columns": hashlib.sha256(columns).hexdigest(),
        "spec": hashlib.sha256(spec.encode()).hexdigest(),
    }


def write_columns(path: Path, columns: Mapping[str, Column]) -> None:
    states = {name: column.state() for name, column in columns.items()}
    for name, column in columns.items():
        _check_kept(name, column, states[name])
    write_text(path, json.dumps({"format": FORMAT, "columns": states}, ensure_ascii=False, indent=1))


def _check_kept(name: str, column: Column, state: Mapping[str, Any]) -> None:
    """Refuse to save a column that learns from the data and does not say what it learned."""
    if state["learned"]:
        return
    size = getattr(column, "size", None)
    try:
        kept = getattr(column_from_state(state), "size", None) == size
    except (LookupError, TypeError, ValueError, AttributeError):
        kept = False
    if not kept:
        raise RegardError(
            f"the column {name!r} would be lost: its class {type(column).__name__} has fitted a size of {size}, and "
            "its `learned` returns nothing.",
            fix="Write `learned`, which returns the fitted state as JSON, and `relearn`, its inverse.",
        )


def write_metrics(folder: Path, metrics: Mapping[str, Any]) -> None:
    write_text(folder / METRICS, json.dumps(metrics, ensure_ascii=False, indent=1) + "\n")


def versions() -> dict[str, str]:
    """The versions and the device on which results depend besides the seed."""
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.machine()
    return {
        "regard": __version__,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "device": device,
    }


def card(
    spec: Spec,
    metrics: Mapping[str, Any],
    parameters: int,
    parts: Sequence[Provenance] = (),
    *,
    example: Sequence[str] = (),
    sizes: Mapping[str, int] | None = None,
    vocabularies: Mapping[str, int] | None = None,
) -> str:
    """The text of card.md.

    example        lines of Python that use the model
    parts          those that are not part of regard
    sizes          parameters of each encoder and decoder
    vocabularies   of the columns that have one
    """
    inputs, outputs = ", ".join(spec.inputs), ", ".join(spec.outputs)
    lines = [
        f"# {_plain(spec.name or 'model')}",
        "",
        _plain(spec.description or f"{inputs} → {outputs}".removeprefix(" → ")),
        "",
    ]
    lines += _use(example)
    lines += _model(spec, parameters, sizes or {}, vocabularies or {}, parts)
    lines += _pretrained(metrics.get("pretrained", {}))
    lines += _data(metrics.get("splits", {}))
    lines += _scores(metrics.get("scores", {}))
    lines += _training(spec, metrics)
    lines += _examples(metrics.get("examples", []))
    return "\n".join(lines) + "\n"


def sparkline(values: Sequence[float]) -> str:
    """A curve in one line: ▇▅▃▂▁"""
    known = [value for value in values if value == value and abs(value) != float("inf")]
    low, high = min(known, default=0.0), max(known, default=0.0)
    last = len(BLOCKS) - 1
    return "".join(BLOCKS[round(last * (one - low) / (high - low)) if high > low else 0] for one in known)


def _use(example: Sequence[str]) -> list[str]:
    load = 'model = regard.load("this folder")  # or "hf:owner/name", once it is shared with `regard push`'
    return ["```python", "import regard", "", load, *example, "```", ""]


def _model(
    spec: Spec,
    parameters: int,
    sizes: Mapping[str, int],
    vocabularies: Mapping[str, int],
    parts: Sequence[Provenance],
) -> list[str]:
    lines = ["## Model", ""]
    for verb, columns in (("reads", spec.inputs), ("writes", spec.outputs)):
        for name, column in columns.items():
            unit = f" by {column.unit}" if getattr(column, "unit", None) else ""
            known = f", {vocabularies[name]:,} in the vocabulary" if name in vocabularies else ""
            lines.append(f"- {verb} {_plain(f'{name}: {column.type}{unit}')}{known}")
    told = "; ".join(f"{_plain(name)} {count:,}" for name, count in sizes.items())
    lines.append(f"- {parameters:,} parameters" + (f" ({told})" if told else ""))
    for needed, some in _by_distribution(parts).items():
        lines.append(_plain(f"- {needed}: {', '.join(f'{one.kind} {one.name}' for one in some)}"))
    return [*lines, ""]


def _pretrained(records: Mapping[str, Any]) -> list[str]:
    """The pretrained parts, with the license that each states, or the digest of a file of vectors."""
    lines = []
    for place, one in records.items():
        if "model" in one:
            lines.append(
                _plain(f"- {place} starts from {_name(one['model'])}; its license: {one['license']}")
            )
        else:
            lines.append(
                _plain(f"- {place} starts from the vectors of {_name(one['file'])}, {one['digest']}")
            )
    return ["## Pretrained parts", "", *lines, ""] if lines else []


def _name(file: str) -> str:
    """The name of a file or folder without its place on this machine; `hf:owner/name` as it is."""
    return file if file.startswith("hf:") else file.rstrip("/").rpartition("/")[2]


def _data(splits: Mapping[str, Any]) -> list[str]:
    if not splits:
        return []
    rows = [[split, f"{one.get('rows', 0):,}", one.get("from", "")] for split, one in splits.items()]
    return ["## Data", "", *_table(["part", "rows", "from"], rows), ""]


def _scores(scores: Mapping[str, Any]) -> list[str]:
    rows = []
    for split, found in scores.items():
        for name, score in found.items():
            named = str(score.get("baseline", "")).partition(":")[0]
            chance = (
                f"{score['chance']:.4g} {f'({named})' if named else ''}".strip() if "chance" in score else ""
            )
            rows.append(
                [
                    split,
                    name,
                    f"{score['value']:.4g}",
                    chance,
                    f"{score.get('n', 0):,}",
                    score.get("signature", ""),
                ]
            )
    if not rows:
        return []
    return ["## Scores", "", *_table(["part", "metric", "value", "baseline", "n", "signature"], rows), ""]


def _training(spec: Spec, metrics: Mapping[str, Any]) -> list[str]:
    lines = ["## Training", ""]
    training, curve = metrics.get("training"), metrics.get("curve", {})
    if training:
        lines.append(
            f"- {training['steps']:,} steps in {training['seconds']:.0f} s, seed {spec.training.seed}, "
            f"kept {training['kept']}"
        )
    values = curve.get("values", [])
    if len(values) > 1:
        first, last = curve["steps"][0], curve["steps"][-1]
        lines.append(
            f"- dev {_plain(curve['metric'])} from step {first:,} to {last:,}: "
            f"{values[0]:.4g} {sparkline(values)} {values[-1]:.4g}"
        )
    if "versions" in metrics:
        lines.append(
            "- " + ", ".join(f"{key} {_plain(str(value))}" for key, value in metrics["versions"].items())
        )
    return [*lines, ""] if len(lines) > 2 else []


def _examples(examples: Sequence[Mapping[str, Any]]) -> list[str]:
    if not examples:
        return []
    rows = [
        ["✓" if one["right"] else "✗", _short(one["input"]), _short(one["written"]), _short(one["true"])]
        for one in examples
    ]
    return ["## Examples", "", *_table(["", "input", "written", "true"], rows), ""]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join('---' for _ in head)}|"]
    return [*lines, *(f"| {' | '.join(map(_plain, row))} |" for row in rows)]


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _plain(text: str) -> str:
    """One line of text, escaped for Markdown: no HTML, no links, no invisible characters."""
    return SPECIAL.sub(r"\\\1", printable(" ".join(text.split())))


def _by_distribution(parts: Sequence[Provenance]) -> dict[str, list[Provenance]]:
    """Packages to install, or scripts to run, before the model is loaded, and the parts that need them."""
    found: dict[str, list[Provenance]] = {}
    for one in parts:
        package = f"the package {one.distribution} {one.version}"
        needed = package if one.distribution else f"the script that registers {one.defined}"
        found.setdefault(f"needs {needed}", []).append(one)
    return found
