"""Configurations of other tools as specs: what is mechanical is translated, everything else is listed."""

from regard.spec.foreign.converting import Converted, convert

__all__ = ["Converted", "convert"]
