"""Letters: which symbol of its board each parameter of a part is.

A part declares them beside its equations, as `{path of the parameter inside the part: letter}`:

    {"query.weight": "U_a", "key.weight": "W_a", "vector": "v_a"}
    {"weight_ih": ("W_rx", "W_zx", "W_nx")}     equal pieces of its rows, in this order
    {"interface.weight": frozenset({"W_κ", "ω_β"})}     pieces of different sizes
    {"layers.*.feed.0.weight": "A_l"}     * is the number of a module, here of layer l
    {"spelling.**": "χ_j"}     all parameters of a module, which computes this value
    {"first": "s_0"}     a value that is learned

A part that holds others adds the path to theirs (`under`). Paths that a part does not have are ignored, so that
options need not be asked twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

__all__ = ["Letter", "Letters", "gate_letters", "linear", "renamed", "under"]

Letter = str | tuple[str, ...] | frozenset[str]
"""The letter of a parameter, those of equal pieces of its rows, or the set of those of pieces of different sizes."""
Letters = dict[str, Letter]
"""The letter of each parameter of a module, by its name."""


def under(path: str, letters: Mapping[str, Letter]) -> Letters:
    """The letters of a module at this path."""
    return {f"{path}.{inside}": one for inside, one in letters.items()}


def linear(path: str, weight: Letter, bias: Letter = "") -> Letters:
    """The letters of a linear layer, a convolution or a normalization."""
    return {f"{path}.weight": weight} | ({f"{path}.bias": bias} if bias else {})


def renamed(letters: Mapping[str, Letter], rename: Callable[[str], str]) -> Letters:
    """The letters with other symbols."""
    found: Letters = {}
    for path, one in letters.items():
        found[path] = rename(one) if isinstance(one, str) else type(one)(map(rename, one))
    return found


def gate_letters(gates: str, mark: str) -> Letters:
    """The letters of a cell whose weights hold these gates, one below the other: W, U, b, c with the mark."""
    parameters = {"weight_ih": "W", "weight_hh": "U", "bias_ih": "b", "bias_hh": "c"}
    return {name: tuple(f"{one}_{gate}{mark}" for gate in gates) for name, one in parameters.items()}
