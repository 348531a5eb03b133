"""The nine tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from regard.course.matrix.task import GRID, LabelTask, Task
from regard.errors import RegardError
from regard.parts import nearest

AT_ONCE = "the answer is one label, predicted in a single step: there is no first state and no next step."


def _words(field: str) -> Callable[[Mapping[str, str]], int]:
    return lambda row: len(row[field].split())


def _parts(field: str, between: str) -> Callable[[Mapping[str, str]], int]:
    """Counts the parts of a field that `between` separates."""
    return lambda row: row[field].count(between) + 1


TASKS = (
    Task(
        "translation",
        "translation",
        "sentences → sentences in another word order",
        metric="bleu",
        looks="aer",
        length=_words("source"),
        unit="words",
        edges=(6, 10, 13, 16),
        # half as wide as the zoo's, for more updates in the same time
        settings=(
            "data.world.long=0",
            "encoder.size=64",
            "encoder.embedding=64",
            "decoder.size=128",
            "decoder.embedding=64",
        ),
    ),
    Task(
        "transliteration",
        "transliteration",
        "English names → Hindi spelling",
        metric="cer",
        length=lambda row: len(row["name"]),
        unit="letters",
        edges=(5, 6, 8),
        settings=("search.method=greedy", "data.package.test=200", "data.package.dev=70"),
        window=3,
        unaligned="no alignment of the letters of these names is known.",
    ),
    Task(
        "entailment",
        "entailment-generation",
        "a premise → a sentence that follows from it",
        metric="valid_conclusions",
        length=_words("premise"),
        unit="words",
        edges=(6, 8, 10, 14),
        unaligned="the world proves conclusions, but does not align their words with the premise.",
    ),
    Task(
        "captions",
        "caption",
        "images → captions",
        metric="exact",
        looks="pointing",
        length=_parts("caption", " and "),
        unit="things",
        edges=(1, 2, 3, 4),
        # equal widths, for the dot product: 94 features and two coordinates
        settings=("data.world.crowded=0", "encoder.network.channels=[16, 32, 94]", "decoder.size=96"),
        attention={"state": "current"},
        units=64,
        # without the norm, all images get the same summary: a step of Adam changes it too much
        without=("encoder.position=none", "encoder.network.connected_norm=true"),
        refused={"local": f"a window {GRID}", "segments": f"a segment {GRID}"},
        notes={
            "oracle": "the true regions are known only for nouns; at the words of size and color before them, its "
            "weights are 0."
        },
    ),
    LabelTask(
        "image-questions",
        "image-qa-attention",
        "an image and a question → the answer",
        metric="answer.accuracy",
        looks="answer.pointing",
        length=_parts("caption", " and "),
        unit="things",
        edges=(1, 2, 3, 4),
        settings=("data.world.crowded=0", "data.world.train=30000"),
        units=64,
        decoder="decoder.answer",
        over="image",
        glimpses={"query": "question", "glimpses": 3, "where": True, "whole": True, "combine": "gated"},
        refused={
            **dict.fromkeys(("start", "every-step", "both", "first-input"), AT_ONCE),
            "local": "its window follows the steps of a text, but a label is predicted in a single step.",
            "hard": "it learns from the words that follow a sampled position, but a label has none.",
            "segments": f"a segment {GRID}",
        },
    ),
    Task(
        "video",
        "video-caption-both",
        "videos → captions",
        metric="exact",
        looks="pointing",
        length=_parts("caption", " then "),
        unit="events",
        edges=(1, 2),
        # as wide as the memory, for the dot product
        settings=("decoder.size=192", "data.world.events=3"),
    ),
    Task(
        "speech",
        "speech",
        "audio → letters",
        metric="wer",
        looks="pointing",
        length=_words("text"),
        unit="words",
        edges=(1, 2, 3),
        ways=("attention",),
    ),
    Task(
        "summary",
        "summary",
        "reports → headlines",
        metric="exact",
        looks="aer",
        length=_words("report"),
        unit="words",
        edges=(30, 45, 58),
        # all names are known, and no copying, which only attention allows
        settings=("decoder.copy=false", "data.world.names=60"),
        attention={"state": "current", "feed": False},
        units=96,
        window=10,
    ),
    Task(
        "dialog",
        "dialog-context",
        "all turns of a dialog → the response",
        metric="exact",
        length=_parts("dialog", "|"),
        unit="turns",
        edges=(3, 5, 7, 9),
        window=3,
        without=('encoder.sentences={"size": 32}',),
        unaligned="the world records which turn names the film, but does not align the words of the response.",
    ),
)
"""The tasks of the matrix."""

NAMES = tuple(task.name for task in TASKS)


def find_task(name: str) -> Task:
    """The task of that name."""
    for task in TASKS:
        if task.name == name:
            return task
    raise RegardError(f"the matrix has no task {name!r}.", where="regard matrix", fix=nearest(name, NAMES))
