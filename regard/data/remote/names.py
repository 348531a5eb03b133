"""The names of remote files: what is a URL, how it is written, and what may not stand in it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from regard.errors import Message, RegardError, Words
from regard.storage.files import URL

_SECRET = re.compile(r"sig$|signature|token|secret|password|credential|accesskey|api[_-]?key", re.IGNORECASE)
_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "HF_TOKEN")
SHORTEST_SECRET = 6
MOST_CAUSE = 120
"""Maximum number of characters of a cause in a message."""


def url_of(name: str | Path) -> str:
    """The URL, with both slashes after its scheme. Refuses one that holds a password or a signature: the URL of data is
    kept in the record of a run and printed in messages."""
    url = URL.sub(lambda found: f"{found[1].lower()}://", str(name), count=1)
    parts = urlsplit(url)
    if "@" in parts.netloc or any(_SECRET.search(key) for key, _ in parse_qsl(parts.query)):
        raise RegardError(
            "the URL holds a password, a token or a signature, which the record of a run would keep.",
            where=f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}",
            fix="Put credentials into the environment (s3, gs, hf) or ~/.netrc (https), or download the file.",
        )
    return url


def file_name(url: str) -> str:
    """The last part of the path of a URL, as the name of a file."""
    name = urlsplit(url).path.rstrip("/").rpartition("/")[2]
    return re.sub(r"[^\w.+ -]", "_", name)[-100:].lstrip(".") or "file"


def renamed(words: Words, urls: Mapping[str, str]) -> Words:
    """A message about local copies, with their URLs in place of their paths."""
    if isinstance(words, Message):
        return Message(*(renamed(piece, urls) for piece in words.pieces))
    if not isinstance(words, str):
        return words
    for copy, url in urls.items():
        words = words.replace(copy, url)
    return words


def cause(error: BaseException, url: str) -> str:
    """The first line of an error, without what a message must not tell."""
    said = str(getattr(error, "reason", None) or error)
    text = (said.strip().splitlines() or [""])[0].rstrip(".") or type(error).__name__
    text = text[max(text.find("AWS Error"), 0) :]
    for name in _SECRETS:
        value = os.environ.get(name, "")
        if len(value) >= SHORTEST_SECRET:
            text = text.replace(value, "…")
    query = urlsplit(url).query
    text = text.replace(query, "…") if query else text
    return text if len(text) <= MOST_CAUSE else f"{text[:MOST_CAUSE]}…"
