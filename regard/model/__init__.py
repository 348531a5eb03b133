"""From a spec to a model: columns, encoders, attention, decoders; predict, score, generate, save, load.

AnyModel        what every model has: spec, columns, network, evaluate, save, load
Model           a model that answers inputs
LanguageModel   a model that continues a text
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.model.base import AnyModel, best_device
    from regard.model.language import LanguageModel
    from regard.model.model import Model, build, load
else:
    __getattr__ = at_first_use(__name__)

__all__ = ["AnyModel", "LanguageModel", "Model", "best_device", "build", "load"]
