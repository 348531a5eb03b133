"""Attention maps of a translator: they go along the source, and cross where the order of the words does.

English sentences become French ones. Determiner, noun and verb keep their order, adjectives of size stand before the
noun in both languages, adjectives of color behind it in French:

    the small green car hides the door → la petite voiture verte cache la porte

The network is the zoo's `translation` (Bahdanau 2015) in small: e_tj = v·tanh(U s_{t−1} + W h_j), α_t = softmax(e_t).
The network is not told where to look. With `backward` the English sentences are reversed and nothing else changes: a
network that always looked from left to right would not follow them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field

from regard import zoo
from regard.course.lab.lab import Lab, LabResult
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.grid import draw_matrix
from regard.inspect.layout import Block
from regard.model import Model, build
from regard.parts import Seed, register
from regard.trace import Array

NOUNS = {
    "car": ("voiture", True),
    "house": ("maison", True),
    "door": ("porte", True),
    "box": ("boîte", True),
    "boat": ("bateau", False),
    "hat": ("chapeau", False),
    "book": ("livre", False),
    "coat": ("manteau", False),
}
"""A noun, and whether it is feminine."""
BEFORE = {"small": ("petit", "petite"), "big": ("grand", "grande"), "pretty": ("joli", "jolie")}
BEHIND = {"green": ("vert", "verte"), "white": ("blanc", "blanche"), "black": ("noir", "noire")}
"""Adjectives, masculine and feminine, by their place in French."""
ARTICLES = ("le", "la")
"""They agree with their noun, so that the network may look there."""
VERBS = {"hides": "cache", "follows": "suit", "covers": "couvre", "shows": "montre"}
SENTENCES, TESTED, BATCH, SIZE, RATE = 600, 50, 60, 32, 0.03
SHOWN = 8
"""Words of the longest sentence that is drawn."""


@dataclass(frozen=True)
class TranslatedSentence:
    """A sentence, its translation, and for each word of the translation the place of its word in the sentence.

    moved   the places of the translation where an adjective stands behind its noun, and those of such nouns
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[int, ...]
    moved: tuple[int, ...]

    @property
    def row(self) -> dict[str, str]:
        links = " ".join(f"{place}-{step}" for step, place in enumerate(self.links))
        return {"source": " ".join(self.source), "target": " ".join(self.target), "alignment": links}


@register("lab", "word-order")
class WordOrderLab(Lab):
    """Attention maps of a small translator from English to French."""

    class Options(Lab.Options):
        """Attention maps of a small translator from English to French."""

        updates: Annotated[int, Field(ge=0, le=2000)] = 80
        """Number of training updates."""
        backward: bool = False
        """Write the English sentences from their end."""
        seed: Seed = 0
        """Seed of the sentences and of the initial weights."""

    summary = "attention maps of a small translator: along the source, and crossed where adjectives move"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        known, new = sentences(options.seed, backward=options.backward)
        model = translator(known, options.seed)
        before = read(model, new)
        learn(model, known, options.updates, options.seed)
        after = read(model, new)
        exact = translated(model, new)
        rows: list[tuple[object, ...]] = [
            (name, getattr(before, key), getattr(after, key))
            for name, key in (
                ("order along the source: correlation", "along"),
                ("looks at the word that is translated (no articles), %", "right"),
                ("the same where adjective and noun cross, %", "crossed"),
            )
        ]
        rows.append(("translations entirely right, %", "", exact))
        drawn = [
            next(
                place
                for place, one in enumerate(new)
                if len(one.target) <= SHOWN and bool(one.moved) == crossing
            )
            for crossing in (False, True)
        ]
        went = "along the source" if after.along > 0 else "through the source from its end"
        return LabResult(
            title="Attention maps and the order of words",
            see=f"After {options.updates} updates the looks go {went} (correlation {after.along:.2f}; before training "
            f"{before.along:.2f}), and in {after.crossed:.0f} % of the cases they step back and forth where a French "
            "adjective stands behind its noun. Outlined: the word that is translated.",
            blocks=[_map(new[place], after.maps[place]) for place in drawn],
            table=(("", "untrained", "trained"), rows),
            numbers={
                "correlation": {"untrained": before.along, "trained": after.along, "true": true_order(new)},
                "right": {"untrained": before.right, "trained": after.right},
                "crossed": {"untrained": before.crossed, "trained": after.crossed},
                "exact": exact,
                "sentences": [one.row for one in new],
                "looks": [one.argmax(1) for one in after.maps],
            },
        )


@dataclass(frozen=True)
class MapReading:
    """Looks at new sentences whose translation is given.

    maps      (T, S) of each
    along     the mean correlation of the steps with the places that are looked at most
    right     words, other than articles, whose most attended place is that of their word, in percent
    crossed   the same for adjectives behind their noun and for such nouns
    """

    maps: list[Array]
    along: float
    right: float
    crossed: float


