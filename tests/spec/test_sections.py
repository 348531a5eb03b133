"""The options of a search and of an optimizer stand beside its name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.errors import RegardError
from regard.parts import as_data, names, registry
from regard.spec import SearchSpec, Spec
from regard.spec.document import Document
from regard.spec.spec import load_spec, write_spec
from regard.testing.specs import document


def spec(**sections: Any) -> Spec:
    return Spec.parse({**document("text"), **sections})


@pytest.fixture
def wide() -> Iterator[None]:
    names("search")

    @regard.register("search", "wide")
    class Wide(regard.nn.Search):
        chosen_by = ("width",)

        class Options(regard.nn.Search.Options):
            width: int = 3

        def __call__(self, stepper: Any) -> Any:
            raise NotImplementedError

    yield
    del registry.PARTS["search"]["wide"]


def test_both_forms_are_one() -> None:
    short = spec(
        search={"method": "beam", "beam": 3, "n_best": 2}, training={"optimizer": "sgd", "momentum": 0.9}
    )
    full = spec(
        search={"method": {"type": "beam", "beam": 3}, "n_best": 2},
        training={"optimizer": {"type": "sgd", "momentum": 0.9}},
    )
    assert short == full == Spec.parse(as_data(short))
    assert (short.search.method.beam, short.training.optimizer.momentum) == (3, 0.9)


def test_options_of_another_search_wait_until_it_is_chosen(wide: None) -> None:
    found = spec(search={"beam": 7, "width": 4})
    assert found.search.method.type == "greedy"
    assert found.changed("search.method=beam").search.method.beam == 7
    assert Spec.parse(as_data(found)).changed("search.method=wide").search.method.width == 4
    assert SearchSpec(method="wide", width=5).method.width == 5


def test_a_call_chooses_the_search_of_its_options(wide: None) -> None:
    assert spec().searching({"width": 9}).search.method.width == 9
    assert spec().searching({"n_best": 8}).search.method.beam == 8
    sampled = spec(search={"method": "sample"})
    assert sampled.searching({"n_best": 8}).search.method.type == "sample"
    assert spec().searching({"temperature": 0.5}).search.method.type == "greedy"


@pytest.mark.parametrize(
    ("section", "written", "told"),
    [
        ("search", {"beam": 0}, "search.beam: expected greater than or equal to 1, received 0"),
        ("search", {"method": "beam", "beam": 0}, "search.beam: expected greater than or equal to 1"),
        ("search", {"bem": 3}, "search.bem: unknown key 'bem'. Did you mean beam?"),
        ("search", {"method": "bem", "beam": 3}, "search.method: 'bem' is not a known search. Did you mean beam?"),
        ("training", {"optimizer": "adm", "beta": 1}, "training.optimizer: 'adm' is not a known optimizer"),
        ("training", {"optimizer": "sgd", "momentum": 2}, "training.momentum: expected less than or equal to 1"),
        ("training", {"momentums": 2}, "training.momentums: unknown key 'momentums'. Did you mean momentum?"),
        ("training", {"optimizer": {"type": "adam", "momentum": 1}}, "It is an option of the optimizer sgd"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_where_it_was_written(section: str, written: Any, told: str) -> None:
    with pytest.raises(RegardError) as error:
        spec(**{section: written})
    assert str(error.value).startswith(told) or told in str(error.value)


def test_a_model_answers_without_the_optimizer_that_trained_it(tmp_path: Path) -> None:
    write_spec(tmp_path, spec())
    text = (tmp_path / "spec.yaml").read_text(encoding="utf-8")
    (tmp_path / "spec.yaml").write_text(
        text + "training: {optimizer: absent, beta: 0.9, lr: 0.5}\n", encoding="utf-8"
    )
    with pytest.warns(UserWarning, match="optimizer absent"):
        found = load_spec(tmp_path, to_answer=True)
    assert (found.training.optimizer.type, found.training.lr) == ("adam", 0.5)
    with pytest.raises(RegardError, match="'absent' is not a known optimizer"):
        Spec.parse(Document(document("text") | {"training": {"optimizer": "absent"}}))


def test_another_search_of_a_call_keeps_the_options_of_the_first() -> None:
    sampled = spec(search={"method": {"type": "sample", "temperature": 0.5}})
    beam = sampled.searching({"beam": 4})
    assert (beam.search.method.type, beam.search.method.beam) == ("beam", 4)
    assert beam.searching({"method": "sample"}).search.method.temperature == 0.5
    with pytest.raises(RegardError, match=r"^beam=0: expected greater than or equal to 1, received 0"):
        beam.searching({"beam": 0})
