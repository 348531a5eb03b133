"""The routes of the studio: each reads a request, has the run's worker answer it, and writes JSON."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.errors import RegardError
from regard.storage.plain_json import dumped
from regard.studio.jobs import Cancelled, Job, Progress
from regard.studio.page import BOOT, SHELL
from regard.studio.requests import (
    ChatRequest,
    Compare,
    Continue,
    Download,
    Like,
    LookRequest,
    RowsRequest,
    WhyRequest,
    read,
)
from regard.studio.runs import Run, Runs
from regard.studio.security import Guard, Launch
from regard.studio.uploads import MOST_BYTES, too_large
from regard.version import __version__

if TYPE_CHECKING:
    from regard.studio.security import App

MOST_JSON = 4 << 20
Handler = Callable[[Request], Awaitable[Response]]


def make_app(runs: Runs, launch: Launch) -> App:
    """The studio as an ASGI application."""
    studio = _Studio(runs)
    posts = {
        "rows": studio.rows,
        "look": studio.look,
        "compare": studio.compare,
        "why": studio.why,
        "like": studio.like,
        "chat": studio.chat,
        "continue": studio.continued,
        "upload": studio.upload,
        "download": studio.download,
    }
    routes = [
        Route("/", _text(SHELL, "text/html")),
        Route("/static/studio.js", _text(BOOT, "text/javascript")),
        Route("/static/regard.js", _static("regard.js", "text/javascript")),
        Route("/static/regard.css", _static("regard.css", "text/css")),
        Route("/api/runs", _told(studio.about)),
        *(Route(f"/api/{name}", _told(handler), methods=["POST"]) for name, handler in posts.items()),
        Route("/api/jobs/{job}", _told(studio.job), methods=["GET"]),
        Route("/api/jobs/{job}", _told(studio.cancel), methods=["DELETE"]),
    ]
    return Guard(Starlette(routes=routes), launch)


class _Studio:
    """The handlers of one launch."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs

    async def about(self, request: Request) -> Response:
        """All runs; a run that cannot be loaded says why."""

        async def one(run: Run) -> dict[str, Any]:
            try:
                found: dict[str, Any] = await _answered(run, run.about)
                return found
            except Exception as error:
                return {"name": run.name, "folder": str(run.folder), "error": _explained(error)[0]}

        found = await asyncio.gather(*(one(run) for run in self.runs))
        return _json({"runs": found, "version": __version__})

    async def rows(self, request: Request) -> Response:
        from regard.studio.rows import is_ranked, rank, ranked_json, rows_json

        asked = read(RowsRequest, await _body(request))
        run = self.runs[asked.run]
        if asked.sort == "order":
            return await _made(run, lambda: rows_json(run, asked))
        if is_ranked(run, asked):
            return await _made(run, lambda: ranked_json(run, asked))
        return self._begun(run, lambda progress: rank(run, asked, progress))

    async def look(self, request: Request) -> Response:
        asked = read(LookRequest, await _body(request))
        run = self.runs[asked.run]

        def made() -> dict[str, Any]:
            if run.model.continues:
                from regard.studio.continuing import surprisal_json

                return surprisal_json(run, asked)
            from regard.studio.answering import look_json
            from regard.studio.looking import Looking

            return look_json(Looking.of(run, asked))

        return await _made(run, made)

    async def compare(self, request: Request) -> Response:
        asked = read(Compare, await _body(request))
        first, second = (self.runs[name] for name in asked.runs)

        def one(run: Run, inputs: Any = None) -> Callable[[], Any]:
            def made() -> Any:
                from regard.studio.comparing import one_json

                return one_json(run, asked, inputs)

            return made

        left, inputs = await _answered(first, one(first))
        right, _ = await _answered(second, one(second, inputs))

        def both() -> dict[str, Any]:
            from regard.studio.comparing import compared_json

            return compared_json((first, second), (left, right), inputs.alone)

        return await _made(first, both)

    async def why(self, request: Request) -> Response:
        asked = read(WhyRequest, await _body(request))
        run = self.runs[asked.run]

        def work(progress: Progress) -> dict[str, Any]:
            from regard.studio.asking import why_json

            return why_json(run, asked, progress)

        return self._begun(run, work)

    async def like(self, request: Request) -> Response:
        asked = read(Like, await _body(request))
        run = self.runs[asked.run]

        def work(progress: Progress) -> dict[str, Any]:
            from regard.studio.asking import like_json

            return like_json(run, asked, progress)

        return self._begun(run, work)

    async def chat(self, request: Request) -> Response:
        asked = read(ChatRequest, await _body(request))
        run = self.runs[asked.run]

        def made() -> dict[str, Any]:
            from regard.studio.chatting import chat_json

            return chat_json(run, asked)

        return await _made(run, made)

    async def continued(self, request: Request) -> Response:
        asked = read(Continue, await _body(request))
        run = self.runs[asked.run]

        def made() -> dict[str, Any]:
            from regard.studio.continuing import continued_json

            return continued_json(run, asked)

        return await _made(run, made)

    async def upload(self, request: Request) -> Response:
        content = await _body(request, most=MOST_BYTES, kind=None)
        identifier, upload = await asyncio.to_thread(self.runs.uploads.add, content)
        return _json({"upload": identifier, "media": upload.media, "seen": upload.seen})

    async def download(self, request: Request) -> Response:
        asked = read(Download, await _body(request))
        run = self.runs[asked.run]

        def made() -> tuple[bytes, str, str]:
            from regard.studio.downloads import file_of
            from regard.studio.looking import Looking

            return file_of(Looking.of(run, asked), asked)

        content, kind, name = await _answered(run, made)
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=kind, headers=headers)

    async def job(self, request: Request) -> Response:
        job = self.runs.jobs.find(request.path_params["job"])
        found: dict[str, Any] = {"done": job.done, "of": job.of}
        if job.finished and job.error is not None:
            found["error"] = _explained(job.error)[0]
        elif job.finished:
            found["result"] = job.result
        return _json(found)

    async def cancel(self, request: Request) -> Response:
        self.runs.jobs.cancel(request.path_params["job"])
        return _json({"cancelled": True})

    def _begun(self, run: Run, work: Callable[[Progress], Any]) -> Response:
        job: Job = self.runs.jobs.add(run.worker.start(work))
        return _json({"job": job.identifier})