def sentences(
    seed: int, *, backward: bool = False
) -> tuple[list[TranslatedSentence], list[TranslatedSentence]]:
    """Sentences to learn from, and others."""
    draw = random.Random(seed)
    found: dict[tuple[str, ...], TranslatedSentence] = {}
    while len(found) < SENTENCES + TESTED:
        pair = _pair(draw, backward)
        found.setdefault(pair.source, pair)
    pairs = list(found.values())
    return pairs[:SENTENCES], pairs[SENTENCES:]


def translator(known: Sequence[TranslatedSentence], seed: int) -> Model:
    """The untrained network."""
    sizes = (f"encoder.{name}={SIZE}" for name in ("size", "embedding"))
    settings = [*sizes, f"decoder.size={2 * SIZE}", f"decoder.embedding={SIZE}"]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = build(zoo.find("translation", settings), rows=[one.row for one in known])
    assert isinstance(model, Model)
    return model


def learn(model: Model, known: Sequence[TranslatedSentence], updates: int, seed: int) -> None:
    """Train with Adam on cross-entropy."""
    optimizer = torch.optim.Adam(model.network.parameters(), lr=RATE)
    batches = model.batches([one.row for one in known], batch_rows=BATCH, seed=seed)
    model.network.train()
    done = 0
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        while done < updates:
            for batch in batches.epoch(done):
                if done == updates:
                    break
                for group in optimizer.param_groups:
                    group["lr"] = RATE * (1 - done / updates)
                (loss,) = model.network(batch).values()
                optimizer.zero_grad()
                loss.mean.backward()
                torch.nn.utils.clip_grad_norm_(model.network.parameters(), 1.0)
                optimizer.step()
                done += 1
    model.network.eval()


def read(model: Model, new: Sequence[TranslatedSentence]) -> MapReading:
    """Read the looks at new sentences, each word given the true words before it."""
    scored = model.score([" ".join(pair.source) for pair in new], [" ".join(pair.target) for pair in new])
    maps = [
        np.asarray(one.trace.attention["source"])[: len(pair.target)]
        for one, pair in zip(scored, new, strict=True)
        if one.trace is not None
    ]
    looks = [one.argmax(1) for one in maps]
    hits = [look == np.array(pair.links) for look, pair in zip(looks, new, strict=True)]
    words = [[one not in ARTICLES for one in pair.target] for pair in new]
    crossed = [hit[place] for hit, pair in zip(hits, new, strict=True) for place in pair.moved]
    return MapReading(
        maps,
        float(np.mean([_correlation(look) for look in looks])),
        100 * float(np.concatenate(hits)[np.concatenate(words)].mean()),
        100 * float(np.mean(crossed)),
    )


def translated(model: Model, new: Sequence[TranslatedSentence]) -> float:
    """Sentences that are translated without an error, in percent."""
    answers = model.predict([" ".join(pair.source) for pair in new])
    right = [answer.text == " ".join(pair.target) for answer, pair in zip(answers, new, strict=True)]
    return 100 * float(np.mean(right))


def true_order(pairs: Sequence[TranslatedSentence]) -> float:
    """The mean correlation of the places of a translation with those of its words."""
    return float(np.mean([_correlation(np.array(one.links)) for one in pairs]))


def _correlation(places: Array) -> float:
    """Of the steps 0, 1, … with the places; 0 where all places are one."""
    if np.ptp(places) == 0:
        return 0.0
    return float(np.corrcoef(np.arange(len(places)), places)[0, 1])


def _pair(draw: random.Random, backward: bool) -> TranslatedSentence:
    """A sentence of two noun phrases and a verb."""
    source: list[str] = []
    target: list[tuple[str, int]] = []
    moved: list[int] = []

    def phrase() -> None:
        noun = draw.choice(list(NOUNS))
        word, feminine = NOUNS[noun]
        before = draw.sample(list(BEFORE), int(draw.random() < 0.4))
        behind = draw.sample(list(BEHIND), int(draw.random() < 0.6))
        place = len(source)
        source.extend(["the", *before, *behind, noun])
        target.append((ARTICLES[feminine], place))
        target.extend((BEFORE[one][feminine], place + 1) for one in before)
        if behind:
            moved.extend([len(target), len(target) + 1])
        target.append((word, len(source) - 1))
        target.extend((BEHIND[one][feminine], len(source) - 2) for one in behind)

    phrase()
    verb = draw.choice(list(VERBS))
    target.append((VERBS[verb], len(source)))
    source.append(verb)
    phrase()
    links = tuple(len(source) - 1 - place if backward else place for _, place in target)
    words = reversed(source) if backward else source
    return TranslatedSentence(tuple(words), tuple(word for word, _ in target), links, tuple(moved))


def _map(pair: TranslatedSentence, weights: Array) -> Block:
    truth = np.zeros_like(weights)
    truth[np.arange(len(pair.links)), pair.links] = 1
    return draw_matrix(
        Matrix(
            pair.target,
            pair.source,
            weights,
            truth=truth,
            outlined="the word that is translated",
            row_name="French",
            column_name="English",
        )
    )
