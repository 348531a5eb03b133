"""Network: the encoders and decoders of one model, as one torch module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from regard.data.batch import Batch, Evidence, Tokens, select_rows
from regard.data.media import Places
from regard.nn.decoders import Distilled
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.path import faster
from regard.nn.row_weights import groups, weighted_loss
from regard.parts import fault
from regard.parts.definition import remember
from regard.structures.kernels.cpu.parallel import without_onednn


class Distillation:
    """Trained networks whose distributions another network learns from, in addition to the data."""

    def __init__(self, networks: Sequence[Network], weight: float) -> None:
        self.networks, self.weight = tuple(networks), weight

    @torch.no_grad()
    def of(self, output: str, batch: Batch) -> Distilled:
        """The mean of the networks' distributions over each word of an output."""
        found = []
        for network in self.networks:
            encoded = network.to(batch[output].ids.device).encode(batch)
            decoder: Any = network.decoders[output]
            found.append(decoder.distribution(network.memories(output, encoded), batch[output]))
        return Distilled(torch.stack(found).mean(0), self.weight)


@remember
class Network(nn.Module):
    """One encoder for each input, one decoder for each output.

    shared    for some inputs, another input whose encoder also reads them
    trees     for some inputs, the column of the tree that is given to their encoder
    over      for each output, the inputs that condition its decoder
    truths    for each output, the columns of its true attention: {output: {input: truth column}}
    weights   for each output, the weight of its loss
    of_rows   for some outputs, the column of the weights of rows in its loss
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
        of_rows: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.encoders = nn.ModuleDict(encoders)
        self.decoders = nn.ModuleDict(decoders)
        self.over, self.truths, self.weights = dict(over), dict(truths), dict(weights)
        self.readers = {name: name for name in encoders} | dict(shared or {})
        self.trees, self.of_rows = dict(trees or {}), dict(of_rows or {})
        self.distillation: Distillation | None = None

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def encode(self, batch: Batch, arcs: Mapping[str, Tensor] | None = None) -> dict[str, Memory]:
        """The memory of every input, by name.

        arcs   (B, S, S+1) by input, the heads that an encoder may choose, where some are forced or forbidden
        """
        return {name: self.encode_one(name, batch, (arcs or {}).get(name)) for name in self.readers}

    def encode_one(self, name: str, batch: Batch, arcs: Tensor | None = None) -> Memory:
        """The memory of one input; `arcs` of this input, as in `encode`."""
        given = {"heads": batch[self.trees[name]].heads} if name in self.trees else {}
        if arcs is not None:
            given["arcs"] = arcs
        memory: Memory = self.reader(name)(batch[name], **given)
        copied = getattr(batch[name], "verbatim", None)
        return memory if copied is None else replace(memory, verbatim=copied.keys)

    def reader(self, name: str) -> Any:
        """The encoder of an input, its own or a shared one."""
        return self.encoders[self.readers[name]]

    def memories(self, output: str, encoded: Mapping[str, Memory]) -> dict[str, Memory]:
        """The memories that condition one decoder."""
        decoder: Any = self.decoders[output]
        return {name: decoder.looked_at(name, encoded[name]) for name in self.over[output]}

    def truth(self, output: str, batch: Batch, encoded: Mapping[str, Memory]) -> dict[str, Any] | None:
        """{input: (B, T, S)}: the true attention; regions become memory positions."""
        found = {}
        for name, column in self.truths[output].items():
            if column in batch:
                known = batch[column]
                if isinstance(known, Evidence):
                    if self.decoders[output].stepwise:
                        continue  # evidence is for the whole output, not for its words
                    known = known.sentences
                if isinstance(known, Places):
                    memory = encoded[name]
                    known = known.on(memory.mask, memory.shape, self._steps(batch, output, known))
                found[name] = known
        return found or None

    def _steps(self, batch: Batch, output: str, places: Places) -> int:
        """The number of looks of an output that may have regions: its glimpses, or its tokens."""
        decoder: Any = self.decoders[output]
        if decoder.looks is not None:
            return int(decoder.looks)
        if output not in batch:
            return int(places.steps.max()) + 1 if places.steps.numel() else 0
        target = batch[output]
        return int(target.ids.shape[1]) if isinstance(target, Tokens) else 1

    def forward(self, batch: Batch) -> dict[str, Loss]:
        """The loss of every output."""
        found: dict[str, Loss] | None = None
        if not self.of_rows:
            found = faster("network.loss", self.device, self, batch)
        if found is not None:
            return found
        encoded = self.encode(batch)
        losses = {}
        decoder: Any
        for name, decoder in self.decoders.items():
            truth = self.truth(name, batch, encoded)
            given: dict[str, Any] = {} if truth is None else {"truth": truth}
            if self.training and self.distillation is not None and decoder.stepwise:
                given["distilled"] = self.distillation.of(name, batch)
            column = self.of_rows.get(name)
            if column is not None and column in batch:
                loss = weighted_loss(
                    decoder.loss, self.memories(name, encoded), batch[name], batch[column], **given
                )
            else:
                loss = decoder.loss(self.memories(name, encoded), batch[name], **given)
            if not isinstance(loss, Loss):
                # a foreign part's: `regard.parts.foreign` names it
                raise TypeError(
                    f"the decoder of {name}: loss returned {type(loss).__name__}, expected a Loss."
                )
            losses[name] = replace(loss, weight=self.weights[name])
        return losses

    def carried(self) -> dict[str, Tensor]:
        """The states that decoders carry from batch to batch in training, by name; empty for most models."""
        return {
            f"{name}/{place}": part
            for name, decoder in self.decoders.items()
            for place, part in enumerate(getattr(decoder, "carried", None) or ())
        }

    def carry(self, carried: Mapping[str, Tensor]) -> None:
        """Continue with states returned by `carried`."""
        for name, decoder in self.decoders.items():
            keys = sorted(
                (key for key in carried if key.rpartition("/")[0] == name),
                key=lambda key: int(key.rpartition("/")[2]),
            )
            if keys:
                where = next(decoder.parameters()).device
                decoder.carried = tuple(carried[key].to(where) for key in keys)  # type: ignore[assignment]

    def counts(self, batch: Batch) -> dict[str, Tensor] | None:
        """The counts by which the losses are divided, from the batch alone; None if a decoder cannot tell."""
        decoders: Mapping[str, Any] = dict(self.decoders.items())
        found = {name: self._count(name, decoder, batch) for name, decoder in decoders.items()}
        known = {name: count for name, count in found.items() if count is not None}
        return known if len(known) == len(found) else None

    def _count(self, name: str, decoder: Any, batch: Batch) -> Tensor | None:
        """The count of one loss, by the weights of the rows if they have some."""
        column = self.of_rows.get(name)
        if column is None or column not in batch:
            return decoder.count(batch[name])  # type: ignore[no-any-return]
        weights, target = batch[column], batch[name]
        counts = [weight * decoder.count(select_rows(target, rows)) for weight, rows in groups(weights)]
        return torch.stack([weights.new_zeros(()), *counts]).sum()

    def penalty(self) -> Tensor | None:
        """The sum of every module's `penalty()`, which does not depend on the rows; None if there is none.

        The trainer adds it to the loss once per update. Losses on dev do not include it.
        """
        parts: list[Any] = [module for module in self.modules() if module is not self]
        # looked up in the class, because a failed lookup in a module is slow
        penalties = [part.penalty() for part in parts if hasattr(type(part), "penalty")]
        return torch.stack(penalties).sum() if penalties else None


class HasNetwork(Protocol):
    @property
    def network(self) -> nn.Module: ...


@contextmanager
def answering(*models: HasNetwork) -> Iterator[None]:
    """Networks in evaluation mode, `without_onednn`; afterwards every module returns to its previous mode."""
    training = [part for model in models for part in model.network.modules() if part.training]
    for model in models:
        if training:
            model.network.eval()
    try:
        with without_onednn():
            yield
    finally:
        for part in training:
            part.training = True


@contextmanager
def faults_named(spec: Callable[[], Any]) -> Iterator[None]:
    """Turn an unexpected exception in a foreign part into a `RegardError` that names it; the cause stays attached.

    spec   gives the options whose parts the model is made of
    """
    try:
        yield
    except Exception as error:
        told = fault(error, spec)
        if told is None:
            raise
        raise told from error
