"""What all routes share: they read a body, wait for an answer, and say what is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from regard.serve.batching import AnswerJob, too_late
from regard.serve.models import ServedModel, size_of
from regard.serve.refusing import Gone, Refused, refused
from regard.storage.plain_json import dumped

if TYPE_CHECKING:
    from regard.serve.application import ServeApp
    from regard.serve.models import Asking

Handler = Callable[[Request], Awaitable[Response]]
JSON = "application/json"


def told(name: str, handler: Handler, *, plain: bool = True) -> Handler:
    """The handler of a route with a name; what it raises becomes an answer. `plain`: not of the protocol."""

    async def answered(request: Request) -> Response:
        request.scope["regard.route"] = name
        try:
            return await handler(request)
        except Gone:
            return Response(status_code=499)
        except Exception as error:
            return error_response(refused(error), plain=plain)

    return answered


def error_response(error: Refused, *, plain: bool) -> Response:
    body = dumped({"error": error.told if plain else error.line})
    return Response(body, status_code=error.status, media_type=JSON, headers=error.headers)


class Answering:
    """What all routes share: reading a body, and waiting for an answer."""

    def __init__(self, app: ServeApp) -> None:
        self.app, self.options, self.models, self.batcher = app, app.options, app.models, app.batcher

    async def body(self, request: Request, kinds: Sequence[str] = (JSON,)) -> bytes:
        """The body of a request, read no further and no longer than it may be."""
        given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if given not in kinds:
            raise Refused(
                415,
                f"received {given[:80] or 'no type'}, expected {kinds[0]}.",
                where="content-type",
                fix=f"Send the header  content-type: {kinds[0]}",
            )
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise Refused(415, "the body is compressed.", where="content-encoding", fix="Send it as it is.")
        most, content = self.options.body, bytearray()
        length = request.headers.get("content-length", "")
        if length.isdigit() and len(length) < 20 and int(length) > most:
            raise _too_large(most)
        try:
            async with asyncio.timeout(self.options.body_time):
                async for part in request.stream():
                    content += part
                    if len(content) > most:
                        raise _too_large(most)
        except TimeoutError:
            raise Refused(
                408,
                f"the body did not arrive within {self.options.body_time:g} s.",
                headers={"connection": "close"},
            ) from None
        except Exception as error:
            if type(error).__name__ == "ClientDisconnect":
                raise Gone from None
            raise
        return bytes(content)

    def timeout(self, given: float | None) -> float:
        return min(given or self.options.timeout, self.options.max_timeout)

    def loaded(self, name: str | None) -> ServedModel:
        """The model of a request, if it can answer now."""
        found = self.models.find(name)
        if not found.loaded:
            self.batcher.start()
            if self.batcher.failed is not None:
                raise self.batcher.failed
            raise Refused(
                503, "the models are being loaded.", fix="Ask again in 1 s.", headers={"retry-after": "1"}
            )
        return found

    async def answers(
        self, request: Request, asking: Asking, values: Sequence[Mapping[str, Any]], timeout: float
    ) -> list[Any]:
        """The predictions for some inputs."""
        if len(values) > self.options.rows:
            raise Refused(
                422,
                f"there are {len(values):,} inputs, expected at most {self.options.rows:,}.",
                where="inputs",
            )
        details = request.scope["regard.details"]
        details.update(model=asking.served.name, rows=len(values))
        if self.options.log_inputs:
            details["inputs"] = [
                {n: v if isinstance(v, str) else len(v) for n, v in one.items()} for one in values
            ]
        timeout -= self.batcher.lag.felt  # the request has waited to be read
        job = self.batcher.submit(asking, values, [size_of(value) for value in values], timeout)
        return await finished(request, job, timeout)


async def finished(request: Request, job: AnswerJob, timeout: float) -> list[Any]:
    """The results of a job; it is dropped if the client leaves, or if it takes too long."""
    gone = asyncio.ensure_future(left(request))
    try:
        await asyncio.wait((job.future, gone), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if not job.future.done() or job.late:
            raise Gone if gone.done() else too_late()
    finally:
        job.dropped = True
        gone.cancel()
    for result in (results := job.future.result()):
        if isinstance(result, BaseException):
            raise result
    return results


async def left(request: Request) -> None:
    """Wait until the client leaves."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _too_large(most: int) -> Refused:
    return Refused(
        413, f"the body has more than {most:,} bytes.", fix="Send less.", headers={"connection": "close"}
    )


def one_input(served: ServedModel, text: str | None, inputs: Mapping[str, Any] | None) -> dict[str, Any]:
    """The inputs of one row of a request, by name."""
    if (text is None) == (inputs is None):
        raise Refused(422, "expected either text or inputs.", where="text", fix='Send {"text": "…"}.')
    if text is not None:
        if not served.continues and len(served.inputs) > 1:
            names = ", ".join(served.inputs)
            raise Refused(422, f"the model reads {names}.", where="text", fix="Send them by name in inputs.")
        inputs = {next(iter(served.inputs), "text"): text}
    return served.values(inputs or {})
