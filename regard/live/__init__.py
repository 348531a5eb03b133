"""Figures that answer a hand.

Scenes and traces as JSON for a page or a notebook, and the script that draws them: one module for studio, report and
notebook, built from `web/` and shipped in `static/`. Names are loaded at first use: the registry asks this room what it
adds before there are drawings.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.live.answer import answer_json
    from regard.live.notebook import explore
    from regard.live.scene import scene_json
    from regard.live.static_files import bundle, stylesheet

__all__ = ["answer_json", "bundle", "explore", "scene_json", "stylesheet"]

_HOMES = {
    "answer_json": "answer",
    "bundle": "static_files",
    "explore": "notebook",
    "scene_json": "scene",
    "stylesheet": "static_files",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"regard.live.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'regard.live' has no attribute {name!r}")
