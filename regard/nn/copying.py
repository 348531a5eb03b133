"""Copying: a word is written from the vocabulary, or taken from the source as it stands there (See et al. 2017)."""

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
    """Write words of an input as they stand there, those outside the vocabulary too (pointer-generator, See 2017)."""

    model_config = ConfigDict(populate_by_name=True)  # `from` cannot be written as a keyword of Python

    from_: Annotated[str | None, Field(alias="from")] = None
    """The input to copy from; default: the first one looked at whose words can be copied."""


class Copying(nn.Module):
    """The selection over a source, mixed with the distribution over the vocabulary.

        g_t = σ(w·[s_t; c_t; e(y_{t−1})] + b)
        p(w) = g_t softmax(V o_t + b)(w) + (1 − g_t) Σ_{j: x_j = w} α_tj

    A choice is one of V + S: the V ids of the vocabulary, and after them one for each position of the source. A word of
    the source that the vocabulary has is chosen by its id; one that it lacks by V + j, j the first position (from 0)
    where it stands. Any other choice has no probability, so that those of V + S sum to one, as those of the selection
    do. A word that is in neither is UNKNOWN.

    source      the name of the memory that is copied from
    size        features of [s_t; c_t; e(y_{t−1})]
    pieces      what the vocabulary holds, in the order of the ids from the first one that is not special
    """

    known: Tensor
    numbers: Tensor

    def __init__(self, source: str, size: int, pieces: Sequence[str]) -> None:
        super().__init__()
        self.source, self.vocabulary = source, len(pieces) + len(SPECIAL)
        self.gate = nn.Linear(size, 1)
        known, order = piece_keys(pieces).sort()
        # made from the column each time, hence no weights to keep
        self.register_buffer("known", known, persistent=False)
        self.register_buffer("numbers", order + len(SPECIAL), persistent=False)

    @classmethod
    def of(cls, source: str, size: int, column: Any) -> Copying:
        """For the words of an output column."""
        return cls(source, size, column.vocabulary.pieces)

    # Numbers of words.

    def places(self, memory: Memory) -> Tensor:
        """(B, S) the choice that the word at each position of the source is."""
        keys = _keys(memory)
        ordered, order = keys.sort(dim=1, stable=True)
        steps = torch.arange(keys.shape[1], device=keys.device).expand_as(keys)
        new = torch.cat([torch.ones_like(ordered[:, :1], dtype=torch.bool), ordered.diff(dim=1) != 0], 1)
        first = order.gather(
            1, steps.where(new, 0).cummax(1).values
        )  # of those that are the same, (B, S) in order
        first = torch.empty_like(order).scatter(1, order, first)
        numbers, found = self._in_vocabulary(keys)
        return torch.where(found, numbers, self.vocabulary + first)

    def targets(self, memory: Memory, target: Tokens) -> Tokens:
        """The target as choices: words outside the vocabulary that the source has as the places where it has them."""
        if target.verbatim is None:
            return target
        keys = target.verbatim.keys
        ordered, order = _keys(memory).sort(dim=1, stable=True)
        place = torch.searchsorted(ordered, keys).clamp(max=ordered.shape[1] - 1)
        there = (ordered.gather(1, place) == keys) & (target.ids == UNKNOWN)
        return replace(target, ids=torch.where(there, self.vocabulary + order.gather(1, place), target.ids))

    def read(self, tokens: Tensor) -> Tensor:
        """Choices as they are read by the next step: what the vocabulary lacks is UNKNOWN."""
        return torch.where(tokens < self.vocabulary, tokens, UNKNOWN)

    def _in_vocabulary(self, keys: Tensor) -> tuple[Tensor, Tensor]:
        """The ids of words by their keys, and which of them there are."""
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
        """(B, K, V + S), −inf for what cannot be written.

        logits    (B, K, V) of the vocabulary
        gates     (B, K)
        weights   (B, K, S) of the selection
        places    (B, S) as `places` gives them
        """
        spread = torch.zeros(*logits.shape[:-1], self.vocabulary + places.shape[1], device=logits.device)
        spread = spread.to(weights.dtype).scatter_add(
            -1, places.unsqueeze(1).expand_as(weights), weights
        )  # (B, K, V + S)
        written = torch.log_softmax(logits, -1) + nn.functional.logsigmoid(gates).unsqueeze(-1)
        taken = _log(spread).to(written.dtype) + nn.functional.logsigmoid(-gates).unsqueeze(-1)
        (inside, outside), there = taken.tensor_split([self.vocabulary], -1), spread > 0
        # −inf has no gradient: where one of the two ways is closed, the other is the whole
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
    """The logarithm; of 0, that of the smallest number, whose gradient is 0."""
    return probabilities.clamp(min=torch.finfo(probabilities.dtype).tiny).log()


