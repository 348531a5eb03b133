"""More images and statements for recipes/nlvr.yaml: scenes like NLVR's, with statements of a grammar.

    python examples/draw_nlvr.py NLVR -o OUT --count 40000
    regard train recipes/nlvr.yaml --set data.train=OUT/dev.json --set data.dev=OUT/dev.json \\
      --set data.test=OUT/dev.json --set data.images=OUT/images.zip \\
      --set 'data.where.train={directory: [0, 1, 2, 3, drawn]}'

NLVR is the folder with dev.json.xz and dev.images.zip. OUT/dev.json holds its examples unchanged and the
drawn ones with the directory "drawn". OUT/images.zip holds the images of both. For the training examples
(directories 0 to 3) it also holds the other five arrangements of their three boxes, because the order of the
boxes never matters. The grammar is based on the statements of those four directories alone. `--check` prints
how many of these statements the grammar can generate, and how often its truth value agrees with the human
label.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import lzma
import random
import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw

COLORS = {"yellow": "Yellow", "black": "Black", "blue": "#0099ff"}
SHAPES = ("triangle", "square", "circle")
NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven"}
BOX, GAP = 100, 50
SIMPLE = 0.3
"""Share of statements that are limited to seven words: the meanings of words are learned from them first."""
LEARNED = ("0", "1", "2", "3")
Item = dict[str, int | str]
Scene = list[list[Item]]


class Statement(NamedTuple):
    """A sentence, and a function that tells whether it is true of a scene of three boxes."""

    text: str
    holds: Callable[[Scene], bool]


class Kind(NamedTuple):
    """A property in words, and a function that tells whether it holds of an item or a box."""

    text: str
    holds: Callable[..., bool]


def picture(scene: Scene) -> bytes:
    """The PNG of a scene, as NLVR draws it."""
    canvas = Image.new("RGB", (3 * BOX + 2 * GAP, BOX), (128, 128, 128))
    draw = ImageDraw.Draw(canvas)
    for place, box in enumerate(scene):
        left = place * (BOX + GAP)
        draw.rectangle((left, 0, left + BOX - 1, BOX - 1), fill=(211, 211, 211))
        for item in box:
            x, y, size = left + int(item["x_loc"]), int(item["y_loc"]), int(item["size"]) - 1
            fill = "#0099ff" if item["color"] == "#0099ff" else str(item["color"]).lower()
            corners = (x, y, x + size, y + size)
            if item["type"] == "square":
                draw.rectangle(corners, fill=fill)
            elif item["type"] == "circle":
                draw.ellipse(corners, fill=fill)
            else:
                draw.polygon([(x, y + size), (x + size, y + size), (x + size // 2, y)], fill=fill)
    file = io.BytesIO()
    canvas.save(file, "PNG")
    return file.getvalue()


def tower_scene(rng: random.Random) -> Scene:
    """Three towers of one to four blocks, the lowest first."""
    return [
        [
            {
                "y_loc": 80 - 21 * level,
                "x_loc": 40,
                "size": 20,
                "type": "square",
                "color": rng.choice([*COLORS.values()]),
            }
            for level in range(rng.randint(1, 4))
        ]
        for _ in range(3)
    ]


def scattered_scene(rng: random.Random) -> Scene:
    """Three boxes of one to seven items that do not overlap, some of them touching an edge."""
    return [_scattered(rng, rng.randint(1, 7)) for _ in range(3)]


def _scattered(rng: random.Random, count: int) -> list[Item]:
    box: list[Item] = []
    while len(box) < count:
        size = rng.choice((10, 20, 30))
        x, y = rng.randint(1, BOX - size - 1), rng.randint(1, BOX - size - 1)
        if rng.random() < 0.45:
            x, y = rng.choice(((0, y), (BOX - size, y), (x, 0), (x, BOX - size), (x, BOX - size)))
        if all(
            x + size < int(o["x_loc"]) or int(o["x_loc"]) + int(o["size"]) < x
            or y + size < int(o["y_loc"]) or int(o["y_loc"]) + int(o["size"]) < y
            for o in box
        ):  # fmt: skip
            color, shape = rng.choice([*COLORS.values()]), rng.choice(SHAPES)
            box.append({"y_loc": y, "x_loc": x, "size": size, "type": shape, "color": color})
    return box


def touches(item: Item, *sides: str) -> bool:
    x, y, size = int(item["x_loc"]), int(item["y_loc"]), int(item["size"])
    near = {"left": x <= 1, "right": x + size >= BOX - 1, "top": y <= 1, "bottom": y + size >= BOX - 1}
    return any(near[side] for side in sides or near)


def in_corner(item: Item) -> bool:
    return touches(item, "left", "right") and touches(item, "top", "bottom")


def of_color(items: Sequence[Item], color: str) -> list[Item]:
    return [item for item in items if item["color"] == COLORS[color]]


def upwards(box: Sequence[Item]) -> list[str]:
    """The colors of a tower from its base to its top."""
    names = {value: name for name, value in COLORS.items()}
    return [names[str(item["color"])] for item in sorted(box, key=lambda item: -int(item["y_loc"]))]


def counted(rng: random.Random, most: int) -> tuple[str, Callable[[int], bool], int]:
    """A number in words, the condition it puts on a count, and the number."""
    number = rng.randint(1, most)
    word = rng.choice((NUMBERS[number], str(number)))
    prefix = rng.choice(("", "", "exactly ", "exactly ", "only ", "at least ", "more than "))
    if prefix == "at least ":
        return prefix + word, lambda n: n >= number, number
    if prefix == "more than ":
        return prefix + word, lambda n: n > number, number + 1
    return prefix + word, lambda n: n == number, number


def begun(rng: random.Random, most: int) -> tuple[str, Callable[[int], bool], bool]:
    """The beginning of a statement about a number: words, condition on the count, plural or not."""
    chosen = rng.random()
    if chosen < 0.4:
        return (
            rng.choice(("there is a", "there is a", "there is at least one", "there is at least a")),
            lambda n: n >= 1,
            False,
        )
    if chosen < 0.48:
        return "there is no", lambda n: n == 0, False
    said, holds, number = counted(rng, most)
    if said == "1" or said == "one":
        said = rng.choice((said, "exactly " + said, "only " + said))
    return f"there {'is' if number == 1 else 'are'} {said}", holds, number > 1


def color(rng: random.Random) -> str:
    return rng.choice([*COLORS])


def blocks(number: int) -> str:
    return "block" if number == 1 else "blocks"


def tower_kind(rng: random.Random, *, nested: bool = True) -> Kind:
    """A property of a tower: `a blue block at the top`."""
    one, other = color(rng), color(rng)
    chosen = rng.randint(0, 9 if nested else 6)
    if chosen <= 1:
        place, at = rng.choice((("at the top", -1), ("at the base", 0), ("at the bottom", 0), ("at base", 0)))
        return Kind(f"{rng.choice(('a', 'a', '1'))} {one} block {place}", lambda box: upwards(box)[at] == one)
    if chosen == 2:
        over = rng.choice(("over", "above", "on top of", "on"))
        return Kind(
            f"a {one} block {over} a {other} block",
            lambda box: (other, one) in itertools.pairwise(upwards(box)),
        )
    if chosen == 3:
        said, holds, number = counted(rng, 4)
        return Kind(f"{said} {blocks(number)}", lambda box: holds(len(box)))
    if chosen == 4:
        said, holds, number = counted(rng, 3)
        return Kind(f"{said} {one} {blocks(number)}", lambda box: holds(upwards(box).count(one)))
    if chosen == 5:
        text = rng.choice(("only one color", "blocks of only one color", "blocks of the same color"))
        return Kind(text, lambda box: len(set(upwards(box))) == 1)
    if chosen == 6:
        return Kind(
            f"a {one} block below a {other} block",
            lambda box: (one, other) in itertools.pairwise(upwards(box)),
        )
    if chosen == 7:
        number = rng.randint(1, 3)
        text = f"a {one} block and {NUMBERS[number]} {other} {blocks(number)}"
        return Kind(
            text, lambda box: one in upwards(box) and upwards(box).count(other) >= number + (one == other)
        )
    if chosen == 8 and one != other:
        return Kind(f"only {one} and {other} blocks", lambda box: set(upwards(box)) == {one, other})
    first, second = tower_kind(rng, nested=False), tower_kind(rng, nested=False)
    return Kind(
        f"{first.text} {rng.choice(('with', 'and'))} {second.text}",
        lambda box: first.holds(box) and second.holds(box),
    )


def tower_statement(rng: random.Random) -> Statement:
    one, other = color(rng), color(rng)
    chosen = rng.random()
    if chosen < 0.5:
        begin, holds, several = begun(rng, 3)
        kind = tower_kind(rng)
        has = rng.choice(("with", "with", "having", "that have" if several else "that has", "which has"))
        text = f"{begin} {'towers' if several else 'tower'} {has} {kind.text}"
        return Statement(text, lambda scene: holds(sum(kind.holds(box) for box in scene)))
    if chosen < 0.66:
        begin, holds, several = begun(rng, 3)
        place, at = rng.choice((("top", -1), ("base", 0)))
        said, size, number = counted(rng, 4)
        rest, fits = f" with {said} {blocks(number)}", size
        if rng.random() < 0.5:
            rest, fits = "", lambda n: True
        text = f"{begin} {one} {'blocks' if several else 'block'} as the {place} of a tower{rest}"
        return Statement(
            text, lambda scene: holds(sum(upwards(box)[at] == one and fits(len(box)) for box in scene))
        )
    if chosen < 0.8:
        begin, holds, several = begun(rng, 1)
        over = rng.choice(("above", "on", "over", "on top of"))
        text = f"{begin} {one} {'blocks' if several else 'block'} {over} a {other} block"
        return Statement(
            text,
            lambda scene: holds(
                sum(list(itertools.pairwise(upwards(box))).count((other, one)) for box in scene)
            ),
        )
    if chosen < 0.88:
        begin, holds, several = begun(rng, 5)
        text = f"{begin} {one} {'blocks' if several else 'block'}"
        return Statement(text, lambda scene: holds(sum(upwards(box).count(one) for box in scene)))
    if chosen < 0.93:
        number = rng.randint(1, 2)
        every = rng.choice(("all towers have", "all 3 towers have", "each tower has"))
        text = f"{every} at least {rng.choice((NUMBERS[number], str(number)))} {one} {blocks(number)}"
        return Statement(text, lambda scene: all(upwards(box).count(one) >= number for box in scene))
    if chosen < 0.96:
        begin, holds, several = begun(rng, 2)
        text = f"{begin} {one} {'towers' if several else 'tower'}"
        return Statement(text, lambda scene: holds(sum(set(upwards(box)) == {one} for box in scene)))
    height = rng.choice((True, False))
    text = "there are at least two towers with the same " + ("height" if height else "base color")
    return Statement(text, lambda scene: len({len(box) if height else upwards(box)[0] for box in scene}) < 3)


def item_kind(rng: random.Random, several: bool) -> Kind:
    """A property of an item: `black triangle not touching any edge`."""
    one, shape, end = color(rng), rng.choice((*SHAPES, *SHAPES, "item", "object")), "s" if several else ""
    colored = rng.random() < 0.75
    text = (f"{one} " if colored else "") + shape + end

    def basic(item: Item) -> bool:
        return (not colored or item["color"] == COLORS[one]) and shape in (item["type"], "item", "object")

    chosen = rng.random()
    if chosen < 0.3:
        said = rng.choice(("touching the edge", "touching an edge", "touching the wall", "touching the side"))
        return Kind(f"{text} {said}", lambda item: basic(item) and touches(item))
    if chosen < 0.55:
        return Kind(f"{text} not touching any edge", lambda item: basic(item) and not touches(item))
    if chosen < 0.75:
        side = rng.choice(("bottom", "bottom", "top"))
        return Kind(
            f"{text} closely touching the {side} of a box", lambda item: basic(item) and touches(item, side)
        )
    if chosen < 0.85:
        return Kind(
            f"{text} closely touching a corner of a box", lambda item: basic(item) and in_corner(item)
        )
    return Kind(text, basic)


def box_kind(rng: random.Random) -> Kind:
    """A property of a box: `3 items and a yellow one on top`."""
    one, other = color(rng), color(rng)
    noun = rng.choice(("item", "object"))
    chosen = rng.randint(0, 8)
    if chosen <= 1:
        said, holds, number = counted(rng, 7)
        return Kind(f"{said} {noun}{'s' * (number > 1)}", lambda box: holds(len(box)))
    if chosen == 2:
        said, holds, number = counted(rng, 3)
        shape = rng.choice(SHAPES)
        return Kind(
            f"{said} {one} {shape}{'s' * (number > 1)}",
            lambda box: holds(sum(item["type"] == shape for item in of_color(box, one))),
        )
    if chosen == 3:
        said, holds, number = counted(rng, 4)
        return Kind(f"{said} {one} {noun}{'s' * (number > 1)}", lambda box: holds(len(of_color(box, one))))
    if chosen == 4:
        text = rng.choice(("items of only one color", "objects of only one color"))
        return Kind(text, lambda box: len({item["color"] for item in box}) == 1)
    if chosen == 5:
        return Kind("all 3 colors", lambda box: len({item["color"] for item in box}) == 3)
    if chosen == 6:

        def topmost(box: list[Item]) -> bool:
            return min(box, key=lambda item: int(item["y_loc"]))["color"] == COLORS[one]

        number = rng.randint(2, 5)
        if rng.random() < 0.5:
            return Kind(f"a {one} {noun} on top", topmost)
        return Kind(
            f"{number} {noun}s and a {one} one on top", lambda box: len(box) == number and topmost(box)
        )
    if chosen == 7 and one != other:
        return Kind(
            f"only {one} and {other} {noun}s",
            lambda box: {item["color"] for item in box} == {COLORS[one], COLORS[other]},
        )
    said, holds, number = counted(rng, 3)
    return Kind(
        f"{said} {one} {noun}{'s' * (number > 1)} touching the edge",
        lambda box: holds(sum(touches(item) for item in of_color(box, one))),
    )


def scattered_statement(rng: random.Random) -> Statement:
    one, chosen = color(rng), rng.random()
    if chosen < 0.5:
        begin, holds, several = begun(rng, 4)
        kind = item_kind(rng, several)
        return Statement(
            f"{begin} {kind.text}",
            lambda scene: holds(sum(kind.holds(item) for box in scene for item in box)),
        )
    if chosen < 0.86:
        begin, holds, several = begun(rng, 2)
        kind, noun = box_kind(rng), rng.choice(("box", "box", "grey box"))
        text = f"{begin} {noun}{'es' * several} with {kind.text}"
        if rng.random() < 0.25:
            text, holds = f"one of the grey box has {kind.text}", lambda n: n >= 1
        return Statement(text, lambda scene: holds(sum(kind.holds(box) for box in scene)))
    noun = rng.choice(("item", "object"))
    if chosen < 0.93:
        each = rng.choice(("each box has", "each grey box contains"))
        text = f"{each} at least {rng.choice(('one', '1'))} {one} {noun}"
        return Statement(text, lambda scene: all(of_color(box, one) for box in scene))
    if chosen < 0.97:
        return Statement(
            f"all {one} {noun}s are in the same box",
            lambda scene: sum(bool(of_color(box, one)) for box in scene) == 1,
        )
    shape = rng.choice(SHAPES)
    return Statement(
        f"none of the {one} {shape}s are touching the edge",
        lambda scene: not any(touches(i) for box in scene for i in of_color(box, one) if i["type"] == shape),
    )


def changed(scene: Scene, rng: random.Random, towers: bool) -> Scene:
    """The scene with one change: color or shape of an item, one item more or less, or another box."""
    scene = [[dict(item) for item in box] for box in scene]
    place, way = rng.randrange(3), rng.random()
    box = scene[place]
    if way < 0.15:
        scene[place] = tower_scene(rng)[0] if towers else scattered_scene(rng)[0]
    elif way < 0.3 and len(box) > 1:
        box.pop()
    elif way < 0.45 and towers and len(box) < 4:
        box.append({**box[-1], "y_loc": int(box[-1]["y_loc"]) - 21, "color": rng.choice([*COLORS.values()])})
    elif way < 0.6 and not towers:
        rng.choice(box)["type"] = rng.choice(SHAPES)
    else:
        rng.choice(box)["color"] = rng.choice([*COLORS.values()])
    return scene


def pair(rng: random.Random) -> tuple[Statement, Scene, Scene]:
    """A statement, a scene of which it is true, and a similar scene of which it is false.

    Every statement comes with both scenes, so that the statement alone reveals nothing."""
    towers, simple = rng.random() < 0.7, rng.random() < SIMPLE
    while True:
        statement = tower_statement(rng) if towers else scattered_statement(rng)
        if simple and len(statement.text.split()) > 7:
            continue
        first = tower_scene(rng) if towers else scattered_scene(rng)
        truth, other = statement.holds(first), first
        for tried in range(40):
            other = changed(first if tried % 4 == 0 else other, rng, towers)
            if statement.holds(other) != truth:
                return (statement, first, other) if truth else (statement, other, first)


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def check(examples: Sequence[dict[str, object]], rng: random.Random) -> str:
    """Agreement of the grammar with the human labels, over the statements that it can generate."""
    wanted: dict[str, list[dict[str, object]]] = {}
    for one in examples:
        wanted.setdefault(plain(str(one["sentence"])), []).append(one)
    known: dict[str, Statement] = {}
    for _ in range(400_000):
        statement = (tower_statement if rng.random() < 0.6 else scattered_statement)(rng)
        if plain(statement.text) in wanted:
            known[plain(statement.text)] = statement
    right = {
        text: [statement.holds(one["structured_rep"]) == (one["label"] == "true") for one in wanted[text]]  # type: ignore[arg-type]
        for text, statement in known.items()
    }
    every = [one for found in right.values() for one in found]
    lines = [
        f"  {sum(found)} of {len(found)}: {text}" for text, found in sorted(right.items()) if not all(found)
    ]
    return "\n".join([f"{len(every)} of {len(examples)} statements known, {sum(every)} right", *lines])


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("nlvr", type=Path)
    arguments.add_argument("-o", "--out", type=Path)
    arguments.add_argument("--count", type=int, default=40_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument(
        "--check", action="store_true", help="compare with people's judgments, and draw nothing"
    )
    given = arguments.parse_args()
    rng = random.Random(given.seed)
    with lzma.open(given.nlvr / "dev.json.xz", "rt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    real = [json.loads(line) for line in lines]
    learned = [one for one in real if one["directory"] in LEARNED]
    if given.check:
        print(check(learned, rng))
        return
    if given.out is None:
        arguments.error("say with -o where to write")
    given.out.mkdir(parents=True, exist_ok=True)
    with (
        zipfile.ZipFile(given.nlvr / "dev.images.zip") as pictures,
        zipfile.ZipFile(given.out / "images.zip", "w") as archive,
    ):
        for name in pictures.namelist():
            archive.writestr(name, pictures.read(name))
        for one in learned:
            for number, order in enumerate(list(itertools.permutations(range(3)))[1:], 1):
                name = f"images/{one['directory']}/dev-{one['identifier']}-{number}.png"
                archive.writestr(name, picture([one["structured_rep"][place] for place in order]))
        for number in range(given.count // 2):
            statement, true, false = pair(rng)
            for label, scene in (("true", true), ("false", false)):
                identifier = f"{number}-{label}"
                archive.writestr(f"images/drawn/dev-{identifier}-0.png", picture(scene))
                said = {"sentence": statement.text, "label": label, "identifier": identifier}
                lines.append(json.dumps({**said, "directory": "drawn"}))
    (given.out / "dev.json").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(
        f"{given.count:,} drawn, {len(learned):,} real ones to learn from in six arrangements, in {given.out}"
    )


if __name__ == "__main__":
    main()
