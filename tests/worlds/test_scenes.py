"""The scenes world: images, captions and answers agree, and splits share no scene."""

from __future__ import annotations

import base64
import io
from collections import Counter
from random import Random

import numpy as np
import pytest
from PIL import Image

from regard.errors import RegardError
from regard.worlds import world
from regard.worlds.scenes.drawing import PAPER, stencil
from regard.worlds.scenes.questions import ask
from regard.worlds.scenes.things import COLORS, SHAPES, SIZES, Thing

SMALL = {"train": 300, "dev": 50, "test": 100, "crowded": 60}


def pixels(row) -> np.ndarray:
    head, _, content = row["image"].partition(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(content))))


def places(row) -> list[tuple[int, tuple[float, ...]]]:
    return [
        (int(step), tuple(float(edge) for edge in box.split(",")))
        for step, _, box in (place.partition(":") for place in row["places"].split())
    ]


def patch(row, box) -> np.ndarray:
    picture = pixels(row)
    left, top, right, bottom = (round(edge * len(picture)) for edge in box)
    return picture[top:bottom, left:right]


@pytest.fixture(scope="module")
def captions():
    return world("scenes", **SMALL).splits()


def test_there_is_enough_to_tell_apart():
    assert len(SHAPES) >= 6 and len(COLORS) >= 8 and len(SIZES) == 3
    for side in (8, 14):
        drawn = [stencil(shape, side) for shape in SHAPES]
        for i, one in enumerate(drawn):
            for other in drawn[:i]:
                assert abs(one - other).mean() > 0.05


def test_the_same_seed_gives_the_same_rows_and_another_others(captions):
    again = world("scenes", **SMALL).splits()
    assert {split: [dict(row) for row in rows] for split, rows in again.items()} == {
        split: [dict(row) for row in rows] for split, rows in captions.items()
    }
    other = world("scenes", **SMALL, seed=2).splits()
    assert other["test"][0]["image"] != captions["test"][0]["image"]
    longer = world("scenes", **{**SMALL, "train": 20}).splits()
    assert [dict(row) for row in longer["test"]] == [dict(row) for row in captions["test"]]


def test_sizes_and_no_scene_twice(captions):
    assert {split: len(rows) for split, rows in captions.items()} == SMALL
    told = [(row["caption"], row["places"]) for rows in captions.values() for row in rows]
    assert len(set(told)) == len(told)


def test_a_noun_names_what_is_drawn_at_its_place(captions):
    for row in captions["test"]:
        words = row["caption"].split()
        nouns = [number for number, word in enumerate(words) if word in SHAPES]
        assert [step for step, _ in places(row)] == nouns
        for step, box in places(row):
            seen = patch(row, box).astype(float)
            expected = stencil(words[step], len(seen))
            paint = np.array(COLORS[words[step - 1]])
            wanted = PAPER + expected * (paint - PAPER)
            assert abs(seen - wanted).max() <= 12  # a shade of the color


def test_nothing_is_drawn_elsewhere(captions):
    for row in captions["test"][:30]:
        picture = pixels(row).copy()
        for _, (left, top, right, bottom) in places(row):
            edge = [round(value * len(picture)) for value in (left, top, right, bottom)]
            picture[edge[1] : edge[3], edge[0] : edge[2]] = PAPER.astype(np.uint8)
        assert (picture == PAPER.astype(np.uint8)).all()


def test_things_are_named_from_left_to_right_and_relations_hold(captions):
    relations = Counter()
    related = world("scenes", **SMALL, relations=True).splits()["train"]
    assert [row["image"] for row in related] == [row["image"] for row in captions["train"]]
    assert " and " in captions["train"][0]["caption"] or len(places(captions["train"][0])) == 1
    for row in related:
        words, boxes = row["caption"].split(), [box for _, box in places(row)]
        middles = [((left + right) / 2, (top + bottom) / 2) for left, top, right, bottom in boxes]
        assert [x for x, _ in middles] == sorted(x for x, _ in middles)
        between = [word for word in words if word in ("above", "below", "beside")]
        relations.update(between)
        for word, (_, first), (_, second) in zip(between, middles, middles[1:], strict=False):
            if word == "beside":
                assert abs(second - first) < 0.08
            else:
                assert (second - first > 0.12) if word == "above" else (first - second > 0.12)
    assert min(relations[word] for word in ("above", "below", "beside")) > 20


def test_things_do_not_touch_and_sizes_differ(captions):
    sides: dict[str, set[int]] = {size: set() for size in SIZES}
    for row in captions["train"]:
        words, found = row["caption"].split(), places(row)
        for number, (step, (left, top, right, bottom)) in enumerate(found):
            sides[words[step - 2]].add(round((right - left) * 48))
            for _, (x0, y0, x1, y1) in found[:number]:
                assert x1 < left or right < x0 or y1 < top or bottom < y0
    assert all(len(known) == 1 for known in sides.values())
    small, medium, large = (sides[size].pop() for size in SIZES)
    assert medium >= 1.25 * small and large >= 1.2 * medium


