"""`check_part`: everything that regard expects of a registered part, tried on small inputs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from regard.data import Row
from regard.errors import MissingExtra, RegardError
from regard.parts import KINDS, find, nearest
from regard.parts.contract import check_class, contract_of
from regard.spec import Spec
from regard.testing import (
    columns,
    data,
    drawings,
    layers,
    measures,
    models,
    notations,
    paths,
    searches,
    stores,
    training,
)
from regard.testing.report import PartReport, Stop
from regard.testing.rows import rows as usual_rows
from regard.testing.specs import Document, contexts, options_of, own_column, small
from regard.trace import Trace

LAYERS: dict[str, Callable[[PartReport, Any], None]] = {
    "cell": layers.check_cell,
    "composer": layers.check_composer,
    "score": layers.check_score,
    "selection": layers.check_selection,
    "estimate": layers.check_estimate,
    "store": stores.check_store,
    "network": stores.check_network,
    "search": searches.check_search,
    "constraint": searches.check_constraint,
    "optimizer": training.check_optimizer,
    "schedule": training.check_schedule,
    "curriculum": training.check_curriculum,
    "logger": training.check_logger,
    "path": paths.check_path,
    "world": data.check_provider,
    "package": data.check_provider,
}
"""Kinds whose parts are checked alone, from their options; a room above this one declares the check of its kinds."""
MODELS = {
    "column": (columns.check_column, ("inputs", "outputs", "truth")),
    "encoder": (models.check_encoder, ("encoder",)),
    "decoder": (models.check_decoder, ("decoder",)),
}
"""Kinds whose parts are checked in a small model, and the sections of a spec that hold them."""
FEW: list[dict[str, int]] = [{"train": 6, "dev": 3, "test": 3}, {"train": 48, "dev": 12, "test": 12}, {}]
"""Numbers of rows with which a world is tried, until it accepts them."""


def check_part(
    kind: str,
    name: str,
    options: Mapping[str, Any] | None = None,
    *,
    spec: Mapping[str, Any] | Spec | None = None,
    rows: Iterable[Mapping[str, str]] | None = None,
    file: str | Path | None = None,
    trace: Trace | None = None,
) -> None:
    """Raise a `RegardError` with everything that a part does otherwise than its kind promises, one sentence each.

    Shapes, masks, NaN, gradients, equations, saving and loading, resumption, pickle and copy. The equations of cells,
    composers, scores and selections are evaluated and compared with the code, except for scores and selections that
    need more than queries and keys (`needs`), and selections that choose jointly over queries, or draw. Those
    of stores, networks, encoders and decoders are only read: they must follow the notation.

    options   options of the part that differ from their defaults
    spec      for a column, encoder, decoder or metric: a spec that uses it, if none of ours can
    rows      rows for this spec, or for a column whose values look like none of ours
    file      for a reader: a file of the format
    trace     for a drawing: a trace that holds what it draws
    """
    found = failures(kind, name, options, spec=spec, rows=rows, file=file, trace=trace)
    if found:
        raise RegardError("\n".join(found))


def failures(
    kind: str,
    name: str,
    options: Mapping[str, Any] | None = None,
    *,
    spec: Mapping[str, Any] | Spec | None = None,
    rows: Iterable[Mapping[str, str]] | None = None,
    file: str | Path | None = None,
    trace: Trace | None = None,
) -> list[str]:
    """The sentences of `check_part`; empty if there are none. A part whose optional library is missing is skipped."""
    if kind not in KINDS:
        raise RegardError(f"there is no kind of part {kind!r}.", fix=nearest(kind, list(KINDS)))
    made = find(kind, name)
    report = PartReport(kind, name, made)
    check_class(kind, name, made)
    given = usual_rows() if rows is None else tuple(Row(row, file="rows", line=1) for row in rows)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        try:
            wanted = None if spec is None else _parsed(report, spec)
            if kind == "metric":
                measures.check_metric(report, made, given, wanted)
            elif kind in MODELS:
                _in_model(report, kind, name, dict(options or {}), wanted, given)
            elif kind == "drawing":
                drawings.check_drawing(report, made, trace)
            elif kind == "notation":
                notations.check_notation(report, made)
            elif kind == "reader":
                data.check_reader(report, _made(report, kind, name, options), file)
            else:
                chosen = _made(report, kind, name, options) if contract_of(kind).options else made
                with report.apart():
                    _check_alone(kind)(report, chosen)
        except (Stop, MissingExtra):
            pass
    return report.told


def _check_alone(kind: str) -> Callable[[PartReport, Any], None]:
    """The check of parts of a kind: the one that its base class declares, or ours."""
    module, _, name = contract_of(kind).check.partition(":")
    found: Callable[[PartReport, Any], None] = (
        getattr(import_module(module), name) if module else LAYERS[kind]
    )
    return found


def _parsed(report: PartReport, spec: Mapping[str, Any] | Spec) -> Spec:
    """The spec that was given, with the shorthands that regard.Spec accepts."""
    if isinstance(spec, Spec):
        return spec
    with report.calling("spec", "a spec that regard.Spec accepts"):
        return Spec.parse(copy.deepcopy(dict(spec)))
    raise Stop


def _made(report: PartReport, kind: str, name: str, options: Mapping[str, Any] | None) -> Any:
    """The options of a part; sizes that are not given are small."""
    chosen = options_of(kind, name)
    sizes = small(kind, name) if issubclass(find(kind, name), torch.nn.Module) else {}
    usual = {key: value for key, value in sizes.items() if key != "type"}
    for rows in FEW if kind == "world" else [{}]:
        few = {key: value for key, value in rows.items() if key in chosen.model_fields}
        try:
            return chosen(**{**usual, **few, **(options or {})})
        except (ValidationError, RegardError) as error:
            reason = _reason(error)
    report.add("Options", "options with defaults", reason)
    raise Stop


def _reason(error: ValidationError | RegardError) -> str:
    """What is wrong with some options, with the name of the first."""
    if isinstance(error, RegardError):
        return str(error).rstrip(".")
    first = error.errors()[0]
    option = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"the option {option!r} without a default; give it one, or pass options={{{option!r}: …}}"
    return f"{option}: {first['msg']}" if option else str(first["msg"])


def _in_model(
    report: PartReport,
    kind: str,
    name: str,
    options: dict[str, Any],
    spec: Spec | None,
    rows: Sequence[Row],
) -> None:
    check, _ = MODELS[kind]
    for made, place in _documents(kind, name, options, spec, rows):
        with report.apart():
            check(report, models.Small(report, made, rows), place)
        return
    if kind == "column" and not find(kind, name).roles:
        return  # made from another column, never by a spec
    what = "a spec and rows that it can be tried with"
    report.add("check_part", what, f"none; pass spec= with a {kind} of type {name}, and rows=")


def _documents(
    kind: str,
    name: str,
    options: dict[str, Any],
    spec: Spec | None,
    rows: Sequence[Row],
) -> Iterable[tuple[Document | Spec, str]]:
    """Specs with the part, and the name of the input or output that it belongs to."""
    if spec is not None:
        for section in MODELS[kind][1]:
            for place, one in (getattr(spec, section) or {}).items():
                if getattr(one, "type", "") == name:
                    yield spec, place
        return
    for context in contexts(kind, name):
        yield context.changed(options).document, context.path[1]
    made = find(kind, name)
    if kind == "column":
        for role in ("inputs", "outputs"):
            if (found := own_column(name, role, rows)) is not None:
                found[role]["mine"].update(options)
                yield found, "mine"
    else:
        role, types = ("inputs", made.reads) if kind == "encoder" else ("outputs", made.writes)
        for one in types:
            if (found := own_column(one, role, rows)) is not None:
                found[kind] = {"mine": {**small(kind, name), **options}}
                yield found, "mine"
