"""A dialog with a model: the turns so far, and the model's answer with where it looked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.cli.chatting import check_dialog, dialog_inputs
from regard.data.turns import SPEAKER, Turn, plain
from regard.errors import RegardError
from regard.live.answer import shown
from regard.studio.answering import look_json
from regard.studio.looking import Looking
from regard.studio.requests import ChatRequest, LookRequest, Said
from regard.studio.runs import Run

USER, BOT = "U", "B"


def chat_json(run: Run, asked: ChatRequest) -> dict[str, Any]:
    """The answer to a look at the dialog; `turns` has the model's answer too."""
    if run.model.continues:
        raise RegardError("this model continues a text; it answers no dialog.", where=run.name)
    check_dialog(run.model, run.folder)
    turns = read_turns(asked.turns)
    inputs = dialog_inputs(run.model, turns)
    look = LookRequest(run=run.name, inputs=inputs, output=asked.output, edits=asked.edits)
    found = look_json(Looking.of(run, look))
    said = [*turns, Turn(BOT, plain(found["text"]) or "…")]
    found["turns"] = [{"speaker": shown(turn.speaker), "text": shown(turn.text)} for turn in said]
    found["inputs"] = {name: shown(text) for name, text in inputs.items()}
    return found


def read_turns(given: Sequence[Said | str]) -> list[Turn]:
    """The turns. A text without a speaker is said by whose turn it is: the last one is the user's."""
    turns = []
    for number, one in enumerate(given):
        if isinstance(one, Said):
            speaker, text = one.speaker, plain(one.text)
        else:
            speaker, text = (USER, BOT)[(len(given) - 1 - number) % 2], plain(one)
        if not text:
            raise RegardError("the turn is empty.", where=f"turns.{number}", fix="Type what you say.")
        if not SPEAKER.fullmatch(f"{speaker}: "):
            raise RegardError(
                f"{speaker!r} is not the name of a speaker.", where=f"turns.{number}", fix="Use one word."
            )
        turns.append(Turn(speaker, text))
    return turns
