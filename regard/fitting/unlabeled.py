"""Learning from a file without labels: back-translation for texts, self-training for labels.

text → text   the file has outputs. A model of the reverse direction, trained on the same pairs, writes an input for
              each; these pairs join the training rows, with a mark before each written input (Sennrich 2016)
text → label  the file has inputs. A first model labels them; of each label, the half of which it is surest joins the
              training rows (Yarowsky 1995)

The real rows are repeated until they are about as many as the new ones. Dev and test have real rows alone. The first
model is a run of its own beside the run: RUN-reverse or RUN-first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.data.sources import open_splits, with_absolute_paths, with_group
from regard.data.sources.given import Given, file_lines, table_inputs
from regard.data.sources.inputs import open_inputs
from regard.errors import Option, RegardError, Setting
from regard.fitting.experiment import Experiment
from regard.model import Model, load
from regard.model.loading import read_metrics
from regard.runs.run import RunFolder, contains_run
from regard.spec import Spec
from regard.storage.manifest import STATE_FILE

MARK = "§"
"""Stands before an input that a model wrote."""
SUREST = 0.5
"""Share of the rows of each label that a first model gives: those with the highest probability."""
MOST = 50
"""Most repetitions of the real rows."""


@dataclass(frozen=True)
class Unlabeled:
    """What was made of a file without labels: stored in metrics.json of the run.

    way       back-translation or self-training
    file      the file
    run       the run of the first model
    rows      rows of the file
    used      rows that joined the training rows
    repeated  how often the real rows are among the training rows
    """

    way: str
    file: str
    run: str
    rows: int
    used: int
    repeated: int


def start_with_unlabeled(
    spec: Spec,
    file: str | Path,
    folder: RunFolder,
    *,
    device: str | None = None,
    quiet: bool = False,
    share: float = SUREST,
    **options: Any,
) -> Experiment:
    """The run of a spec with the rows of a file without labels; the first model is trained here."""
    spec = with_group(with_absolute_paths(spec))
    source, target = _columns(spec)
    labels = spec.outputs[target].part.scalar
    first_spec = spec if labels else _reversed(spec, source, target)
    given = _lines(first_spec, str(file))
    way, suffix = ("self-training", "first") if labels else ("back-translation", "reverse")
    beside = folder.path.with_name(f"{folder.path.name}-{suffix}")
    first = _trained(first_spec, beside, device=device, quiet=quiet)
    fields = _field(spec.inputs, source), _field(spec.outputs, target)
    made = (
        _labeled(first, given, fields, share) if labels else _translated(first, given, fields, spec, source)
    )
    if not made:
        raise RegardError(
            f"none of the {len(given):,} rows could be used.",
            where=str(file),
            fix="Use more labeled rows first.",
        )
    splits = {
        split: list(rows) for split, rows in open_splits(spec).items() if split in ("train", "dev", "test")
    }
    times = max(1, min(MOST, round(len(made) / max(len(splits["train"]), 1))))
    kept = {
        split: str(folder.add_rows(_json(rows), "pairs" if split == "train" else split))
        for split, rows in splits.items()
    }
    new = str(folder.add_rows(_json(made), "pairs"))
    kept_options = {
        key: value
        for key, value in (spec.written().get("data") or {}).items()
        if key in ("references", "bad_rows")
    }
    data = {**kept_options, **kept, "train": [*[kept["train"]] * times, new]}
    experiment = Experiment(
        spec.changed(Setting("data", data)), folder, device=device, quiet=quiet, **options
    )
    found = Unlabeled(way, str(file), str(beside), len(given), len(made), times)
    experiment.beside = {"unlabeled": asdict(found)}
    experiment.announcer.unlabeled(found.way, found.used, found.rows, found.repeated, beside)
    return experiment


def _columns(spec: Spec) -> tuple[str, str]:
    """The input and the output: a text each, or a text and a label."""
    if len(spec.inputs) == len(spec.outputs) == 1:
        (source, given), (target, written) = *spec.inputs.items(), *spec.outputs.items()
        is_label = written.part.scalar and written.part.classed
        if given.part.can_be("text") and (is_label or written.part.can_be("text")) and not written.part.alone:
            return source, target
    raise RegardError(
        "a file without labels needs a model with one text as input, and one text or label as output.",
        where=Option("unlabeled"),
    )


def _field(columns: Mapping[str, Any], name: str) -> str:
    return str(columns[name].field or name)


def _reversed(spec: Spec, source: str, target: str) -> Spec:
    """The spec of the other direction: the two columns exchange their options."""
    written = spec.written()
    mine, theirs = dict(written["inputs"][source]), dict(written["outputs"][target])
    mine.setdefault("field", _field(spec.inputs, source))
    theirs.setdefault("field", _field(spec.outputs, target))
    changed = {**written, "inputs": {source: theirs}, "outputs": {target: mine}}
    return Spec.parse({**changed, "name": f"{spec.name or 'model'}-reverse"})


def _trained(spec: Spec, run: Path, *, device: str | None, quiet: bool) -> Model:
    """The model of a run, trained if it is not, or not to its end."""
    if not ("scores" in read_metrics(run) and contains_run(run)):
        if (run / STATE_FILE).is_file():
            experiment = Experiment.resume(run, device=device, quiet=quiet)
        else:
            experiment = Experiment(
                spec, RunFolder.start(run, overwrite=contains_run(run)), device=device, quiet=quiet
            )
        experiment.announcer.heading(run.name)
        experiment.train()
    return load(run, device=device)  # type: ignore[no-any-return]


def _lines(spec: Spec, file: str) -> list[str]:
    """The inputs of the first model in a file; rows that cannot be read are left out."""
    name = next(iter(spec.inputs))
    found = open_inputs(spec, file)
    rows: Iterable[Given] = (
        file_lines(file, {name: _field(spec.inputs, name)}) if found is None else table_inputs(found)
    )
    texts = [str(row[name]) for row in rows if not isinstance(row, RegardError)]
    if not texts:
        raise RegardError("the file has no rows.", where=file, fix="Write a text in each line.")
    return list(dict.fromkeys(texts))


def _labeled(model: Model, texts: list[str], fields: tuple[str, str], share: float) -> list[dict[str, str]]:
    """Of each label that the model gives, the share of inputs of which it is surest."""
    answers = model.predict(texts, trace=False)
    places: dict[str, list[int]] = {}
    for place, answer in enumerate(answers):
        places.setdefault(answer.text, []).append(place)
    surest = [
        place
        for several in places.values()
        for place in sorted(several, key=lambda one: -answers[one].score)[: round(share * len(several))]
    ]
    return [{fields[0]: texts[place], fields[1]: answers[place].text} for place in sorted(surest)]


def _translated(
    model: Model, texts: list[str], fields: tuple[str, str], spec: Spec, source: str
) -> list[dict[str, str]]:
    """Pairs of a marked input, which the reverse model wrote, and an output."""
    mark = MARK if getattr(spec.inputs[source], "unit", None) == "char" else f"{MARK} "
    answers = model.predict(texts, trace=False, method="greedy")
    return [
        {fields[0]: mark + answer.text, fields[1]: text}
        for text, answer in zip(texts, answers, strict=True)
        if answer.text.strip()
    ]


def _json(rows: Iterable[Mapping[str, str]]) -> str:
    return "".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)
