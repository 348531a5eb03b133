"""Small talk: one utterance, and the response that it decides."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar

from regard.data.provider import RowCount, Splits
from regard.parts import register
from regard.worlds.world import SplitWorld

GREETINGS = ("hello", "hi", "good morning", "good evening", "good day")
NAMES = (
    "anna", "ben", "carla", "david", "eva", "frank", "grace", "hugo", "irene", "jonas",
    "kira", "leo", "maria", "nils", "olga", "paul", "rita", "sam", "tara", "vera",
)  # fmt: skip
TOLD = ("i am {}", "my name is {}", "this is {}")
TOPICS = {
    "health": (("how are you", "how do you do", "are you well", "how do you feel"), "i am fine"),
    "name": (("what is your name", "who are you", "what are you called"), "i am called regard"),
    "home": (("where do you live", "where is your home", "what is your address"), "i live in this machine"),
    "age": (("how old are you", "what is your age", "when were you born"), "i am still very young"),
    "work": (("what do you do", "what is your work", "what are you doing"), "i read what people write"),
    "food": (("what do you eat", "what is your favorite food", "are you hungry"), "i never eat"),
    "color": (("what color do you like", "what is your favorite color"), "i like green best"),
    "language": (("what do you speak", "what languages do you know"), "i speak a little english"),
    "weather": (("how is the weather", "is it raining", "is the sun shining"), "i cannot look outside"),
    "time": (("what time is it", "how late is it", "do you know the time"), "it is time to learn"),
}
"""{topic: the questions about it, and the answer}."""
ENDS = ("today", "my friend", "please tell me", "if i may ask")


@register("world", "small-talk")
class SmallTalkWorld(SplitWorld):
    """One utterance and the response to it, which needs nothing else: the question gives the answer, and who greets or
    says a name is greeted by name. The questions alone stand in the training rows.

    how are you → i am fine
    good morning , my name is vera , where do you live → good morning vera , i live in this machine
    """

    train: RowCount = 4_000
    """Number of rows; all utterances are distinct, also across splits."""

    fields: ClassVar[tuple[str, ...]] = ("utterance", "response", "topic")

    def splits(self) -> Splits:
        generator, alone = Random(self.seed), list(_questions())
        seen = {row["utterance"] for row in alone}
        return self.tests_first(
            lambda split, size: _rows(generator, size, seen, alone if split == "train" else [])
        )


def _questions() -> Iterator[dict[str, str]]:
    """The questions without a greeting, a name and an end."""
    for topic, (questions, answer) in TOPICS.items():
        for question in questions:
            yield {"utterance": question, "response": answer, "topic": topic}


def _rows(
    generator: Random, size: int, seen: set[str], first: list[dict[str, str]]
) -> Iterator[dict[str, str]]:
    """`first`, and then rows that were not seen."""
    yield from first[:size]
    size -= len(first)
    while size > 0:
        row = _row(generator)
        if row["utterance"] not in seen:
            seen.add(row["utterance"])
            size -= 1
            yield row


def _row(generator: Random) -> dict[str, str]:
    topic = generator.choice(sorted(TOPICS))
    questions, answer = TOPICS[topic]
    greeting = generator.choice(GREETINGS) if generator.random() < 0.6 else ""
    name = generator.choice(NAMES) if generator.random() < 0.6 else ""
    told = generator.choice(TOLD).format(name) if name else ""
    end = generator.choice(ENDS) if generator.random() < 0.4 else ""
    question = " ".join(filter(None, (generator.choice(questions), end)))
    address = " ".join(filter(None, (greeting or (name and "hello"), name)))
    return {
        "utterance": " , ".join(filter(None, (greeting, told, question))),
        "response": " , ".join(filter(None, (address, answer))),
        "topic": topic,
    }
