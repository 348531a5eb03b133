"""Specs: valid forms, their meaning, and the errors for invalid ones."""

from __future__ import annotations

import copy
import functools
import operator
import string
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from regard import RegardError, Spec, zoo
from regard.cli.command import COMMAND_LINE
from regard.nn.decoders import RecurrentDecoder
from regard.nn.decoders.conditioning import TextAttentionOptions
from regard.nn.encoders import RecurrentEncoder
from regard.spec import DataSpec, SearchSpec, TrainingSpec
from regard.spec.document import parse

PAIRS = """
inputs: {source: {type: text, unit: word}}
outputs: {target: {type: text, unit: char}}
encoder: {cell: gru, size: 128}
attention: {score: additive}
decoder: {size: 256, condition: [start, attention]}
training: {lr: 1e-3, epochs: 3}
data: {train: pairs.tsv}
"""


def spec_with(*lines: str) -> str:
    """PAIRS, with the given sections replaced."""
    parts = {line.split(":")[0]: line for line in PAIRS.strip().splitlines()}
    parts |= {line.split(":")[0]: line for each in lines for line in each.splitlines()}
    return "\n".join(parts.values())


def message(text: str, *overrides: str) -> str:
    with pytest.raises(RegardError) as caught:
        Spec.parse(parse(text, "my.yaml"), overrides)
    return caught.value.said(COMMAND_LINE)


def test_shorthands_become_the_full_form() -> None:
    spec = Spec.parse(parse(PAIRS, "my.yaml"))
    assert spec.encoder["source"].type == "recurrent"
    assert spec.encoder["source"].size == 128
    decoder = spec.decoder["target"]
    assert isinstance(decoder, RecurrentDecoder.Options)
    assert [attention.score.type for attention in decoder.attention] == ["additive"]
    assert spec.training.lr == 1e-3
    assert spec.data.train == ("pairs.tsv",)


def test_full_and_short_forms_mean_the_same() -> None:
    full = spec_with(
        "encoder: {source: {type: recurrent, cell: gru, size: 128}}",
        "attention: null",
        "decoder: {target: {size: 256, condition: [start, attention], attention: [{score: additive}]}}",
    )
    assert Spec.parse(parse(full, "a")) == Spec.parse(parse(PAIRS, "b"))


def test_decoder_follows_the_type_of_its_output() -> None:
    text = """
    inputs: {source: {type: text}}
    outputs: {topic: {type: label}, tags: {type: tags, of: source}}
    """
    spec = Spec.parse(parse(text, "my.yaml"))
    assert {name: decoder.type for name, decoder in spec.decoder.items()} == {
        "topic": "label",
        "tags": "tags",
    }


def test_written_spec_reads_back_equal_with_overrides_in_it() -> None:
    spec = Spec.parse(
        parse(PAIRS, "my.yaml"), ["encoder.size=64", "training.schedule.warmup=10", "search.method=beam"]
    )
    again = Spec.parse(parse(spec.to_yaml(), "again.yaml"))
    assert again == spec
    assert again.encoder["source"].size == 64
    assert again.training.schedule.warmup == 10


