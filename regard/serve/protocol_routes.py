"""The routes of the Open Inference Protocol, version 2."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.serve.answering import JSON, told
from regard.serve.models import ServedModel
from regard.serve.protocol import (
    HEADER,
    VERSION,
    AnswerTensor,
    InferenceRequest,
    read_inference,
    tensors,
    written,
)
from regard.serve.refusing import Refused
from regard.serve.requests import GenerateRequest, SearchRequest
from regard.serve.streaming import StreamRoutes
from regard.storage.plain_json import dumped
from regard.version import __version__

if TYPE_CHECKING:
    from regard.serve.application import ServeApp

KINDS = (JSON, "application/octet-stream", "")
"""Content types of a request for inference; Triton's client sends none."""
PROMPT = "prompt"
"""The input of a language model."""
ABOUT_TRACES = (".attention.", ".pieces")


def protocol_routes(app: ServeApp) -> list[Route]:
    made = ProtocolRoutes(app)
    gets = {
        "/v2": made.server,
        "/v2/health/live": made.live,
        "/v2/health/ready": made.ready,
        "/v2/models/{name}": made.model,
        "/v2/models/{name}/ready": made.model_ready,
        "/v2/models/{name}/versions/{version}": made.model,
        "/v2/models/{name}/versions/{version}/ready": made.model_ready,
    }
    infer = ("/v2/models/{name}/infer", "/v2/models/{name}/versions/{version}/infer")
    return [
        *(Route(path, told(path, handler, plain=False)) for path, handler in gets.items()),
        *(Route(path, told(path, made.infer, plain=False), methods=["POST"]) for path in infer),
    ]


class ProtocolRoutes(StreamRoutes):
    """The handlers."""

    async def server(self, request: Request) -> Response:
        return _json({"name": "regard", "version": __version__, "extensions": ["binary_tensor_data"]})

    async def live(self, request: Request) -> Response:
        return _json({"live": True})

    async def ready(self, request: Request) -> Response:
        return _json({"ready": self.app.ready}, 200 if self.app.ready else 503)

    async def model_ready(self, request: Request) -> Response:
        served = self._found(request)
        fine = self.app.ready and served.loaded
        return _json({"name": served.name, "ready": fine}, 200 if fine else 503)

    async def model(self, request: Request) -> Response:
        served = self._found(request)
        return _json(about(self.loaded(served.name)))

    async def infer(self, request: Request) -> Response:
        served = self.loaded(self._found(request).name)
        content = await self.body(request, KINDS)
        asked = read_inference(content, request.headers.get(HEADER), self.options.rows)
        timeout = self.timeout(_seconds(asked.request.parameters))
        if served.continues:
            found = await self._continued(request, served, asked)
        else:
            found = await self._answered(request, served, asked, timeout)
        wanted = [one.name for one in asked.request.outputs]
        if wanted:
            by_name = {one.name: one for one in found}
            lacking = next((name for name in wanted if name not in by_name), None)
            if lacking is not None:
                raise Refused(
                    422,
                    f"there is no output {lacking!r}.",
                    where="outputs",
                    fix=f"There are {', '.join(by_name)}.",
                )
            found = [by_name[name] for name in wanted]
        body, headers = await asyncio.to_thread(written, served.name, asked.request, found)
        return Response(body, headers=headers)

    async def _answered(
        self, request: Request, served: ServedModel, asked: InferenceRequest, timeout: float
    ) -> list[AnswerTensor]:
        given = asked.request.parameters
        names = [one.name for one in asked.request.outputs]
        options = {
            name: given[name] for name in SearchRequest.model_fields if name in given and name != "timeout"
        }
        try:
            searching = SearchRequest(**{**options, "model": None})
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))[:200]
            raise Refused(422, f"{first['msg']}.", where=f"parameters.{place}") from None
        rows = zip(*asked.inputs.values(), strict=True)
        values = [served.values(dict(zip(asked.inputs, row, strict=True))) for row in rows]
        outputs = served.outputs if searching.output is None else [searching.output]
        if names:
            outputs = [
                one for one in outputs if any(name == one or name.startswith(f"{one}.") for name in names)
            ]
        traced = any(part in name for name in names for part in ABOUT_TRACES)
        found: list[AnswerTensor] = []
        for output in outputs:
            changed = searching.model_copy(update={"output": output, "trace": searching.trace or traced})
            if changed.n_best is None and any(name.startswith(f"{output}.n_best") for name in names):
                changed = changed.model_copy(update={"n_best": changed.beam or 5})
            answers = await self.answers(request, served.asking(changed), values, timeout)
            found += tensors(output, answers, served.attended(output))
        return found

    async def _continued(
        self, request: Request, served: ServedModel, asked: InferenceRequest
    ) -> list[AnswerTensor]:
        import numpy as np

        from regard.serve.models import _text
        from regard.serve.protocol import numbers

        if set(asked.inputs) != {PROMPT}:
            raise Refused(422, f"expected the input {PROMPT!r}.", where="inputs")
        given = asked.request.parameters
        options = {
            name: given[name] for name in ("length", "temperature", "top_k", "top_p", "seed") if name in given
        }
        found = []
        for prompt in asked.inputs[PROMPT]:
            text = prompt if isinstance(prompt, str) else _text(prompt, PROMPT)
            try:
                made = GenerateRequest(prompt=text, timeout=_seconds(given), **options)
            except ValidationError as error:
                first = error.errors(include_url=False, include_context=False, include_input=False)[0]
                place = ".".join(map(str, first["loc"]))[:200]
                raise Refused(422, f"{first['msg']}.", where=f"parameters.{place}") from None
            found.append(await self.continued(request, served, made))
        texts = np.array([one["text"] for one in found], dtype=object)
        return [AnswerTensor("text", texts), numbers("text.score", [one["score"] for one in found])]

    def _found(self, request: Request) -> ServedModel:
        name, version = request.path_params["name"], request.path_params.get("version", VERSION)
        if version != VERSION:
            raise Refused(404, f"the model {name!r} has no version {version!r}.", fix=f"There is {VERSION}.")
        return self.models.find(name)


def about(served: ServedModel) -> dict[str, Any]:
    """What a model reads and writes, as tensors."""
    texts, scores = "BYTES", "FP32"
    if served.continues:
        read: Sequence[str] = [PROMPT]
        outputs = [("text", texts, 1), ("text.score", scores, 1)]
    else:
        read, outputs = served.inputs, []
        for name in served.outputs:
            outputs += [(name, texts, 1), (f"{name}.score", scores, 1)]
            outputs += [
                (f"{name}.n_best", texts, 2),
                (f"{name}.n_best.score", scores, 2),
                (f"{name}.pieces", texts, 2),
            ]
            for one in served.attended(name):
                outputs += [(f"{name}.attention.{one}", scores, 3), (f"{name}.pieces.{one}", texts, 2)]
    return {
        "name": served.name,
        "versions": [VERSION],
        "platform": "regard",
        "inputs": [{"name": name, "datatype": texts, "shape": [-1]} for name in read],
        "outputs": [{"name": name, "datatype": kind, "shape": [-1] * sizes} for name, kind, sizes in outputs],
    }


def _seconds(parameters: dict[str, Any]) -> float | None:
    """The timeout of a request, which the protocol counts in microseconds."""
    given = parameters.get("timeout")
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or not 0 < given <= 10**12:
        raise Refused(422, "expected a number of microseconds.", where="parameters.timeout")
    return given / 1e6


def _json(content: Any, status: int = 200) -> Response:
    return Response(dumped(content), status_code=status, media_type=JSON)
