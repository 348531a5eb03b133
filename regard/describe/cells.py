"""The equations of the cells."""

from __future__ import annotations

UPDATES = {"torch": "(1 − z) ⊙ n + z ⊙ {state}", "cho": "z ⊙ n + (1 − z) ⊙ {state}"}


def cell_equations(
    cell: str, state: str, inputs: str, activation: str = "tanh", update: str = "torch"
) -> list[str]:
    """One step of a cell from `state` and `inputs`, in the form that is computed."""
    if cell == "rnn":
        f = {"tanh": "tanh", "sigmoid": "σ", "relu": "relu", "identity": ""}[activation]
        return [f"rnn: {state}' = {f}(W {inputs} + U {state} + b)"]
    if cell == "gru":
        return [
            f"gru: r, z = σ(W {inputs} + U {state} + b)   n = tanh(W {inputs} + b + r ⊙ (U {state} + c))   "
            f"{state}' = {UPDATES[update].format(state=state)}"
        ]
    return [
        f"lstm: i, f, o = σ(W {inputs} + U {state} + b)   g = tanh(W {inputs} + U {state} + b)   "
        f"c' = f ⊙ c + i ⊙ g   {state}' = o ⊙ tanh(c')"
    ]