def test_overrides_leave_the_original_alone() -> None:
    data = yaml.safe_load(PAIRS)
    before = yaml.safe_dump(data)
    Spec.parse(data, ["encoder.size=64"])
    assert yaml.safe_dump(data) == before


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("encoder: {cel: gru}", "my.yaml:3: encoder.cel: unknown key 'cel'. Did you mean cell?"),
        (
            "encoder: {cell: grru}",
            "my.yaml:3: encoder.cell: 'grru' is not a known cell. Did you mean gru?",
        ),
        (
            "attention: {score: aditive}",
            "attention.score: 'aditive' is not a known score. Did you mean additive?",
        ),
        ("encoder: {size: -1}", "encoder.size: expected greater than or equal to 1, received -1."),
        ("encoder: {size: big}", "encoder.size: expected a valid integer"),
        ("encoder: [1]", "encoder: expected a mapping of options, received [1]"),
        (
            "encoder: {src: {size: 3}}",
            "encoder.src: 'src' is not the name of an input. The names here are source.",
        ),
        (
            "encoder: {source: {size: 3}, layers: 2}",
            "encoder.layers: 'layers' is not the name of an input. The names here are source. An option belongs below",
        ),
        (
            "encoder: {size: 3, source: {layers: 2}}",
            "encoder.source: encoder mixes the entry 'source' with options that belong to",
        ),
        (
            "inputs: {left: {type: text}, right: {type: text}}\nencoder: {left: {size: 3}, right: 3}",
            "encoder.right: expected a mapping of options, received 3.",
        ),
        (
            "encoder: {type: recurent}",
            "encoder.type: 'recurent' is not a known encoder. Did you mean recurrent?",
        ),
        ("encoder: {characters: 3}", "encoder.characters: expected a mapping of options, received 3."),
        ("attention: [{scor: dot}]", "attention.0.scor: unknown key 'scor'. Did you mean score?"),
        ("truth: {alignment: {type: alignment, of: [source]}}", "truth.alignment.of: item 2 is missing."),
        ("decoder: {over: 3}", "decoder.over: expected a list, received 3."),
        ("encoder: {dropout: 1.0}", "encoder.dropout: expected less than 1"),
        ("training: {lr: fast}", "training.lr: expected a valid number"),
        ("training: {lr: .nan}", "training.lr: expected a finite number"),
        (
            "training: {schedule: {warmupp: 3}}",
            "training.schedule.warmupp: unknown key 'warmupp'. Did you mean warmup?",
        ),
        ("training: {batch_rows: 3, batch_tokens: 4}", "batch_tokens and batch_rows are both given"),
        (
            "decoder: {condition: [start]}",
            "decoder.condition: this decoder has an attention, and condition does not name it",
        ),
        (
            "decoder: {condition: []}",
            "decoder.condition is empty: the decoder would never see the encoder. Choose from start, first-input",
        ),
        ("decoder: {tie: all}", "tie: all needs one vocabulary for source and target"),
        (
            "decoder: {type: label}",
            "a label decoder cannot write a text column: it writes label. Use type: recurrent",
        ),
        ("decoder: {target: {sise: 2}}", "decoder.target.sise: unknown key 'sise'. Did you mean size?"),
        ("decoder: {scheduled_sampling: {shre: 1}}", "decoder.scheduled_sampling.shre: unknown key"),
        (
            "attention: {guide: 0.5}",
            "guide needs the true alignment, and no truth column links this input to this output.",
        ),
        ("attention: {select: sigmoid, guide: 1}", "independent weights minimize the guided-attention loss"),
        ("attention: {select: oracle}", "select: oracle needs the true alignment"),
        ("attention: {over: picture}", "attention.over: no input is named 'picture'"),
        (
            "decoder: {size: 64}\nattention: {score: dot}",
            "the memory of source has 256, the decoder 64. Use score: general",
        ),
        (
            "data: {world: copy, package: cldr}",
            "data names world and package, but rows come from only one of them",
        ),
        (
            "data: {world: copy, test: a.tsv}",
            "data names world and test, but rows come from only one of them",
        ),
        (
            "data: {world: copy, hold_out: 0.1}",
            "hold_out has no effect: the world has its own dev split. Remove hold_out",
        ),
        (
            "data: {world: rooms, options: {train: 1}}",
            "data.options: the key 'options' has moved. Write  world: {type: rooms, train: 500}",
        ),
        ("data: {world: romes}", "data.world: 'romes' is not a known world. Did you mean rooms?"),
        (
            "data: {world: {type: romes}}",
            "data.world.type: 'romes' is not a known world. Did you mean rooms?",
        ),
        ("data: {world: {train: 5}}", "data.world.type: the key 'type' is missing. Known: "),
        ("data: {world: 5}", "data.world: expected a name or a mapping of options, received 5"),
        (
            "data: {world: {type: rooms, peple: 6}}",
            "data.world.peple: unknown key 'peple'. Did you mean people?",
        ),
        ("data: {world: {type: rooms, people: 2}}", "data.world: people is 2, expected 5 to 8."),
        ("data: {world: {type: rooms, longest: 5}}", "Set longest to 6 or more, or facts to 2."),
        (
            "data: {package: {type: cldr, lokale: hi}}",
            "data.package.lokale: unknown key 'lokale'. Did you mean",
        ),
        ("data: {train: a, format: tvs}", "data.format: 'tvs' is not a known reader. Did you mean tsv?"),
        ("inputs: 3", "inputs: expected a mapping from names to columns, received 3"),
        (
            "inputs: {source: {type: txt}}",
            "inputs.source.type: 'txt' is not a known column. Did you mean text?",
        ),
        ("inputs: {source: {unit: word}}", "the key 'type' is missing"),
        (
            "outputs: {target: {type: tags}}",
            "outputs.target.of: the key 'of' is missing. Add of: the input whose tokens are tagged.",
        ),
        (
            "outputs: {target: {type: alignment, of: [source, target]}}",
            "a column of type alignment cannot be one of the outputs.",
        ),
        ("inputs: {target: {type: text}}", "'target' is the name of a column in inputs and in outputs"),
        ("outputs: {target: {type: label}}", "unknown key 'size'"),
        (
            "outputs: {'my target': {type: text}}",
            "'my target' cannot name a column. Use letters, digits and _.",
        ),
        ("truth: {alignment: {type: alignment, of: [source, goal]}}", "no output is named 'goal'"),
        ("search: {beam: 0}", "search.beam: expected greater than or equal to 1"),
        ("optimiser: adam", "unknown key 'optimiser'"),
    ],
)
def test_each_mistake_has_its_own_message(line: str, expected: str) -> None:
    assert expected in message(spec_with(line))


