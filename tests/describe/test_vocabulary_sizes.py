"""The number of parameters as a formula of vocabulary sizes, against networks that were built."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
import torch

from regard import zoo
from regard.describe import draw
from regard.model.building import build_network, make_columns, shared_with
from regard.model.count_formula import CountFormula
from regard.model.counting import parameter_counts
from regard.spec import Spec

SPELLED = ["encoder.characters={}"]
SYSTEMS = [[name] for name in zoo.names()] + [["tagger", *SPELLED], ["tagger-crf", *SPELLED]]


def value(formula: str, sizes: Mapping[str, int]) -> int:
    """`1,234 + 5 V(words) − V(tags)²`, read by itself."""
    total = 0
    for sign, term in re.findall(r"(^|[+−] |^−)([^+−]+)", formula):
        number = re.match(r"[\d,]+", term)
        product = int(number[0].replace(",", "")) if number else 1
        for name, power in re.findall(r"V\(([^)]*)\)([²³]?)", term):
            product *= sizes[name] ** {"": 1, "²": 2, "³": 3}[power]
        total += -product if sign.startswith("−") else product
    return total


def fitted(spec: Spec, units: int) -> tuple[dict[str, Any], dict[str, int]]:
    """Columns of different sizes, and the sizes by the names in formulas."""
    columns = make_columns(spec)
    sizes: dict[str, int] = {}
    for place, (name, column) in enumerate(columns.items()):
        if name in spec.truth or name in shared_with(spec):
            continue
        decoder = spec.decoder.get(name)
        column.pretend((0 if decoder is None else decoder.part.fewest_units(decoder)) + units + place)
        for more, inner in enumerate(column.inner_sizes(), 3):
            column.pretend_inner(inner, units + place + more)
        if hasattr(column, "size"):
            sizes[name] = column.size
        sizes |= column.inner_sizes()
    for name, owner in shared_with(spec).items():
        columns[name].relearn(columns[owner].learned())
    return columns, sizes


@pytest.mark.parametrize("chosen", SYSTEMS, ids=" ".join)
def test_the_formula_is_the_number_of_parameters_at_other_sizes(chosen: list[str]) -> None:
    spec = zoo.find(chosen[0], chosen[1:])
    formulas = parameter_counts(spec, None)[0]
    for units in (13, 40):
        columns, sizes = fitted(spec, units)
        with torch.device("meta"):
            network: Any = build_network(spec, columns, read_files=False)
        counted = sum(one.numel() for one in network.parameters())
        assert value(formulas["together"], sizes) == counted, formulas["together"]
        for name, decoder in network.decoders.items():
            assert value(formulas[f"decoder {name}"], sizes) == sum(p.numel() for p in decoder.parameters())


def test_a_chain_is_quadratic_in_its_tags_and_characters_are_counted() -> None:
    crf = parameter_counts(zoo.find("tagger-crf"), None)[0]
    # V_y (C × 96), b_y (C), a_y (C), z_y (C), A_y (C × C)
    assert crf["decoder tags"] == "99 V(tags) + V(tags)²"
    spelled = parameter_counts(zoo.find("tagger", SPELLED), None)[0]["together"]
    assert re.search(r"\d V\(characters of words\)", spelled)


@pytest.mark.parametrize("name", ["tagger-crf", "ntm-copy", "dialog-memory"])
def test_the_drawing_has_the_same_formula(name: str) -> None:
    spec = zoo.find(name)
    told = parameter_counts(spec, None)[0]["together"]
    assert f"{told} parameters" in draw(spec, name).svg()


def test_a_formula_is_written_with_its_signs() -> None:
    found = CountFormula({(): -72, ("a",): 1, ("b",): -3, ("a", "a"): 2, ("a", "b"): 1, ("b", "b"): 0})
    assert found.written({"a": 0, "b": 0}) == "−72 + V(a) − 3 V(b) + 2 V(a)² + V(a) V(b)"
    assert found.at({"a": 5, "b": 2}) == -72 + 5 - 6 + 50 + 10
    assert CountFormula().written({}) == "0"
