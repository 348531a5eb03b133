"""A pretrained encoder of transformers: one position for each word, made of the states of its pieces.

The tokenizer of the encoder cuts words into pieces. The value of a word is the mean of the states of its pieces (or the
first of them), so that tags, attention, trees and figures stay by word.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from regard.data.batch import Tokens, WordPieces
from regard.nn.encoders.encoder import Encoder, owner_of, refuse_unread
from regard.nn.encoders.mean import masked_mean
from regard.nn.encoders.text import parents_lines
from regard.nn.feature_cache import FeatureCache
from regard.nn.letters import Letters
from regard.nn.memory import Memory
from regard.nn.parents import Parents
from regard.nn.pretrained_body import ModelOrigin, Train, body_size, make_body, set_trained
from regard.nn.symbols import MemorySymbols
from regard.nn.watching import heads_kept
from regard.parts import Dropout, Mistakes, Plan, Size, register

Layers = Annotated[int, Field(ge=-1000, le=1000)] | Literal["mix"]
TRAINED = {"frozen": "frozen", "lora": "with trained changes of low rank", "full": "trained"}


class LayerMix(nn.Module):
    """γ Σ_l softmax(w)_l x_l: a learned mixture of layers (Peters et al. 2018)."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, layers: Tensor) -> Tensor:
        """(L, …) → (…)"""
        mixed: Tensor = self.scale * torch.tensordot(self.weight.softmax(0), layers, 1)
        return mixed