def test_each_known_key_is_listed_once() -> None:
    with pytest.raises(RegardError) as caught:
        zoo.find("ntm-copy", ["decoder.memory.slots=0"])
    assert caught.value.fix == "Known: cell, dropout, over, size, store, weight."


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("encoder.size", "--set: expected key.path=value, received 'encoder.size'"),
        ("encoder.size=x", "--set encoder.size=x: expected a valid integer"),
        ("enc.size=3", "--set enc.size=3: unknown key 'enc'. Did you mean encoder?"),
        ("encoder.size.x=3", "--set encoder.size.x=3: 'size' is 128, which has no keys"),
        ("encoder.size=[", "not valid YAML"),
        ("training.seed=-1", "--set training.seed=-1: expected greater than or equal to 0, received -1"),
        (f"training.seed={10**20}", f"expected less than or equal to {2**63 - 1}, received {10**20}"),
    ],
)
def test_bad_overrides_are_named(override: str, expected: str) -> None:
    assert expected in message(PAIRS, override)


def test_yaml_mistakes_have_their_line() -> None:
    assert "my.yaml:4" in message(
        "inputs: {a: {type: text}}\noutputs: {b: {type: text}}\nencoder: {size: 3\n"
    )
    assert "my.yaml:3: the key 'inputs' is given twice (first in line 1)" in message(
        "inputs: {a: {type: text}}\noutputs: {b: {type: text}}\ninputs: {c: {type: text}}\n"
    )
    assert "a spec is a mapping" in message("- a\n- b\n")
    assert "a spec is a mapping" in message("")


def test_several_outputs_need_named_decoders() -> None:
    text = "inputs: {source: {type: text}}\noutputs: {a: {type: text}, b: {type: label}}\n"
    assert "there are 2 outputs (a, b), but the decoder does not say which it writes" in message(
        text + "decoder: {size: 3}"
    )
    assert "attention at the top level works with one only" in message(text + "attention: {score: dot}")


TWO_INPUTS = "inputs: {left: {type: text}, right: {type: text}}\noutputs: {target: {type: text}}\n"


def attended(spec: Spec) -> list[tuple[str | None, str]]:
    return [(one.over, one.score.type) for one in spec.decoder["target"].attention]


@pytest.mark.parametrize("output", ["text", "label", "number"])
def test_a_decoder_attends_to_each_of_several_inputs(output: str) -> None:
    two = TWO_INPUTS.replace("target: {type: text}", f"target: {{type: {output}}}")
    each = Spec.parse(parse(two + "attention: {score: general}", "my.yaml"))
    assert attended(each) == [("left", "general"), ("right", "general")]
    by_name = Spec.parse(parse(two + "attention: {left: {score: linear}, right: {}}", "my.yaml"))
    assert attended(by_name) == [("left", "linear"), ("right", "additive")]
    one = Spec.parse(parse(two + "attention: {score: general, over: right}", "my.yaml"))
    assert attended(one) == [("right", "general")]
    assert Spec.parse(parse(each.to_yaml(), "again.yaml")) == each
    assert Spec.parse(parse(by_name.to_yaml(), "again.yaml")) == by_name


