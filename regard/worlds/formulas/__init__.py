"""Formulas in LaTeX, and how they look."""

from regard.worlds.formulas.world import FormulasWorld

__all__ = ["FormulasWorld"]