async def _answered(run: Run, work: Callable[[], Any]) -> Any:
    return await asyncio.wrap_future(run.worker.submit(work))


async def _made(run: Run, work: Callable[[], dict[str, Any]]) -> Response:
    """The answer of a run's worker, which writes the JSON too: a large figure would hold up other requests."""
    content = await _answered(run, lambda: dumped(work()))
    return Response(content, media_type="application/json")


def _json(content: Any, status: int = 200) -> Response:
    return Response(dumped(content), status_code=status, media_type="application/json")


async def _body(request: Request, *, most: int = MOST_JSON, kind: str | None = "application/json") -> bytes:
    """The body of a request, read no further than it may be long."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind is not None and given != kind:
        raise RegardError(f"received {given or 'no type'}, expected {kind}.", where="content-type")
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > most:
            if kind is None:
                raise too_large(int(request.headers.get("content-length") or len(content)))
            raise RegardError(f"the request has more than {most:,} bytes.", fix="Send less.")
    return bytes(content)


def _told(handler: Handler) -> Handler:
    """The handler; what it raises becomes a message for the page."""

    async def told(request: Request) -> Response:
        try:
            return await handler(request)
        except Exception as error:
            message, status = _explained(error)
            return _json({"error": message}, status)

    return told


def _explained(error: BaseException) -> tuple[dict[str, str], int]:
    """An error as data for the page, and its status. A bug of ours is printed where the studio was started."""
    if isinstance(error, Cancelled | asyncio.CancelledError):
        return {"message": "cancelled.", "where": "", "fix": ""}, 400
    from regard.cli.main import explained
    from regard.errors import PYTHON, said
    from regard.reporting.terminal import LINES, printable

    told, status = explained(error), 400
    if told is None:
        traceback.print_exception(error, file=sys.stderr)
        told, status = (
            RegardError(f"this is a bug of regard: {type(error).__name__}.", fix="Please report it."),
            500,
        )
    words = {"message": told.what, "where": told.where, "fix": told.fix}
    return {name: printable(said(one, PYTHON), LINES) for name, one in words.items()}, status


def _text(content: str, kind: str) -> Handler:
    async def sent(request: Request) -> Response:
        return Response(content, media_type=kind)

    return sent


def _static(name: str, kind: str) -> Handler:
    async def sent(request: Request) -> Response:
        from regard.live import bundle, stylesheet

        path = bundle() if name.endswith(".js") else stylesheet()
        if not path.is_file():
            return Response(f"{name} was not built.", status_code=404, media_type="text/plain")
        return Response(await asyncio.to_thread(path.read_bytes), media_type=kind)

    return sent
