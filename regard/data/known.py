"""What is known of large files by their hash, so that they are not read again to find it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from regard.data.cache import key_of
from regard.data.readers.row import RowSource
from regard.storage.files import cache_folder, naming, read_json, write_text
from regard.version import __version__


def known(rows: RowSource, question: Any, answer: Callable[[], Any]) -> Any:
    """The answer to a question about some rows, as JSON: remembered, or else found and remembered.

    question   everything else that determines the answer, as JSON, besides the version of regard
    """
    name = key_of("known", __version__, rows.fingerprint(), question)
    path = cache_folder() / f"{name}.json"
    try:
        content = read_json(path)
        if content["name"] == name:
            return content["answer"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    found = answer()
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps({"name": name, "answer": found}, ensure_ascii=True))
    return found
