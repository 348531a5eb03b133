"""Story encoder: one memory position for each sentence, with a key and a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from regard.data.batch import Sentences
from regard.errors import RegardError
from regard.nn.embedding import Embedding, EmbeddingOptions, build_embedding, check_dropout
from regard.nn.encoders.bag import BAGS, BagEncoder, position_line
from regard.nn.encoders.encoder import Encoder
from regard.nn.encoders.layer_symbols import LayerSymbols
from regard.nn.encoders.mean import masked_mean
from regard.nn.encoders.recurrent import RecurrentEncoder
from regard.nn.encoders.text import embedding_note
from regard.nn.letters import Letters, under
from regard.nn.memory import Memory
from regard.nn.symbols import MemorySymbols
from regard.parts import Count, Depth, Dropout, Mistakes, Plan, find, register

WORD_GAIN = 3.0
"""A shared word then scores about 9 · l²,
enough for a softmax over some tens of sentences to select by it."""

TIME_GAIN = 5.0
"""Scale of the ages with `times: next`: at 32 features, a vector then scores about 8 with itself."""


@torch.no_grad()
def begin_with_words(tables: Sequence[Tensor]) -> None:
    """Start all tables (V, D) as the first one, scaled up. A sentence is then found by words it shares with
    the query, and the value read from it finds sentences that share its words at the next hop."""
    first = tables[0] * WORD_GAIN
    for table in tables:
        table.copy_(first)


@register("encoder", "story")
class StoryEncoder(Encoder):
    """The memory of End-to-End Memory Networks (Sukhbaatar, Szlam, Weston, Fergus 2015).

        m_i = a(x_i) + T_A[age of i]        keys, compared with the question
        c_i = c(x_i) + T_C[age of i]        values, read

    a and c are encoders of one sentence (their summaries). T_A and T_C are learned vectors for the age of a
    sentence, 0 for the last one of the story; sentences older than `ages` count as the oldest.

    tables       the sentence encoders. [a, c]: every hop reads the same keys and values ("layer-wise" tying).
                 Or K + 1 encoders, of which hop k uses the k-th for keys and the k+1-st for values
                 ("adjacent" tying); keys and values are then concatenated over all hops, (B, S, K · D)
    times        how T is initialized. "random", or "next": T_C of a sentence is T_A of the sentence after it,
                 and large, so that a hop that has read a sentence looks for what happened next
    time_noise   probability, in training, of an empty time step after a sentence, which makes it and the
                 sentences before it one older. This prevents the model from memorizing ages
    last         number of sentences in the memory; earlier ones are forgotten
    """

    class Options(EmbeddingOptions):
        """A key and a value for each sentence of a story: m_i = a(x_i) + T_A[age], c_i = c(x_i) + T_C[age]."""

        last: Count | None = None
        """Number of sentences to attend to, the last ones of the story; default: all of them."""
        sentence: Literal["bag", "recurrent"] = "bag"
        """bag: the sum of the embeddings; recurrent: the last states of a small bidirectional gru."""
        position: bool = True
        """With the bag: weight each feature by the position of the word in the sentence."""
        ages: Count = 50
        """Number of ages that have their own vector; older sentences count as the oldest."""
        time_noise: Dropout = 0.0
        """Probability, in training, of an empty time step after a sentence,
        which makes earlier sentences one older."""
        tie: Literal["layers", "adjacent"] = "layers"
        """layers: all hops share their keys and values;
        adjacent: the values of a hop are the keys of the next."""
        hops: Depth | None = None
        """With `tie: adjacent`: the number of hops, the same as in the decoder."""
        start: Literal["random", "words"] = "random"
        """How the embeddings are initialized. words, with the bag: all keys and values share the same large
        vectors, so that shared words decide which sentence is found."""
        times: Literal["random", "next"] = "random"
        """How the vectors of the ages are initialized.
        next: the value of a sentence asks for the sentence after it."""

    reads = ("story", "dialog")
    for_hops = True
    words: Any = None
    """The column of the words in the tables, if the encoder was built from one."""

    @classmethod
    def build(cls, options: Any, column: Any, *, read_files: bool = True) -> StoryEncoder:
        embeddings = [
            build_embedding(options, column.words, read_files=read_files)
            for _ in range((options.hops or 1) + 1)
        ]
        if options.start == "words":
            begin_with_words([embedding.weight for embedding in embeddings])

        def sentences(embedding: Embedding) -> Encoder:
            if options.sentence == "bag":
                return BagEncoder(embedding, position=options.position)
            return RecurrentEncoder(embedding, cell="gru", size=options.width_of_vectors // 2)

        tables = [sentences(embedding) for embedding in embeddings]
        found = cls(
            tables, ages=options.ages, times=options.times, time_noise=options.time_noise, last=options.last
        )
        found.words = column.words
        return found

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        check_dropout(options, mistakes)
        if (options.tie == "adjacent") != (options.hops is not None):
            mistakes.add(
                "hops and tie: adjacent need each other: adjacent has one table for each hop.",
                fix="Give both, or neither.",
            )
        if options.sentence == "recurrent":
            for option, usual in (("start", "random"), ("position", True)):
                if getattr(options, option) != usual or option in options.model_fields_set:
                    mistakes.add(
                        f"{option} has no effect: it belongs to sentence: bag.",
                        option,
                        fix=f"Use sentence: bag, or leave {option} out.",
                    )
            if options.width_of_vectors % 2:
                mistakes.add(
                    "sentence: recurrent has two directions with half the features each, so embedding must be even; "
                    f"received {options.width_of_vectors}.",
                    "embedding",
                    fix=f"Set  embedding: {options.width_of_vectors + 1}.",
                )

    @classmethod
    def width(cls, options: Any) -> int | None:
        return int(options.width_of_vectors)

    @classmethod
    def board(cls, options: Any) -> list[str]:
        noise = (
            f"; in training, {options.time_noise:.0%} of the ages are shifted" if options.time_noise else ""
        )
        hops, adjacent = options.hops or 1, options.tie == "adjacent"
        tables = f"l = 1 … {hops + 1}" if adjacent else "l ∈ {A, C}"
        age = f"T_l[min(S − j, {options.ages - 1})]"
        recurrent = options.sentence == "recurrent"
        both = ", d ∈ {→, ←}" if recurrent else ""
        last = "" if options.last is None else f", of the last {options.last}"
        lines = [f"j = 1 … S, m = 1 … N_j, {tables}{both}     — w_jm: word m of sentence j{last}"]
        if recurrent:
            lines += _read_sentences(options, age)
        else:
            weight = "λ_jm ⊙ " if options.position else ""
            lines += [position_line("λ_jm", "m", "N_j")] if options.position else []
            lines.append(f"a_lj = Σ_m {weight}E_l[w_jm] + {age}     — S − j: the age of sentence j")
        read = (
            [
                "κ_lj = a_lj     — the keys of hop l",
                "h_lj = a_{l+1,j}     — the values of hop l",
                f"h = Σ_j a_{{{hops + 1},j}} / S     — the summary",
            ]
            if adjacent
            else [
                "κ_j = a_Aj     — the keys",
                "h_j = a_Cj     — the values",
                "h = Σ_j h_j / S     — the summary",
            ]
        )
        return [*lines, *read, f"— {embedding_note(options)}{noise}"]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        found: Letters = {"tables.*.embedding.weight": "E_l", "ages": "T_l"}
        if options.sentence == "recurrent":
            found |= under("tables.*.layers.0", _sentence_layer().letters())
        return found

    @classmethod
    def symbols(cls, options: Any) -> MemorySymbols:
        if options.tie == "adjacent":
            return MemorySymbols("h_kj", keys="κ_kj", embedding="E_1")
        return MemorySymbols(keys="κ_j", embedding="E_A")

    def __init__(
        self,
        tables: Sequence[Encoder],
        *,
        ages: int = 50,
        times: Literal["random", "next"] = "random",
        time_noise: float = 0.0,
        last: int | None = None,
    ) -> None:
        super().__init__()
        if len(tables) < 2:
            raise RegardError(f"A story needs encoders for keys and for values; received {len(tables)}.")
        self.tables = nn.ModuleList(tables)
        self.hops = len(tables) - 1
        self.value_size = self.key_size = tables[0].summary_size
        self.summary_size = self.value_size
        self.time_noise, self.last = time_noise, last
        self.ages = nn.Parameter(torch.randn(len(tables), ages, self.value_size) * 0.1)
        if times == "next":
            self._begin_with_the_next()

    def forward(self, story: Sentences) -> Memory:
        mask = self._remembered(story)
        ages = self._ages(story, mask)  # (B, S)
        found = []
        for table, times in zip(self.tables, self.ages, strict=True):
            read = [
                cast(BagEncoder, table).sums(tokens) if BAGS(table) else table(tokens).summary
                for tokens in story.buckets
            ]
            found.append((story.gather(read) + times[ages]) * mask.unsqueeze(-1))  # (B, S, D)
        keys, values = torch.cat(found[:-1], -1), torch.cat(found[1:], -1)
        summary = masked_mean(found[-1], mask)
        return Memory(values, mask, summary, keys=keys, layout="sentences")

    @torch.no_grad()
    def _begin_with_the_next(self) -> None:
        self.ages[0] *= TIME_GAIN
        for before, after in zip(self.ages[:-1], self.ages[1:], strict=True):
            after.copy_(torch.cat([before[:1], before[:-1]]))  # the sentence after one of age a has age a − 1

    def _remembered(self, story: Sentences) -> Tensor:
        """(B, S) True for the sentences that exist and are not forgotten."""
        mask = story.mask
        if self.last is None:
            return mask
        places = torch.arange(mask.shape[1], device=mask.device)
        return mask & (places >= story.lengths[:, None] - self.last)

    def _ages(self, story: Sentences, mask: Tensor) -> Tensor:
        places = torch.arange(mask.shape[1], device=mask.device)
        ages = story.lengths[:, None] - 1 - places  # (B, S)
        if self.training and self.time_noise:
            pauses = torch.rand(mask.shape, device=mask.device) < self.time_noise
            ages = ages + pauses.flip(1).cumsum(1).flip(1)
        return ages.clamp(min=0, max=self.ages.shape[1] - 1)


def _sentence_layer() -> LayerSymbols:
    """The symbols of the network that reads the words of a sentence for table l."""
    cell, first = find("cell", "gru").Options(), ("0", "N_j+1")
    return LayerSymbols(cell, inputs="E_l[w_jm]", letter="b", at=("l", "j"), index="m", mark="l", first=first)


def _read_sentences(options: Any, age: str) -> list[str]:
    """Equations of the sentences a_lj, read word by word by the cell of each table l."""
    layer = _sentence_layer()
    return [
        *layer.steps(),
        "→b_lj0 = b_l→     — learned",
        "←b_{l,j,N_j+1} = b_l←",
        f"a_lj = [→b_{{l,j,N_j}}; ←b_lj1] + {age}     — S − j: the age of sentence j",
        *layer.functions(),
        f"— {options.width_of_vectors // 2} units in each direction",
    ]
