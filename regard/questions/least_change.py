"""The least change of a row of attention after which a word is the likeliest.

    minimize ½ Σ_s |r_s − a_s|   subject to   log p(word | r) > log p(v | r) for all other v,   r on the simplex

a is the model's own row. The search starts on the lines from a to single positions, and goes on by gradient with
r = softmax(θ): the distance, plus how far the word is from being the likeliest. The best row that was seen counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Logs = Callable[[Tensor], Tensor]
"""Rows (R, S) → log-probabilities (R, V)."""
CHUNK = 128
"""Rows that are computed at a time."""
LINES, STARTS = 6, 4
"""The numbers of single positions to which a line is searched, and from which the gradient starts."""
SHARES = 16
"""Points on a line."""
STEPS, RATE, PATIENCE = 80, 0.2, 12
"""Steps of the gradient, their size, and the number of steps without a better row after which they end."""
SLACK = 1e-3
"""How much more likely the word must be than every other, in log p: rounding must not undo it."""


@dataclass(frozen=True)
class LeastChange:
    """row (S), its distance to the own row, and whether it makes the word the likeliest; if none does, the row of those
    seen that makes it most probable."""

    row: Tensor
    distance: float
    found: bool


def least_change(logs: Logs, own: Tensor, word: int, places: Tensor, *, refine: bool = True) -> LeastChange:
    """The least change of the own row (S).

    places   (n) the positions that may have weight
    refine   go on by gradient after the lines to single positions
    """
    best = _Best(own, word)
    best.see(own.unsqueeze(0), _chunked(logs, own.unsqueeze(0)))
    if best.distance == 0:
        return best.result()
    singles = torch.zeros(len(places), len(own), dtype=own.dtype, device=own.device)
    singles[torch.arange(len(places)), places] = 1.0
    margins = best.see(singles, _chunked(logs, singles))
    nearest = margins.argsort(descending=True)[:LINES]
    heavy = own[places].argsort(descending=True)[:LINES]
    ends = singles[torch.cat([nearest, heavy]).unique()]
    _along(logs, best, own, ends)
    if refine:
        starts = [own.lerp(one, share) for one in singles[nearest[:STARTS]] for share in (0.5,)]
        starts += [best.row, own.lerp(singles.mean(0), 0.5)]
        _descend(logs, best, torch.stack(starts), places)
        _along(logs, best, own, best.row.unsqueeze(0))
    return best.result()


class _Best:
    """The best row seen so far."""

    def __init__(self, own: Tensor, word: int) -> None:
        self.own, self.word = own, word
        self.row, self.distance = own, torch.inf
        self.likely, self.likely_row = -torch.inf, own

    def see(self, rows: Tensor, logs: Tensor) -> Tensor:
        """The margins (R) of the word over every other, of rows (R, S) with log-probabilities (R, V)."""
        margins = margin(logs, self.word)
        distances = 0.5 * (rows - self.own).abs().sum(-1)
        fits = margins > SLACK
        if bool(fits.any()):
            closest = int(torch.where(fits, distances, torch.inf).argmin())
            if float(distances[closest]) < self.distance:
                self.row, self.distance = rows[closest].detach().clone(), float(distances[closest])
        likeliest = int(logs[:, self.word].argmax())
        if float(logs[likeliest, self.word]) > self.likely:
            self.likely, self.likely_row = float(logs[likeliest, self.word]), rows[likeliest].detach().clone()
        return margins.detach()

    @property
    def rank(self) -> tuple[float, float]:
        """Smaller is better, by more than a trifle."""
        return round(self.distance, 3), -round(self.likely, 2)

    def result(self) -> LeastChange:
        if self.distance < torch.inf:
            return LeastChange(self.row, self.distance, True)
        return LeastChange(self.likely_row, float(0.5 * (self.likely_row - self.own).abs().sum()), False)


def margin(logs: Tensor, word: int) -> Tensor:
    """(R) log p(word) − log p of the likeliest other choice, from logs (R, V)."""
    others = logs.clone()
    others[:, word] = -torch.inf
    return logs[:, word] - others.max(-1).values


def _along(logs: Logs, best: _Best, own: Tensor, ends: Tensor) -> None:
    """The lines from the own row to other rows, then once more around the first point of each that fits."""
    low, high = 0.0, 1.0
    for _ in range(2):
        shares = torch.linspace(low, high, SHARES + 1, dtype=own.dtype, device=own.device)[1:]
        rows = own + shares[None, :, None] * (ends - own)[:, None]  # (E, shares, S)
        flat = rows.flatten(0, 1)
        best.see(flat, _chunked(logs, flat))
        if best.distance == torch.inf:
            return
        whole = 0.5 * (ends - own).abs().sum(-1)
        line = int((0.5 * (best.row - own).abs().sum() - whole).abs().argmin()) if len(ends) == 1 else None
        if line is None:
            cosine = torch.nn.functional.cosine_similarity(ends - own, (best.row - own).unsqueeze(0))
            line = int(cosine.argmax())
        at = best.distance / max(float(whole[line]), 1e-12)
        ends, low, high = ends[line : line + 1], max(at - 1 / SHARES, 0.0), min(at, 1.0)


def _descend(logs: Logs, best: _Best, starts: Tensor, places: Tensor) -> None:
    """Gradient steps on the simplex from several rows (R, S) at once."""
    theta = (starts[:, places] + 1e-4).log().detach().requires_grad_()
    optimizer = torch.optim.Adam([theta], lr=RATE)
    latest, waited = best.rank, 0
    for _ in range(STEPS):
        with torch.enable_grad():
            inside = torch.softmax(theta, -1)
            rows = torch.zeros_like(starts).index_copy(1, places, inside)
            found = logs(rows)
            margins = margin(found, best.word)
            distance = 0.5 * (rows - best.own).abs().sum(-1)
            loss = (distance + torch.relu(2 * SLACK - margins)).sum()
        best.see(rows.detach(), found.detach())
        waited = 0 if best.rank < latest else waited + 1
        latest = min(latest, best.rank)
        if waited > PATIENCE:
            return
        if not bool(loss.isfinite()):
            return
        optimizer.zero_grad()
        (theta.grad,) = torch.autograd.grad(loss, [theta], allow_unused=True)
        if theta.grad is None:
            return  # the selection has no gradient: only its largest weight is read
        optimizer.step()


def _chunked(logs: Logs, rows: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.cat([logs(part) for part in rows.split(CHUNK)])
