"""JSON of an answer, as bytes."""

from __future__ import annotations

import json
import math
from typing import Any


def dumped(content: Any) -> bytes:
    """JSON without what it does not have: a number that is not finite is null."""
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(content), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", errors="replace")


def _finite(content: Any) -> Any:
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {name: _finite(one) for name, one in content.items()}
    return [_finite(one) for one in content] if isinstance(content, list | tuple) else content
