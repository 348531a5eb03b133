"""Figures that answer a hand.

Scenes and traces as JSON for a page or a notebook, and the script that draws them: one module for studio, report and
notebook, built from `web/` and shipped in `static/`. Names are loaded at first use: the registry asks this room what it
adds before there are drawings.
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.live.answer import answer_json
    from regard.live.notebook import explore
    from regard.live.scene import scene_json
    from regard.live.static_files import bundle, live_module, stylesheet
else:
    __getattr__ = at_first_use(__name__)

__all__ = ["answer_json", "bundle", "explore", "live_module", "scene_json", "stylesheet"]
