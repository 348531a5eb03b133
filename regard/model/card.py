"""card.md: what a model is and how well it does, for the person who finds the folder later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.spec import Spec


def card(spec: Spec, metrics: Mapping[str, Any], parameters: int) -> str:
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


def _example(spec: Spec) -> str:
    if len(spec.inputs) == 1:
        return '"…"'
    return "{" + ", ".join(f'"{name}": "…"' for name in spec.inputs) + "}"
