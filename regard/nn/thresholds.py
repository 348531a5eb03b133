"""Thresholds of probabilities, chosen by F1 on rows with known answers."""

from __future__ import annotations

import torch
from torch import Tensor

HALF = 0.5


def best_threshold_of(probabilities: Tensor, true: Tensor) -> tuple[float, float]:
    """probabilities (N), true (N) 0 or 1 → the threshold θ with the best F1 of `p ≥ θ`, and this F1.

        F1(θ) = 2 Σ_n y_n [p_n ≥ θ] / (Σ_n [p_n ≥ θ] + Σ_n y_n)

    Thresholds lie halfway between neighboring probabilities, so that rounding changes no answer; ½ is tried too. Among
    equal ones the one nearest to ½ is taken. Without a true answer it is ½, with an F1 of 0.
    """
    probabilities, true = probabilities.detach().double().cpu(), true.detach().double().cpu()
    if not bool(true.any()):
        return HALF, 0.0
    values = probabilities.unique()  # ascending
    thresholds = torch.cat([(values[1:] + values[:-1]) / 2, values[:1] / 2, torch.tensor([HALF]).double()])
    order = probabilities.argsort()
    below = torch.searchsorted(probabilities[order], thresholds)  # rows with p < θ
    right_below = torch.cat([torch.zeros(1).double(), true[order].cumsum(0)])[below]
    right, taken = true.sum() - right_below, len(true) - below
    scores = 2 * right / (taken + true.sum())
    best = scores.max()
    among = thresholds[scores >= best - 1e-12]
    return float(among[(among - HALF).abs().argmin()]), float(best)
