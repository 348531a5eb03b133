"""Every kind declares what its parts write; a class that lacks it is refused when it is registered."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from torch import nn

import regard
from regard.errors import RegardError
from regard.parts import KINDS, contract_of, names, part, registry
from regard.parts.contract import check_class, methods, missing


@pytest.fixture(autouse=True)
def only_here() -> Iterator[None]:
    """Forget what a test registers."""
    for kind in KINDS:
        names(kind)
    before = {kind: dict(known) for kind, known in registry.PARTS.items()}
    yield
    for kind in KINDS:
        registry.PARTS[kind] = before[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_our_own_parts_keep_their_contract(kind: str) -> None:
    assert any(one.needed for one in methods(contract_of(kind).base))
    assert missing(contract_of(kind).base) == [
        one.name for one in methods(contract_of(kind).base) if one.needed
    ]
    for name in names(kind):
        check_class(kind, name, part(kind, name))


@pytest.mark.parametrize("kind", KINDS)
def test_every_method_says_what_it_is_and_when_it_is_called(kind: str) -> None:
    silent = [
        one.name for one in methods(contract_of(kind).base) if not (one.about and one.when and one.returns)
    ]
    assert not silent


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_without_its_methods_is_refused(kind: str) -> None:
    """The base class itself, given the declarations it needs, lacks every method."""
    base = contract_of(kind).base
    declared = {"fields": ("a",), "summary": "x", "roles": ("truth",)}
    kept = {name: value for name, value in declared.items() if name in dir(base)}
    kept |= {"fields": ("a",)} if kind in ("world", "package") else {}
    empty = type("Empty", (base,), {"__module__": "elsewhere", **kept})
    with pytest.raises(RegardError) as refused:
        regard.register(kind, "empty")(empty)
    assert f"the {kind} 'empty' (elsewhere.Empty) lacks the method" in str(refused.value)
    for one in methods(base):
        assert not one.needed or one.name in str(refused.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_of_another_kind_is_refused(kind: str) -> None:
    stranger = type("Stranger", (), {"__module__": "elsewhere"})
    with pytest.raises(
        RegardError, match=f"elsewhere.Stranger.*does not derive from .* {contract_of(kind).base.__name__}"
    ):
        regard.register(kind, "stranger")(stranger)


def refusal(kind: str, made: Any) -> str:
    with pytest.raises(RegardError) as refused:
        regard.register(kind, "mine")(made)
    return str(refused.value)


class Selecting(regard.nn.Selection):
    @classmethod
    def equations(cls, options: Any, look: Any) -> list[str]:
        return []

    def forward(self, scores: Any, mask: Any, given: Any = None) -> Any:
        return scores


def test_an_option_that_the_constructor_does_not_take_is_refused() -> None:
    class Cold(Selecting):
        class Options(regard.nn.Selection.Options):
            temperature: float = 1.0
            """How cold."""

    class Warm(Cold):
        def __init__(self, warmth: float = 1.0) -> None:
            super().__init__()

    for made in (Cold, Warm):
        told = refusal("selection", made)
        assert (
            f"{made.__qualname__}) has the option 'temperature', which its constructor __init__ does not take"
            in told
        )


def test_an_argument_without_an_option_is_refused() -> None:
    class Cold(Selecting):
        def __init__(self, temperature: float) -> None:
            super().__init__()

    told = refusal("selection", Cold)
    assert "constructor __init__ with the argument 'temperature', which is not an option" in told


def test_a_constructor_that_takes_too_little_is_refused() -> None:
    class Short(regard.nn.AttentionScore):
        def __init__(self, size: int) -> None:
            super().__init__(size, size)

        equation = classmethod(lambda cls, options, query, key, mark: "")
        forward = nn.Identity.forward

    assert "has a constructor that takes size; __init__ receives query_size, key_size" in refusal(
        "score", Short
    )

    class Quiet(regard.training.Logger):
        def __init__(self) -> None:
            pass

        def write(self, values: Any) -> None:
            pass

    assert "takes nothing; __init__ receives options, run, step" in refusal("logger", Quiet)


def test_a_part_that_builds_itself_may_have_any_constructor() -> None:
    class Own(Selecting):
        class Options(regard.nn.Selection.Options):
            temperature: float = 1.0
            """How cold."""

        def __init__(self, other: int) -> None:
            super().__init__()

        @classmethod
        def build(cls, options: Any, query_size: int) -> Own:
            return cls(query_size)

    regard.register("selection", "own")(Own)
    assert part("selection", "own") is Own


def test_nested_options_of_a_world_are_refused() -> None:
    class Small(regard.worlds.World):
        class Options(regard.parts.Options):
            rows: int = 3
            """Rows."""

        fields = ("source",)

        def splits(self) -> Any:
            return {}

    told = refusal("world", Small)
    assert "has a nested class Options, which a world does not use" in told
    assert "Move rows into the class itself" in told


@pytest.mark.parametrize(
    ("kind", "base", "declared", "expected"),
    [
        ("selection", Selecting, {"needs": frozenset({"speed"})}, "declares needs 'speed'; a selection can need"),
        ("selection", Selecting, {"joint": "words"}, "declares joint = 'words'; expected nothing or positions"),
        ("metric", part("metric", "exact"), {"suits": "text"}, r"declares suits = 'text', a text; .* \('text',\)"),
        ("encoder", part("encoder", "mean"), {"reads": "text"}, "declares reads = 'text', a text"),
        ("cell", part("cell", "gru"), {"gates": 0}, "declares gates = 0; expected the number of its gates"),
        ("composer", part("composer", "rnn"), {"any_number": True}, "any_number and lacks the method several"),
        ("column", part("column", "label"), {"roles": ("answers",)}, "declares roles = .'answers',.; expected some of"),
        ("reader", part("reader", "csv"), {"suffixes": ("tsv",)}, "declares the suffix 'tsv'"),
        ("reader", part("reader", "csv"), {"recognized_in": ("xml",)}, "recognized_in = .'xml'.; expected some of"),
        ("world", part("world", "copy"), {"fields": ()}, "lacks fields"),
        ("lab", part("lab", "gates"), {"summary": ""}, "lacks summary"),
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_refused(
    kind: str, base: type, declared: dict[str, Any], expected: str
) -> None:
    made = type("Mine", (base,), {"__module__": "elsewhere", "__annotations__": {}, **declared})
    with pytest.raises(RegardError, match=expected):
        regard.register(kind, "mine")(made)


def test_options_without_their_base_are_refused() -> None:
    class Loose(Selecting):
        class Options:
            temperature = 1.0

    assert "has a class Options that does not derive from" in refusal("selection", Loose)


@pytest.mark.parametrize("name", ["", "a.b", "My Cell: x", "a b", None])
def test_a_name_that_no_spec_can_write_is_refused(name: Any) -> None:
    with pytest.raises(RegardError, match=r"a selection cannot be named .* letters, digits, - and _"):
        regard.register("selection", name)


def test_a_function_is_refused() -> None:
    def share(predictions: Any, references: Any) -> float:
        return 1.0

    told = refusal("metric", share)
    assert "the metric 'mine' is share, a function, expected a class" in told
    assert "is 3, a int, expected a class" in refusal("metric", 3)


@pytest.mark.parametrize(
    ("kind", "name", "written", "meant"),
    [
        ("column", "label", "check_valu", "check_value"),
        ("store", "ntm", "first_reades", "first_reads"),
        ("logger", "csv", "closes", "close"),
        ("cell", "gru", "outputs", "output"),
        ("decoder", "label", "read_positions", "reads_positions"),
    ],
)
def test_a_method_that_is_a_letter_off_is_warned_of(kind: str, name: str, written: str, meant: str) -> None:
    base = part(kind, name) if name in names(kind) else contract_of(kind).base
    body = {"__module__": "elsewhere", written: lambda self, *more: None, "write": lambda self, values: None}
    with pytest.warns(UserWarning, match=f"has a method {written}, .* does not write {meant}"):
        regard.register(kind, "mine")(type("Mine", (base,), body))


def test_a_misspelled_method_is_warned_of_below_another_foreign_class() -> None:
    class Cold(Selecting):
        """Whose base writes forward."""

        def forwards(self) -> None:
            """Perhaps forward."""

    with pytest.warns(UserWarning, match="has a method forwards, .* does not write forward"):
        regard.register("selection", "mine")(Cold)


def test_a_method_of_another_name_is_not_warned_of() -> None:
    class Quiet(Selecting):
        forward = Selecting.forward

        def forwards(self) -> None:
            """Beside forward, which it writes."""

        def cooled(self) -> None:
            """A method of its own."""

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regard.register("selection", "quiet")(Quiet)
