"""The labels of the inference world, against enumeration of situations, without the world's own logic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, product

import pytest

from regard.errors import RegardError
from regard.worlds import world
from regard.worlds.inference.reading import follows

OTHER = "somebody or something else"
OPPOSITES = [
    {"chased", "hugged"}, {"loved", "feared"}, {"found", "lost"}, {"bought", "sold"}, {"slept", "worked"},
    {"walked", "waited"},
]  # fmt: skip
KINDS = {
    "person": "man woman king doctor farmer cook", "animal": "dog cat horse fox wolf", "object": "key cup lamp ring",
    "garment": "hat coat mask", "place": "garden village park",
}  # fmt: skip


@dataclass(frozen=True)
class Happening:
    """An event. In a statement, "" leaves a field open; in a situation, it means that there is none."""

    verb: str
    agent: str = ""
    patient: str = ""
    manner: str = ""
    place: str = ""


@dataclass(frozen=True)
class Said:
    qualities: frozenset[tuple[str, str]]
    happened: tuple[Happening, ...]
    never: tuple[Happening, ...]


def read(text: str, tree: str, premise: str = "") -> Said:
    """The content of a sentence, from words and tree; a word for a kind means the premise's member."""
    words = ["", *text.split()]
    arcs = [arc.split(":", 1) for arc in tree.split()]
    children: dict[int, list[tuple[int, str]]] = {}
    for place, (head, relation) in enumerate(arcs, start=1):
        children.setdefault(int(head), []).append((place, relation))

    def meant(place: int) -> str:
        if words[place] in KINDS:
            (only,) = [word for word in premise.split() if word in KINDS[words[place]].split()]
            return only
        return words[place]

    qualities, happened, never = set(), [], []
    for place in range(1, len(words)):
        below = children.get(place, [])
        relation = arcs[place - 1][1]
        if relation in ("root", "conj"):
            fields = {"verb": words[place]}
            for child, name in below:
                if name in ("nsubj", "obl:agent"):
                    fields["agent"] = meant(child)
                elif name in ("obj", "nsubj:pass"):
                    fields["patient"] = meant(child)
                elif name == "obl":
                    fields["place"] = meant(child)
                elif name == "advmod" and words[child] != "never":
                    fields["manner"] = words[child]
            negated = any(words[child] == "never" for child, _ in below)
            (never if negated else happened).append(Happening(**fields))
        elif relation not in ("det", "nmod:poss", "amod", "case", "cc", "aux:pass", "advmod"):
            qualities.add((meant(place), "there"))
            for child, name in below:
                if name in ("amod", "nmod:poss", "nmod"):
                    qualities.add((meant(place), meant(child)))
    return Said(frozenset(qualities), tuple(happened), tuple(never))


def is_so(said: Happening, happened: Happening) -> bool:
    return all(
        getattr(said, field) in ("", getattr(happened, field))
        for field in ("verb", "agent", "patient", "manner", "place")
    )


def in_full(said: Happening, names: set[str]) -> Iterator[Happening]:
    """Every event that agrees with the statement: open fields are anyone, any manner, any place, or none."""
    transitive = said.verb not in ("slept", "worked", "walked", "waited")
    someone = sorted(names | {OTHER})
    for agent, patient, manner, place in product(
        [said.agent] if said.agent else someone,
        [said.patient] if said.patient else someone if transitive else [""],
        [said.manner] if said.manner else ["", "quickly", "often", "again"],
        [said.place] if said.place else ["", "garden"],
    ):
        yield Happening(said.verb, agent, patient, manner, place)


def possible(events: tuple[Happening, ...], never: tuple[Happening, ...]) -> bool:
    """No agent does, and no patient undergoes, two opposite actions; no denied event happened."""
    for one, other in product(events, events):
        opposite = {one.verb, other.verb} in OPPOSITES
        if opposite and (one.agent == other.agent or (one.patient and one.patient == other.patient)):
            return False
    return not any(is_so(denied, event) for denied in never for event in events)


