"""card.md: what a model is and how well it does, for the person who finds the folder later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from regard.parts import Provenance
from regard.spec import Spec


def card(spec: Spec, metrics: Mapping[str, Any], parameters: int, parts: Sequence[Provenance] = ()) -> str:
    """parts: those that are not regard's own."""
    name = spec.name or "model"
    inputs, outputs = ", ".join(spec.inputs), ", ".join(spec.outputs)
    lines = [f"# {name}", "", spec.description or f"{inputs} → {outputs}", ""]
    lines += [f"- reads {inputs}, writes {outputs}", f"- {parameters:,} parameters"]
    for part, scores in metrics.get("scores", {}).items():
        figures = ", ".join(f"{key} {value['value']:.4g}" for key, value in scores.items())
        lines.append(f"- {part}: {figures}")
    if "training" in metrics:
        training = metrics["training"]
        lines.append(
            f"- trained {training['steps']:,} steps in {training['seconds']:.0f} s, seed {spec.training.seed}, "
            f"kept {training['kept']}"
        )
    if "versions" in metrics:
        lines.append("- " + ", ".join(f"{key} {value}" for key, value in metrics["versions"].items()))
    for distribution, some in _by_distribution(parts).items():
        lines.append(f"- {distribution}: {', '.join(f'{one.kind} {one.name}' for one in some)}")
    lines += [
        "",
        "```python",
        "import regard",
        "",
        'model = regard.load("this folder")',
        f"prediction = model.predict({_example(spec)})",
        "prediction.trace.print()",
        "```",
        "",
    ]
    return "\n".join(lines)


def _by_distribution(parts: Sequence[Provenance]) -> dict[str, list[Provenance]]:
    """What to install, or to run, before the model is loaded, and for which parts."""
    found: dict[str, list[Provenance]] = {}
    for one in parts:
        package = f"the package {one.distribution} {one.version}"
        needed = package if one.distribution else f"the script that registers {one.defined}"
        found.setdefault(f"needs {needed}", []).append(one)
    return found


def _example(spec: Spec) -> str:
    if len(spec.inputs) == 1:
        return '"…"'
    return "{" + ", ".join(f'"{name}": "…"' for name in spec.inputs) + "}"
