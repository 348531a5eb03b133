"""The Transformer decoder: every token attends to earlier tokens and to the memories (Vaswani et al. 2017).

    x_t⁰ = √D e(y_{t−1}) + p_t
    x ← x + attend(x_t; x_1 … x_t)           self-attention, over the output so far
    x ← x + attend(x_t; h)                   over the positions of all memories together
    x ← x + feed(x)                          normalized before each sublayer, or after it, as in the encoder
    p(y_t) = softmax(V x_t + b)

Each memory has its own keys and values, and one softmax goes over the positions of all memories. A search
keeps the keys and values of the tokens written so far and of the memories, so that a step computes one
position.

A stream has no memories: `regard.nn.decoders.stream_transformer` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.errors import RegardError
from regard.nn.decoders.decoder import Source, Truth
from regard.nn.decoders.output import Output, check_tie
from regard.nn.decoders.stepwise import ForcedCost, StepwiseDecoder, likelihood, previous_tokens
from regard.nn.decoders.stream_transformer import StreamTransformer
from regard.nn.decoders.transformer_layer import DecoderLayer, TransformerState
from regard.nn.embedding import Embedding, EmbeddingOptions, build_embedding
from regard.nn.imposed import Imposed, joined
from regard.nn.letters import Letters, linear, under
from regard.nn.memory import Memory
from regard.nn.packing import forced
from regard.nn.path import faster
from regard.nn.search import Hypotheses
from regard.nn.stepping import Step, StepState
from regard.nn.symbols import MemorySymbols
from regard.nn.transformer_board import (
    NORM_LINE,
    HeadsSymbols,
    around,
    feed,
    feed_letters,
    first_letters,
    first_line,
    heads_letters,
    normed,
    sizes_line,
)
from regard.nn.transformer_layers import (
    SMALL,
    WARMUP,
    Norm,
    Positions,
    PositionVectors,
    TransformerOptions,
    check_heads,
)
from regard.nn.watching import heads_kept
from regard.parts import Count, Dropout, Mistakes, Plan, is_stream, register
from regard.trace import LayerHeads
from regard.trace.prediction import Prediction


@register("decoder", "transformer")
class TransformerDecoder(StepwiseDecoder):
    """p(y_t | y_<t, x) = softmax(V x_t + b); with `tied`, V is the embedding."""

    writes: ClassVar[tuple[str, ...]] = ("text", "stream")
    recordable_steps = True
    layers_as_published = True
    """Other programs can compute the layers from the weights."""
    small = SMALL
    warmup = WARMUP

    class Options(StepwiseDecoder.Options, EmbeddingOptions, TransformerOptions):
        """Every token attends to the tokens before it and to the memories (Vaswani 2017)."""

        tie: Literal["none", "output", "all"] = "none"
        """output: use the target embeddings as output weights; all: also use them as source embeddings."""
        label_smoothing: Dropout = 0.0
        """Share of the target distribution that is spread evenly over the vocabulary."""
        reach: Count | None = None
        """For a stream: number of tokens, itself included, that a token attends to in each layer; default: 256."""
        attention_dropout: Dropout | None = None
        """For a stream: dropout of attention weights; default: the same as `dropout`."""
        word_dropout: Dropout = 0.0
        """For a stream: probability that a token is read as unknown in training."""

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> TransformerDecoder | StreamTransformer:  # type: ignore[override]
        if column.alone:
            return StreamTransformer.build(options, column, sources, read_files=read_files)
        if options.tie == "all":
            embedding = next(iter(sources.values())).embedding
        else:
            embedding = build_embedding(options, column, read_files=read_files)
        return cls(
            embedding,
            sources,
            size=options.size,
            layers=options.layers,
            heads=options.heads,
            hidden=options.hidden,
            positions=options.positions,
            distances=options.distances,
            norm=options.norm,
            tied=options.tie != "none",
            dropout=options.dropout,
            smoothing=options.label_smoothing,
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if is_stream(plan):
            StreamTransformer.check(options, name, plan, mistakes)
            return
        for key in ("reach", "attention_dropout", "word_dropout"):
            if key in options.model_fields_set:
                mistakes.add(f"{key} has no effect: it applies to a stream.", key, fix=f"Leave {key} out.")
        check_heads(options, mistakes)
        check_tie(options, name, plan, mistakes)
        if options.tie != "none" and options.width_of_vectors != options.size:
            mistakes.add(
                f"tied output weights need embeddings of the decoder's size; received {options.width_of_vectors} and "
                f"{options.size}.",
                "embedding",
                fix=f"Set  embedding: {options.size}.",
            )

    @classmethod
    def reads_summaries(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return ()

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        if not memories:
            return StreamTransformer.board(options, memories)
        norm, last = options.norm, options.layers
        before = norm == "pre"
        itself = HeadsSymbols(
            options,
            "u_ℓt",
            "u_ℓυ",
            "t",
            "υ",
            "ℓ",
            "k",
            letters=("ρ", "β", "n"),
            mark="y",
            where="υ ≤ t",
            itself=True,
        )
        looks = [
            HeadsSymbols(
                options,
                "q_ℓt",
                memory.values,
                "t",
                memory.index,
                "ℓ",
                "k",
                (f"e{prime}", f"α{prime}", "c"),
                f"a{prime}",
            )
            for memory, prime in ((one, "′" * place) for place, one in enumerate(memories.values()))
        ]
        state, weights = f"s_{last}t", "V_y" if options.tie == "none" else "E_y"
        return [
            f"t = 1 … T, υ = 1 … T, ℓ = 1 … {last}, k = 1 … {options.heads}     — k: the heads",
            first_line("s_0t", "E_y[y_{t−1}]", options.width_of_vectors, options, "s", "t"),
            f"u_ℓt = {normed('s_{ℓ−1,t}', 'y1ℓ') if before else 's_{ℓ−1,t}'}",
            *itself.lines(),
            f"v_ℓt = {around('s_{ℓ−1,t}', itself.together(), 'y1ℓ', norm)}     — self-attention over the output so far",
            f"q_ℓt = {normed('v_ℓt', 'y2ℓ') if before else 'v_ℓt'}",
            *_over_all(looks),
            f"z_ℓt = {around('v_ℓt', looks[0].together(), 'y2ℓ', norm)}",
            f"s_ℓt = {around('z_ℓt', feed('z_ℓt', 'ℓ', 'y3ℓ', norm, 'y'), 'y3ℓ', norm)}",
            f"p(y_t) = softmax({weights} {f'layernorm({state}, g_y, c_y)' if before else state} + b_y)",
            *([f"E_y = {next(iter(memories.values())).embedding}"] if options.tie == "all" else []),
            NORM_LINE,
            sizes_line(options),
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        if not memories:
            return StreamTransformer.letters(options, memories)
        layers = {
            **heads_letters("itself", "y", "ℓ", "k"),
            **heads_letters("over", "a", "ℓ", "k"),
            **feed_letters("ℓ", "y"),
        }
        for number, path in enumerate(("first", "second", "third"), start=1):
            layers |= linear(f"{path}.norm", f"g_{{y,{number},ℓ}}", f"b_{{y,{number},ℓ}}")
        for number, name in enumerate(list(memories)[1:], start=1):
            below = f"a{'′' * number}ℓk"
            keys = linear(
                f"over.further.{name}", (f"K_{below}", f"V_{below}"), (f"b_K{below}", f"b_V{below}")
            )
            layers |= keys
        ends = linear("output", "V_y", "b_y") | linear("norm", "g_y", "c_y") | first_letters("s")
        return {"embedding.weight": "E_y", **under("layers.*", layers), **ends}

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        if not memories:
            return StreamTransformer.board_loss(options, memories)
        return [f"loss = {likelihood(options.label_smoothing)} / T     — mean over the target tokens"]

    @classmethod
    def board_algorithm(cls, options: Any) -> list[str]:
        return ["teacher forcing, back-propagation"]

    def __init__(
        self,
        embedding: Embedding,
        sources: Mapping[str, Source],
        *,
        size: int = 256,
        layers: int = 3,
        heads: int = 4,
        hidden: int | None = None,
        positions: Positions = "sinusoidal",
        distances: int | None = None,
        norm: Norm = "pre",
        tied: bool = False,
        dropout: float = 0.0,
        smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        if tied and embedding.size != size:
            raise RegardError(
                f"Tied output weights need embeddings of the decoder's size; received {embedding.size} and {size}."
            )
        self.embedding, self.names, self.smoothing = embedding, tuple(sources), smoothing
        self.scale = embedding.size**0.5
        self.widen = None if embedding.size == size else nn.Linear(embedding.size, size)
        self.positions = PositionVectors(positions, size)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            DecoderLayer(
                size, heads, hidden or 4 * size, norm, sources=sources, dropout=dropout, distances=distances
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(size) if norm == "pre" else None
        self.output = Output(size, embedding.vocabulary, tied=embedding if tied else None)

    @property
    def attended(self) -> tuple[str, ...]:
        return self.names

    def _embed(self, tokens: Tensor, places: Tensor) -> Tensor:
        x = self.embedding(tokens) * self.scale
        x = x if self.widen is None else self.widen(x)
        embedded: Tensor = self.dropout(x + self.positions(places).to(x.dtype))
        return embedded

    def _finish(self, x: Tensor) -> Tensor:
        finished: Tensor = x if self.norm is None else self.norm(x)
        return finished

    def _mask(self, memories: Mapping[str, Memory]) -> Tensor:
        return torch.cat([memories[name].mask for name in self.names], 1)

    def _layers(self) -> Sequence[Any]:
        return list(self.layers)

    # Whole outputs.

    def states(self, memories: Mapping[str, Memory], previous: Tensor) -> Tensor:
        """Teacher forcing: previous tokens (B, T), the first of them BEGIN → (B, T, D)."""
        x = self._embed(previous, torch.arange(previous.shape[1], device=previous.device))
        looked_at = [(memories[name].values, memories[name].mask[:, None, None]) for name in self.names]
        found: Tensor | None = faster("transformer.layers", x.device, self, (x, None), *looked_at)
        return self.through(x, *chain.from_iterable(looked_at))[0] if found is None else found

    def through(self, x: Tensor, *looked_at: Tensor) -> tuple[Tensor]:
        """All layers: x (B, T, D), and the values (B, S, D) and the mask (B, 1, 1, S) of each memory."""
        values = dict(zip(self.names, looked_at[::2], strict=True))
        mask = torch.cat([mask.flatten(1) for mask in looked_at[1::2]], 1)
        for layer in self._layers():
            x = layer(x, layer.over.prepare_all(values), mask)
        return (self._finish(x),)

    def forced_cost(
        self, memories: Mapping[str, Memory], target: Tokens, *, truth: Truth = None
    ) -> ForcedCost:
        previous, following, packing = forced(target)
        rows, words = packing.pack(self.states(memories, previous)), packing.pack(following)
        total, likelihood = self.output.loss(rows, words, smoothing=self.smoothing)
        return ForcedCost(total, likelihood, lambda theirs: self.output.distilled(rows, theirs))

    @torch.no_grad()
    def distribution(self, memories: Mapping[str, Memory], target: Tokens) -> Tensor:
        previous, _, packing = forced(target)
        return torch.softmax(self.output(packing.pack(self.states(memories, previous))), -1)

    # One step.

    def start(self, memories: Mapping[str, Memory], *, truth: Truth = None) -> StepState:
        mask = self._mask(memories)
        found: StepState | None = faster("transformer.step", mask.device, self, memories)
        if found is not None:
            return found
        written = []
        values = {name: memories[name].values for name in self.names}
        prepared = tuple(layer.over.prepare_all(values) for layer in self._layers())
        for keys, values in prepared:
            nothing = keys.new_empty(mask.shape[0], 1, keys.shape[1], 0, keys.shape[3])
            written.append((nothing, values.new_empty(nothing.shape)))
        return TransformerState(prepared, mask, tuple(written))

    def step(self, tokens: Tensor, state: Any, memories: Mapping[str, Memory]) -> Step:
        if (faster_step := getattr(state, "step", None)) is not None:
            advanced: Step = faster_step(self, tokens, memories)
            return advanced
        x = self._embed(tokens, torch.full_like(tokens, state.position))  # (B, K, D)
        imposed = _imposed(memories, self.names)
        written, looks = [], x.new_zeros(0)
        for layer, before, prepared in zip(self._layers(), state.written, state.memory, strict=True):
            x, now, looks = layer.step(x, before, prepared, state.mask, imposed, state.position)
            written.append(now)
        following = replace(state, written=tuple(written), position=state.position + 1)
        logits = self.output(self._finish(x))
        return Step(logits, following, self._by_name(looks.mean(1), memories))  # of the last layer, all heads

    def _by_name(self, looks: Tensor, memories: Mapping[str, Memory]) -> dict[str, Tensor]:
        """Split (…, S of all memories) by memory."""
        widths = [memories[name].mask.shape[1] for name in self.names]
        return dict(zip(self.names, looks.split(widths, -1), strict=True))

    # Every head, for a trace.

    @torch.no_grad()
    def with_structures(
        self,
        answers: Sequence[Prediction],
        found: Hypotheses,
        memories: Callable[[], Mapping[str, Memory]],
        *,
        samples: int,
        seed: int,
    ) -> list[Prediction]:
        """The answers, with the attention of every head for the best answer in their traces."""
        previous, _ = previous_tokens(found)
        layers = self._looks(memories(), previous)
        shown = []
        for row, answer in enumerate(answers):
            if answer.trace is not None:
                heads = dict(answer.trace.heads)
                output = answer.trace.output
                for name, (over, weights) in layers.items():
                    keys = answer.trace.input[over] if over else ["<s>", *output[:-1]]
                    table = weights[row, :, : len(output), : len(keys)].float().cpu().numpy()
                    heads[name] = LayerHeads(over, table, output, keys)
                answer = replace(answer, trace=replace(answer.trace, heads=heads))
            shown.append(answer)
        return shown

    def _looks(self, memories: Mapping[str, Memory], previous: Tensor) -> dict[str, tuple[str, Tensor]]:
        """{layer: (name of the memory, (B, H, T, S))};
        the name is empty for self-attention over the output."""
        count, mask, imposed = previous.shape[1], self._mask(memories), _imposed(memories, self.names)
        x = self._embed(previous, torch.arange(count, device=previous.device))
        found: dict[str, tuple[str, Tensor]] = {}
        for number, layer in enumerate(self._layers(), 1):
            seen = layer.first.enter(x)
            itself, name_of = (
                f"decoder layer {number} over the output so far",
                f"decoder layer {number} over {{}}",
            )
            if heads_kept(itself):
                found[itself] = ("", layer.itself.weights(seen, layer.itself.prepare(seen)[0]))
            prepared = layer.over.prepare_all({over: memories[over].values for over in self.names})
            x = layer.first(x, layer.itself(seen, layer.itself.prepare(seen)))
            asked = layer.second.enter(x)
            kept = [name for name in self.names if heads_kept(name_of.format(name))]
            if kept or imposed is not None:
                looks = layer.over.weights(asked, prepared[0], mask[:, None, None])
                looks = looks if imposed is None else imposed.on(looks, None)
                by_name = self._by_name(looks, memories)
                found.update({name_of.format(name): (name, by_name[name]) for name in kept})
            if imposed is None:
                read = layer.over(asked, prepared, mask[:, None, None])
            else:
                read = layer.over.output((looks @ prepared[1]).transpose(1, 2).flatten(2))
            x = layer.second(x, read)
            x = layer.third(x, layer.feed(layer.third.enter(x)))
        return found


def _over_all(looks: Sequence[HeadsSymbols]) -> list[str]:
    """One softmax over the positions of all memories, and the vector read."""
    if len(looks) == 1:
        return looks[0].lines()
    total = " + ".join(f"Σ_{look.over} exp({look.energy})" for look in looks)
    reads = " + ".join(f"Σ_{look.over} {look.weight} {look.projected('V', look.key)}" for look in looks)
    return [
        *(look.energy_line() for look in looks),
        f"Z_ℓkt = {total}     — one softmax over the positions of all inputs",
        *(f"{look.weight} = exp({look.energy}) / Z_ℓkt" for look in looks),
        f"{looks[0].read} = {reads}",
    ]


def _imposed(memories: Mapping[str, Memory], names: Sequence[str]) -> Imposed | None:
    """What is imposed on the attention to all memories; None if it is nothing."""
    return joined([(memories[name].override, memories[name].mask) for name in names])
