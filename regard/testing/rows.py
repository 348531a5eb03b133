"""A few rows with a value for every column type, so that any spec has something to read."""

from __future__ import annotations

import base64
import io
from functools import cache

import numpy as np
from PIL import Image

from regard.data import Row
from regard.data.arrays import array_uri
from regard.data.audio import encode_wav
from regard.data.contents import data_uri

TEXTS = (
    "The cat saw, Ann",
    "a dog saw the cafe\u0301 cat",
    "ﬁne dogs  saw the é",
    "Ann saw a cat , the dog",
    "the Cat saw the dog",
    "the dog a saw the cat",
)
TAGS = (
    "I-X B-X O O",
    "O O I-X B-X I-Y O",
    "O I-X O O O",
    "O B-X I-X O O B-Y O",
    "I-X I-X O I-Y I-Y",
    "O S-X O B-Y E-Y O",
)
TREES = (
    "2:det 0:root 2:x 3:x",
    "3:x 4:x 0:root 3:x 4:det 3:x",
    "0:root 1:x 0:root 3:x 4:x",
    "2:x 0:root 2:det 3:x 3:x 2:x 6:x",
    "2:det 3:x 0:root 5:det 3:x",
    "2:det 0:root 2:x 2:x 6:det 4:x",
)
BRACKETS = (
    "(x (y The) (x (y cat) saw (y Ann)))",
    "(y (x a dog) (y (y saw) (x (z the) (x cafe\u0301 cat))))",
    "(x (y ﬁne dogs) (x saw (y the) (z é)))",
    "(z (x Ann) (y (y (y saw))))",
    "(x (y the) (x Cat saw) the)",
    "(y (x the dog) (z a saw the cat))",
)
PHRASES = (
    "(x (y The cat) (z saw (y (x Ann))))",
    "(x (y a dog) (z (x saw) (y the (x cafe\u0301 cat))))",
    "(y (x ﬁne dogs) saw (z the é))",
    "(x (x Ann) (z saw (y a cat) ,) (y the dog))",
    "(x (y the Cat) (z saw (y the dog)))",
    "(z (y the dog a) (x saw (y the cat)))",
)
TARGETS = ("b A", "a, ﬁ B", "é a", "cafe\u0301, b a", "a A", "c C b a")
LINKS = ("0-0 1-1", "0-0 1-1", "1-0", "3-1", "0-0 0-1", "2-1 3-2")
STORIES = (
    "Ann went home. Bob saw Ann! then. Ann took the cat",
    "Bob went out. Ann saw Bob, here. Bob went home.",
    "Ann saw a ﬁne é cafe\u0301.",
    "Bob took the dog. Bob went home. Ann went out. Bob took Ann.",
    "Ann went out. Bob went out.",
    "The cat saw Bob. Ann went home. Bob went out.",
)
DIALOGS = (
    "U: is Ann home? | B: no, she saw Bob | U: where",
    "U: hi | B: ﬁne cafe\u0301 | U: Where is Bob",
    "U: what",
    "U: Ann went | B: out | KB: Ann took Bob, | U: who",
    "B: hi | U: who took the Cat",
    "U: the cat saw | B: the cat / B: saw | U: What saw Bob",
)
REPLIES = ("yes he is", "no", "yes she is", "Ann é", "no", "the cat, Ann")
DOCUMENTS = (
    "Ann went home. Bob saw Ann, there! \nThe cat saw it all, as Mr. Ann said.",
    "Bob went out.\nAnn saw Bob, here. Bob went home.",
    "Ann saw a ﬁne é cafe\u0301.",
    "Bob took the dog. bob went home. Ann went out? Bob took Ann.",
    "The cat went out. Bob went out",
    "The cat saw Bob. Ann went home. Bob went out.",
)
EVIDENCE = ("0:1 2:3", "0:2", "0:0", "0:1", "0:0", "0:2 0:1")
FACTS = ("0 2", "2", "0", "1 3", "1 0", "0 2")
QUESTIONS = (
    "where is Ann",
    "where is Bob",
    "what saw é",
    "who is home,",
    "who ﬁne cafe\u0301",
    "What saw Bob",
)
TREES_OF_QUESTIONS = ("2 0 2", "2 0 2", "2 0 2", "0 1 2", "0 1 0", "2 0 2")
PLACES = (
    "0:0.1,0.1,0.6,0.7",
    "0:0.5,0.5,0.9,0.9 1:0,0,0.3,0.3",
    "0:0,0,0.5,0.5",
    "1:0.2,0.2,0.9,0.6",
    "",
    "0:0.6,0,1,0.4",
)
POINTS = (
    "0.1 0.2; 0.9 0.1; 0.5 0.4; 0.6 0.9",
    "0 0; 1 0; 1 1; 0 1; 0.4 0.6",
    "3 1; 2 2; 0.5 0.25",
    "0.3 0.3; 0.7 0.1; 0.2 0.8; 0.6 0.5; 0.6 0.5",
    "0.1 0.9; 0.8 0.7; 0.3 0.2; 0.9 0.1",
    "0.2 0.2; 0.8 0.4; 0.4 0.9",
)
CORNERS = ("1 2 4 3", "1 2 3 4", "1 2 3", "1 2 4", "1 3 4 2", "1 2 3")

