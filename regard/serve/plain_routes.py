"""The plain routes, whose answers are whole: /predict, /chat and /metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from regard.serve.answering import JSON, Answering, one_input
from regard.serve.models import ServedModel, check_text
from regard.serve.refusing import Refused
from regard.serve.requests import ChatCall, PredictRequest, SearchRequest, read
from regard.storage.plain_json import dumped


class PlainRoutes(Answering):
    """Routes whose answer is whole."""

    async def predict(self, request: Request) -> Response:
        asked = read(PredictRequest, await self.body(request))
        served = self.loaded(asked.model)
        given = asked.text if asked.text is not None else asked.inputs
        if asked.text is not None and asked.inputs is not None:
            raise Refused(422, "expected either text or inputs, received both.", where="text")
        several = given if isinstance(given, list) else [given]
        values = [
            one_input(served, one, None) if isinstance(one, str) else one_input(served, None, one)
            for one in several
        ]
        if not values:
            return Response(dumped({"model": served.name, "answers": []}), media_type=JSON)
        return await self._answered(request, served, asked, values)

    async def chat(self, request: Request) -> Response:
        asked = read(ChatCall, await self.body(request))
        served = self.loaded(asked.model)
        values, turns = dialog(served, asked)
        return await self._answered(request, served, asked, [values], turns)

    async def _answered(
        self,
        request: Request,
        served: ServedModel,
        asked: SearchRequest,
        values: Sequence[Mapping[str, Any]],
        turns: Sequence[Any] = (),
    ) -> Response:
        answers = await self.answers(request, served.asking(asked), values, self.timeout(asked.timeout))

        def made() -> bytes:
            found = {"model": served.name, "answers": [one.to_dict() for one in answers]}
            if turns:
                found["history"] = said(turns, answers[0].text)
            return dumped(found)

        # A large trace would hold up other requests.
        return Response(await asyncio.to_thread(made) if asked.trace else made(), media_type=JSON)

    async def metrics(self, request: Request) -> Response:
        content, kind = self.app.metrics.written(self.batcher.waiting)
        return Response(content, headers={"content-type": kind})


USER, BOT = "U", "B"


def dialog(served: ServedModel, asked: ChatCall) -> tuple[dict[str, Any], list[Any]]:
    """The inputs of a model after the turns of a dialog, and these turns."""
    from regard.cli.chatting import check_dialog, dialog_inputs
    from regard.data.turns import SPEAKER, Turn, plain

    if served.continues:
        raise Refused(
            422, f"the model {served.name!r} continues a text; it answers no dialog.", where="model"
        )
    check_dialog(served.model, served.folder)
    turns, total = [], 0
    for number, one in enumerate([*asked.history, asked.text]):
        if isinstance(one, str):  # said in turns; the last one is the user's
            speaker, text = (USER, BOT)[(len(asked.history) - number) % 2], one
        else:
            speaker, text = one.speaker, one.text
        check_text(text, served.options.length, "text")
        total += len(text)
        if not plain(text):
            raise Refused(422, "the turn is empty.", where=f"turn {number + 1}")
        if not SPEAKER.fullmatch(f"{speaker}: "):
            raise Refused(422, f"{speaker!r} is not the name of a speaker.", where=f"turn {number + 1}")
        turns.append(Turn(speaker, plain(text)))
    if total > served.options.length:
        raise Refused(
            422,
            f"the dialog has {total:,} characters, expected at most {served.options.length:,}.",
            where="history",
        )
    return served.values(dialog_inputs(served.model, turns)), turns


def said(turns: Sequence[Any], answer: str) -> list[dict[str, str]]:
    """All turns with the model's answer, as the history of the next request."""
    from regard.data.turns import plain

    found = [{"speaker": turn.speaker, "text": turn.text} for turn in turns]
    return [*found, {"speaker": BOT, "text": plain(answer) or "…"}]
