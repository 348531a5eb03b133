"""Random constraints and small random models, with all outputs of each model listed: the truth for `constraints.py`.

Whether a text obeys is asked of Python's own means: `re.fullmatch`, `in`, `startswith`, a list, and brackets counted by
hand. `re` takes exponential time where repetitions without an end are nested; such expressions are matched by sets of
places instead (`Pattern`), which `compared` compares with `re`. The log-probability of an output is that of
`model.score`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch

END = 3
COLUMNS: dict[str, tuple[dict[str, Any], list[str], int]] = {
    "words": ({"unit": "word"}, ["a b", "ab c", "b"], 4),
    "characters": ({"unit": "char"}, ["ab", "a b", "(b)"], 3),
    "punctuation": ({"unit": "word", "split": "punctuation"}, ["a, (b)", "b, a"], 3),
    "capitals": ({"unit": "word", "case": "marked"}, ["Ab a", "A b"], 4),
    "subwords": ({"unit": "subword", "vocabulary": 12}, ["ab abb ba", "bab ab a", "abab b"] * 4, 3),
    "copies": ({"unit": "word"}, ["a b", "b"], 4),
}
"""{kind: options of the output column, texts of its vocabulary, longest output}"""


@dataclass
class Listed:
    """A model, an input, and all its outputs.

    outputs    {ids: text}
    scores     {ids: log-probability}
    choices    {ids so far: {next id or END: log-probability}}
    """

    model: Any
    given: str
    longest: int
    outputs: dict[tuple[int, ...], str] = field(default_factory=dict)
    scores: dict[tuple[int, ...], float] = field(default_factory=dict)
    choices: dict[tuple[int, ...], dict[int, float]] = field(default_factory=dict)

    @property
    def widest(self) -> int:
        """The width of a beam that drops nothing: there are as many prefixes as outputs."""
        return len(self.outputs)

    def text(self, ids: tuple[int, ...]) -> str:
        return self.outputs[ids]


def listed(kind: str, seed: int) -> Listed:
    """A random model of a kind, and all that it can write about one input."""
    import regard

    options, texts, longest = COLUMNS[kind]
    copies = kind == "copies"
    spec: dict[str, Any] = {
        "inputs": {"source": {"type": "text", "unit": "word"}},
        "outputs": {"target": {"type": "text", **options}},
        "encoder": {"type": "recurrent", "cell": "gru", "size": 6, "embedding": 4},
        "attention": {"score": "general", "select": "softmax"},
        "decoder": {
            "type": "recurrent",
            "cell": "gru",
            "size": 6,
            "embedding": 4,
            **({"copy": {}} if copies else {}),
        },
        "search": {"max_length": longest},
        "training": {"seed": seed},
    }
    rows = [{"source": "a b c", "target": text} for text in texts]
    model = regard.Model.build(regard.Spec(**spec), rows=rows)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.9)
    found = Listed(model, "x9 b y" if copies else "c b a", longest)
    _list(found, copied=["x9", "y"] if copies else [])
    return found


def _list(found: Listed, copied: list[str]) -> None:
    """Fill in all outputs, their texts and their probabilities, step by step."""
    from regard.data.encoding import encode_rows
    from regard.nn.network import answering

    model = found.model
    column = model.columns["target"]
    source = encode_rows([model.row(found.given, 1)], [model.columns["source"]], remedy="")
    positions = {word: number for number, word in enumerate(found.given.split())}
    units = [1, *range(4, column.size), *(column.size + positions[word] for word in copied)]
    with torch.inference_mode(), answering(model):
        stepper = model.inference(source.batch([0]), "target").stepper()
        state, prefixes, totals = stepper.start(), [()], [0.0]
        before = torch.full((1, 1), stepper.begin)
        for length in range(found.longest + 1):
            step = stepper.step(before, state)
            logs = torch.log_softmax(step.logits[0].double(), -1)
            ends, others = logs[:, END].tolist(), logs[:, units].tolist()
            for number, ids in enumerate(prefixes):
                found.choices[ids] = {**dict(zip(units, others[number], strict=True)), END: ends[number]}
                found.outputs[ids] = column.join([copied_or(column, unit, copied, positions) for unit in ids])
                found.scores[ids] = totals[number] + ends[number]
            if length < found.longest:
                parents = torch.arange(len(prefixes)).repeat_interleave(len(units))[None]
                before = torch.tensor(units).repeat(len(prefixes))[None]
                state = step.state.reorder(parents)
                totals = [total + log for total, row in zip(totals, others, strict=True) for log in row]
                prefixes = [(*ids, unit) for ids in prefixes for unit in units]


def copied_or(column: Any, unit: int, copied: list[str], positions: dict[str, int]) -> str:
    if unit >= column.size:
        return next(word for word in copied if positions[word] == unit - column.size)
    return column.cutter.unknown if unit == 1 else column.vocabulary.piece(unit)


Truth = Callable[[str], bool]


def some_constraint(draw: random.Random, world: Listed, *, characters: bool) -> tuple[dict[str, Any], Truth]:
    """A random constraint as data, and whether a text obeys it."""
    texts = list(world.outputs.values())
    name = draw.choice(["must", "never", "prefix", "regex", "regex", "grammar", "answers"])
    if name in ("must", "never"):
        phrases = [one for _ in range(draw.randint(1, 3)) if (one := some_part(draw, texts))] or ["a"]
        whole = draw.choice([None, True, False])
        found = phrase_truth(phrases, not characters if whole is None else whole)
        truth = (
            found
            if name == "must"
            else phrase_truth(phrases, not characters if whole is None else whole, never=True)
        )
        return {"type": name, "phrases": phrases, **({} if whole is None else {"whole": whole})}, truth
    if name == "prefix":
        text = some_part(draw, texts, start=True) or "a"
        return {"type": name, "text": text}, lambda one: one.startswith(text)
    if name == "answers":
        answers = [draw.choice(texts) for _ in range(draw.randint(1, 12))]
        answers = [" ".join(one.split()) for one in answers] + ["unheard of"]
        return {"type": name, "answers": answers}, lambda one: one in set(answers)
    if name == "grammar":
        return some_grammar(draw)
    pattern = some_pattern(draw, sorted({one for text in texts for one in text}), 3)
    return {"type": "regex", "pattern": pattern.text}, pattern.truth()


def some_part(draw: random.Random, texts: list[str], *, start: bool = False) -> str:
    text = draw.choice(texts)
    if not text:
        return ""
    low = 0 if start else draw.randrange(len(text))
    return " ".join(text[low : low + draw.randint(1, 4)].split())


def phrase_truth(phrases: list[str], whole: bool, *, never: bool = False) -> Truth:
    def pattern(phrase: str) -> re.Pattern[str]:
        before = r"(?<![^\W_])" if whole and phrase[0].isalnum() else ""
        after = r"(?![^\W_])" if whole and phrase[-1].isalnum() else ""
        return re.compile(before + re.escape(phrase) + after)

    known = [pattern(one) for one in phrases]
    if never:
        return lambda text: not any(one.search(text) for one in known)
    return lambda text: all(one.search(text) for one in known)


Places = frozenset[int]
Ends = Callable[[str, Places], Places]
"""A text, and places where a match may begin → the places where it may end."""


@dataclass
class Pattern:
    """A regular expression.

    ends     its matches by sets of places
    loops    whether it repeats without an end; `nested`: whether it does so within such a repetition
    """

    text: str
    ends: Ends
    loops: bool = False
    nested: bool = False

    def truth(self) -> Truth:
        """Whether a whole text matches."""
        return self.by_places if self.nested else self.by_re

    def by_places(self, text: str) -> bool:
        return len(text) in self.ends(text, frozenset({0}))

    @cached_property
    def by_re(self) -> Truth:
        compiled = re.compile(self.text)
        return lambda text: compiled.fullmatch(text) is not None


def one_of(piece: str) -> Pattern:
    """A single character, by `re`."""
    compiled = re.compile(piece)
    return Pattern(
        piece,
        lambda text, places: frozenset(one + 1 for one in places if compiled.fullmatch(text[one : one + 1])),
    )


def in_order(parts: list[Pattern]) -> Pattern:
    def ends(text: str, places: Places) -> Places:
        for part in parts:
            places = part.ends(text, places)
        return places

    return _joined("".join(part.text for part in parts), ends, parts)


def either(parts: list[Pattern]) -> Pattern:
    return _joined(
        "(" + "|".join(part.text for part in parts) + ")",
        lambda text, places: frozenset().union(*(part.ends(text, places) for part in parts)),
        parts,
    )


def _joined(text: str, ends: Ends, parts: list[Pattern]) -> Pattern:
    return Pattern(text, ends, any(one.loops for one in parts), any(one.nested for one in parts))


def repeated(part: Pattern, sign: str, *, bare: bool = False) -> Pattern:
    """bare   without brackets"""
    least, most = {
        "*": (0, None),
        "+": (1, None),
        "?": (0, 1),
        "{1,2}": (1, 2),
        "{0,3}": (0, 3),
        "{2}": (2, 2),
    }[sign]

    def ends(text: str, places: Places) -> Places:
        for _ in range(least):
            places = part.ends(text, places)
        found, rounds = places, 0
        while places and (most is None or rounds < most - least):
            places, rounds = part.ends(text, places) - found, rounds + 1
            found |= places
        return found

    loops = most is None
    text = f"{part.text}{sign}" if bare else f"(?:{part.text}){sign}"
    # `re` also tries every division of a text among repetitions that are few
    return Pattern(text, ends, loops or part.loops, part.nested or part.loops)


def some_pattern(draw: random.Random, characters: list[str], depth: int) -> Pattern:
    """A random regular expression."""
    kind = draw.random()
    if depth == 0 or kind < 0.3:
        one = draw.choice(characters)
        chosen = draw.randrange(8)
        if chosen in (4, 7):
            return repeated(one_of(r"\s" if chosen == 4 else "."), "?" if chosen == 4 else "*", bare=True)
        sets = f"[{_in_set(characters, draw)}]", f"[^{_in_set(characters, draw)}]"
        return one_of([re.escape(one), re.escape(one), ".", r"\w", "", *sets][chosen])
    if kind < 0.6:
        return in_order([some_pattern(draw, characters, depth - 1) for _ in range(draw.randint(2, 3))])
    if kind < 0.8:
        return either([some_pattern(draw, characters, depth - 1) for _ in range(2)])
    inside = some_pattern(draw, characters, depth - 1)
    return repeated(inside, draw.choice(["*", "+", "?", "{1,2}", "{0,3}", "{2}"]))


def compared(count: int, seed: int = 0) -> int:
    """The number of pairs of a random expression and a short text about which `re` and sets of places differ."""
    draw, letters, wrong = random.Random(seed), ["a", "b", " ", "(", ",", "é"], 0
    for _ in range(count):
        pattern = some_pattern(draw, letters, 3)
        for _ in range(10):
            text = "".join(draw.choices(letters, k=draw.randint(0, 6)))
            wrong += pattern.by_re(text) != pattern.by_places(text)
    return wrong


def _in_set(characters: list[str], draw: random.Random) -> str:
    some = draw.sample(characters, min(len(characters), draw.randint(1, 3)))
    return "".join("\\" + one if one in "]^-\\[" else one for one in some)


def some_grammar(draw: random.Random) -> tuple[dict[str, Any], Truth]:
    """Brackets around something, words around a middle, or a list: each told by hand."""
    first, second = draw.sample(["a", "b", "ab", "A"], 2)
    gap = draw.choice(["", " "])
    if draw.random() < 0.5:
        rules = f'nested: "{first}" | "{second}{gap}" nested "{gap}{second}"'

        def nested(text: str) -> bool:
            while (
                text.startswith(second + gap)
                and text.endswith(gap + second)
                and len(text) >= 2 * len(second + gap)
            ):
                if text == first:
                    return True
                text = text[len(second + gap) : len(text) - len(gap + second)]
            return text == first

        return {"type": "grammar", "rules": rules, "depth": 8}, nested
    rules = f'list: item ("{gap}" list)?\nitem: "{first}" | "{second}" | /[(]b[)]/'
    listed_ = re.compile(f"(?:{first}|{second}|[(]b[)])(?:{gap}(?:{first}|{second}|[(]b[)]))*")
    return {"type": "grammar", "rules": rules}, lambda text: listed_.fullmatch(text) is not None