def _keys(memory: Memory) -> Tensor:
    if memory.verbatim is None:
        raise RegardError(
            "a decoder that copies needs the words of its source, and the memory holds none.",
            fix="Collate the source with a column that is `verbatim`, as Model.build does.",
        )
    return memory.verbatim


# What a spec may ask for.


def copied_input(options: Any, plan: Plan) -> str | None:
    """The input that a decoder copies from; None where it copies from none, or names what there is not."""
    if options.copy_ is None:
        return None
    looked = [one.over or next(iter(options.over or plan.encoder)) for one in options.attention]
    if options.copy_.from_ is not None:
        return options.copy_.from_ if options.copy_.from_ in looked else None
    return next((name for name in looked if _copyable(name, options, plan)), None)


def _copyable(name: str, options: Any, plan: Plan) -> bool:
    """Whether words of an input can be copied: its column gives them, its encoder leaves them in their places."""
    if name not in plan.inputs or name not in plan.encoder:
        return False
    encoder = owner_of(plan, name).part
    levels = {one.over or next(iter(options.over or plan.encoder)): one.level for one in options.attention}
    by_words = encoder.by_word or (encoder.of_words and levels.get(name) != "positions")
    return bool(plan.inputs[name].part.copyable and by_words)


def check_copying(options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
    """The source is looked at by a distribution over its words, and cut as the output is."""
    looked = {one.over or next(iter(options.over or plan.encoder)): one for one in options.attention}
    if not looked:
        mistakes.add(
            "copy takes words from where the decoder looks, and there is no attention.",
            "copy",
            fix="Add  attention: {score: additive, select: softmax}.",
        )
        return
    wanted = options.copy_.from_
    if wanted is not None and wanted not in looked:
        mistakes.add(
            f"copy takes words from an input that the decoder looks at; it does not look at {wanted!r}.",
            "copy.from",
            fix=nearest(wanted, list(looked)) or f"Choose {next(iter(looked))}.",
        )
        return
    source = copied_input(options, plan)
    if source is None or not _copyable(source, options, plan):
        where = wanted or " or ".join(looked)
        mistakes.add(
            f"copy needs an input whose positions are words; {where} has others.",
            "copy.from" if wanted else "copy",
            fix="Name an input of type text whose encoder leaves one position for each word, or look at the words of a "
            "document:  attention: {level: both}.",
        )
        return
    select = looked[source].select
    if not select.part.sums_to_one(select):
        mistakes.add(
            f"copy mixes two distributions, and the weights of select: {select.type} over {source} do not sum to one.",
            "copy",
            fix="Use select: softmax, sparsemax or entmax.",
        )
    if options.label_smoothing:
        mistakes.add(
            "label_smoothing spreads a share over the whole vocabulary, which words to copy have no part in.",
            "label_smoothing",
            fix="Leave label_smoothing or copy out.",
        )
    _check_cut(source, name, plan, mistakes)


def _check_cut(source: str, name: str, plan: Plan, mistakes: Mistakes) -> None:
    """What is copied is a piece of the source, and must be one of the output."""
    mine, theirs = plan.outputs[name], plan.inputs[source]
    for option, usual in (("unit", "word"), ("case", "keep"), ("split", "space"), ("normalize", "NFC")):
        one, other = (getattr(column, option, usual) for column in (mine, theirs))
        if one != other:
            mistakes.add(
                f"copy needs {source} and {name} cut in one way; {option} is {other} of one and {one} of the other.",
                "copy",
                fix=f"Give both the same {option}.",
            )
    shared = getattr(mine, "shared", None) == source or getattr(theirs, "shared", None) == name
    if getattr(mine, "unit", "") == "subword" and not shared:
        mistakes.add(
            f"copy needs {source} and {name} cut in one way, and each learns subwords of its own.",
            "copy",
            fix=f"Add  shared: {source}  to the output {name}.",
        )


def first_copyable(looks: Mapping[str, Any], sources: Mapping[str, Any]) -> str:
    """The first memory looked at whose positions are words."""
    words = (name for name, one in looks.items() if sources[name].by_word or one.level in ("words", "both"))
    return next(words, next(iter(looks)))


def copying_lines(options: Any, looks: Sequence[LookSymbols], said: str, last: str) -> list[str]:
    """Equations: what is written mixed with what is copied; `last` is what the highest layer gives."""
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
        f"g_t = σ(w_g·{gate} + b_g)     — the probability that the word is written from the vocabulary",
        f"p(y_t) = g_t [{said}; 0_{count}] + (1 − g_t) {copied} {word}",
        f"— {word}: the word there, 1 at its number and 0 elsewhere; one outside the vocabulary has the number of the",
        "— first position where it stands, after those of the vocabulary, and is read as an unknown one",
    ]
