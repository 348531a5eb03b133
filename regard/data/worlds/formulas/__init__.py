"""Formulas in LaTeX, and how they look."""

from regard.data.worlds.formulas.world import FormulasWorld

__all__ = ["FormulasWorld"]
