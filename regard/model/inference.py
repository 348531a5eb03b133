"""Inference on one batch for one output of a model: encode once, then search, score and trace."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard.data import Batch, Tokens
from regard.data.batch import UNKNOWN
from regard.data.columns import Column
from regard.errors import RegardError
from regard.model.building import tree_columns
from regard.model.tracing import with_heads, with_nodes, with_seen, with_self_looks, with_words
from regard.nn.decoders import BatchView
from regard.nn.memory import Memory
from regard.nn.network import Network
from regard.nn.search import Ensemble, Limits, Request, Search, SearchTree, Stepper
from regard.nn.search import score as score_targets
from regard.nn.search.stepper import not_finite
from regard.spec import SearchSpec, Spec
from regard.trace.prediction import Prediction

if TYPE_CHECKING:
    from regard.model.edits import Edit
    from regard.nn.search.constrained import Constrained


@dataclass(frozen=True)
class BatchInference:
    """spec, columns and network are those of the model; the batch is on the model's device.

    edits   the edits of each row (`regard.model.edits`), if any
    """

    spec: Spec
    columns: Mapping[str, Column]
    network: Network
    batch: Batch
    output: str
    edits: Sequence[Sequence[Edit]] | None = None

    @property
    def column(self) -> Column:
        return self.columns[self.output]

    @property
    def decoder(self) -> Any:
        return self.network.decoders[self.output]

    @cached_property
    def read(self) -> Batch:
        """The batch as the encoders read it."""
        if self.edits is None:
            return self.batch
        from regard.model.edits.masking import masked

        return masked(self.batch, self.edits, list(self.spec.inputs))

    @cached_property
    def encoded(self) -> Mapping[str, Memory]:
        if self.edits is None:
            return self.network.encode(self.batch)
        from regard.model.edits.arcs import with_arcs
        from regard.model.edits.imposing import imposed

        encoded = with_arcs(self.edits, self.network, self.read, self.decoder)
        truth = self.network.truth(self.output, self.batch, encoded)
        return imposed(self.edits, encoded, self.decoder, truth)

    @property
    def memories(self) -> dict[str, Memory]:
        return self.network.memories(self.output, self.encoded)

    @cached_property
    def truth(self) -> dict[str, Any] | None:
        return self.network.truth(self.output, self.batch, self.encoded)

    def find(
        self,
        prefix: str | Sequence[int] | None = None,
        others: Sequence[BatchInference] = (),
        keys: Sequence[int] | None = None,
        trees: list[SearchTree] | None = None,
    ) -> Any:
        """The result of the decoder: a text by search, anything else in one step.

        prefix  the beginning of every output: a text, or the decoder's choices; END ends the output
        keys    a number for each row that, with the seed, determines its samples; default: the row's number in
                the data
        trees   where to put the tree of the search, for a batch of one row
        """
        if not self.decoder.stepwise:
            if others or prefix is not None or self.spec.search.constraint:
                self._check_stepwise()
            found = self.decoder.predict(self.memories, truth=self.truth)
            self._check_finite(getattr(found, "scores", None))
            return found
        forced = None
        if prefix:
            forced = self._forced(prefix) if isinstance(prefix, str) else self._chosen(prefix)
        seed = self.spec.training.seed
        keys = self.batch.rows if keys is None else keys
        search = make_search(self.spec.search, keys, seed=seed, prefix=forced, spell=self._spell())
        stepper = self.together(others)
        if self.spec.search.constraint:
            obeying = self.obeying(stepper, forced)
            found = search(obeying) if trees is None else self._traced(search, obeying, trees)
            obeying.check(found, self.spec.search.method.part.named(self.spec.search.method))
            return found
        return search(stepper) if trees is None else self._traced(search, stepper, trees)

    def _spell(self) -> Callable[[int, Sequence[int]], str] | None:
        """The text of an output from its row and its tokens, for a search that compares texts."""
        column: Any = self.column
        if not column.is_text:
            return None
        view: list[BatchView] = []

        def spell(row: int, ids: Sequence[int]) -> str:
            if not view:
                view.append(self.view(trace=False))
            text: str = column.join(self.decoder.spell(ids, column, view[0], row))
            return text

        return spell

    def _traced(self, search: Search, stepper: Stepper, trees: list[SearchTree]) -> Any:
        found, tree = search.traced(stepper)
        trees.append(tree)
        return found

    def obeying(self, stepper: Stepper, prefix: Tokens | None = None) -> Constrained:
        """The stepper, with steps that obey the constraints of the spec."""
        from regard.nn.constraints.obeying import obeying

        search, column = self.spec.search, self.column
        if not self.decoder.from_vocabulary or not hasattr(column, "cutter"):
            raise RegardError(
                f"a constraint needs an output of type text; {self.output!r} is not.",
                where="search.constraint",
                fix="Leave the constraint out.",
            )
        copying = getattr(self.decoder, "copying", None)
        copied = None if copying is None else self.batch[copying.source].verbatim.pieces
        return obeying(
            stepper,
            search.constraint,
            column,
            limits_of(search, prefix),
            unknown=not search.replace_unknown,
            copied=copied,
        )

    def given(self, others: Sequence[BatchInference] = ()) -> Any:
        """The targets of the batch in the form of the decoder's result."""
        if others:
            return score_targets(self.together(others), self.batch[self.output])
        return self.decoder.score(self.memories, self.batch[self.output], truth=self.truth)

    def stepper(self) -> Stepper:
        return Stepper(self.decoder, self.memories, truth=self.truth)

    def together(self, others: Sequence[BatchInference] = ()) -> Stepper:
        """The steps of this model, or the mean over all models if there are others."""
        self._check_stepwise()
        for other in others:
            theirs = other.columns.get(self.output)
            if theirs is None or theirs.learned() != self.column.learned():
                raise RegardError(
                    f"the models of an ensemble must have the same vocabulary of {self.output!r}.",
                    fix="Train the members on the same data with different seeds.",
                )
        if not others:
            return self.stepper()
        return Ensemble([self.stepper(), *(other.stepper() for other in others)])

    def answers(self, found: Any, *, trace: bool = True, given: bool = False) -> list[Prediction]:
        """Results as predictions, with their attention.

        given   whether the results are the targets of the batch
        """
        view = self.view(trace, given)
        predictions: list[Prediction] = self.decoder.predictions(found, self.column, view)
        for row, answer in enumerate(predictions, 1):
            if not answer.score < math.inf:
                raise not_finite(f"{self.output}, row {row} of the batch")
        if len(predictions) != len(self.batch.rows):
            raise RegardError(
                f"the decoder {self.spec.decoder[self.output].type}: predictions returned {len(predictions)} answers "
                f"for {len(self.batch.rows)} rows."
            )
        layouts = {name: layout for name in self.spec.encoder if (layout := self.columns[name].layout)}
        return [_laid_out(answer, layouts) for answer in predictions] if layouts else predictions

    def _check_finite(self, scores: Tensor | None) -> None:
        """Raise if the score (B) of a row is NaN or +∞: the best of NaN would be an answer like any other. (−∞ is the
        score of an answer to which a grammar of tags gives no probability.)
        """
        if scores is not None and not bool((scores < math.inf).all()):
            row = int((~(scores < math.inf)).flatten(1 if scores.dim() > 1 else 0).nonzero()[0, 0]) + 1
            raise not_finite(f"{self.output}, row {row} of the batch")

    def view(self, trace: bool = True, given: bool = False) -> BatchView:
        """The batch in readable form."""
        written = None
        if given and self.batch.texts is not None and self.column.is_text:
            written = [self.column.pieces(text) for text in self.batch.texts(self.output)]
        return BatchView(
            {name: self._positions(name) for name in self.spec.encoder},
            self._shown_truth(),
            trace,
            self.spec.search.replace_unknown,
            self.batch[self.output].to("cpu") if self.output in self.batch else None,
            [name for name, memory in self.encoded.items() if memory.override is not None],
            {
                name: copied.pieces
                for name in self.spec.encoder
                if (copied := getattr(self.batch[name], "verbatim", None)) is not None
            },
            written,
        )

    def _shown_truth(self) -> dict[str, Any]:
        """The true attention on the CPU; where the attention is overridden, the imposed rows instead."""
        found = {name: known.to("cpu") for name, known in (self.truth or {}).items()}
        for name in self.network.over[self.output]:
            override = self.encoded[name].override
            if override is not None:
                found.pop(name, None)
                steps = override.rows[:, :-1]  # the last row is for all later steps
                if bool((steps > 0).any()):
                    found[name] = steps.to("cpu")
        return found

    def _positions(self, name: str) -> list[list[str]]:
        """The names of the positions of an input; units outside the vocabulary as written."""
        column: Any = self.columns[name]
        collated, pieces, texts = self.batch[name], None, None
        if self.batch.texts is not None and column.shows_unknown:
            texts = self.batch.texts(name)
        if name in self.decoder.by_words:
            rows = column.readable_words(collated, texts)
            return [[word for sentence in row for word in sentence] for row in rows]
        if texts is not None:
            pieces = column.readable_texts(collated, texts)
        reader = self.network.reader(name)
        names: list[list[str]] | None = None
        if reader.names_positions:
            names = reader.position_names(collated, pieces)
        if names is None:
            names = column.readable(collated) if pieces is None else pieces
        return names

    def seen(self, answers: Sequence[Prediction]) -> list[Prediction]:
        """The answers, with the images, videos and audio of the inputs in their traces."""
        if not any(self.columns[name].drawn for name in self.encoded):
            return list(answers)
        truths = self.network.truths[self.output]
        return with_seen(answers, self.batch, self.columns, self.encoded, truths)

    def structured(self, answers: Sequence[Prediction], found: Any, samples: int) -> list[Prediction]:
        """The answers, with selected structures and the attention of several heads in their traces."""
        if looks := self._self_looks():
            answers = with_self_looks(answers, looks)
        seen = self.decoder.with_structures(
            answers, found, lambda: self.memories, samples=samples, seed=self.spec.training.seed
        )
        memories = self.memories
        if any(memory.above is not None for memory in memories.values()):
            seen = with_nodes(seen, memories)
        encoded = {name: self.encoded[name] for name in self.network.over[self.output]}
        if any(memory.parts is not None for memory in encoded.values()):
            seen = with_words(seen, encoded, self.batch, self.columns, self.network.truths[self.output])
        if any(memory.heads is not None for memory in memories.values()):
            trees = tree_columns({**self.spec.inputs, **self.spec.truth})
            seen = with_heads(seen, memories, self.batch, trees)
        return list(seen)

    def _self_looks(self) -> dict[str, dict[str, Tensor]]:
        """{input: {layer: (B, heads, S, S)}} for the encoders with self-attention."""
        readers = {name: self.network.reader(name) for name in self.spec.encoder}
        found = {
            name: reader.self_looks(self.batch[name])
            for name, reader in readers.items()
            if reader.looks_at_itself
        }
        return {name: looks for name, looks in found.items() if looks}

    def _check_stepwise(self) -> None:
        if not self.decoder.stepwise:
            raise RegardError(
                "ensembles, prefixes and constraints need a decoder that writes its output step by step; "
                f"that of {self.output!r}, {self.spec.decoder[self.output].type}, does not."
            )

    def _forced(self, prefix: str) -> Tokens:
        """The prefix of every output of the batch."""
        column = self.column
        reason = column.check_value(prefix)
        if reason is not None:
            raise RegardError(f"the prefix {reason}.", where="prefix")
        ids = column.encode(prefix)
        self.decoder.check_prefix(ids.tolist(), self.memories)
        for piece, number in zip(column.tokens(prefix), ids.tolist(), strict=True):
            if self.decoder.from_vocabulary and number == UNKNOWN:
                raise RegardError(
                    f"the model cannot write {piece!r}: it is not in its vocabulary.", where="prefix"
                )
        return self._chosen(ids.tolist())

    def _chosen(self, choices: Sequence[int]) -> Tokens:
        """The same choices for every output of the batch."""
        device, rows = next(self.network.parameters()).device, len(self.batch)
        known = torch.as_tensor(choices, dtype=torch.int64, device=device)
        return Tokens(known.expand(rows, -1), torch.full((rows,), len(known), device=device))


