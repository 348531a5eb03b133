"""From a spec to a Model: columns, encoders, attention, decoders; predict, score, save, load."""

from regard.model.model import Model, best_device, load

__all__ = ["Model", "best_device", "load"]
