"""Draw a distribution of `regard.structures`: its marginals, its mode, and optionally samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.errors import RegardError
from regard.inspect.brackets import BEST, bracketed, draw_brackets
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.drawings.ranking import Ranking
from regard.inspect.drawings.words import WeightedWords
from regard.inspect.figure import figure
from regard.inspect.grid import draw_matrix
from regard.inspect.highlight import draw_words
from regard.inspect.layout import PADDING, Block, below, color_scale, frame
from regard.inspect.ranking import draw_ranking
from regard.inspect.samples import draw_samples
from regard.inspect.scene import Group, Scene, Text
from regard.inspect.writing import text_width
from regard.structures import (
    Bernoulli,
    BinaryTree,
    Categorical,
    CTCAlignment,
    LinearChain,
    MonotoneAlignment,
    PositionChain,
    ProjectiveTree,
    Segmentation,
    SpanningTree,
    Structure,
)
from regard.trace import Arcs, Hops, Segments, Trace, TracedStructure

OVER = "tokens"


@dataclass(frozen=True)
class _Asked:
    """The arguments of `draw`."""

    tokens: Sequence[str] | None
    targets: Sequence[str] | None
    labels: Sequence[str] | None
    index: tuple[int, ...]
    samples: int
    generator: torch.Generator | None


def draw(
    structure: Structure,
    *,
    tokens: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    index: int | Sequence[int] | None = None,
    samples: int = 0,
    generator: torch.Generator | None = None,
    title: str = "",
) -> Scene:
    """One element of a batch of structures as a figure.

    LinearChain                     the best state below each token, and the marginals, states by tokens
    Segmentation, Bernoulli,        bands over the tokens; the last batch dimension, if any, gives the rows
    Categorical
    ProjectiveTree, SpanningTree    arcs over the tokens
    BinaryTree                      a chart of spans over the tokens
    MonotoneAlignment, CTCAlignment a matrix of tokens (the source, or the frames) by targets
    PositionChain                   a table of tokens (the positions) by choices

    tokens    names of the positions; default: numbers from 1
    targets   the other side of an alignment, or names of the rows of bands
    labels    names of the states or labels
    index     index of the element of the batch; default: the first
    samples   number of samples, drawn with `generator` if given
    """
    shape = tuple(structure.batch_shape)
    dims = len(shape) - (1 if shape and isinstance(structure, _BANDS) else 0)
    chosen = (0,) * dims if index is None else (index,) if isinstance(index, int) else tuple(index)
    if len(chosen) != dims or any(not -size <= i < size for i, size in zip(chosen, shape, strict=False)):
        raise RegardError(
            f"index is {chosen}, but the batch to choose from has shape {shape[:dims]}.",
            fix="Give one number for each of its dimensions.",
        )
    with torch.no_grad():
        block, told = _draw(structure, _Asked(tokens, targets, labels, chosen, samples, generator))
    return frame(block, title=title, description=told)


_BANDS = (Segmentation, Bernoulli, Categorical)


@singledispatch
def _draw(structure: Structure, asked: _Asked) -> tuple[Block, str]:
    raise RegardError(
        f"there is no drawing of {type(structure).__name__}.",
        fix="Its marginals are a tensor: regard.inspect.Matrix and panels draw any matrix.",
    )


def _numbers(tensor: Tensor, asked: _Asked, *, before: int = 0) -> np.ndarray[Any, Any]:
    """The chosen element, (…), of (*samples, *batch, …), as an array."""
    return tensor[(slice(None),) * before + asked.index].detach().cpu().numpy()


def _length(lengths: Tensor | None, structure: Structure, asked: _Asked, longest: int) -> int:
    """The length of the chosen element, or of its longest row if it has rows."""
    if lengths is None:
        return longest
    return int(lengths.expand(structure.batch_shape)[asked.index].max())


def _names(given: Sequence[str] | None, count: int, what: str) -> list[str]:
    if given is not None and len(given) != count:
        raise RegardError(f"{len(given)} {what} were given for {count}.", fix="Give one for each.")
    return [str(n) for n in range(1, count + 1)] if given is None else [str(name) for name in given]


def _traced(
    found: TracedStructure, tokens: Sequence[str], rows: Sequence[str], asked: _Asked
) -> tuple[Block, str]:
    """The figure of a structure that a trace can hold, with its samples below."""
    trace = Trace({OVER: tokens}, rows, structures={OVER: found})
    scene = figure(trace, title="")
    inner = Group(scene.marks, dx=-PADDING, dy=-PADDING)
    blocks = [Block((inner,), scene.width - 2 * PADDING, scene.height - 2 * PADDING)]
    if found.samples is not None and asked.samples:
        drawn, _, rest = draw_samples(trace, OVER, 6)
        more = f"{rest} more are not drawn" if rest else ""
        blocks += [_heading(f"{asked.samples} samples", more), drawn]
    return below(blocks, gap=20), scene.description


def _heading(*words: str) -> Block:
    text = ", ".join(filter(None, words))
    return Block((Text(0, 11, text, size=13, color="muted"),), text_width(text, 13), 14)


@_draw.register(Segmentation)
@_draw.register(Bernoulli)
@_draw.register(Categorical)
def _draw_bands(structure: Segmentation | Bernoulli | Categorical, asked: _Asked) -> tuple[Block, str]:
    count = _length(structure.lengths, structure, asked, structure.event_shape[-1])
    tokens = _names(asked.tokens, count, "tokens")

    def rows(tensor: Tensor, before: int = 0) -> np.ndarray[Any, Any]:
        array = _numbers(tensor, asked, before=before)[..., :count]
        return array if structure.batch_shape else array[..., None, :]  # (…, T, S)

    drawn = None
    if asked.samples:
        drawn = rows(structure.sample((asked.samples,), generator=asked.generator), 1)
    weights = rows(structure.marginals)
    alone = asked.targets is None and len(weights) == 1
    targets = [""] if alone else _names(asked.targets, len(weights), "targets")
    return _traced(Segments(weights, rows(structure.mode), samples=drawn), tokens, targets, asked)


@_draw.register(ProjectiveTree)
@_draw.register(SpanningTree)
def _draw_tree(structure: ProjectiveTree | SpanningTree, asked: _Asked) -> tuple[Block, str]:
    longest = structure.event_shape[0] - 1
    count = _length(structure.lengths, structure, asked, longest)
    tokens = _names(asked.tokens, count, "tokens")
    marginals = _numbers(structure.marginals, asked)[: count + 1, : count + 1]
    mode = structure.mode
    heads = _numbers(structure.heads(mode), asked)[:count]
    relations: list[str] = []
    if structure.labeled:
        names = _names(asked.labels, marginals.shape[-1], "labels")
        best = _numbers(mode, asked)
        relations = [
            names[int(best[head, m].argmax())] if head >= 0 else "" for m, head in enumerate(heads, 1)
        ]
        marginals = marginals.sum(-1)  # p(h is the head of m, with any label)
    drawn = None
    if asked.samples:
        values = structure.sample((asked.samples,), generator=asked.generator)
        drawn = _numbers(structure.heads(values), asked, before=1)[:, :count]
    return _traced(Arcs(heads, marginals, relations, samples=drawn), tokens, [], asked)


@_draw.register
def _draw_hops(structure: PositionChain, asked: _Asked) -> tuple[Block, str]:
    hops, size = structure.event_shape
    hops = _length(structure.lengths, structure, asked, hops)
    count = size if asked.tokens is None else min(size, len(asked.tokens))
    tokens = _names(asked.tokens, count, "tokens")

    def places(value: Tensor, before: int = 0) -> np.ndarray[Any, Any]:
        array = _numbers(value, asked, before=before)[..., :hops, :count]
        return np.where(array.any(-1), array.argmax(-1), -1)

    drawn = None
    if asked.samples:
        drawn = places(structure.sample((asked.samples,), generator=asked.generator), 1)
    weights = _numbers(structure.marginals, asked)[:hops, :count]
    return _traced(Hops(weights, places(structure.mode), samples=drawn), tokens, [], asked)


@_draw.register
def _draw_chain(structure: LinearChain, asked: _Asked) -> tuple[Block, str]:
    count = _length(structure.lengths, structure, asked, structure.event_shape[0])
    tokens = _names(asked.tokens, count, "tokens")
    names = _names(asked.labels, structure.event_shape[1], "labels")
    marginals = _numbers(structure.node_marginals, asked)[:count]  # (N, C)

    def tagged(value: Tensor, before: int = 0) -> np.ndarray[Any, Any]:
        return _numbers(structure.states(value), asked, before=before)[..., :count]

    best = tagged(structure.mode)
    path = (best[None, :] == np.arange(len(names))[:, None]).astype(float)  # (C, N)
    sure = np.array([marginals[n, state] if state >= 0 else np.nan for n, state in enumerate(best)])
    words = WeightedWords(tuple(tokens), sure, notes=_tags(best, names), bars=True)
    matrix = Matrix(tuple(names), tuple(tokens), marginals.T, truth=path, outlined="best path", outline=BEST)
    scale = color_scale(
        name="marginal", truth=True, outlined="best path", outline=BEST, zeros=matrix.has_zeros
    )
    blocks = [draw_words(words), draw_matrix(matrix), scale]
    if asked.samples:
        blocks.append(_heading(f"{asked.samples} samples"))
        for states in tagged(structure.sample((asked.samples,), generator=asked.generator), 1):
            chosen = np.array([marginals[n, state] for n, state in enumerate(states)])
            blocks.append(
                draw_words(WeightedWords(tuple(tokens), chosen, notes=_tags(states, names), bars=True))
            )
    told = " ".join(f"{token} {tag}" for token, tag in zip(tokens, _tags(best, names), strict=True))
    return below(blocks, gap=18), f"Best path: {told}"


def _tags(states: np.ndarray[Any, Any], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(names[state] if state >= 0 else "" for state in states.tolist())


@_draw.register
def _draw_spans(structure: BinaryTree, asked: _Asked) -> tuple[Block, str]:
    count = _length(structure.lengths, structure, asked, structure.event_shape[0])
    tokens = _names(asked.tokens, count, "tokens")

    def spans(tensor: Tensor, before: int = 0) -> np.ndarray[Any, Any]:
        array = _numbers(tensor, asked, before=before)
        array = array.sum(-1) if structure.labeled else array  # with any label
        return array[..., :count, :count]

    best = spans(structure.mode)
    written = bracketed(tokens, best)
    matrix = Matrix(
        tuple(tokens), tuple(tokens), np.triu(spans(structure.marginals)), truth=best, title=written,
        row_name="from", column_name="to", outlined="best tree", outline=BEST,
    )  # fmt: skip
    blocks = [
        draw_brackets(matrix),
        color_scale(name="marginal", truth=True, outlined="best tree", outline=BEST),
    ]
    if asked.samples:
        values = spans(structure.sample((asked.samples,), generator=asked.generator), 1)
        counts = Counter(bracketed(tokens, value) for value in values).most_common()
        texts, shares = tuple(text for text, _ in counts), tuple(n / asked.samples for _, n in counts)
        ranking = Ranking(
            texts, shares, shares, chosen=None, title=f"{asked.samples} samples", score_name="share"
        )
        blocks += [_heading(ranking.title), draw_ranking(ranking)]
    return below(blocks, gap=18), f"Best tree: {written}"


@_draw.register(MonotoneAlignment)
@_draw.register(CTCAlignment)
def _draw_alignment(structure: Structure, asked: _Asked) -> tuple[Block, str]:
    both = structure._lengths
    rows, columns = (_length(both[side], structure, asked, structure.event_shape[side]) for side in range(2))
    tokens, targets = _names(asked.tokens, rows, "tokens"), _names(asked.targets, columns, "targets")
    best = _numbers(structure.mode, asked)[:rows, :columns]

    def shown(values: np.ndarray[Any, Any], title: str = "") -> Block:
        matrix = Matrix(
            tuple(tokens),
            tuple(targets),
            values,
            truth=best,
            title=title,
            outlined="best alignment",
            outline=BEST,
        )
        return draw_matrix(matrix)

    marginals = _numbers(structure.marginals, asked)[:rows, :columns]
    zeros = asked.samples > 0 or bool((marginals == 0).any())  # samples are 0 or 1
    blocks = [
        shown(marginals),
        color_scale(name="marginal", truth=True, outlined="best alignment", outline=BEST, zeros=zeros),
    ]
    if asked.samples:
        values = _numbers(structure.sample((asked.samples,), generator=asked.generator), asked, before=1)
        blocks += [shown(value[:rows, :columns], f"sample {n}") for n, value in enumerate(values, 1)]
    pairs = ", ".join(f"{tokens[s]}–{targets[t]}" for s, t in np.argwhere(best > 0).tolist())
    return below(blocks, gap=18), f"Best alignment: {pairs or 'nothing is matched'}"