def test_an_attention_by_name_is_checked() -> None:
    assert "Did you mean left?" in message(TWO_INPUTS + "attention: {lft: {score: dot}, right: {}}")
    assert "attention.left.scor: unknown key 'scor'. Did you mean score?" in message(
        TWO_INPUTS + "attention: {left: {scor: dot}, right: {}}"
    )
    assert "attention.left: expected a mapping" in message(TWO_INPUTS + "attention: {left: dot, right: {}}")
    assert "Did you mean left?" in message(TWO_INPUTS + "attention: [lft, right]")
    assert "For example  attention: {over: left}" in message(TWO_INPUTS + "attention: left")
    listed = "Name each:  attention: [{over: left}, {over: right}], or one:  attention: {over: left}"
    assert listed in message(TWO_INPUTS + "attention: [{score: general}, {over: right}]")
    pointing = TWO_INPUTS.replace("target: {type: text}", "target: {type: pointers, of: left}")
    assert "a pointer decoder attends to one input; received left, right" in message(
        pointing + "attention: {left: {}, right: {}}"
    )


@pytest.mark.parametrize(
    "written",
    [
        "attention: {score: general}",
        "attention: [{score: general}]",
        "attention: {over: [left, right], score: general}",
        "attention: [{over: left, score: general}, {over: right, score: general}]",
        "decoder: {type: feed-forward, attention: {score: general}}",
        "decoder: {type: feed-forward, attention: {over: [left, right], score: general}}",
    ],
)
def test_several_inputs_are_attended_at_once(written: str) -> None:
    spec = Spec.parse(parse(TWO_INPUTS + written, "my.yaml"))
    assert attended(spec) == [("left", "general"), ("right", "general")]
    assert Spec.parse(parse(spec.to_yaml(), "again.yaml")) == spec


def test_inputs_to_attend_to_are_listed_by_name() -> None:
    spec = Spec.parse(parse(TWO_INPUTS + "attention: [left, right]", "my.yaml"))
    assert attended(spec) == [("left", "additive"), ("right", "additive")]
    assert attended(Spec.parse(parse(TWO_INPUTS + "attention: [right]", "my.yaml"))) == [
        ("right", "additive")
    ]
    default = Spec.parse(parse(TWO_INPUTS + "decoder: feed-forward", "my.yaml")).decoder["target"]
    assert default.part.reads_positions(default, "target", spec) == ("left", "right")


def test_the_query_is_not_attended_to() -> None:
    text = TWO_INPUTS.replace("target: {type: text}", "target: {type: label}")
    spec = Spec.parse(parse(text + "decoder: {query: right, attention: {score: additive}}", "my.yaml"))
    assert attended(spec) == [("left", "additive")]


def test_a_part_without_options_is_its_name() -> None:
    whole = Spec.parse(parse(TWO_INPUTS + "encoder: transformer\ndecoder: transformer", "my.yaml"))
    assert {one.type for one in whole.encoder.values()} == {"transformer"}
    assert whole.decoder["target"].type == "transformer"
    named = Spec.parse(parse(TWO_INPUTS + "encoder: {left: transformer, right: {size: 8}}", "my.yaml"))
    assert [one.type for one in named.encoder.values()] == ["transformer", "recurrent"]
    assert "Did you mean transformer?" in message(TWO_INPUTS + "encoder: transfomer")


@settings(max_examples=150, deadline=None)
@given(
    part=st.sampled_from(["encoder", "decoder", "attention", "training", "search", "data"]),
    key=st.text(string.ascii_lowercase, min_size=3, max_size=12),
)
def test_any_unknown_key_is_refused_by_name_and_place(part: str, key: str) -> None:
    data = yaml.safe_load(PAIRS)
    data.setdefault(part, {})
    models = {"encoder": "encoder.source", "decoder": "decoder.target"}
    known = set(_known_keys(part))
    if key in known:
        return
    data[part][key] = 1
    with pytest.raises(RegardError) as caught:
        Spec.parse(data)
    assert caught.value.where in (f"{part}.{key}", f"{models.get(part, part)}.{key}")
    assert caught.value.what in (f"unknown key {key!r}.", f"the key {key!r} has moved.")


