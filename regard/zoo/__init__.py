"""One short YAML per system, and their names for `regard train NAME`."""

from regard.zoo.shelf import find, names, text

__all__ = ["find", "names", "text"]
