"""Copying: each output word is generated from the vocabulary or copied from the source (See et al. 2017)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import torch
from pydantic import ConfigDict, Field
from torch import Tensor, nn

from regard import parts
from regard.data.batch import UNKNOWN, Tokens
from regard.data.columns.verbatim import piece_keys
from regard.data.columns.vocabulary import SPECIAL
from regard.errors import RegardError
from regard.nn.encoders import owner_of
from regard.nn.memory import Memory
from regard.nn.symbols import LookSymbols, side_by_side
from regard.parts import Mistakes, Plan, nearest


class CopyOptions(parts.Settings):
    """Copy words from an input, including words outside the vocabulary (pointer-generator, See 2017)."""

    model_config = ConfigDict(populate_by_name=True)  # `from` cannot be written as a keyword of Python

    from_: Annotated[str | None, Field(alias="from")] = None
    """The input to copy from; default: the first attended input whose words can be copied."""


class Copying(nn.Module):
    """Mixture of the distribution over the vocabulary and the attention over the source.

        g_t = σ(w·[s_t; c_t; e(y_{t−1})] + b)
        p(w) = g_t softmax(V o_t + b)(w) + (1 − g_t) Σ_{j: x_j = w} α_tj

    There are V + S choices: the V ids of the vocabulary, then one for each position of the source. A source
    word in the vocabulary is chosen by its id. A source word outside the vocabulary is chosen by V + j, where
    j is its first position (from 0). All other choices have probability 0. The V + S probabilities sum to one
    if the weights of the selection do. They include PAD and BEGIN, which a search excludes without
    renormalization (`Limits`). A word in neither the vocabulary nor the source is UNKNOWN.

    source      name of the memory to copy from
    size        features of [s_t; c_t; e(y_{t−1})]
    pieces      entries of the vocabulary in the order of their ids, without the special ones
    """

    known: Tensor
    numbers: Tensor

    def __init__(self, source: str, size: int, pieces: Sequence[str]) -> None:
        super().__init__()
        self.source, self.vocabulary = source, len(pieces) + len(SPECIAL)
        self.gate = nn.Linear(size, 1)
        known, order = piece_keys(pieces).sort()
        # derived from the column, so not part of the state dict
        self.register_buffer("known", known, persistent=False)
        self.register_buffer("numbers", order + len(SPECIAL), persistent=False)

    @classmethod
    def of(cls, source: str, size: int, column: Any) -> Copying:
        """For the words of an output column."""
        return cls(source, size, column.vocabulary.pieces)

    # From words to choices.

    def places(self, memory: Memory) -> Tensor:
        """(B, S) the choice for the word at each position of the source."""
        keys = _keys(memory)
        ordered, order = keys.sort(dim=1, stable=True)
        steps = torch.arange(keys.shape[1], device=keys.device).expand_as(keys)
        new = torch.cat([torch.ones_like(ordered[:, :1], dtype=torch.bool), ordered.diff(dim=1) != 0], 1)
        first = order.gather(
            1, steps.where(new, 0).cummax(1).values
        )  # first position of the same word, (B, S) in sorted order
        first = torch.empty_like(order).scatter(1, order, first)
        numbers, found = self._in_vocabulary(keys)
        return torch.where(found, numbers, self.vocabulary + first)

    def targets(self, memory: Memory, target: Tokens) -> Tokens:
        """The target as choices: an unknown word that the source contains becomes V + its first position."""
        if target.verbatim is None:
            return target
        keys = target.verbatim.keys
        ordered, order = _keys(memory).sort(dim=1, stable=True)
        place = torch.searchsorted(ordered, keys).clamp(max=ordered.shape[1] - 1)
        there = (ordered.gather(1, place) == keys) & (target.ids == UNKNOWN)
        return replace(target, ids=torch.where(there, self.vocabulary + order.gather(1, place), target.ids))

    def read(self, tokens: Tensor) -> Tensor:
        """Choices as inputs of the next step: words outside the vocabulary become UNKNOWN."""
        return torch.where(tokens < self.vocabulary, tokens, UNKNOWN)

    def _in_vocabulary(self, keys: Tensor) -> tuple[Tensor, Tensor]:
        """The ids of words, given their keys, and a mask of the words that the vocabulary contains."""
        if not len(self.known):
            return torch.full_like(keys, UNKNOWN), torch.zeros_like(keys, dtype=torch.bool)
        place = torch.searchsorted(self.known, keys).clamp(max=len(self.known) - 1)
        return self.numbers[place], self.known[place] == keys

    # Probabilities.

    def gates(self, output: Tensor, context: Tensor, embedded: Tensor) -> Tensor:
        """(…) the logits of g_t."""
        found: Tensor = self.gate(torch.cat([output, context, embedded], -1)).squeeze(-1)
        return found

    def log_probabilities(self, logits: Tensor, gates: Tensor, weights: Tensor, places: Tensor) -> Tensor:
        """(B, K, V + S), −inf for impossible choices.

        logits    (B, K, V) of the vocabulary
        gates     (B, K)
        weights   (B, K, S) of the selection
        places    (B, S) from `places`
        """
        spread = torch.zeros(*logits.shape[:-1], self.vocabulary + places.shape[1], device=logits.device)
        spread = spread.to(weights.dtype).scatter_add(
            -1, places.unsqueeze(1).expand_as(weights), weights
        )  # (B, K, V + S)
        written = torch.log_softmax(logits, -1) + nn.functional.logsigmoid(gates).unsqueeze(-1)
        taken = _log(spread).to(written.dtype) + nn.functional.logsigmoid(-gates).unsqueeze(-1)
        (inside, outside), there = taken.tensor_split([self.vocabulary], -1), spread > 0
        # −inf has no gradient: where one of the two terms is zero, use the other alone
        inside = torch.where(there[..., : self.vocabulary], torch.logaddexp(written, inside), written)
        return torch.cat([inside, outside.masked_fill(~there[..., self.vocabulary :], -torch.inf)], -1)

    def costs(self, logits: Tensor, gates: Tensor, copied: Tensor, words: Tensor) -> Tensor:
        """−log p of each of N words, (N).

        logits   (N, V), gates (N)
        copied   (N) Σ_{j: x_j = w} α_j of the word w
        words    (N) choices
        """
        inside, there = words < self.vocabulary, copied > 0
        written = -nn.functional.cross_entropy(logits, self.read(words), reduction="none")
        written = written + nn.functional.logsigmoid(gates)
        taken = _log(copied) + nn.functional.logsigmoid(-gates)
        both = torch.logaddexp(written, taken)
        return -torch.where(inside, torch.where(there, both, written), taken)


def copied_mass(weights: Tensor, places: Tensor, words: Tensor) -> Tensor:
    """Σ_{j: x_j = w} α_j: weights and places (…, S), words (…) → (…)."""
    return (weights * (places == words.unsqueeze(-1))).sum(-1)


def _log(probabilities: Tensor) -> Tensor:
    """The logarithm, clamped at the smallest positive number so that log 0 is finite and has gradient 0."""
    return probabilities.clamp(min=torch.finfo(probabilities.dtype).tiny).log()


def _keys(memory: Memory) -> Tensor:
    if memory.verbatim is None:
        raise RegardError(
            "a decoder with copy needs the words of its source, and the memory holds none.",
            fix="Collate the source with a column that is `verbatim`, as Model.build does.",
        )
    return memory.verbatim


# Checks of a spec.


def copied_input(options: Any, plan: Plan) -> str | None:
    """The input that a decoder that copies copies from; None if it has no input to copy from."""
    looked = [one.over or next(iter(options.over or plan.encoder)) for one in options.attention]
    if options.copy_.from_ is not None:
        return options.copy_.from_ if options.copy_.from_ in looked else None
    return next((name for name in looked if _copyable(name, options, plan)), None)


def _copyable(name: str, options: Any, plan: Plan) -> bool:
    """Whether an input's words can be copied: its column allows it, and each attended position is a word."""
    if name not in plan.inputs or name not in plan.encoder:
        return False
    encoder = owner_of(plan, name).part
    levels = {one.over or next(iter(options.over or plan.encoder)): one.level for one in options.attention}
    by_words = encoder.by_word or (encoder.of_words and levels.get(name) != "positions")
    return bool(plan.inputs[name].part.copyable and by_words)


