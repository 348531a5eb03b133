"""Chats in JSON as they are commonly exported, without options: JSON lines, or one JSON file.

    {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}           OpenAI
    {"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}]}               ShareGPT
    {"usr": "hi", "sys": "hello"}                                                                one exchange
    {"dialog": [{"usr": "hi", "sys": "hello"}, {"usr": "a table please", "sys": "for how many?"}]}    exchanges

The list of turns may also stand alone, or have another name. Objects of one exchange that follow each other and share
a `conversation_id` (or `dialog_id`, `session`, …) are one conversation; without one, each is a conversation.

A row is a response of the system with everything said before it. The user is `U`, the system `B`; other roles keep
their names: instructions of a `system` beside an assistant are turns of SYSTEM. Consecutive turns of one speaker are
one turn. Messages without a text, such as calls of tools, are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from regard.data.readers.dialog import BOT, USER, dialog_sides
from regard.data.readers.files import BLANK, kind
from regard.data.readers.json_documents import json_values
from regard.data.readers.reader import Reader, Sides
from regard.data.readers.row import Row
from regard.data.turns import Turn, plain, write_turns
from regard.parts import register

USERS = frozenset({"user", "usr", "human", "customer", "client", "u"})
BOTS = frozenset({"assistant", "gpt", "bot", "model", "chatgpt", "agent", "sys", "b"})
SYSTEM = "system"
"""Instructions beside an assistant; the answering side of a chat without one."""
ROLE, TEXT = (
    ("role", "from", "speaker", "author", "sender"),
    ("content", "value", "text", "message", "utterance"),
)
"""Keys of a message: who says it, and what is said."""
NAMES = (
    "conversation_id",
    "conversation",
    "dialogue_id",
    "dialog_id",
    "session_id",
    "session",
    "chat_id",
    "thread_id",
)
"""Keys of the name of a conversation; `id` too, beside a list of turns."""
SAMPLE = 20
"""Number of conversations that are inspected to recognize the format."""
JSON = (".json", ".jsonl", ".ndjson")


@register("reader", "chat")
class ChatReader(Reader):
    """Chats in JSON: messages with roles (OpenAI, ShareGPT), or exchanges of a user and a system. A row for each
    response of the system."""

    about: ClassVar[str] = "a file of chats"
    recognized_in: ClassVar[tuple[str, ...] | None] = ("json",)
    fields: ClassVar[tuple[str, ...]] = ("dialog", "utterance", "response", "conversation")

    @classmethod
    def recognizes(cls, path: Path) -> bool:
        """Whether at least half of the first conversations have a response."""
        if not path.is_file() or kind(path) not in JSON:
            return False
        found = [turns for _, _, turns in islice(_conversations(path), SAMPLE)]
        return bool(found) and sum(map(_is_answered, found)) >= len(found) / 2

    def sides(self, files: Sequence[Path]) -> Sides | None:
        return dialog_sides()

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = str(files[0])
        for number, (line, name, found) in enumerate(_conversations(files[0]), start=1):
            try:
                turns = _merged(_turns(found))
            except ValueError as error:
                yield Row(file=path, line=line, problem=str(error))
                continue
            answers = [place for place, turn in enumerate(turns) if place and turn.speaker == BOT]
            if turns and turns[-1].speaker != BOT and "response" not in fields:
                answers.append(len(turns))  # the chat awaits its response
            if not answers:
                problem = "is a chat without a response of the system"
                yield Row(file=path, line=line, problem=problem)
            for place in answers:
                values = {
                    "dialog": write_turns(turns[:place]),
                    "utterance": turns[place - 1].text,
                    "conversation": name or str(number),
                } | ({"response": turns[place].text} if place < len(turns) else {})
                yield Row(values, file=path, line=line, group=f"conversation {name or number}")


def _conversations(path: Path) -> Iterator[tuple[int, str, Any]]:
    """The line, the name and the turns of each conversation; a text instead of turns is a problem."""
    gathered: list[Any] = []
    began, shared = 0, ""
    messages = False
    for line, value, problem, _ in json_values(path):
        if problem == BLANK:
            continue
        single, name = _is_exchange(value) or _is_message(value), _name(value)
        messages = messages or (
            _is_message(value) and not name
        )  # the file is the list of one chat's messages
        if gathered and not (single and (messages or (name and name == shared))):
            yield began, shared, gathered
            gathered = []
        if problem is not None:
            yield line, "", problem
        elif single:
            if not gathered:
                began, shared = line, name
            gathered.append(value)
        else:
            found = _listed(value)
            yield line, name or _name(value, ("id",)), _unlisted(value) if found is None else found
    if gathered:
        yield began, shared, gathered


def _is_answered(found: list[Any] | str) -> bool:
    try:
        return any(turn.speaker == BOT for turn in _merged(_turns(found))[1:])
    except ValueError:
        return False


def _name(value: Any, keys: Sequence[str] = NAMES) -> str:
    names = (value.get(key) for key in keys) if isinstance(value, Mapping) else ()
    return next((str(name) for name in names if isinstance(name, str | int)), "")


def _unlisted(value: Any) -> str:
    has = f"; it has {', '.join(map(str, value))}" if isinstance(value, Mapping) else ""
    return f"has no list of messages with a role and a content{has}"


def _listed(value: Any) -> list[Any] | None:
    """The turns of a conversation: the list itself, or the only list of turns in an object."""
    if isinstance(value, list):
        known = [one for one in value if _is_message(one) or _is_exchange(one)]
        return value if value and len(known) == len(value) else None
    if not isinstance(value, Mapping):
        return None
    found = [turns for one in value.values() if isinstance(one, list) and (turns := _listed(one)) is not None]
    return found[0] if len(found) == 1 else None


def _is_message(value: Any) -> bool:
    """Whether this is a message with a role: {"role": "user", "content": "hi"}."""
    return (
        isinstance(value, Mapping)
        and isinstance(_first(value, ROLE), str)
        and any(key in value for key in TEXT)
    )


def _is_exchange(value: Any) -> bool:
    """Whether an object holds what the user and the system say: {"usr": "hi", "sys": "hello"}."""
    return isinstance(value, Mapping) and len(_sides(value)) == 2


def _sides(value: Mapping[str, Any]) -> dict[str, str]:
    """The keys of an exchange in the order of speaking: their speakers."""
    said = {
        key: _speaker(key, bots=True) for key, one in value.items() if isinstance(one, str) or one is None
    }
    known = {key: speaker for key, speaker in said.items() if speaker in (USER, BOT)}
    return known if sorted(known.values()) == sorted((USER, BOT)) else {}


def _speaker(role: str, *, bots: bool) -> str:
    """bots: whether a `system` is the answering side, because there is no other."""
    name = role.strip().lower()
    if name in USERS:
        return USER
    return (
        BOT
        if name in BOTS or (bots and name == SYSTEM)
        else plain(role).upper().replace(" ", "-").rstrip(":")
    )


def _turns(found: list[Any] | str) -> list[Turn]:
    """The turns with a text. Raises a ValueError, to follow the location in a message."""
    if isinstance(found, str):
        raise ValueError(found)
    if all(map(_is_exchange, found)):
        # A single exchange is a question and its answer, in whichever order they are written.
        order = [_sides(one) for one in found]
        if len(found) == 1:
            order = [dict(sorted(order[0].items(), key=lambda side: side[1] != USER))]
        said = [
            (speaker, one[key])
            for one, sides in zip(found, order, strict=True)
            for key, speaker in sides.items()
        ]
    else:
        roles = [(_first(one, ROLE), _first(one, TEXT)) for one in found]
        names = [role.strip().lower() if isinstance(role, str) else "" for role, _ in roles]
        bots = not BOTS.intersection(names) and SYSTEM in names[1:]
        said = [(_speaker(role if isinstance(role, str) else "", bots=bots), text) for role, text in roles]
    turns = []
    for place, (speaker, content) in enumerate(said, start=1):
        text = _text(content, place)
        if text and not speaker:
            raise ValueError(f"has a message without a role, message {place}")
        if text:
            turns.append(Turn(speaker, text))
    return turns


def _first(value: Any, keys: Sequence[str]) -> Any:
    return next((value[key] for key in keys if key in value), None)


def _text(content: Any, place: int) -> str:
    """The text of a message; "" if it has none. Content may be a list of parts, of which images cannot be read."""
    if content is None:
        return ""
    if isinstance(content, list):
        parts: list[Any] = [one.get("text") if isinstance(one, Mapping) else one for one in content]
        if not all(isinstance(part, str) for part in parts):
            raise ValueError(f"has content that is not text, message {place}")
        content = " ".join(parts)
    if not isinstance(content, str):
        raise ValueError(f"has content that is not text, message {place}")
    return plain(content)


def _merged(turns: Iterable[Turn]) -> list[Turn]:
    """Turns in which the speaker changes: what one speaker says in several messages is one turn."""
    merged: list[Turn] = []
    for turn in turns:
        if merged and merged[-1].speaker == turn.speaker:
            merged[-1] = Turn(turn.speaker, f"{merged[-1].text} {turn.text}")
        else:
            merged.append(turn)
    return merged