@register("encoder", "pretrained")
class PretrainedEncoder(Encoder):
    """values h_j = the mean of the states of the pieces of word j, summary Σ_j h_j / S."""

    class Options(Encoder.Options):
        """A pretrained encoder of the library transformers, read from a local folder; a trained model contains it."""

        model: str
        """A folder of transformers with config.json, tokenizer.json and weights; or hf:owner/name, fetched before with
        `hf download owner/name`."""
        layers: Layers = -1
        """The layer whose states are read; −1: the last; mix: a learned mixture of all."""
        train: Train = "frozen"
        """frozen: the weights stay as they are, and the states of each row are computed once; lora: train low-rank
        changes of the matrices; full: train all weights."""
        rank: Size | None = None
        """Rank of the changes with train: lora; default: 8."""
        pool: Literal["mean", "first"] = "mean"
        """The state of a word of several pieces: their mean, or that of the first."""
        dropout: Dropout = 0.0
        """Dropout of the values, and of the input of low-rank changes."""
        parents: Parents.Options | None = None
        """Add a soft parent to each value of the memory; default: none."""

    reads = ("text",)
    by_word = True
    looks_at_itself = True

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> PretrainedEncoder:
        body, origin = make_body(options.model, column.config, read_files=read_files)
        body = set_trained(body, options.train, options.rank or 8, options.dropout)
        made = cls(
            body, layers=options.layers, train=options.train, pool=options.pool, dropout=options.dropout
        )
        made.origin = origin
        return made

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        column = plan.inputs[name]
        if getattr(column, "unit", None) != "word" or getattr(column, "case", None) == "marked":
            mistakes.add(
                f"a pretrained encoder reads whole words, and {name} has other units.",
                fix="Use unit: word, and case: keep or lower.",
            )
        if options.rank is not None and options.train != "lora":
            mistakes.add(
                "rank has no effect: it belongs to train: lora.",
                "rank",
                fix="Leave rank out, or set train: lora.",
            )
        refuse_unread(options, ["parents"], plan, mistakes)
        if options.parents is not None:
            readers = [other for other in plan.encoder if owner_of(plan, other) is options]
            Parents.check(options.parents, readers, plan, mistakes.at("parents"))

    @classmethod
    def column_needs(cls, options: Any) -> dict[str, Any]:
        return {"cut_by": options.model}

    @classmethod
    def symbols(cls, options: Any) -> MemorySymbols:
        return MemorySymbols() if options.parents is None else MemorySymbols("g_j", gain=2)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        last = "the last layer" if options.layers == -1 else f"layer {options.layers}"
        where = "a learned mixture of the layers" if options.layers == "mix" else last
        state = "the mean state of the pieces" if options.pool == "mean" else "the state of the first piece"
        dropout = f", dropout {options.dropout}" if options.dropout else ""
        return [
            "j = 1 … S",
            "h_j = ζ_j",
            "h = Σ_j h_j / S     — the summary",
            f"— ζ_j: {state} of word j in {where} of {options.model}, {TRAINED[options.train]}{dropout}",
            *parents_lines(options),
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return {"body.**": "ζ_j", "mix.**": "ζ_j"}

    origin: ModelOrigin | None = None
    """Where the weights were read from; None in a model that was loaded."""

    def __init__(
        self,
        body: Any,
        *,
        layers: int | str = -1,
        train: Train = "frozen",
        pool: str = "mean",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.body, self.frozen, self.layers, self.first = body, train == "frozen", layers, pool == "first"
        self.mix = LayerMix(int(body.config.num_hidden_layers) + 1) if layers == "mix" else None
        self.dropout = nn.Dropout(dropout)
        self.value_size = self.summary_size = body_size(body)
        self.cache: FeatureCache | None = None
        if self.frozen:
            self.body.eval()

    def train(self, mode: bool = True) -> PretrainedEncoder:
        super().train(mode)
        if self.frozen:
            self.body.eval()
            if mode and self.cache is None:  # a model that only answers keeps nothing
                self.cache = FeatureCache()
        return self

    def forward(self, tokens: Tokens) -> Memory:
        assert tokens.cut is not None
        layers = self._features(tokens)  # (L, B, S, D)
        values = layers[0] if self.mix is None else self.mix(layers)
        values = self.dropout(values) * tokens.mask.unsqueeze(-1)
        return Memory(values, tokens.mask, masked_mean(values, tokens.mask))

    def _features(self, tokens: Tokens) -> Tensor:
        """The states of words in the layers that are read, (L, B, S, D)."""
        cut, (rows, longest) = tokens.cut, tokens.ids.shape
        assert cut is not None
        if not self.frozen:
            return self._pooled(cut, rows, longest)
        if self.cache is None:
            with torch.no_grad():
                return self._pooled(cut, rows, longest)
        counts = tokens.lengths.tolist() if tokens.counts is None else tokens.counts.tolist()
        found = self.cache.rows(
            cut.keys, lambda row: self._pooled(cut.row(row, longest), 1, counts[row])[:, 0]
        )
        padded = pad_sequence([one.transpose(0, 1) for one in found], batch_first=True)  # (B, S', L, D)
        short = longest - padded.shape[1]
        return nn.functional.pad(padded, (0, 0, 0, 0, 0, short)).permute(2, 0, 1, 3)

    def _pooled(self, cut: WordPieces, rows: int, longest: int) -> Tensor:
        """(L, B, S, D)"""
        every = self.mix is not None or self.layers != -1
        read = self.body(input_ids=cut.ids, attention_mask=cut.mask, output_hidden_states=every)
        if self.mix is not None:
            states = torch.stack(read.hidden_states)
        elif every:
            states = read.hidden_states[self.layers].unsqueeze(0)
        else:
            states = read.last_hidden_state.unsqueeze(0)  # (L, N, P, D)
        places, words = self._pairs(cut)
        flat = states.flatten(1, 2)
        sums = flat.new_zeros(len(flat), rows * longest, flat.shape[-1]).index_add(1, words, flat[:, places])
        pieces = flat.new_zeros(rows * longest).index_add(0, words, torch.ones_like(places, dtype=flat.dtype))
        means: Tensor = (sums / pieces.clamp(min=1).unsqueeze(-1)).unflatten(1, (rows, longest))
        return means

    def _pairs(self, cut: WordPieces) -> tuple[Tensor, Tensor]:
        """The pieces and the words that they belong to; with pool: first, one piece for each word."""
        if not self.first:
            return cut.places, cut.words
        begins = torch.ones_like(cut.words, dtype=torch.bool)
        begins[1:] = cut.words[1:] != cut.words[:-1]
        return cut.places[begins], cut.words[begins]

    @torch.no_grad()
    def self_looks(self, collated: Tokens) -> dict[str, Tensor]:
        """The attention of the encoder itself, by word: the mean over the pieces of a word of what they give to all
        pieces of another, without what goes to special pieces."""
        cut, (rows, longest) = collated.cut, collated.ids.shape
        if cut is None or len(cut.ids) != rows:  # a text in several windows
            return {}
        before = self.body.config._attn_implementation
        self.body.set_attn_implementation("eager")
        try:
            read = self.body(input_ids=cut.ids, attention_mask=cut.mask, output_attentions=True)
        finally:
            self.body.set_attn_implementation(before)
        belongs = cut.ids.new_zeros(rows, cut.ids.shape[1], longest, dtype=torch.float32)  # (B, P, S)
        row, piece = cut.places // cut.ids.shape[1], cut.places % cut.ids.shape[1]
        belongs[row, piece, cut.words % longest] = 1.0
        mean = belongs / belongs.sum(1, keepdim=True).clamp(min=1)
        found = {}
        for number, weights in enumerate(read.attentions or (), 1):
            name = f"encoder layer {number}"
            if heads_kept(name):
                by_word = torch.einsum("bps,bhpq,bqt->bhst", mean, weights.float(), belongs)
                found[name] = by_word / by_word.sum(-1, keepdim=True).clamp(min=1e-9)
        return found
