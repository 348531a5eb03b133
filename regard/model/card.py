"""card.md: a description of a model and its scores, for people who find the folder later."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from regard.parts import Provenance
from regard.reporting.terminal import printable
from regard.spec import Spec

BLOCKS = "▁▂▃▄▅▆▇█"
LONGEST = 80
"""Maximum number of characters of a text in the table of examples."""
SPECIAL = re.compile(r"([\\`*_\[\]<>&#|!])")
"""Characters with a meaning in Markdown or HTML."""


def card(
    spec: Spec,
    metrics: Mapping[str, Any],
    parameters: int,
    parts: Sequence[Provenance] = (),
    *,
    sizes: Mapping[str, int] | None = None,
    vocabularies: Mapping[str, int] | None = None,
) -> str:
    """The text of card.md.

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
    lines += _use(spec)
    lines += _model(spec, parameters, sizes or {}, vocabularies or {}, parts)
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


def _use(spec: Spec) -> list[str]:
    if not spec.inputs:
        return [
            "```python",
            "import regard",
            "",
            'model = regard.load("this folder")  # or "hf:owner/name", once it is shared with `regard push`',
            'model.generate("…", length=200).text  # continues a text',
            'model.surprise("…")  # the tokens of a text, each with its −log p',
            "```",
            "",
        ]
    return [
        "```python",
        "import regard",
        "",
        'model = regard.load("this folder")  # or "hf:owner/name", once it is shared with `regard push`',
        f"prediction = model.predict({_example(spec)})",
        "prediction.text, prediction.score  # the answer and its log-probability",
        "prediction.trace.print()  # the attention",
        "```",
        "",
    ]


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


def _example(spec: Spec) -> str:
    if len(spec.inputs) == 1:
        return '"…"'
    return "{" + ", ".join(f'{json.dumps(printable(name))}: "…"' for name in spec.inputs) + "}"
