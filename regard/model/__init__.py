"""From a spec to a model: columns, encoders, attention, decoders; predict, score, generate, save, load.

AnyModel        what every model has: spec, columns, network, evaluate, save, load
Model           a model that answers inputs
LanguageModel   a model that continues a text
"""

from regard.model.base import AnyModel, best_device
from regard.model.language import LanguageModel
from regard.model.model import Model, build, load

__all__ = ["AnyModel", "LanguageModel", "Model", "best_device", "build", "load"]
