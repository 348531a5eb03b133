"""The implementation of `regard chat`: a dialog of typed turns and answers of a model."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.cli.command import COMMAND_LINE, Loading
from regard.cli.loading import load
from regard.cli.unknown import UnknownUnits
from regard.data.readers.files import find, opened, stream_lines
from regard.data.turns import MARK, SPEAKER, Turn, TurnError, plain, read_turns, write_turns
from regard.errors import RegardError
from regard.model import Model
from regard.parts import nearest
from regard.reporting.console import safe_console
from regard.reporting.terminal import say
from regard.storage.files import write_text
from regard.trace.prediction import Prediction

COMMANDS = {
    "/undo": "undo your last turn and its answer",
    "/history": "show the dialog so far",
    "/trace": "show or hide which turns were attended to",
    "/turn": "add a turn of another speaker, without an answer: /turn KB: TEXT",
    "/new": "begin a new dialog",
    "/help": "show these commands",
    "/quit": "end; so does Ctrl-D",
}
FULL = "dialog"
"""The field with the whole dialog; other text fields hold only the last utterance."""


def talk(
    run: Path,
    *,
    trace: bool,
    history: Path | None,
    output: Path | None,
    speakers: tuple[str, str],
    of: str | None,
    how: Loading,
) -> None:
    model = load(run, how, Model)
    chat = Chat(model, model.output_name(of), *speakers, turns=_begun(history))
    chat.check(run)
    unknown = UnknownUnits(model)
    typed = sys.stdin.isatty()
    if typed:
        say("Type what you say, /help for commands, Ctrl-D to end.", error=True)
    try:
        for place, line in _lines(chat.user, typed):
            try:
                if line.startswith("/") and not line.startswith("//"):
                    if line.split()[0] == "/quit":
                        break
                    trace = _command(line, chat, trace)
                    continue
                answer = chat.say(line[1:] if line.startswith("//") else line, trace=trace)
            except RegardError as error:
                if not typed:
                    raise RegardError(error.what, where=place, fix=error.fix) from None
                say(RegardError(error.what, fix=error.fix).said(COMMAND_LINE), error=True)
                continue
            unknown.look_at([chat.asked])
            say(f"{chat.bot}: {answer.text}" if typed else answer.text)
            if trace:
                _show(answer)
    finally:
        if output is not None and chat.turns:
            write_text(output, "".join(f"{line}\n" for line in _written(chat.turns)))
    unknown.tell()


@dataclass
class Chat:
    """A dialog with a model.

    turns   all turns so far, of any speaker
    asked   the last inputs of the model, by name
    """

    model: Model
    output: str
    user: str
    bot: str
    turns: list[Turn] = field(default_factory=list)
    asked: dict[str, Any] = field(default_factory=dict)
    _lengths: list[int] = field(default_factory=list)

    def check(self, run: Path) -> None:
        """Refuse a model with inputs other than the dialog, and names that could not be read back."""
        check_dialog(self.model, run)
        for option, name in (("--user", self.user), ("--bot", self.bot)):
            if not SPEAKER.fullmatch(f"{name}: "):
                raise RegardError(
                    f"{name!r} is not the name of a speaker.", where=option, fix="Use one word."
                )

    def say(self, text: str, *, trace: bool = False) -> Prediction:
        """The answer to the user's next utterance; both become turns. If there is no answer, neither is added."""
        said = plain(text)
        if not said:
            raise RegardError("the turn is empty.")
        turns = [*self.turns, Turn(self.user, said)]
        self.asked = dialog_inputs(self.model, turns)
        answer: Prediction = self.model.predict(self.asked, output=self.output, trace=trace)
        self._lengths.append(len(self.turns))
        self.turns = [*turns, Turn(self.bot, plain(answer.text) or "…")]
        return answer

    def add(self, text: str) -> None:
        """Add a turn of any speaker, without an answer."""
        try:
            turns = read_turns(text)
        except TurnError as error:
            raise RegardError(f"the turn {error}.", fix="Write it as  /turn NAME: TEXT") from None
        self._lengths.append(len(self.turns))
        self.turns += turns

    def undo(self) -> None:
        """Restore the dialog before the last typed turn."""
        if not self._lengths:
            raise RegardError("there is nothing to undo.")
        del self.turns[self._lengths.pop() :]

    def new(self) -> None:
        self.turns, self._lengths = [], []


