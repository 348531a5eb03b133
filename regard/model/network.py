"""Network: the encoders and decoders of one model, as one torch module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batch import Batch, Tokens
from regard.data.perceived import Places
from regard.nn.decoders import LabelDecoder, RecurrentDecoder, Taught
from regard.nn.loss import Loss
from regard.nn.memory import Memory


@dataclass(frozen=True)
class SamplingPlan:
    """Scheduled sampling: the share of own words rises from 0 to `share` over `steps` batches."""

    share: float
    steps: int


class Teaching:
    """Trained networks whose distributions a network learns from, beside the data; no part of that network."""

    def __init__(self, teachers: Sequence[Network], share: float) -> None:
        self.teachers, self.share = tuple(teachers), share

    @torch.no_grad()
    def of(self, output: str, batch: Batch) -> Taught:
        """The mean of their distributions over each word of an output."""
        found = []
        for teacher in self.teachers:
            encoded = teacher.to(batch[output].ids.device).encode(batch)
            decoder: Any = teacher.decoders[output]
            found.append(decoder.distribution(teacher.memories(output, encoded), batch[output]))
        return Taught(torch.stack(found).mean(0), self.share)


class Network(nn.Module):
    """Each input has its encoder, each output its decoder.

    shared    for some inputs, the input whose encoder reads them too
    trees     for some inputs, the column of the tree their encoder is given
    over      for each output, the inputs its decoder is conditioned on
    truths    for each output, where its attention over an input is known: {output: {input: truth column}}
    weights   for each output, how much its loss counts
    sampling  for some outputs, how their scheduled sampling rises
    """

    seen: Tensor

    def __init__(
        self,
        encoders: Mapping[str, nn.Module],
        decoders: Mapping[str, Any],
        *,
        over: Mapping[str, tuple[str, ...]],
        truths: Mapping[str, Mapping[str, str]],
        weights: Mapping[str, float],
        shared: Mapping[str, str] | None = None,
        trees: Mapping[str, str] | None = None,
        sampling: Mapping[str, SamplingPlan] | None = None,
    ) -> None:
        super().__init__()
        self.sampling = dict(sampling or {})
        if self.sampling:
            # a buffer, so that a resumed run goes on where the plan stood
            self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.encoders = nn.ModuleDict(encoders)
        self.decoders = nn.ModuleDict(decoders)
        self.over, self.truths, self.weights = dict(over), dict(truths), dict(weights)
        self.readers = {name: name for name in encoders} | dict(shared or {})
        self.trees = dict(trees or {})
        self.teaching: Teaching | None = None

    def encode(self, batch: Batch) -> dict[str, Memory]:
        """Every input's memory, by its name."""
        encoded = {}
        for name, reader in self.readers.items():
            given = {"heads": batch[self.trees[name]].heads} if name in self.trees else {}
            encoded[name] = self.encoders[reader](batch[name], **given)
        return encoded

    def reader(self, name: str) -> Any:
        """The encoder of an input, its own or another's."""
        return self.encoders[self.readers[name]]

    def memories(self, output: str, encoded: Mapping[str, Memory]) -> dict[str, Memory]:
        """The memories one decoder is conditioned on."""
        return {name: encoded[name] for name in self.over[output]}

    def truth(self, output: str, batch: Batch, encoded: Mapping[str, Memory]) -> dict[str, Any] | None:
        """{input: (B, T, S)} where the true attention is in the batch, or was told; places are laid on the memory."""
        found = {}
        for name, column in self.truths[output].items():
            if column in batch:
                known = batch[column]
                if isinstance(known, Places):
                    memory = encoded[name]
                    known = known.on(memory.mask, memory.shape, self._steps(batch, output, known))
                found[name] = known
        told = {name: encoded[name].told for name in self.over[output] if encoded[name].told is not None}
        return {**found, **told} or None

    def _steps(self, batch: Batch, output: str, places: Places) -> int:
        """How many looks of an output may have places: its glimpses; or its tokens, as batch or places tell."""
        decoder: Any = self.decoders[output]
        if isinstance(decoder, LabelDecoder):
            return decoder.glimpses
        if output not in batch:
            return int(places.steps.max()) + 1 if places.steps.numel() else 0
        target = batch[output]
        return int(target.ids.shape[1]) if isinstance(target, Tokens) else 1

    def forward(self, batch: Batch) -> dict[str, Loss]:
        """The loss of every output."""
        if self.training and self.sampling:
            self._raise_sampling()
        encoded = self.encode(batch)
        losses = {}
        decoder: Any
        for name, decoder in self.decoders.items():
            truth = self.truth(name, batch, encoded)
            told: dict[str, Any] = {} if truth is None else {"truth": truth}
            if self.training and self.teaching is not None and isinstance(decoder, RecurrentDecoder):
                told["taught"] = self.teaching.of(name, batch)
            loss = decoder.loss(self.memories(name, encoded), batch[name], **told)
            losses[name] = replace(loss, weight=self.weights[name])
        return losses

    def penalty(self) -> Tensor | None:
        """What the parts themselves cost, whatever the rows: the sum of every module's `penalty()`; None without any.

        The trainer adds it to the loss once for each update; a loss measured on dev is free of it.
        """
        parts: list[Any] = [module for module in self.modules() if module is not self]
        penalties = [part.penalty() for part in parts if hasattr(part, "penalty")]
        return torch.stack(penalties).sum() if penalties else None

    def _raise_sampling(self) -> None:
        for name, plan in self.sampling.items():
            decoder: Any = self.decoders[name]
            decoder.sampling = plan.share * min(1.0, int(self.seen) / plan.steps)
        self.seen += 1