RECORDS = (
    "name=The cat|saw=Ann, Bob|kind=a dog",
    '{"kind": "cafe\u0301 cat", "name": "The dog", "age": 3}',
    "saw=é|name=ﬁne dogs",
    '{"name": "Ann", "at": {"home": "the dog", "work": null}, "kind": ["a", "cat"]}',
    "kind=cat|saw=dog",
    "name=the cat|age=3",
)

GRAPHS = (
    "The cat -saw-> Ann, Bob; Ann, Bob -has-> a dog; a dog -saw-> The cat",
    '{"nodes": ["cafe\u0301", "a dog", "The cat"], "edges": [[1, 0, "at"], [0, 2]]}',
    "ﬁne dogs -saw-> é; é",
    '{"nodes": [{"id": "a", "label": "Ann"}, {"id": "b"}], "edges": [["a", "b", "has"], ["b", "a", "saw"]]}',
    "cat -saw-> dog, Bob; dog, Bob -at-> the cat; cat -has-> the cat",
    "Ann",
)

SIGNALS = ("011 101 _ _", "111 _", "000 001 010 _ _", "110 100 _ _ _", "101 _ _", "100 011 _")


@cache
def rows() -> tuple[Row, ...]:
    """Each field also exists as `FIELD_too`, with the value of the next row."""
    made = [_row(number) for number in range(len(TEXTS))]
    return tuple(
        Row({**row, **{f"{name}_too": value for name, value in after.items()}}, file="rows", line=number)
        for number, (row, after) in enumerate(zip(made, made[1:] + made[:1], strict=True), 1)
    )


def _row(number: int) -> dict[str, str]:
    generator = np.random.default_rng(number)
    return {
        "source": TEXTS[number],
        "other": TEXTS[number - 1].replace("the", "The").replace("saw", "SAW"),
        "target": TARGETS[number],
        "topic": ("yes", "no", "yes", "maybe", "yes", "no")[number],
        "topics": ("b|a", "", '["c"]', "a", "c | b|a", "b")[number],
        "reasons": ("a:1 b:0", "", "c:2", "a:0 a:3", "b:4 c:1", "")[number],
        "part": ("1-2", "0", "2 4", "3-6", "1", "0-5")[number],
        "votes": ("yes:0.5 no:0.5", "no", "no:3 maybe:1", "yes:1", "maybe:0.2 yes:0.8", "no:0.9 yes:0.1")[
            number
        ],
        "grade": ("2", "10", "1", "2", "10", "2")[number],
        "share": ("1", "0.5", "0", "2", "1", "0.5")[number],
        "value": ("1.5", "-2", "0.25", "12345.678", "3e-2", "7")[number],
        "tags": TAGS[number],
        "spans": TAGS[number].replace("I-X B-X", "B-X I-X").replace("O I-", "O B-").replace("X I-Y", "X B-Y"),
        "tree": TREES[number],
        "phrases": PHRASES[number],
        "alignment": LINKS[number],
        "links": "1-0",
        "hints": "0",
        "elsewhere": "0:0.4,0.4,0.6,0.9",
        "brackets": BRACKETS[number],
        "bush": BRACKETS[number],
        "story": STORIES[number],
        "document": DOCUMENTS[number],
        "paper": STORIES[number - 2],
        "evidence": EVIDENCE[number],
        "question": QUESTIONS[number],
        "parse": TREES_OF_QUESTIONS[number],
        "tale": STORIES[number - 2],
        "dialog": DIALOGS[number],
        "talk": DIALOGS[number - 2],
        "reply": REPLIES[number],
        "proposed": f"{REPLIES[number]} | {REPLIES[number - 3]} or | so",
        "offered": " | ".join(dict.fromkeys([REPLIES[number - 1], REPLIES[number], "Cafe\u0301 is"])),
        "facts": FACTS[number],
        "image": _picture(generator.integers(0, 256, (20 - 3 * number, 30 - 4 * number, 3), dtype=np.uint8)),
        "places": PLACES[number],
        "film": array_uri(generator.integers(0, 256, (4 + number, 20, 28, 3), dtype=np.uint8)),
        "sound": data_uri(encode_wav(_sound(generator, 0.2 + 0.05 * number), 8000), "audio/wav"),
        "running": STORIES[number] + "\n",
        "points": POINTS[number],
        "others": POINTS[number - 1],
        "corners": CORNERS[number],
        "record": RECORDS[number],
        "map": GRAPHS[number],
        "level": str(1 + number // 2),
        "signals": SIGNALS[number],
        "noise": " ".join(SIGNALS[number].split()[::-1]),
        "bits": " ".join(f"{7 * (number + place) % 4:02b}" for place in range(SIGNALS[number].count("_"))),
        "series": array_uri(generator.normal(size=(7 + number, 6)).astype(np.float32)),
    }


def _picture(pixels: np.ndarray) -> str:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "png")
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()


def _sound(generator: np.random.Generator, seconds: float) -> np.ndarray:
    return (0.3 * generator.standard_normal(int(8000 * seconds))).astype(np.float32)
