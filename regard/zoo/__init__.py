"""The zoo: one short YAML per system, trained by `regard train NAME`."""

from regard.zoo.systems import find, names, text

__all__ = ["find", "names", "text"]
