"""Trained models in the formats of other programs."""

from regard.export.ctranslate2 import ctranslate2_model, ctranslate2_spec

__all__ = ["ctranslate2_model", "ctranslate2_spec"]