def test_crowded_scenes_hold_four_or_five_things(captions):
    assert {len(places(row)) for row in captions["crowded"]} == {4, 5}
    assert {len(places(row)) for row in captions["test"]} == {1, 2, 3, 4, 5}
    assert all(row["things"] == str(len(places(row))) for rows in captions.values() for row in rows)
    assert "crowded" not in world("scenes", **{**SMALL, "crowded": 0}, most=3).splits()
    assert "crowded" not in world("scenes", **{**SMALL, "crowded": 0}).splits()  # no such split


def test_questions_are_answered_from_the_picture_alone():
    rows = world("scenes", **SMALL, task="question").splits()["train"]
    captions = world("scenes", **SMALL).splits()["train"]  # the same scenes, with captions
    kinds = Counter()
    for row, told in zip(rows, captions, strict=True):
        assert row["image"] == told["image"]
        kinds[_check_answer(row, told)] += 1
    assert min(kinds.values()) > 20 and set(kinds) == {"what", "many", "there", "is", "large"}


def test_only_attributes_are_asked_for_if_so_wanted():
    options = {**SMALL, "crowded": 0, "most": 1}
    rows = world("scenes", **options, task="question", questions="attributes").splits()["train"]
    captions = world("scenes", **options).splits()["train"]
    kinds = {_check_answer(row, told) for row, told in zip(rows, captions, strict=True)}
    assert kinds == {"what", "large"}
    with pytest.raises(RegardError, match="questions has no effect: the task is caption"):
        world("scenes", questions="attributes")


def _check_answer(row, told) -> str:
    """Answer the question by hand, from the words and regions of the caption."""
    words = told["caption"].split()
    things = [(*words[step - 2 : step + 1], box) for step, box in places(told)]

    def matching(phrase: list[str]):
        wanted = [word for word in phrase if word != "thing"]
        return [thing for thing in things if all(word in thing[:3] for word in wanted)]

    asked, answer, about = row["question"].split(), row["answer"], sorted(box for _, box in places(row))
    if asked[:2] in (["what", "colour"], ["what", "shape"], ["how", "large"]):
        (thing,) = matching(asked[4:])
        assert answer == thing[{"colour": 1, "shape": 2, "large": 0}[asked[1]]] and about == [thing[3]]
        return "what" if asked[0] == "what" else "large"
    if asked[:2] == ["how", "many"]:
        shape = asked[2].removesuffix("es") if asked[2] == "crosses" else asked[2].removesuffix("s")
        found = matching([shape])
        assert answer == str(len(found)) and about == sorted(thing[3] for thing in found)
        return "many"
    if asked[:2] == ["is", "there"]:
        found = matching(asked[3:])
        assert answer == ("yes" if found else "no") and about == sorted(thing[3] for thing in found)
        return "there"
    relation = next(word for word in ("left", "right", "above", "below") if word in asked)
    place = asked.index(relation)
    (first,), (second,) = matching(asked[2:place]), matching(asked[asked.index("the", place) + 1 :])
    x = [(thing[3][0] + thing[3][2]) / 2 for thing in (first, second)]
    y = [(thing[3][1] + thing[3][3]) / 2 for thing in (first, second)]
    true = {"left": x[0] < x[1], "right": x[0] > x[1], "above": y[0] < y[1], "below": y[0] > y[1]}[relation]
    assert answer == ("yes" if true else "no") and about == sorted([first[3], second[3]])
    return "is"


def test_a_thing_that_cannot_be_told_from_another_is_not_asked_about():
    twins = tuple(Thing("star", "red", "small", left, 10, 8) for left in (0, 30))
    texts = {ask(twins, 48, Random(seed)).text for seed in range(60)}
    assert not any(text.startswith(("what", "how large", "is the ")) for text in texts)


def test_shapes_as_labels():
    few = {**SMALL, "crowded": 0}
    rows = world("scenes", **few, task="shape", most=1, pixels=32).splits()["test"]
    assert {row["shape"] for row in rows} == set(SHAPES) and pixels(rows[0]).shape == (32, 32, 3)
    assert all(len(places(row)) == 1 for row in rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "poem"}, "task is 'poem', expected 'caption', 'question' or 'shape'"),
        ({"most": 6}, "most is 6, expected 1 to 5"),
        ({"pixels": 8}, "pixels is 8, expected 24 to 512"),
        ({"colors": 3}, "no option 'colors'"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(RegardError, match=message):
        world("scenes", **options)