def _laid_out(answer: Prediction, layouts: Mapping[str, str]) -> Prediction:
    """The answer, with the layout of the positions of some inputs in its trace."""
    if answer.trace is None:
        return answer
    return replace(answer, trace=replace(answer.trace, layout={**answer.trace.layout, **layouts}))


def make_search(
    search: SearchSpec,
    keys: Sequence[int],
    *,
    seed: int,
    prefix: Tokens | None = None,
    spell: Callable[[int, Sequence[int]], str] | None = None,
) -> Search:
    """The search of a spec.

    keys     a number for each input: a sample depends on the seed and on this number, not on the batch
    prefix   the beginning of every output
    spell    the text of an output, from its row and its tokens
    """
    request = Request(
        answers=search.n_best,
        limits=limits_of(search, prefix),
        seed=seed,
        keys=keys,
        spell=spell,
        precision=search.precision,
    )
    made: Search = search.method.part.make(search.method, request)
    return made


def limits_of(search: SearchSpec, prefix: Tokens | None = None) -> Limits:
    return Limits(minimum=search.min_length, maximum=search.max_length, prefix=prefix)


def sample_keys(contents: Iterable[Mapping[str, str]]) -> list[int]:
    """A number for each input that, with the seed, determines its samples.

    It is a digest of the input, so that the same input and seed give the same sample at any place of a call,
    plus the number of equal inputs before it in the call, so that equal inputs are sampled independently.
    """
    seen: Counter[bytes] = Counter()
    keys = []
    for content in contents:
        text = repr(sorted(content.items())).encode("utf-8", errors="surrogatepass")
        digest = hashlib.blake2b(text, digest_size=16).digest()
        keys.append(int.from_bytes(digest) + seen[digest])
        seen[digest] += 1
    return keys
