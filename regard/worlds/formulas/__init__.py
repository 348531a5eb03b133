"""Formulas in LaTeX and their images."""

from regard.worlds.formulas.world import FormulasWorld

__all__ = ["FormulasWorld"]
