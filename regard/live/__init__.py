"""Figures that answer a hand.

Scenes and traces as JSON for a page or a notebook, and the script that draws them: one module for studio, report and
notebook, built from `web/` and shipped in `static/`.
"""

from regard.live.scene import scene_json
from regard.live.static_files import bundle, stylesheet

__all__ = ["bundle", "scene_json", "stylesheet"]