def by_models(premise: Said, hypothesis: Said) -> str:
    """From situations with a witness for each stated event and at most one more: these suffice."""
    said = (*premise.happened, *hypothesis.happened, *premise.never, *hypothesis.never)
    names = {name for one in said for name in (one.agent, one.patient) if name}
    both = product(*(in_full(one, names) for one in (*premise.happened, *hypothesis.happened)))
    if not any(possible(events, premise.never + hypothesis.never) for events in both):
        return "contradiction"
    situations = [
        events
        for events in product(*(in_full(one, names) for one in premise.happened))
        if possible(events, premise.never)
    ]
    for wanted in hypothesis.happened:
        if any(not any(is_so(wanted, event) for event in events) for events in situations):
            return "neutral"
    for denied in hypothesis.never:
        if any(
            possible((*events, one), premise.never) for events in situations for one in in_full(denied, names)
        ):
            return "neutral"
    return "entailment" if hypothesis.qualities <= premise.qualities else "neutral"


@pytest.fixture(scope="module")
def rows():
    return world("inference", seed=5, train=240, dev=10, test=10).splits()["train"]


def test_labels_are_those_of_all_situations(rows) -> None:
    for row in rows:
        premise = read(row["premise"], row["premise_tree"])
        hypothesis = read(row["hypothesis"], row["hypothesis_tree"], row["premise"])
        assert by_models(premise, hypothesis) == row["relation"], (row["premise"], row["hypothesis"])


def test_trees_are_projective_with_one_root(rows) -> None:
    for row in rows:
        for name in ("premise", "hypothesis"):
            heads = [int(arc.partition(":")[0]) for arc in row[f"{name}_tree"].split()]
            assert len(heads) == len(row[name].split()) and heads.count(0) == 1
            spans = [(min(word, head), max(word, head)) for word, head in enumerate(heads, 1) if head]
            assert not any(a < c < b < d for (a, b), (c, d) in product(spans, spans))


def test_words_alone_do_not_tell(rows) -> None:
    """Most neutral hypotheses have no word that the premise lacks; each label is about a third."""
    counts = Counter(row["relation"] for row in rows)
    assert all(0.2 < counts[label] / len(rows) < 0.47 for label in ("entailment", "contradiction", "neutral"))
    small = {"by", "was", "the", *KINDS, "quickly", "often", "again"}
    neutral = [row for row in rows if row["relation"] == "neutral"]
    old = [set(row["hypothesis"].split()) - small <= set(row["premise"].split()) for row in neutral]
    assert sum(old) / len(old) > 0.75


def test_the_same_rows_every_time_and_none_twice() -> None:
    made = [world("inference", seed=3, train=60, dev=20, test=20).splits() for _ in range(2)]
    assert made[0] == made[1]
    pairs = [(row["premise"], row["hypothesis"]) for row in chain(*made[0].values())]
    assert len(set(pairs)) == len(pairs) == 100
    assert world("inference", seed=3, train=90, dev=20, test=20).splits()["test"] == made[0]["test"]


def test_options_are_checked() -> None:
    with pytest.raises(RegardError, match="share from 0 to 1"):
        world("inference", joined=1.5)
    with pytest.raises(RegardError, match="at least 10"):
        world("inference", max_words=5)


def test_what_is_written_is_read_back_and_proved(rows) -> None:
    """From the words alone, without the meanings that generated them: the same relation for every pair."""
    for row in rows:
        assert follows(row["hypothesis"], row["premise"]) == (row["relation"] == "entailment")


@pytest.mark.parametrize(
    ("conclusion", "right"),
    [
        ("the dog chased the cat", True),
        ("the cat was chased by the old dog", True),
        ("the cat was chased", True),
        ("the old dog chased my cat and the farmer slept", True),
        ("the person slept", True),
        ("the animal chased the cat", False),  # ambiguous: which animal?
        ("my dog chased the cat", False),
        ("the dog hugged the cat", False),
        ("the dog never chased the cat", False),
        ("the farmer slept quickly", False),
        ("the dog chased", True),
        ("the dog chased the", False),
        ("dog chased the cat", False),
        ("the dog the cat", False),
        ("the dog chased the cat and", False),
        ("the dog chased the cat cat", False),
        ("the zebra slept", False),
        ("", False),
    ],
)
def test_a_conclusion_is_proved_or_refused(conclusion: str, right: bool) -> None:
    assert follows(conclusion, "the old dog chased my cat and the farmer slept") is right


def test_conclusions_alone() -> None:
    made = world("inference", train=60, dev=5, test=5, relation="entailment").splits()["train"]
    assert {row["relation"] for row in made} == {"entailment"}
    assert all(row["premise"] != row["hypothesis"] for row in made)
    for row in made:
        premise = read(row["premise"], row["premise_tree"])
        assert (
            by_models(premise, read(row["hypothesis"], row["hypothesis_tree"], row["premise"]))
            == "entailment"
        )