def check_copying(options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
    """Require weights that are a distribution over source words, and one tokenization on both sides."""
    looked = {one.over or next(iter(options.over or plan.encoder)): one for one in options.attention}
    if not looked:
        mistakes.add(
            "copy needs an attention over the input to copy from, and this decoder has none.",
            "copy",
            fix="Add  attention: {score: additive, select: softmax}.",
        )
        return
    wanted = options.copy_.from_
    if wanted is not None and wanted not in looked:
        mistakes.add(
            f"copy needs an attention over the input to copy from, and there is none over {wanted!r}.",
            "copy.from",
            fix=nearest(wanted, list(looked)) or f"Choose {next(iter(looked))}.",
        )
        return
    source = copied_input(options, plan)
    if source is None or not _copyable(source, options, plan):
        where = wanted or " or ".join(looked)
        mistakes.add(
            f"copy needs an input whose positions are words; those of {where} are not.",
            "copy.from" if wanted else "copy",
            fix="Name an input of type text whose encoder keeps one position for each word, or attend to the words of "
            "a document:  attention: {level: both}.",
        )
        return
    select = looked[source].select
    if not select.part.sums_to_one(select):
        mistakes.add(
            f"copy needs attention weights that sum to 1; those of select: {select.type} over {source} do not.",
            "copy",
            fix="Use select: softmax, sparsemax or entmax.",
        )
    if options.label_smoothing:
        mistakes.add(
            "label_smoothing cannot be used with copy: copied words need not be in the vocabulary.",
            "label_smoothing",
            fix="Leave label_smoothing or copy out.",
        )
    _check_cut(source, name, plan, mistakes)


def _check_cut(source: str, name: str, plan: Plan, mistakes: Mistakes) -> None:
    """Require that source and output are tokenized alike: a piece of the source must be one of the output."""
    mine, theirs = plan.outputs[name], plan.inputs[source]
    for option, usual in (("unit", "word"), ("case", "keep"), ("split", "space"), ("normalize", "NFC")):
        one, other = (getattr(column, option, usual) for column in (mine, theirs))
        if one != other:
            mistakes.add(
                f"copy needs the same tokenization of {source} and {name}; {option} is {other} for {source} and {one} "
                f"for {name}.",
                "copy",
                fix=f"Give both the same {option}.",
            )
    shared = getattr(mine, "shared", None) == source or getattr(theirs, "shared", None) == name
    if getattr(mine, "unit", "") == "subword" and not shared:
        mistakes.add(
            f"copy needs the same tokenization of {source} and {name}, and each has its own subwords.",
            "copy",
            fix=f"Add  shared: {source}  to the output {name}.",
        )


def first_copyable(looks: Mapping[str, Any], sources: Mapping[str, Any]) -> str:
    """The first attended memory whose positions are words; else the first attended memory."""
    words = (name for name, one in looks.items() if sources[name].by_word or one.level in ("words", "both"))
    return next(words, next(iter(looks)))


def copying_lines(options: Any, looks: Sequence[LookSymbols], said: str, last: str) -> list[str]:
    """Equations of the mixture of generating and copying; `last` is the output of the top layer."""
    names = [one.over or "" for one in options.attention]
    place = names.index(options.copy_.from_) if options.copy_.from_ in names else 0
    look, j, count = looks[place], looks[place].index, looks[place].memory.length
    word, copied = f"δ_{j}", f"Σ_{j} {look.weight}"
    words = look.memory.words
    if options.attention[place].level != "positions" and words is not None:
        word, count = f"δ_{j}{words.index}", "W"
        copied = f"Σ_{j} Σ_{words.index} {look.sub('α', 't', j, words.index)}"
    gate = side_by_side([last, *(one.context for one in looks), "E_y[y_{t−1}]"])
    return [
        f"g_t = σ(w_g·{gate} + b_g)     — the probability of generating from the vocabulary, not copying",
        f"p(y_t) = g_t [{said}; 0_{count}] + (1 − g_t) {copied} {word}",
        f"— {word}: the one-hot vector of the source word there; words outside the vocabulary have ids of their own,",
        "— numbered by first position after those of the vocabulary; the decoder reads them as the unknown word",
    ]
