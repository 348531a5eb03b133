"""Questions about a scene, with the answer and the things involved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from random import Random

from regard.worlds.scenes.placing import ORDERED
from regard.worlds.scenes.things import COLORS, SHAPES, Scene, Thing

ATTRIBUTES = ("size", "color", "shape")
ASKED = {"size": "how large is the {}", "color": "what colour is the {}", "shape": "what shape is the {}"}
"""Templates of questions. Trained models know these words, so their spelling stays."""


@dataclass(frozen=True)
class SceneQuestion:
    """about: the things to look at; empty if the answer is that there are none.

    apart: whether they are looked at one after the other, because their order or identity matters.
    """

    text: str
    answer: str
    about: tuple[Thing, ...]
    apart: bool = False

    def places(self, pixels: int) -> str:
        """0:… of things looked at together; 0:… 1:… of things looked at one after the other."""
        return " ".join(
            f"{number if self.apart else 0}:{thing.place(pixels)}" for number, thing in enumerate(self.about)
        )


def ask(scene: Scene, pixels: int, generator: Random, *, attributes: bool = False) -> SceneQuestion:
    """A question of a random kind among those that this scene allows; attributes: of the first kind only.

    what colour is the large star        also its size and its shape
    how many circles are there           0 to the number of things
    is there a red ring                  yes and no equally often
    is the square left of the red ring   or right of, above, below; yes and no equally often
    """
    while True:
        kind = _attribute if attributes else generator.choice(KINDS)
        question = kind(scene, pixels, generator)
        if question is not None:
            return question


def _named(things: Scene, named: tuple[str, ...], like: Thing) -> list[Thing]:
    return [thing for thing in things if all(getattr(thing, name) == getattr(like, name) for name in named)]


def _words(thing: Thing, named: tuple[str, ...]) -> str:
    """The named attributes, as in "large red star"; "thing" replaces a shape that is not named."""
    words = [getattr(thing, name) for name in ATTRIBUTES if name in named]
    return " ".join(words if "shape" in named else [*words, "thing"])


def _description(scene: Scene, thing: Thing, generator: Random, *, hidden: str = "") -> str | None:
    """The shortest description of this thing that fits no other in the scene; None if there is none."""
    known = [name for name in ATTRIBUTES if name != hidden]
    for number in range(1, len(known) + 1):
        ways = [named for named in combinations(known, number) if len(_named(scene, named, thing)) == 1]
        if ways:
            return _words(thing, generator.choice(ways))
    return None


def _attribute(scene: Scene, pixels: int, generator: Random) -> SceneQuestion | None:
    thing, wanted = generator.choice(scene), generator.choice(ATTRIBUTES)
    description = _description(scene, thing, generator, hidden=wanted)
    if description is None:
        return None
    return SceneQuestion(ASKED[wanted].format(description), getattr(thing, wanted), (thing,))


def _count(scene: Scene, pixels: int, generator: Random) -> SceneQuestion:
    present = generator.random() < 0.75
    shape = generator.choice(scene).shape if present else generator.choice(SHAPES)
    plural = f"{shape}es" if shape == "cross" else f"{shape}s"
    about = [thing for thing in scene if thing.shape == shape]
    looked = tuple(about[:1] + about[1:][::-1])  # leftmost, then rightmost: are they the same thing?
    return SceneQuestion(f"how many {plural} are there", str(len(about)), looked, apart=True)


def _existence(scene: Scene, pixels: int, generator: Random) -> SceneQuestion | None:
    """For "no", take a thing of the scene and change its color or shape, so that neither alone gives the answer
    away."""
    thing = generator.choice(scene)
    if generator.random() < 0.5:
        about = tuple(_named(scene, ("color", "shape"), thing))
        return SceneQuestion(f"is there a {thing.color} {thing.shape}", "yes", about)
    color, shape = thing.color, thing.shape
    if generator.random() < 0.5:
        color = generator.choice(list(COLORS))
    else:
        shape = generator.choice(SHAPES)
    if any(other.color == color and other.shape == shape for other in scene):
        return None
    return SceneQuestion(f"is there a {color} {shape}", "no", ())


def _relation(scene: Scene, pixels: int, generator: Random) -> SceneQuestion | None:
    if len(scene) < 2:
        return None
    first, second = generator.sample(scene, 2)
    texts = [_description(scene, thing, generator) for thing in (first, second)]
    if None in texts:
        return None
    true = generator.random() < 0.5
    if generator.random() < 0.5:
        is_left = first.x < second.x
        word = "left of" if is_left == true else "right of"
    else:
        if abs(first.y - second.y) < ORDERED * pixels:
            return None
        is_above = first.y < second.y
        word = "above" if is_above == true else "below"
    text = f"is the {texts[0]} {word} the {texts[1]}"
    return SceneQuestion(text, "yes" if true else "no", (first, second), apart=True)


# Attributes count twice: they are three kinds of questions in one.
KINDS: tuple[Callable[[Scene, int, Random], SceneQuestion | None], ...] = (
    _attribute,
    _attribute,
    _count,
    _existence,
    _relation,
)
