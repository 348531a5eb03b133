"""Small specs in which every part can be tried, found by what a part reads, writes or needs."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from regard.data import Row
from regard.errors import RegardError
from regard.parts import Options, Settings, find, part
from regard.spec import Spec

Path = tuple[str, ...]
Document = dict[str, Any]

COLUMNS: dict[str, dict[str, Any]] = {
    "source": {"type": "text"},
    "other": {"type": "text", "shared": "source"},
    "third": {"type": "text", "field": "other", "shared": "source"},
    "target": {"type": "text"},
    "echo": {"type": "text", "field": "target"},
    "topic": {"type": "label"},
    "topics": {"type": "multilabel"},
    "reasons": {"type": "label_words"},
    "part": {"type": "span", "of": "source"},
    "grade": {"type": "ordinal"},
    "votes": {"type": "soft-label"},
    "share": {"type": "weight"},
    "value": {"type": "number"},
    "tags": {"type": "tags", "of": "source"},
    "spans": {"type": "tags", "of": "source"},
    "tree": {"type": "tree", "of": "source"},
    "phrases": {"type": "constituents", "of": "source"},
    "alignment": {"type": "alignment", "of": ["source", "target"]},
    "links": {"type": "alignment", "of": ["source", "target"]},
    "hints": {"type": "facts"},
    "elsewhere": {"type": "places"},
    "brackets": {"type": "brackets"},
    "bush": {"type": "brackets", "labels": False},
    "labels": {"type": "brackets", "field": "brackets", "of": "brackets"},
    "story": {"type": "story"},
    "tale": {"type": "story"},
    "dialog": {"type": "dialog"},
    "talk": {"type": "dialog"},
    "offered": {"type": "candidates"},
    "proposed": {"type": "candidates"},
    "reply": {"type": "candidate"},
    "choice": {"type": "candidate", "field": "reply", "of": "offered"},
    "said": {"type": "text", "field": "question", "shared": "dialog"},
    "answering": {"type": "text", "field": "question", "shared": "dialog"},
    "chat": {"type": "dialog", "field": "dialog", "shared": "reply"},
    "spoken": {"type": "text", "field": "question", "shared": "reply"},
    "document": {"type": "document"},
    "paper": {"type": "document"},
    "evidence": {"type": "evidence"},
    "record": {"type": "table"},
    "map": {"type": "graph"},
    "question": {"type": "text"},
    "asking": {"type": "text", "field": "question", "shared": "story"},
    "wanting": {"type": "text", "field": "question", "shared": "story"},
    "parse": {"type": "tree", "of": "question"},
    "facts": {"type": "facts"},
    "image": {"type": "image", "size": 16},
    "places": {"type": "places"},
    "spots": {"type": "places", "field": "places", "of": ["image", "target"]},
    "film": {"type": "video", "size": 16},
    "sound": {"type": "audio", "rate": 8000, "mels": 16},
    "speech": {"type": "audio", "field": "sound", "mels": 16},
    "series": {"type": "series"},
    "running": {"type": "stream"},
    "points": {"type": "points"},
    "others": {"type": "points"},
    "corners": {"type": "pointers", "of": "points"},
    "level": {"type": "group"},
    "signals": {"type": "bits"},
    "noise": {"type": "bits"},
    "bits": {"type": "bits", "of": "signals"},
}
"""Columns for the fields of the rows."""

SPECS: dict[str, Document] = {
    "text": {"inputs": ["source"], "outputs": ["target"], "truth": ["alignment", "links"], "look": "source"},
    "copied": {"inputs": ["source"], "outputs": ["echo"], "look": "source", "copy": True},
    "class": {"inputs": ["source"], "outputs": ["topic"]},
    "sorted": {
        "inputs": ["source", "question"],
        "outputs": ["topics"],
        "truth": ["reasons"],
        "look": "source",
    },
    "sorted-plain": {"inputs": ["source"], "outputs": ["topics"]},
    "found": {"inputs": ["source", "other", "question"], "outputs": ["part"]},
    "found-alone": {"inputs": ["source"], "outputs": ["part"]},
    "graded": {"inputs": ["source", "question"], "outputs": ["grade"], "look": "source"},
    "voted": {"inputs": ["source", "question"], "outputs": ["votes"], "look": "source"},
    "weighted": {"inputs": ["source"], "outputs": ["topic", "value"], "truth": ["share"]},
    "asked": {"inputs": ["source", "question"], "outputs": ["topic"], "look": "source"},
    "pointed": {"inputs": ["image"], "outputs": ["topic"], "truth": ["places", "elsewhere"], "look": "image"},
    "two": {
        "inputs": ["source", "question"],
        "outputs": ["target"],
        "truth": ["alignment"],
        "look": "source",
    },
    "plain": {"inputs": ["source"], "outputs": ["target"]},
    "digest": {"inputs": ["document"], "outputs": ["target"], "look": "document"},
    "pair": {"inputs": ["source", "other"], "outputs": ["topic"]},
    "three": {"inputs": ["source", "other", "third"], "outputs": ["topic"]},
    "tags": {"inputs": ["source", "other"], "outputs": ["tags", "topic"]},
    "spans": {"inputs": ["source"], "outputs": ["spans"]},
    "tree": {"inputs": ["source", "other"], "outputs": ["tree", "topic"]},
    "phrases": {"inputs": ["source", "other"], "outputs": ["phrases", "topic"]},
    "nodes": {"inputs": ["brackets", "bush"], "outputs": ["labels", "topic"]},
    "root": {"inputs": ["brackets", "bush"], "outputs": ["topic"], "look": "bush"},
    "bush": {"inputs": ["bush"], "outputs": ["topic"]},
    "story": {"inputs": ["story", "asking"], "outputs": ["topic"], "truth": ["facts", "hints"]},
    "tales": {"inputs": ["story", "tale", "asking", "wanting"], "outputs": ["topic"], "truth": ["facts"]},
    "reply": {"inputs": ["source", "question"], "outputs": ["reply"], "look": "source"},
    "replies": {"inputs": ["dialog", "said"], "outputs": ["reply"], "truth": ["facts"]},
    "talks": {"inputs": ["dialog", "talk", "said", "answering"], "outputs": ["reply"]},
    "tied": {"inputs": ["chat", "spoken"], "outputs": ["reply"]},
    "offered": {"inputs": ["offered", "source", "proposed"], "outputs": ["choice"]},
    "document": {"inputs": ["document"], "outputs": ["topic"], "truth": ["evidence"], "look": "document"},
    "papers": {"inputs": ["document", "paper"], "outputs": ["topic"], "truth": ["evidence"]},
    "tabled": {"inputs": ["record"], "outputs": ["target"], "look": "record"},
    "filed": {"inputs": ["record", "question"], "outputs": ["topic"], "look": "record"},
    "mapped": {"inputs": ["map"], "outputs": ["target"], "look": "map"},
    "routed": {"inputs": ["map", "question"], "outputs": ["topic"], "look": "map"},
    "parsed": {"inputs": ["question", "parse"], "outputs": ["topic"]},
    "caption": {"inputs": ["image"], "outputs": ["target"], "truth": ["places"], "look": "image"},
    "image": {"inputs": ["image"], "outputs": ["topic"]},
    "scene": {"inputs": ["image", "film"], "outputs": ["target"], "truth": ["spots"], "look": "image"},
    "told": {"inputs": ["film"], "outputs": ["target"], "look": "film"},
    "film": {"inputs": ["film"], "outputs": ["topic"]},
    "sound": {"inputs": ["sound"], "outputs": ["target"], "look": "sound"},
    "speech": {"inputs": ["speech"], "outputs": ["target"], "look": "speech"},
    "series": {"inputs": ["series"], "outputs": ["topic"]},
    "leveled": {"inputs": ["source"], "outputs": ["topic"], "truth": ["level"]},
    "measured": {"inputs": ["source", "question"], "outputs": ["value"], "look": "source"},
    "valued": {"inputs": ["image"], "outputs": ["value"], "truth": ["places", "elsewhere"], "look": "image"},
    "pointing": {"inputs": ["points"], "outputs": ["corners"]},
    "apart": {"inputs": ["points", "others"], "outputs": ["corners"]},
    "stored": {"inputs": ["signals", "noise"], "outputs": ["bits"]},
    "rated": {"inputs": ["source", "other"], "outputs": ["value"]},
    "stream": {"inputs": [], "outputs": ["running"]},
}
"""Columns by role. `look`: the input that the decoder attends to, if it can; `copy`: the decoder copies, and
only columns are tried in this spec."""

READ: dict[str, str] = {
    "asking": "bag",
    "wanting": "bag",
    "said": "bag",
    "answering": "bag",
    "spoken": "bag",
    "third": "shared",
}
"""Encoders of inputs that do not use the default encoder of their type."""

SMALL: dict[str, Any] = {
    "embedding": 6,
    "size": 4,
    "relation_size": 3,
    "channels": [3, 4],
    "stride": 4,
    "slots": 5,
    "width": 3,
}
NEEDED: dict[tuple[str, str], dict[str, Any]] = {
    ("encoder", "shared"): {"of": "source"},
    ("encoder", "image"): {"network": {"type": "resnet", "channels": [3, 4], "stride": 4}},
    ("encoder", "video"): {"network": {"type": "vgg", "channels": [3, 4], "stride": 4, "connected": 5}},
    ("encoder", "hierarchical"): {
        "words": {"embedding": 6, "size": 4},
        "sentences": {"size": 4},
        "attention": {"score": "additive"},
    },
    ("encoder", "graph"): {"words": {"embedding": 6}, "size": 4},
    ("encoder", "table"): {"words": {"embedding": 6}, "fields": 3, "size": 4},
    ("decoder", "recurrent"): {"size": 8},
    ("decoder", "ctc"): {"upsample": 6},
    ("decoder", "language"): {"size": 16},
    ("decoder", "window"): {"size": 16},
    ("network", "timm"): {"name": "resnet18"},
}
"""Options that a part requires, or that make it small."""

TOGETHER: dict[str, list[dict[str, Any]]] = {
    "recurrent": [{"layers": 2}],
    "language": [{"layers": 2}, {"layers": 2, "dropout": 0.3}, {"output": "adaptive", "cutoffs": [4, 9]}],
    "window": [{"output": "adaptive", "cutoffs": [4, 9]}],
    "points": [{"layers": 2}, {"layers": 3}],
    "pointer": [{"layers": 2}],
    "pyramidal": [{"layers": 1, "reductions": 0}],
    "series": [{"points": 3, "origin": 0}],
    "series.augment": [{"crop": 0.2}],
    "audio.augment": [{"time_masks": 2, "frequency_masks": 2}],
    "label": [{"hidden": 4}, {"hidden": 4, "combine": "gated"}],
    "ordinal": [{"hidden": 4}, {"hidden": 4, "combine": "gated"}],
    "soft-label": [{"hidden": 4}, {"hidden": 4, "combine": "gated"}],
    "number": [{"hidden": 4}, {"hidden": 4, "combine": "gated"}],
    "memory-network": [
        {"attention": {"select": "facts"}},
        {"attention": {"select": "facts"}, "fewer": True},
    ],
    "memory-retrieval": [
        {"attention": {"select": "facts"}},
        {"attention": {"select": "facts"}, "fewer": True},
    ],
    "retrieval": [{"hidden": 4}, {"hidden": 4, "combine": "gated"}],
    "story": [{"tie": "adjacent", "hops": 3}],
    "recurrent.attention": [{"guide": 1.0}, {"state": "current"}],
    "label.attention": [{"guide": 1.0}],
    "multilabel.attention": [{"guide": 1.0}],
    "number.attention": [{"guide": 1.0}],
    "memory-network.attention": [{"guide": 1.0}],
    "memory-retrieval.attention": [{"guide": 1.0}],
    "retrieval.attention": [{"guide": 1.0}],
    "timm": [{"pretrained": True}],
    "resnet": [{"connected": 5}],
    "vgg": [{"connected": 5}],
}
"""Additional options to try a part with, so that options that depend on them have an effect."""

BESIDE: dict[tuple[str, str, Any], dict[str, Any]] = {
    ("story", "tie", "adjacent"): {"hops": 3},
    ("transformer", "tie", "output"): {"embedding": 4},
    ("language", "output", "adaptive"): {"cutoffs": [4, 9]},
    ("window", "output", "adaptive"): {"cutoffs": [4, 9]},
}
"""Options that must be set together with a value."""

INSIDE: dict[str, dict[str, Any]] = {"recurrent.scheduled_sampling": {"steps": 1}}
"""Initial values of nested settings; empty for most."""

ABOVE: dict[str, dict[str, Any]] = {
    "series.augment": {"points": 3, "origin": 0},
    "recurrent.copy_": {"attention": [{"over": "source"}, {"over": "question"}]},
}
"""Options of a part without which some of its nested settings are refused."""

MOST = {"column": 5, "encoder": 3, "decoder": 5, "selection": 2, "score": 2, "network": 2}
"""Maximum number of specs in which a part is tried; a column is tried once under each of its names."""


@dataclass(frozen=True)
class Context:
    """A spec, and the path of the tried options in it."""

    name: str
    document: Document
    path: Path

    def get(self, *path: str) -> Any:
        found: Any = self.document
        for step in (*self.path, *path):
            found = found.get(step) if isinstance(found, dict) else None
        return found

    def changed(self, values: dict[str, Any], name: str = "") -> Context:
        """A copy with other values of some options; `name` is added to the name of the context."""
        document = copy.deepcopy(self.document)
        here = document
        for step in self.path:
            if not isinstance(here.get(step), dict):
                here[step] = {"type": here[step]} if isinstance(here.get(step), str) else {}
            here = here[step]
        here.update(values)
        return Context(f"{self.name}, {name}" if name else self.name, document, self.path)

    def below(self, field: str) -> Context:
        return Context(self.name, self.document, (*self.path, field))


def options_of(kind: str, name: str) -> type[Options]:
    found = find(kind, name)
    chosen: type[Options] = found if issubclass(found, Options) else found.Options
    return chosen


def small(kind: str, name: str) -> dict[str, Any]:
    """The options with which a part is tried."""
    fields = options_of(kind, name).model_fields
    chosen = {} if kind == "column" else {key: value for key, value in SMALL.items() if key in fields}
    needed = NEEDED.get((kind, name), {})
    if (kind, name) == ("encoder", "pretrained"):
        from regard.testing.tiny import tiny_encoder

        needed = {"model": tiny_encoder()}
    if (kind, name) == ("encoder", "pretrained-audio"):
        from regard.testing.tiny import tiny_speech_encoder

        needed = {"model": tiny_speech_encoder()}
    return {"type": name, **chosen, **needed}


def document(name: str, *, encoder: str | None = None, decoder: str | None = None) -> Document:
    """A complete spec of the table; `encoder` is for the first input, `decoder` for the first output."""
    wanted = SPECS[name]
    made: Document = {
        role: {column: dict(COLUMNS[column]) for column in wanted.get(role, [])}
        for role in ("inputs", "outputs", "truth")
    }
    made["encoder"], made["decoder"], made["search"] = {}, {}, {"max_length": 4}
    if not made["inputs"]:
        del made["inputs"], made["encoder"], made["search"]
        made |= {"inputs": None, "encoder": {}}
    for column, options in (made["inputs"] or {}).items():
        usual = part("column", options["type"]).encoder
        if usual is not None:
            chosen = encoder if encoder and not made["encoder"] else READ.get(column, usual)
            made["encoder"][column] = small("encoder", chosen)
    for column, options in made["outputs"].items():
        chosen = decoder if decoder and not made["decoder"] else part("column", options["type"]).decoder
        made["decoder"][column] = small("decoder", chosen)
        if options.get("of") and chosen == "retrieval":  # the embedding belongs to the candidates' encoder
            del made["decoder"][column]["embedding"]
        if "look" in wanted and "attention" in options_of("decoder", chosen).model_fields:
            made["decoder"][column]["attention"] = {"over": wanted["look"]}
        if "copy" in wanted:
            made["decoder"][column]["copy"] = True
    return made


def accepted(found: Document) -> bool:
    try:
        Spec.parse(copy.deepcopy(found))
    except RegardError:
        return False
    return True


def contexts(kind: str, name: str) -> list[Context]:
    """The specs in which a part is tried."""
    kept: list[Context] = []
    for one in _candidates(kind, name):
        new = (kind, name) != ("column", "text") or one.path not in [other.path for other in kept]
        if new and len(kept) < MOST.get(kind, 1) and accepted(one.document):
            kept.append(one)
    return kept


def _candidates(kind: str, name: str) -> Iterator[Context]:
    # specs that name the part come first
    for spec, wanted in sorted(SPECS.items(), key=lambda one: READ.get(["", *one[1]["inputs"]][-1]) != name):
        if not wanted["inputs"] and kind not in ("column", "decoder"):
            continue
        if "copy" in wanted and kind != "column":
            continue
        first_input, first_output = [*wanted["inputs"], ""][0], wanted["outputs"][0]
        if kind == "column":
            made = document(spec)
            for role in ("inputs", "outputs", "truth"):
                found = [one for one in made[role] or () if made[role][one]["type"] == name]
                for column in found[:1] if role == "truth" else found:
                    yield Context(spec, made, (role, column))
        elif kind == "encoder":
            at = wanted["inputs"][-1] if READ.get(wanted["inputs"][-1]) == name else first_input
            if COLUMNS[at]["type"] in part(kind, name).reads:
                made = document(spec)
                made["encoder"][at] = small("encoder", name)
                yield Context(spec, made, ("encoder", at))
        elif kind == "decoder":
            if COLUMNS[first_output]["type"] in part(kind, name).writes:
                made = document(spec, decoder=name)
                yield Context(spec, made, ("decoder", first_output))
                if len(wanted["inputs"]) > 1 and not accepted(made):  # it may read one input alone
                    one = Context(spec, made, ("decoder", first_output))
                    yield one.changed({"over": [first_input]}, f"over: {first_input}")
        elif kind in ("cell", "network", "composer"):
            made, field = document(spec), "compose" if kind == "composer" else kind
            owner = made["encoder"][first_input]
            if field in options_of("encoder", owner["type"]).model_fields:
                owner[field] = small(kind, name)
                yield Context(spec, made, ("encoder", first_input, field))
        elif kind == "store":
            made = document(spec)
            owner = made["decoder"][first_output]
            if kind in options_of("decoder", owner["type"]).model_fields:
                owner[kind] = small(kind, name)
                yield Context(spec, made, ("decoder", first_output, "store"))
        elif kind in ("score", "selection"):
            field = "select" if kind == "selection" else "score"
            made = document(spec)
            if spec == "story":
                made = document(spec, decoder="memory-network")
            decoder = made["decoder"][first_output]
            if "attention" in decoder or spec == "story":
                decoder.setdefault("attention", {})[field] = small(kind, name)
                yield Context(spec, made, ("decoder", first_output, "attention", field))
            made = document(spec)
            encoder = made["encoder"][first_input]
            if "parents" in options_of("encoder", encoder["type"]).model_fields and kind == "selection":
                encoder["parents"] = {"size": 4, field: small(kind, name)}
                yield Context(spec, made, ("encoder", first_input, "parents", field))


def nested(settings: type[Settings]) -> Iterator[tuple[str, type[Settings]]]:
    """The fields that hold nested settings, and their classes."""
    for name, field in settings.model_fields.items():
        for model in _settings_in(field.annotation):
            yield name, model


def _settings_in(annotation: Any) -> Iterator[type[Settings]]:
    from typing import get_args

    if isinstance(annotation, type) and issubclass(annotation, Settings):
        yield annotation
    for argument in get_args(annotation):
        yield from _settings_in(argument)


def own_column(name: str, role: str, rows: Sequence[Row]) -> Document | None:
    """A spec with a column of a type that no spec above has: it reads the first field whose values it accepts."""
    made = find("column", name)
    if role not in made.roles or (made.encoder if role == "inputs" else made.decoder) is None:
        return None
    for field in rows[0]:
        found = document("class")
        found[role] = {"mine": {"type": name, "field": field}}
        found["encoder" if role == "inputs" else "decoder"] = {}
        if _reads(found, role, [row[field] for row in rows if field in row]):
            return found
    return None


def _reads(found: Document, role: str, values: Sequence[str]) -> bool:
    """Whether the column accepts and encodes most of the values."""
    try:
        spec = Spec.parse(copy.deepcopy(found))
        options = getattr(spec, role)["mine"]
        column = options.part.build(options, "mine", spec, {})
        known = [value for value in values if column.check_value(value) is None]
        if len(known) * 2 <= len(values):
            return False
        column.learn(known)
        usable = [value for value in known if column.check(value) is None]
    except Exception:
        return False  # these values are not for this column
    return len(usable) * 2 > len(values)
