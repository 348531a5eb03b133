"""Alignments of frames with the symbols of a text: connectionist temporal classification (Graves et al. 2006).

    score(z) = Σ symbols[n, t] over the frames n that say symbol t + Σ blank[n] over the other frames
               + Σ direct[t] over the symbols t whose first frame follows the last frame of symbol t−1

Each frame says one symbol or nothing (blank). The frames of a symbol are consecutive, and symbols follow in their
order, with or without blanks between them. Two equal symbols need a blank between them: direct[t] = −inf.

The forward algorithm, O(N T), in N steps.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.structures.base import Backend, Structure, logistic_noise
from regard.structures.ctc_sums import summed
from regard.structures.kernels import eager
from regard.structures.potentials import (
    Lengths,
    Mask,
    Scores,
    apply_mask,
    as_floats,
    as_lengths,
    as_tensor,
    check_axes,
    expand_batch,
    flatten_batch,
    joint_batch,
    restore_batch,
    shape_of,
)
from regard.structures.ragged import pick
from regard.structures.semirings import NEGATIVE_INFINITY, Semiring


class CTCAlignment(Structure):
    """An alignment of N frames with T symbols.

    symbols[..., n, t]   scores frame n saying symbol t; (..., N, T)
    blank[..., n]        scores frame n saying nothing; (..., N); absent: 0
    direct[..., t]       scores symbol t following symbol t−1 without a blank between; (..., T); absent: 0; the
                         first entry is not read
    lengths              a pair (numbers of frames, numbers of symbols), from 0 to N and from 0 to T
    mask                 True where a frame may say a symbol, broadcastable to symbols

    A value and `marginals` have the shape of symbols: 1 where frame n says symbol t. If no symbol equals the one
    before it, there are (N+T choose 2T) alignments, and none if N < T.
    """

    def __init__(
        self,
        symbols: Scores,
        blank: Scores | None = None,
        direct: Scores | None = None,
        *,
        lengths: tuple[Lengths, Lengths] | None = None,
        mask: Mask | None = None,
        backend: Backend = "auto",
    ) -> None:
        symbols, blank, direct = as_floats(symbols=symbols, blank=blank, direct=direct)
        check_axes("symbols", symbols, "NT", [None, None])
        symbols = apply_mask(symbols, mask, 2)
        blank = symbols.new_zeros(symbols.shape[-2]) if blank is None else blank
        direct = symbols.new_zeros(symbols.shape[-1]) if direct is None else direct
        check_axes("blank", blank, "N", [symbols.shape[-2]])
        check_axes("direct", direct, "T", [symbols.shape[-1]])
        if lengths is not None and (not isinstance(lengths, tuple) or len(lengths) != 2):
            raise ValueError("lengths must be a pair (numbers of frames, numbers of symbols).")
        frames, count = (None, None) if lengths is None else lengths
        self.frame_lengths = as_lengths(frames, symbols.shape[-2], symbols.device, "frame lengths")
        self.symbol_lengths = as_lengths(count, symbols.shape[-1], symbols.device, "symbol lengths")
        batch = joint_batch(
            symbols=symbols.shape[:-2],
            blank=blank.shape[:-1],
            direct=direct.shape[:-1],
            frame_lengths=shape_of(self.frame_lengths),
            symbol_lengths=shape_of(self.symbol_lengths),
        )
        potentials = [
            expand_batch(symbols, batch, 2),
            expand_batch(blank, batch, 1),
            expand_batch(direct, batch, 1),
        ]
        both = (self.frame_lengths, self.symbol_lengths)
        super().__init__(potentials, batch, [2, 1, 1], lengths=both, backend=backend)

    @classmethod
    def of(
        cls,
        scores: Scores,
        text: Tensor,
        *,
        lengths: tuple[Lengths, Lengths] | None = None,
        blank: int = 0,
        backend: Backend = "auto",
    ) -> CTCAlignment:
        """The alignments with a text, from the scores of all symbols of a vocabulary.

        scores   (..., N, V) of each symbol in each frame; with log-probabilities, `log_partition` is log p(text)
        text     (..., T) int64, the symbols; their values beyond the length have no effect
        blank    the symbol that says nothing
        """
        (scores,) = as_floats(scores=scores)
        check_axes("scores", scores, "NV", [None, None])
        text = as_tensor("text", text, device=scores.device)
        batch = torch.broadcast_shapes(scores.shape[:-2], text.shape[:-1])
        chosen = text.expand(*batch, text.shape[-1]).unsqueeze(-2).expand(*batch, scores.shape[-2], -1)
        symbols = scores.expand(*batch, *scores.shape[-2:]).gather(-1, chosen)
        again = torch.zeros_like(text, dtype=torch.bool)
        again[..., 1:] = text[..., 1:] == text[..., :-1]
        direct = torch.zeros(text.shape, dtype=scores.dtype, device=scores.device)
        direct = direct.masked_fill(again, NEGATIVE_INFINITY)
        return cls(symbols, scores[..., blank], direct, lengths=lengths, backend=backend)

    def _fast_log_partition(self) -> Tensor | None:
        if not eager():
            return None
        flat = [
            flatten_batch(one, self.batch_shape, own)
            for one, own in zip(self.potentials, (2, 1, 1), strict=True)
        ]
        n, t = (
            torch.full((len(flat[0]),), size, device=flat[0].device)
            if one is None
            else one.expand(self.batch_shape).reshape(-1)
            for one, size in zip(self._lengths, self.event_shape, strict=True)
        )
        with torch.autocast(flat[0].device.type, enabled=False):
            symbols, blank, direct = flat
            return restore_batch(summed(symbols, blank, direct, n, t, _reference), self.batch_shape)

    def _perturbation(self, like: Tensor, generator: torch.Generator | None) -> Tensor:
        return logistic_noise(like, generator)

    def _inside(self, semiring: Semiring, *parts: Tensor) -> Tensor:
        """After n frames, `silent[t]`: t symbols were said, and the last frame is blank (or there is none);
        `saying[t]`: the last frame says symbol t, counted from 0."""
        symbols, blank, direct = parts
        frames, count = symbols.shape[-2:]
        one = semiring.one(symbols, 2).unsqueeze(-1)
        nothing = semiring.zeros_like(one)
        silent = torch.cat([one, nothing.expand(*one.shape[:-1], count)], -1)  # (..., T+1)
        said = semiring.zeros_like(silent)  # saying, with the symbols counted from 1
        after = [silent]
        for n in range(frames):
            stays = semiring.plus(said[..., 1:], silent[..., :-1])
            saying = semiring.plus(stays, semiring.times(said[..., :-1], direct))
            silent = semiring.times(after[-1], blank[..., n].unsqueeze(-1))
            saying = semiring.times(saying, symbols[..., n, :])
            said = torch.cat([semiring.zeros_like(saying.new_zeros(*saying.shape[:-1], 1)), saying], -1)
            after.append(semiring.plus(silent, said))
        return self._goal(torch.stack(torch.broadcast_tensors(*after), -2), frames, count)

    def _goal(self, after: Tensor, frames: int, count: int) -> Tensor:
        """The cell at both lengths, from all cells (..., N+1, T+1)."""
        n = torch.tensor(frames) if self.frame_lengths is None else self.frame_lengths
        t = torch.tensor(count) if self.symbol_lengths is None else self.symbol_lengths
        n, t = n.to(after.device), t.to(after.device)
        return pick(after.flatten(-2), n * (count + 1) + t)


def _reference(symbols: Tensor, blank: Tensor, direct: Tensor, frames: Tensor, count: Tensor) -> Tensor:
    return CTCAlignment(symbols, blank, direct, lengths=(frames, count), backend="reference").log_partition
