"""Answers that are sent while they are written: server-sent events, and the continuations of language models."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from regard.serve.answering import JSON, Answering, left, one_input
from regard.serve.batching import Stream
from regard.serve.models import ServedModel, check_text
from regard.serve.refusing import Gone, Refused, refused
from regard.serve.requests import GenerateRequest, StreamRequest, read
from regard.storage.plain_json import dumped

if TYPE_CHECKING:
    from regard.serve.application import ServeApp

EVENTS = "text/event-stream"


def continuation(served: ServedModel, asked: GenerateRequest) -> Iterator[Any]:
    """The new characters after each token of a language model, and at the end the whole text with its score."""
    from regard.model.continuing import Growing

    model = served.model
    pieces = model.pieces(asked.prompt, **asked.options)
    growing, tokens, score = Growing(model.column), model.column.encode(asked.prompt).tolist(), 0.0
    for token in tokens:
        growing.add(token)
    for piece in pieces:
        tokens.append(piece.token)
        score += piece.score
        yield growing.add(piece.token)
    yield {"text": model.column.decode(tokens), "score": score}


def checked(served: ServedModel, asked: GenerateRequest) -> None:
    if not served.continues:
        raise Refused(
            422, f"the model {served.name!r} answers inputs.", where="model", fix="Use  POST /predict."
        )
    check_text(asked.prompt, served.options.length, "prompt")
    if (asked.length or 0) > served.options.tokens:
        raise Refused(
            422, f"received {asked.length:,}, expected at most {served.options.tokens:,}.", where="length"
        )


class StreamRoutes(Answering):
    """Routes that write token by token in the thread of the models, in turns with everything else."""

    def __init__(self, app: ServeApp) -> None:
        super().__init__(app)

    async def generate(self, request: Request) -> Response:
        """The continuation of a text, at once."""
        asked = read(GenerateRequest, await self.body(request))
        served = self.loaded(asked.model)
        found = await self.continued(request, served, asked)
        return Response(dumped({"model": served.name, **found}), media_type=JSON)

    async def continued(self, request: Request, served: ServedModel, asked: GenerateRequest) -> Any:
        checked(served, asked)
        request.scope["regard.details"].update(model=served.name, rows=1)
        stream = self.batcher.stream(lambda: continuation(served, asked), self.timeout(asked.timeout))
        last = None
        gone = asyncio.ensure_future(left(request))
        try:
            while (event := await next_event(stream, gone)) is not None:
                self.app.metrics.tokens(1)
                last = event
        finally:
            stream.dropped = True
            gone.cancel()
        return last

    async def stream(self, request: Request) -> Response:
        """The answer token by token, as server-sent events: `token`, at the end `answer`; or `error`."""
        asked = read(StreamRequest, await self.body(request))
        served = self.loaded(asked.model)
        timeout, note = self.timeout(asked.timeout), ""
        begin: Callable[[], Iterator[Any]]
        if served.continues:
            search = {
                name: value for name, value in asked.search.items() if name in GenerateRequest.model_fields
            }
            text = asked.text if asked.text is not None else ""
            prompt = GenerateRequest(prompt=text, length=asked.length, **search)
            checked(served, prompt)
            begin = lambda: continuation(served, prompt)  # noqa: E731
        else:
            asking, value = served.asking(asked), one_input(served, asked.text, asked.inputs)
            note = asking.unstreamed
            begin = lambda: asking.steps(value)  # noqa: E731
        request.scope["regard.details"].update(model=served.name, rows=1)
        stream = self.batcher.stream(begin, timeout)
        gone = asyncio.ensure_future(left(request))
        try:
            first = await next_event(stream, gone)
        except BaseException:
            stream.dropped = True
            raise
        finally:
            gone.cancel()
        return StreamingResponse(self._sent(stream, first, served, note), media_type=EVENTS)

    async def _sent(self, stream: Stream, first: Any, served: ServedModel, note: str) -> AsyncIterator[bytes]:
        event = first
        try:
            while event is not None:
                self.app.metrics.tokens(1)
                if isinstance(event, str):
                    if event:
                        yield _written("token", {"text": event})
                else:
                    found = event if isinstance(event, dict) else event.to_dict()
                    why = {"streamed": False, "why": note} if note else {}
                    yield _written("answer", {"model": served.name, **found, **why})
                event = await next_event(stream)
        except Exception as error:
            yield _written("error", refused(error).told)
        finally:
            stream.dropped = True


async def next_event(stream: Stream, gone: asyncio.Future[Any] | None = None) -> Any:
    """The next event of a stream; None at its end. Raises what it ended with, or `Gone` if the client has left."""
    coming = asyncio.ensure_future(stream.events.get())
    wait = max(0.0, stream.deadline - time.monotonic()) + 1.0  # the thread itself ends it at the deadline
    try:
        await asyncio.wait(
            (coming, gone) if gone is not None else (coming,),
            timeout=wait,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if not coming.done():
            from regard.serve.batching import too_late

            raise Gone if gone is not None and gone.done() else too_late()
        event = coming.result()
    finally:
        coming.cancel()
    if isinstance(event, Exception):
        raise event
    return event


def _written(name: str, content: Any) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + dumped(content) + b"\n\n"