def check_dialog(model: Model, run: Path) -> None:
    """Refuse a model with inputs other than the dialog."""
    for name in model.spec.inputs:
        column = model.columns[name]
        if not column.can_be("text", "dialog"):
            raise RegardError(
                f"the model reads {name!r}, of type {column.type}: only dialogs and texts can be typed.",
                where=str(run),
                fix="Use  regard predict, which reads rows.",
            )


def dialog_inputs(model: Model, turns: Sequence[Turn]) -> dict[str, Any]:
    """The inputs of a model after these turns, by name."""
    found: dict[str, Any] = {}
    for name in model.spec.inputs:
        column: Any = model.columns[name]
        if column.can_be("dialog"):
            kept = turns[-column.max_turns :] if column.max_turns else turns
            found[name] = write_turns(kept, column.mark)
        else:
            found[name] = write_turns(turns) if column.field == FULL else turns[-1].text
    return found


def _command(line: str, chat: Chat, trace: bool) -> bool:
    """Run a command; returns whether traces are shown from now on."""
    name, _, rest = line.partition(" ")
    if name not in COMMANDS:
        raise RegardError(f"there is no command {name!r}.", fix=nearest(name, list(COMMANDS)) or "Try /help.")
    if rest.strip() and name != "/turn":
        raise RegardError(f"{name} takes no argument.", fix="A turn that begins with / is written //.")
    if name == "/undo":
        chat.undo()
        said = chat.turns[-1] if chat.turns else None
        say(
            f"undone; the last turn is now: {said}" if said else "undone; the dialog is empty.",
            error=True,
        )
    elif name == "/history":
        for turn in _written(chat.turns):
            say(turn)
    elif name == "/turn":
        chat.add(rest)
    elif name == "/new":
        chat.new()
        say("a new dialog.", error=True)
    elif name == "/help":
        for command, about in COMMANDS.items():
            say(f"{command:10}{about}", error=True)
    elif name == "/trace":
        trace = not trace
        say(f"the attention is {'shown' if trace else 'hidden'}.", error=True)
    return trace


def _written(turns: Sequence[Turn]) -> list[str]:
    """One turn per line if they can be read back, else the whole dialog as JSON on one line."""
    text = write_turns(turns) if turns else ""
    return [text] if text.startswith("[") else [str(turn) for turn in turns]


def _show(answer: Prediction) -> None:
    if answer.trace is None or not (answer.trace.attention or answer.trace.structures):
        say("(this model has no attention to show)", error=True)
        return
    answer.trace.print(safe_console())


def _begun(history: Path | None) -> list[Turn]:
    if history is None:
        return []
    with opened(find(history)) as stream:
        text = stream.read().decode("utf-8", errors="replace")
    try:
        return read_turns(text, MARK)
    except TurnError as error:
        raise RegardError(f"the dialog {error}.", where=str(history)) from None


def _lines(user: str, typed: bool) -> Iterator[tuple[str, str]]:
    """The lines that are typed or piped in, with their location; blank lines are skipped."""
    if not typed:
        for line in stream_lines(sys.stdin.buffer):
            place = f"standard input:{line.number}"
            if line.problem:
                raise RegardError(f"the line {line.problem}.", where=place)
            if line.text.strip():
                yield place, line.text.strip()
        return
    import contextlib

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  enables editing and history of input lines
    while True:
        try:
            text = input(f"{user}: ")
        except EOFError:
            print()
            return
        if text.strip():
            yield "the terminal", text.strip()
