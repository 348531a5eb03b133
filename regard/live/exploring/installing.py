"""Installs the live view, which is loaded at its first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.trace.views import install_explorer

if TYPE_CHECKING:
    from regard.trace import Trace
    from regard.trace.prediction import Prediction


def _explore(what: Prediction | Trace) -> Any:
    from regard.live.notebook import explore

    return explore(what)


install_explorer(_explore)
