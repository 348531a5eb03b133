"""What the batch and the encoders add to traces: trees, words, attention heads, images, videos and audio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from regard.data.batch import Batch, Evidence
from regard.data.columns import Column
from regard.data.media import Places
from regard.nn.memory import Memory
from regard.trace import Arcs, LayerHeads, Nodes, SentenceWords
from regard.trace.prediction import Prediction


def with_heads(
    answers: Sequence[Prediction], memories: Mapping[str, Memory], batch: Batch, truth: Mapping[str, str]
) -> list[Prediction]:
    """The answers, with the best tree and the marginals of each input that has parents in their traces.

    truth   {input: column of its true tree}, if it is in the batch
    """
    drawn: dict[str, list[Arcs]] = {}
    for name, memory in memories.items():
        found = memory.heads
        if found is None:
            continue
        heads, marginals = found.heads().cpu().numpy(), found.marginals.float().cpu().numpy()
        true = batch[truth[name]].heads.cpu().numpy() if name in truth and truth[name] in batch else None
        drawn[name] = [
            Arcs(
                heads[row, :length],
                marginals=marginals[row, : length + 1, : length + 1],
                true_heads=None if true is None else true[row, :length],
            )
            for row, length in enumerate(found.lengths.tolist())
        ]
    shown = []
    for row, answer in enumerate(answers):
        if answer.trace is not None:
            # A decoder's structure over an input takes precedence over its encoder's.
            structures = {name: rows[row] for name, rows in drawn.items()} | dict(answer.trace.structures)
            answer = replace(answer, trace=replace(answer.trace, structures=structures))
        shown.append(answer)
    return shown


def with_nodes(answers: Sequence[Prediction], memories: Mapping[str, Memory]) -> list[Prediction]:
    """The answers, with the trees of inputs whose positions are nodes, and their weights, in their traces."""
    trees = {name: memory.above.cpu() for name, memory in memories.items() if memory.above is not None}
    shown = []
    for row, answer in enumerate(answers):
        trace = answer.trace
        if trace is not None:
            structures = dict(trace.structures)
            for name, above in trees.items():
                looks = trace.attention.get(name) if trace.single else None
                weights = None if looks is None else looks.mean(0)
                parents = above[row, : len(trace.input[name])].numpy()
                structures.setdefault(name, Nodes(parents, weights=weights))
            answer = replace(answer, trace=replace(trace, structures=structures))
        shown.append(answer)
    return shown


def with_words(
    answers: Sequence[Prediction],
    memories: Mapping[str, Memory],
    batch: Batch,
    columns: Mapping[str, Any],
    truth: Mapping[str, str],
) -> list[Prediction]:
    """The answers, with the words of inputs whose positions are sentences, and weights, in their traces.

    truth   {input: column of its true attention}}
    """
    named = {name: memory.parts for name, memory in memories.items() if memory.parts is not None}
    if all(answer.trace is None for answer in answers):
        return list(answers)
    texts = {name: None if batch.texts is None else batch.texts(name) for name in named}
    words = {name: columns[name].readable_words(batch[name], texts[name]) for name in named}
    weights = {name: _on_cpu(parts.weights_of_words()) for name, parts in named.items()}
    shown = []
    for row, answer in enumerate(answers):
        trace = answer.trace
        if trace is not None:
            structures = dict(trace.structures)
            for name in named:
                counts = [len(sentence) for sentence in words[name][row]]
                flat = [word for sentence in words[name][row] for word in sentence]
                looks = trace.attention.get(name)
                shares = None if weights[name] is None else weights[name][row, : len(flat)]
                sentences = None if looks is None else looks.mean(0)
                if sentences is not None and len(sentences) != len(counts):
                    shares, sentences = _both_levels(sentences, counts)
                known = batch[truth[name]] if name in truth and truth[name] in batch else None
                structures.setdefault(
                    name,
                    SentenceWords(
                        flat,
                        np.array(counts, dtype=np.int64),
                        shares,
                        sentences,
                        _deciding(known.words[row], counts) if isinstance(known, Evidence) else None,
                    ),
                )
            answer = replace(answer, trace=replace(trace, structures=structures))
        shown.append(answer)
    return shown


def _both_levels(words: Any, counts: Sequence[int]) -> tuple[Any, Any]:
    """From weights of words (W,): the share of each word in its sentence, and the weight of each sentence."""
    starts = np.cumsum(counts, dtype=np.int64) - np.asarray(counts, dtype=np.int64)
    sentences = np.add.reduceat(words, starts)
    return words / np.maximum(np.repeat(sentences, counts), 1e-12), sentences


def _on_cpu(found: Tensor | None) -> Any:
    return None if found is None else found.float().cpu().numpy()


def _deciding(pairs: Sequence[tuple[int, int]], counts: Sequence[int]) -> Any:
    """(W,) 1 for the words given by pairs (sentence, word), else 0."""
    starts = np.cumsum(counts) - counts
    found = np.zeros(sum(counts), dtype=np.int64)
    found[[int(starts[sentence]) + word for sentence, word in pairs]] = 1
    return found


def with_self_looks(
    answers: Sequence[Prediction], looks: Mapping[str, Mapping[str, Tensor]]
) -> list[Prediction]:
    """The answers, with the self-attention of each input in their traces.

    looks   {input: {layer: (B, heads, S, S)}}
    """
    shown = []
    for row, answer in enumerate(answers):
        if answer.trace is not None:
            heads = dict(answer.trace.heads)
            for name, layers in looks.items():
                pieces = answer.trace.input[name]
                for layer, weights in layers.items():
                    table = weights[row, :, : len(pieces), : len(pieces)].float().cpu().numpy()
                    heads[f"{name}: {layer}"] = LayerHeads(name, table, pieces, pieces)
            answer = replace(answer, trace=replace(answer.trace, heads=heads))
        shown.append(answer)
    return shown


def with_seen(
    answers: Sequence[Prediction],
    batch: Batch,
    columns: Mapping[str, Column],
    encoded: Mapping[str, Memory],
    truths: Mapping[str, str],
) -> list[Prediction]:
    """The answers; their traces get the images, videos and audio of the inputs, and the layout of positions.

    truths   {input: the column of its true attention}}
    """
    shown = [name for name in encoded if columns[name].drawn]
    collated = {name: batch[name].to("cpu") for name in shown}
    known_places = {
        name: batch[column].to("cpu")
        for name, column in truths.items()
        if name in shown and column in batch and isinstance(batch[column], Places)
    }
    found = []
    for row, answer in enumerate(answers):
        if answer.trace is None:
            found.append(answer)
            continue
        seen = {}
        for name in shown:
            one = columns[name].seen(collated[name], row)
            shape = encoded[name].shape
            if one is not None and shape is not None and len(shape) == 2:
                imposed = encoded[name].override is not None
                known = None if imposed else known_places.get(name)
                one = one.with_grid((shape[0], shape[1]), () if known is None else known.of_row(row))
            if one is not None:
                seen[name] = one
        layout = {**answer.trace.layout, **{name: encoded[name].layout for name in seen}}
        found.append(replace(answer, trace=replace(answer.trace, seen=seen, layout=layout)))
    return found
