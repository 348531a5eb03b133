"""The live view of a notebook: a widget in anywidget's format, for Jupyter, JupyterLab, VS Code and marimo.

It works offline: the script is a part of the package, and of the saved notebook. Edits go to the model in the kernel; a
prediction whose model is not in memory, and a trace, are only read.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from regard.errors import PYTHON, MissingExtra, RegardError, said
from regard.inspect.titles import written_text
from regard.live.answer import answer_json, shown
from regard.live.static_files import bundle, stylesheet
from regard.trace.prediction import Prediction

if TYPE_CHECKING:
    from regard.trace import Trace

MEDIA = {"picture": "image", "film": "video", "series": "audio", "points": "points"}
"""What the page calls the inputs that are no text, by their kind in a trace."""


def explore(what: Prediction | Trace) -> Any:
    """The widget of a prediction or a trace."""
    return _widget_class()(what if isinstance(what, Prediction) else _of_trace(what))


def _of_trace(trace: Trace) -> Prediction:
    """A prediction that knows its trace alone."""
    return Prediction(value=None, text=written_text(trace), score=float("nan"), trace=trace)


def _state(found: Prediction, before: Prediction | None, panel: str | None) -> dict[str, Any]:
    """What the page shows."""
    trace = found.trace
    if trace is None:
        raise RegardError(
            "this prediction has no trace to explore.", fix="Predict without trace=False.", where="explore"
        )
    return {
        "answer": answer_json(found, before=before, panel=panel),
        "editable": (before or found).again is not None,
        "inputs": [
            {"name": name, "media": MEDIA.get(getattr(trace.seen.get(name), "kind", ""), "text")}
            for name in trace.input
        ],
        "error": None,
    }


@cache
def _widget_class() -> Any:
    """The class of the widget; made at its first use, because its library is an extra."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise MissingExtra("anywidget", "notebook", "explore()") from None

    class Explorer(anywidget.AnyWidget):
        """A prediction, alive: its answer, its figure and its panels."""

        _esm = bundle().read_text(encoding="utf-8")
        _css = stylesheet().read_text(encoding="utf-8")
        state = traitlets.Dict().tag(sync=True)

        def __init__(self, prediction: Prediction) -> None:
            self.prediction = prediction
            super().__init__(state=_state(prediction, None, None))
            self.on_msg(self._asked)

        def _asked(self, widget: Any, content: Any, buffers: Any) -> None:
            """Answer a request of the page for edits or a panel. The page shows an error where the answer would be."""
            try:
                self.state = self._answered(content)
            except RegardError as error:
                words = {"message": error.what, "where": error.where, "fix": error.fix}
                told = {name: shown(said(one, PYTHON)) for name, one in words.items()}
                self.state = {**self.state, "error": told}

        def _answered(self, content: Any) -> dict[str, Any]:
            edits, panel = content.get("edits") or [], content.get("panel")
            if not edits:
                return _state(self.prediction, None, panel)
            if self.prediction.again is None:
                raise RegardError("the model of this prediction is not known.", fix="Predict again.")
            return _state(self.prediction.again(edits), self.prediction, panel)

        def _repr_mimebundle_(self, **options: Any) -> Any:
            """The widget; beside it the still figure, for readers that run no script."""
            found = super()._repr_mimebundle_(**options)
            data = found[0] if isinstance(found, tuple) else found
            if data is not None:
                data["text/html"] = self.prediction._repr_html_()
            return found

    return Explorer
