"""Encoder-decoder models you can look inside.

    import regard
    model = regard.fit("words.tsv")
    model.predict("attention").trace.print()

Names are loaded at first use, so that `import regard` is fast.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.version import __version__

if TYPE_CHECKING:
    from regard.errors import RegardError
    from regard.fitting.cross_validation import cross_validate
    from regard.fitting.fitting import fit
    from regard.model import LanguageModel, Model, load
    from regard.parts import register
    from regard.questions.diverging import diverging
    from regard.questions.faithfulness import faithful
    from regard.questions.like import like
    from regard.questions.why import why
    from regard.spec import Spec
    from regard.trace import Trace
    from regard.trace.prediction import Prediction

_HOMES = {
    "LanguageModel": "regard.model",
    "Model": "regard.model",
    "Prediction": "regard.trace.prediction",
    "RegardError": "regard.errors",
    "Spec": "regard.spec",
    "Trace": "regard.trace",
    "cross_validate": "regard.fitting.cross_validation",
    "diverging": "regard.questions.diverging",
    "faithful": "regard.questions.faithfulness",
    "fit": "regard.fitting.fitting",
    "like": "regard.questions.like",
    "load": "regard.model",
    "register": "regard.parts",
    "why": "regard.questions.why",
}
__all__ = [
    "LanguageModel",
    "Model",
    "Prediction",
    "RegardError",
    "Spec",
    "Trace",
    "__version__",
    "cross_validate",
    "diverging",
    "faithful",
    "fit",
    "like",
    "load",
    "register",
    "why",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _rooms():
        return import_module(f"regard.{name}")
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_rooms()])


def _rooms() -> list[str]:
    """The folders that are here; a floor such as the course can be taken away."""
    return [path.parent.name for path in Path(__file__).parent.glob("*/__init__.py")]
