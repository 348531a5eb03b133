"""Network: the encoders and decoders of one model, as one torch module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batch import Batch, Evidence, Tokens
from regard.data.perceived import Places
from regard.model import recorded
from regard.nn.decoders import Distilled
from regard.nn.loss import Loss
from regard.nn.memory import Memory


class Distillation:
    """Trained networks whose distributions a network learns from, beside the data; no part of that network."""

    def __init__(self, networks: Sequence[Network], weight: float) -> None:
        self.networks, self.weight = tuple(networks), weight

    @torch.no_grad()
    def of(self, output: str, batch: Batch) -> Distilled:
        """The mean of their distributions over each word of an output."""
        found = []
        for network in self.networks:
            encoded = network.to(batch[output].ids.device).encode(batch)
            decoder: Any = network.decoders[output]
            found.append(decoder.distribution(network.memories(output, encoded), batch[output]))
        return Distilled(torch.stack(found).mean(0), self.weight)


class Network(nn.Module):
    """Each input has its encoder, each output its decoder.

    shared    for some inputs, the input whose encoder reads them too
    trees     for some inputs, the column of the tree their encoder is given
    over      for each output, the inputs its decoder is conditioned on
    truths    for each output, where its attention over an input is known: {output: {input: truth column}}
    weights   for each output, how much its loss counts
    """

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
    ) -> None:
        super().__init__()
        self.encoders = nn.ModuleDict(encoders)
        self.decoders = nn.ModuleDict(decoders)
        self.over, self.truths, self.weights = dict(over), dict(truths), dict(weights)
        self.readers = {name: name for name in encoders} | dict(shared or {})
        self.trees = dict(trees or {})
        self.distillation: Distillation | None = None

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def encode(self, batch: Batch) -> dict[str, Memory]:
        """Every input's memory, by its name."""
        encoded = {}
        for name, reader in self.readers.items():
            given = {"heads": batch[self.trees[name]].heads} if name in self.trees else {}
            memory: Memory = self.encoders[reader](batch[name], **given)
            copied = getattr(batch[name], "verbatim", None)
            encoded[name] = memory if copied is None else replace(memory, verbatim=copied.keys)
        return encoded

    def reader(self, name: str) -> Any:
        """The encoder of an input, its own or another's."""
        return self.encoders[self.readers[name]]

    def memories(self, output: str, encoded: Mapping[str, Memory]) -> dict[str, Memory]:
        """The memories one decoder is conditioned on."""
        decoder: Any = self.decoders[output]
        return {name: decoder.looked_at(name, encoded[name]) for name in self.over[output]}

    def truth(self, output: str, batch: Batch, encoded: Mapping[str, Memory]) -> dict[str, Any] | None:
        """{input: (B, T, S)} where the true attention is in the batch, or was imposed; places are laid on the
        memory."""
        found = {}
        for name, column in self.truths[output].items():
            if column in batch:
                known = batch[column]
                if isinstance(known, Evidence):
                    if self.decoders[output].stepwise:
                        continue  # of the whole output, not of its words
                    known = known.sentences
                if isinstance(known, Places):
                    memory = encoded[name]
                    known = known.on(memory.mask, memory.shape, self._steps(batch, output, known))
                found[name] = known
        imposed = {
            name: override for name in self.over[output] if (override := encoded[name].override) is not None
        }
        return {**found, **imposed} or None

    def _steps(self, batch: Batch, output: str, places: Places) -> int:
        """How many looks of an output may have places: its glimpses; or its tokens, as batch or places tell."""
        decoder: Any = self.decoders[output]
        if decoder.looks is not None:
            return int(decoder.looks)
        if output not in batch:
            return int(places.steps.max()) + 1 if places.steps.numel() else 0
        target = batch[output]
        return int(target.ids.shape[1]) if isinstance(target, Tokens) else 1

    def forward(self, batch: Batch) -> dict[str, Loss]:
        """The loss of every output."""
        if recorded.knows(self, batch):
            return {output: recorded.loss(self, batch) for output in self.decoders}
        encoded = self.encode(batch)
        losses = {}
        decoder: Any
        for name, decoder in self.decoders.items():
            truth = self.truth(name, batch, encoded)
            given: dict[str, Any] = {} if truth is None else {"truth": truth}
            if self.training and self.distillation is not None and decoder.stepwise:
                given["distilled"] = self.distillation.of(name, batch)
            loss = decoder.loss(self.memories(name, encoded), batch[name], **given)
            losses[name] = replace(loss, weight=self.weights[name])
        return losses

    def carried(self) -> dict[str, Tensor]:
        """What decoders carry from batch to batch in training, by name; empty for most models."""
        return {
            f"{name}/{place}": part
            for name, decoder in self.decoders.items()
            for place, part in enumerate(getattr(decoder, "carried", None) or ())
        }

    def carry(self, carried: Mapping[str, Tensor]) -> None:
        """Go on with what was `carried`."""
        for name, decoder in self.decoders.items():
            keys = sorted(
                (key for key in carried if key.rpartition("/")[0] == name),
                key=lambda key: int(key.rpartition("/")[2]),
            )
            if keys:
                where = next(decoder.parameters()).device
                decoder.carried = tuple(carried[key].to(where) for key in keys)  # type: ignore[assignment]

    def counts(self, batch: Batch) -> dict[str, Tensor] | None:
        """What the losses of a batch will be divided by, from the batch alone; None where a decoder does not say."""
        decoders: Mapping[str, Any] = dict(self.decoders.items())
        found = {name: decoder.count(batch[name]) for name, decoder in decoders.items()}
        return None if any(count is None for count in found.values()) else found

    def penalty(self) -> Tensor | None:
        """What the parts themselves cost, whatever the rows: the sum of every module's `penalty()`; None without any.

        The trainer adds it to the loss once for each update; a loss measured on dev is free of it.
        """
        parts: list[Any] = [module for module in self.modules() if module is not self]
        # asked of the class: a module takes long to say that it has no such thing
        penalties = [part.penalty() for part in parts if hasattr(type(part), "penalty")]
        return torch.stack(penalties).sum() if penalties else None