@pytest.mark.parametrize("system", zoo.names())
def test_a_mistake_anywhere_in_a_system_is_placed_where_it_was_written(system: str) -> None:
    """An unknown key is inserted into every mapping of every system, in the file and by `--set`."""
    data = zoo.find(system).written()
    dump = functools.partial(yaml.dump, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False)
    written = dump(data)
    for place in _mappings(data):
        dotted = ".".join((*place, "zzz"))
        changed = copy.deepcopy(data)
        functools.reduce(operator.getitem, place, changed)["zzz"] = 1
        text = dump(changed)
        line = next(number for number, line in enumerate(text.splitlines(), 1) if "zzz: 1" in line)
        assert message(text).startswith(f"my.yaml:{line}: {dotted}: ")
        assert message(written, f"{dotted}=1").startswith(f"--set {dotted}=1: ")


def _mappings(data: dict[str, Any], place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield place
    for key, value in data.items():
        if isinstance(value, dict) and (*place, key) != (
            "training",
            "weights",
        ):  # reported when the model is built
            yield from _mappings(value, (*place, key))


def test_the_place_within_a_value_that_may_be_one_of_two_things() -> None:
    text = spec_with("inputs: {source: {type: image, size: [64, big]}}", "encoder: {}", "decoder: {}")
    assert "inputs.source.size.1: expected a valid integer" in message(text)
    assert "more mistake" not in message(text.replace("[64, big]", "big"))


def test_options_of_several_encoders_are_one_mistake() -> None:
    text = "inputs: {left: {type: text}, right: {type: text}}\noutputs: {target: {type: text}}\n"
    assert message(text + "encoder: {sise: 3}").startswith("my.yaml:3: encoder.sise: unknown key 'sise'.")
    assert "more mistake" not in message(text + "encoder: {sise: 3}")


def _known_keys(part: str) -> list[str]:
    classes: dict[str, type[BaseModel]] = {
        "encoder": RecurrentEncoder.Options,
        "decoder": RecurrentDecoder.Options,
        "attention": TextAttentionOptions,
        "training": TrainingSpec,
        "search": SearchSpec,
        "data": DataSpec,
    }
    return list(classes[part].model_fields)


@settings(max_examples=100, deadline=None)
@given(
    key=st.sampled_from(
        ["size", "layers", "embedding", "dropout", "cell", "bidirectional", "residual", "first"]
    ),
    value=st.one_of(
        st.text(min_size=1, max_size=5), st.lists(st.integers(), max_size=2), st.floats(-5, -1), st.none()
    ),
)
def test_any_bad_value_is_refused_at_its_place(key: str, value: object) -> None:
    data = yaml.safe_load(PAIRS)
    data["encoder"][key] = value
    try:
        Spec.parse(data)
    except RegardError as error:
        assert error.where == f"encoder.{key}"
    else:
        # An accepted value must be one of the few strings that denote a number or a truth value.
        assert isinstance(value, str)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("inputs: &a {x: 1}\noutputs: *a", r"my.yaml:2: .*\*a is a YAML alias"),
        ("a: &a [1, 1]\nb: &b [*a, *a]\nc: &c [*b, *b]", r"my.yaml:2: .*alias"),
        ("? [a, b]\n: 1", r"my.yaml:1: a key must be a word"),
        ("{a: 1}: 2", r"my.yaml:1: a key must be a word"),
        ("inputs: {<<: {a: 1}}", "my.yaml:1: a spec cannot contain the merge key <<"),
        ("name: 2020-99-99", "my.yaml: a value in the spec cannot be read: month must be in"),
        ("name: " + "[" * 100_000, "nested more than 50 levels deep"),
        ("name: " + "{a: " * 100 + "}" * 100, "nested more than 50 levels deep"),
        ("name: !!python/object:os.system x", "not valid YAML"),
        ("name: !!timestamp x", "cannot be read"),
        ("name: " + "9" * 5000, "cannot be read"),
        ("name: \0", "not valid YAML"),
    ],
)
def test_odd_yaml_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(RegardError, match=said):
        parse(text, "my.yaml")


def test_what_stands_in_two_places_is_written_twice() -> None:
    shared = {"type": "transformer", "size": 8, "heads": 2, "layers": 1}
    spec = Spec(
        inputs={"source": {"type": "text"}},
        outputs={"target": {"type": "text"}},
        encoder=shared,
        decoder=shared,
    )
    assert Spec.parse(parse(spec.to_yaml(), "again.yaml")) == spec
