"""All questions about a story, with their answers and supporting lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.worlds.rooms.life import Event


@dataclass(frozen=True)
class Question:
    """facts: the lines (from 0) that lead from the question to the answer; the last one contains the answer."""

    text: str
    answer: str
    facts: tuple[int, ...]


def questions(events: Sequence[Event]) -> Iterator[Question]:
    """All questions of the three kinds, in no particular order. Their supporting facts:

    where is the OBJECT                   the last line about it, and the move that brought its carrier there
    where was PERSON before the ROOM      the move there, the move before
    where was the OBJECT before the ROOM  the line in which its carrier took it, the move there, the move before
    """
    for person in dict.fromkeys(event.who for event in events):
        for later, earlier in _steps(events, _moves(events, person)):
            text = f"where was {person} before the {events[later].what}"
            yield Question(text, events[earlier].what, (later, earlier))
    for thing in dict.fromkeys(event.what for event in events if event.deed != "move"):
        yield from _object(events, thing)


def _moves(events: Sequence[Event], who: str) -> list[int]:
    return [line for line, event in enumerate(events) if event.deed == "move" and event.who == who]


def _steps(events: Sequence[Event], moves: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(move, the move before it), for rooms that were entered only once, so that the question is unambiguous."""
    rooms = [events[line].what for line in moves]
    for place in range(1, len(moves)):
        if rooms.count(rooms[place]) == 1:
            yield moves[place], moves[place - 1]


def _object(events: Sequence[Event], thing: str) -> Iterator[Question]:
    last = max(line for line, event in enumerate(events) if event.deed != "move" and event.what == thing)
    who, held = events[last].who, events[last].deed == "take"
    moves = _moves(events, who)
    with_it = moves if held else [line for line in moves if line < last]
    yield Question(f"where is the {thing}", events[with_it[-1]].what, (last, with_it[-1]))
    if not held:
        # The lines of taking and putting down would both tell who carried it, so that neither is a necessary fact.
        return
    if sum(move > last for move in moves) < 2:
        # With one move since the taking, the room before it is always the room of the taking.
        return
    others = {event.what for event in events if event.deed == "move" and event.who != who}
    for later, earlier in _steps(events, moves):
        # A room that others entered too: the question alone does not tell whose move is meant.
        if later > last and events[later].what in others:
            text = f"where was the {thing} before the {events[later].what}"
            yield Question(text, events[earlier].what, (last, later, earlier))
