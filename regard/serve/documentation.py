"""What a server tells about itself: an OpenAPI description, and a page that shows it."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.serve.answering import JSON, told
from regard.serve.protocol import InferRequest
from regard.serve.requests import ChatCall, GenerateRequest, PredictRequest, StreamRequest
from regard.storage.plain_json import dumped
from regard.version import __version__

POSTS: dict[str, tuple[str, type[BaseModel], dict[str, Any]]] = {
    "/predict": (
        "The answers to one input or several, with scores; n_best for alternatives, trace for the attention.",
        PredictRequest,
        {"text": "the old man sleeps", "n_best": 2},
    ),
    "/stream": (
        "One answer token by token, as server-sent events: token, token, …, answer. A beam search, and a decoder that "
        "answers in one step, send the answer alone, and say why.",
        StreamRequest,
        {"text": "the old man sleeps"},
    ),
    "/chat": (
        "The answer of a dialog model to the last turn, after its history; the answer holds the next history.",
        ChatCall,
        {"text": "hello", "history": []},
    ),
    "/generate": (
        "The continuation of a text by a language model.",
        GenerateRequest,
        {"prompt": "It was ", "length": 40, "temperature": 0.7},
    ),
    "/v2/models/{name}/infer": (
        "The Open Inference Protocol, version 2, as KServe and Triton speak it, in JSON or with binary tensors.",
        InferRequest,
        {
            "inputs": [{"name": "source", "datatype": "BYTES", "shape": [1], "data": ["the old man sleeps"]}],
            "outputs": [{"name": "target"}, {"name": "target.attention.source"}],
        },
    ),
}
GETS = {
    "/v2": "The name and version of the server.",
    "/v2/health/live": "200 while the server runs. Needs no key.",
    "/v2/health/ready": "200 if requests are answered now, else 503. Needs no key.",
    "/v2/models/{name}": "The inputs and outputs of a model, as tensors.",
    "/v2/models/{name}/ready": "200 if the model answers now, else 503.",
    "/metrics": "Counts for Prometheus.",
}
STATUSES = {
    400: "The body is not what it says: no JSON, or lengths that do not fit.",
    401: "The key is missing or wrong.",
    404: "There is no such model or path.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "The body has another content type.",
    422: "A value is not allowed, or the model cannot read it.",
    429: "Too many requests wait. Retry-After says when to ask again.",
    503: "The server starts or ends.",
    504: "The answer took longer than the timeout of the request.",
}


@cache
def openapi() -> bytes:
    """The description of all routes, in OpenAPI 3.1."""
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for path, (about, kind, example) in POSTS.items():
        schema = kind.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= schema.pop("$defs", {})
        schemas[kind.__name__] = schema
        content = {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}, "example": example}
        media = "text/event-stream" if path == "/stream" else JSON
        responses = {"200": {"description": "The answer.", "content": {media: {}}}}
        responses |= {str(status): {"description": meaning} for status, meaning in STATUSES.items()}
        operation = {"summary": about, "requestBody": {"required": True, "content": {JSON: content}}}
        paths[path] = {"post": operation | {"responses": responses} | _named(path)}
    for path, about in GETS.items():
        paths[path] = {
            "get": {"summary": about, "responses": {"200": {"description": "Yes."}}} | _named(path)
        }
    scheme = {"type": "http", "scheme": "bearer"}
    return dumped(
        {
            "openapi": "3.1.0",
            "info": {"title": "regard serve", "version": __version__},
            "paths": paths,
            "components": {"schemas": schemas, "securitySchemes": {"key": scheme}},
            "security": [{"key": []}, {}],
        }
    )


def _named(path: str) -> dict[str, Any]:
    if "{name}" not in path:
        return {}
    return {"parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}]}


STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --accent: light-dark(#0b57d0, #8ab4f8); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .3rem; font-family: ui-monospace, monospace; }
h2 small { color: var(--accent); font-weight: 700; } p { margin: .3rem 0; }
textarea, input { width: 100%; box-sizing: border-box; font: 14px/1.4 ui-monospace, monospace; padding: .5rem;
  border: 1px solid var(--line); border-radius: 6px; background: transparent; color: inherit; }
pre { background: var(--soft); padding: .6rem; border-radius: 6px; overflow: auto; max-height: 20rem; margin: .4rem 0;
  font-size: 13px; white-space: pre-wrap; overflow-wrap: anywhere; } pre:empty { display: none; }
button { font: inherit; padding: .25rem .9rem; border-radius: 6px; border: 1px solid var(--line); cursor: pointer;
  background: var(--soft); color: inherit; margin: .4rem 0; }
table { border-collapse: collapse; width: 100%; font-size: 15px; } td { padding: .25rem .6rem .25rem 0;
  border-top: 1px solid var(--line); vertical-align: top; } td:first-child { font-family: ui-monospace, monospace;
  font-size: 14px; white-space: nowrap; }
@media (max-width: 30rem) { td:first-child { white-space: normal; overflow-wrap: anywhere; } }
"""
SCRIPT = """
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const out = form.querySelector("pre"), key = document.querySelector("#key").value;
    const headers = {"content-type": "application/json"};
    if (key) headers.authorization = "Bearer " + key;
    out.textContent = "…";
    try {
      const path = form.querySelector("input") ? form.dataset.path.replace("{name}",
        encodeURIComponent(form.querySelector("input").value)) : form.dataset.path;
      const answer = await fetch(path, {method: "POST", headers, body: form.querySelector("textarea").value});
      out.textContent = answer.status + " ";
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) out.textContent += part.value;
    } catch (error) { out.textContent = String(error); }
  });
}
"""


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def page() -> bytes:
    """The routes with forms to try them; it asks no other server for anything."""
    import json

    forms = []
    for path, (about, _, example) in POSTS.items():
        name = (
            '<input aria-label="model" placeholder="name of the model" required>' if "{name}" in path else ""
        )
        rows = 4 if "{name}" in path else 2
        forms.append(
            f'<h2><small>POST</small> {escape(path)}</h2><p>{escape(about)}</p><form data-path="{escape(path)}">{name}'
            f'<textarea aria-label="body of {escape(path)}" rows="{rows}" spellcheck="false">'
            f"{escape(json.dumps(example, ensure_ascii=False))}</textarea><button>Send</button><pre></pre></form>"
        )
    gets = "".join(
        f"<tr><td>GET {escape(path)}</td><td>{escape(about)}</td></tr>" for path, about in GETS.items()
    )
    statuses = "".join(
        f"<tr><td>{status}</td><td>{escape(about)}</td></tr>" for status, about in STATUSES.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>regard serve</title>'
        f"<style>{STYLE}</style></head><body><h1>regard serve</h1>"
        f"<p>Version {escape(__version__)}. The same as data: <a href='openapi.json'>openapi.json</a>.</p>"
        '<p><label for="key">Key, if the server asks for one; sent as <code>Authorization: Bearer KEY</code></label>'
        '<input id="key" type="password" autocomplete="off"></p>'
        f"{''.join(forms)}<h2>Other paths</h2><table>{gets}</table><h2>Statuses</h2><table>{statuses}</table>"
        f"<script>{SCRIPT}</script></body></html>"
    ).encode()


@cache
def policy() -> str:
    return (
        f"default-src 'none'; style-src 'sha256-{_hash(STYLE)}'; script-src 'sha256-{_hash(SCRIPT)}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def documents() -> list[Route]:
    """The routes of the documentation."""

    async def shown(request: Request) -> Response:
        headers = {"content-security-policy": policy(), "referrer-policy": "no-referrer"}
        return Response(page(), media_type="text/html", headers=headers)

    async def described(request: Request) -> Response:
        return Response(openapi(), media_type=JSON)

    return [Route("/docs", told("/docs", shown)), Route("/openapi.json", told("/openapi.json", described))]
