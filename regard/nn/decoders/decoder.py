"""The base of all decoders: their sources, their loss, and their predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import torch
from pydantic import field_validator
from torch import Tensor, nn

from regard import parts
from regard.errors import Message, RegardError, ShellCommand
from regard.nn.attention import watching
from regard.nn.letters import Letters
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.path import without_fast_paths
from regard.nn.symbols import MemorySymbols
from regard.parts import Dropout, Mistakes, Plan, Positive
from regard.parts.contract import base, declared, optional, required
from regard.trace import Potentials
from regard.trace.prediction import Prediction

if TYPE_CHECKING:
    from regard.nn.attention import Reading


class Source(Protocol):
    """Anything that knows the sizes of a memory, such as an encoder."""

    @property
    def value_size(self) -> int: ...

    @property
    def summary_size(self) -> int: ...


Truth = Mapping[str, Tensor] | Tensor | None
"""The true alignment (B, T, S) by the name of the attended memory; a bare tensor if only one is attended."""
MEAN_LOSS = ShellCommand("evaluate", ("RUN",), {"metric": "loss"}, python='model.evaluate(metrics=["loss"])')


@dataclass(frozen=True)
class BatchView:
    """The inputs behind a batch of predictions, in readable form.

    pieces           for each input the readable pieces of each row
    truth            {input: (B, T, S)} the true attention, where known; supporting facts as Tokens
    trace            whether the predictions include a trace of the attention
    replace_unknown  whether unknown output words become the most attended source word
    target           the true output of the rows, as its column collates it, if the batch holds it
    overridden       the inputs whose attention was imposed; their truth is the imposed attention
    verbatim         the pieces of each row exactly as in the text, for the inputs that are copied from
    given            the pieces of each output exactly as in the text, if given outputs are scored
    """

    pieces: Mapping[str, Sequence[Sequence[str]]]
    truth: Mapping[str, Any]
    trace: bool = True
    replace_unknown: bool = False
    target: Any = None
    overridden: Sequence[str] = ()
    verbatim: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    given: Sequence[Sequence[str]] | None = None

    def inputs(self, row: int) -> dict[str, Sequence[str]]:
        """The readable pieces of one row, by input."""
        return {name: rows[row] for name, rows in self.pieces.items()}


@base("decoder")
class Decoder(nn.Module):
    """Memories → an output: at once (`predict`), or step by step (`StepwiseDecoder`).

    To add a decoder, derive from this class and write `build`, `board`, `loss`, `predict` and `predictions`.

    writes     the types of columns it can write
    stepwise   whether a search writes the output, one step after another
    traces_given   whether `score` gives the trace of a given output, such as the true one
    from_vocabulary   whether it writes units of a vocabulary, among them the unknown unit: words, not positions
    small      options for some thousand rows, which `regard train FILE` chooses
    warmup     number of updates over which the learning rate should rise at first, if `regard train FILE` chooses it
    weighs     whether its loss is a sum over rows, whose targets `select_rows` divides, so that rows can have weights
    settles    whether it chooses something on dev after training, such as thresholds
    looks      number of looks of an answer; None: one for each output token
    reading    the attentions, by the name of the memory; None without attention
    by_words   the memories of sentences whose words are attended to
    calibration   the temperature of its answers, from the option of this name if it has one
    """

    class Options(parts.Options):
        """Options shared by all decoders."""

        over: tuple[str, ...] | None = None
        """The inputs this decoder is conditioned on; default: all of them."""
        weight: Positive = 1.0
        """Weight of this output's loss in the total loss."""
        dropout: Dropout = 0.0
        """Probability that a feature is set to zero in training."""

        @field_validator("over", mode="before")
        @classmethod
        def _one_or_many(cls, value: Any) -> Any:
            return (value,) if isinstance(value, str) else value

    writes: ClassVar[tuple[str, ...]] = ()
    stepwise: ClassVar[bool] = False
    traces_given: ClassVar[bool] = False
    from_vocabulary: ClassVar[bool] = False
    small: ClassVar[Mapping[str, Any]] = {}
    warmup: ClassVar[int] = 0
    settles: ClassVar[bool] = False
    weighs: ClassVar[bool] = False
    looks: int | None = None
    reading: Reading | None
    by_words: tuple[str, ...] = ()
    calibration: float = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.reading = None

    def looked_at(self, name: str, memory: Memory) -> Memory:
        """The memory to attend to for an input: the memory itself, or that of its words (`by_words`)."""
        if name not in self.by_words or memory.parts is None:
            return memory
        words = memory.parts.memory(memory)
        return replace(words, verbatim=memory.verbatim, override=memory.override)

    def calibrated(self, logits: Tensor) -> Tensor:
        """The logits, divided by the temperature of the calibration unless the network is trained."""
        return logits if self.training or self.calibration == 1.0 else logits / self.calibration

    @property
    def copies_from(self) -> str | None:
        """The input whose pieces it can copy into its output; None if it copies nothing."""
        return None

    @property
    def tree_over(self) -> str | None:
        """The input whose words it joins to a dependency tree; None if it makes no such tree."""
        return None

    @property
    def attended(self) -> tuple[str, ...]:
        """The memories it attends to."""
        return () if self.reading is None else self.reading.names

    @classmethod
    @required("when a model is built or loaded")
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> Decoder:
        """A new decoder for the output `column`, which reads from the encoders `sources`."""
        raise NotImplementedError

    @classmethod
    @optional("when a spec is checked")
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        """Report invalid options of the decoder of the output `name`."""

    @classmethod
    @optional("before its column is built")
    def column_needs(cls, options: Any) -> dict[str, Any]:
        """Requirements on the output column beyond its own options, as keywords of the column's class."""
        return {}

    @classmethod
    @optional("before the columns of the inputs are built")
    def input_needs(cls, options: Any, name: str, plan: Plan) -> dict[str, dict[str, Any]]:
        """Requirements on the input columns, by input, in the form of `column_needs`."""
        return {}

    @classmethod
    def fewest_units(cls, options: Any) -> int:
        """Units of a placeholder vocabulary that suffice to count parameters before the data are read."""
        return 8

    @classmethod
    @optional("when a spec is checked")
    def attentions(cls, options: Any) -> tuple[Any, ...]:
        """The options of its attentions."""
        found = getattr(options, "attention", None)
        return () if found is None else found if isinstance(found, tuple) else (found,)

    @classmethod
    @optional("when a spec is read")
    def attends_to(
        cls, options: Mapping[str, Any], column: Mapping[str, Any], read: Sequence[str]
    ) -> Sequence[str] | None:
        """The inputs that an attention without `over` attends to. None: the option `attention` is of one input only.

        options, column   the decoder and its output as written in the spec, before they are validated
        read              the inputs that the decoder reads
        """
        return None

    @classmethod
    @optional("when a spec is checked")
    def reads_positions(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        """The inputs whose positions it reads; default: all that it is conditioned on."""
        return options.over or tuple(plan.encoder)

    @classmethod
    @optional("when a spec is checked")
    def reads_summaries(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        """The inputs whose summaries it reads; default: all that it is conditioned on."""
        return options.over or tuple(plan.encoder)

    @classmethod
    @required("by `regard describe`")
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        """The equations that `regard describe` prints, with these symbols of the memories."""
        raise NotImplementedError

    @classmethod
    @optional("to draw the network")
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        """The letter of each parameter in these equations (`regard.nn.letters`)."""
        return {}

    @classmethod
    @required("by `regard describe`")
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        """The equation of the loss, `loss = …` for one row of data."""
        raise NotImplementedError

    @classmethod
    def board_algorithm(cls, options: Any) -> list[str]:
        """Lines about the training algorithm; default: none."""
        return []

    @required("for every batch of training and of dev")
    def loss(self, memories: Mapping[str, Memory], target: Any, *, truth: Any = None) -> Loss:
        """The sum over the rows (or tokens), their number, and the parts of the sum by name."""
        raise NotImplementedError

    @optional("before `loss`, if gradients are accumulated")
    def count(self, target: Any) -> Tensor | None:
        """() the `count` of the loss of this target, from the target alone; None if only the loss can tell.

        The losses of accumulated batches are divided by the count of all of them, which must be known before
        the first loss. Without it, every loss is computed twice.
        """
        return None

    @required("for every batch to answer")
    def predict(self, memories: Mapping[str, Memory], *, truth: Any = None) -> Any:
        """The raw output of a decoder that answers at once, as `predictions` takes it."""
        raise NotImplementedError

    @optional("for given outputs: `regard score`, metrics of likelihood")
    def score(self, memories: Mapping[str, Memory], target: Any, *, truth: Any = None) -> Any:
        """Score given outputs. The result has the form of a search result, as `predictions` takes it."""
        raise RegardError(
            f"a {type(self).Options.type} decoder cannot score given outputs.",
            fix=Message("`", MEAN_LOSS, "` gives their mean loss."),
        )

    @declared("settles")
    def settle(self, rows: Iterable[tuple[Mapping[str, Memory], Any]]) -> str:
        """Choose on dev what the loss does not train, such as thresholds; returns what was chosen, in one line.

        rows   the memories and the true outputs of the batches of dev
        """
        return ""

    @required("after `predict` and `score`")
    def predictions(self, found: Any, column: Any, view: BatchView) -> list[Prediction]:
        """Convert raw output to one Prediction for each row of the batch."""
        raise NotImplementedError

    def repeat(self, found: Any, memories: Mapping[str, Memory]) -> None:
        """Compute the found output once more on the plain path, so that every attention is called again."""
        self(memories)

    def with_structures(
        self,
        answers: Sequence[Prediction],
        found: Any,
        memories: Callable[[], Mapping[str, Memory]],
        *,
        samples: int,
        seed: int,
    ) -> list[Prediction]:
        """The answers, with the jointly selected structures in their traces.

        A search keeps only the weights. To show the structures, the best answer is computed once more, and
        the scores of each attention are recorded.

        memories   returns the memories that the decoder read; called only if needed
        samples    number of structures to draw
        """
        attentions = {} if self.reading is None else self.reading.structured()
        if not attentions:
            return list(answers)
        read = memories()
        if any(read[name].override is not None for name in attentions):
            return list(answers)  # the attention was imposed
        scores = scores_during(attentions, lambda: self.repeat(found, read))  # (B, T, S) by name
        generator = torch.Generator(next(iter(scores.values())).device).manual_seed(seed)
        drawn: dict[str, tuple[Any, Any]] = {}
        for name, one in attentions.items():
            structure = one.select.structure(scores[name], read[name].mask)
            drawn[name] = (
                structure.mode.cpu().numpy(),  # (B, T, S)
                structure.sample((samples,), generator=generator).cpu().numpy() if samples else None,
            )
        shown = []
        for row, answer in enumerate(answers):
            if answer.trace is not None:
                structures = dict(answer.trace.structures)
                for name, (best, several) in drawn.items():
                    part = attentions[name].select.traced(answer.trace, name, best[row], _of(several, row))
                    structures[name] = part
                answer = replace(answer, trace=replace(answer.trace, structures=structures))
            shown.append(answer)
        return shown

    def potentials(self, found: Any, memories: Mapping[str, Memory]) -> dict[str, Potentials]:
        """The scores behind the selected structures of the first row, by input; default: those of its attentions.

        found   the result of the search, or of `predict`
        """
        attentions = {} if self.reading is None else self.reading.structured()
        if not attentions:
            return {}
        scores = scores_during(attentions, lambda: self.repeat(found, memories))  # (B, T, S) by name
        given = {
            name: one.select.potentials(scores[name][0], memories[name].mask[0])
            for name, one in attentions.items()
        }
        return {name: one for name, one in given.items() if one is not None}


class PositionDecoder(Decoder):
    """A decoder that predicts one thing for each position of one input, the one that its column is `of`."""

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        if options.over is not None:
            mistakes.add(
                f"over has no effect: a {options.type} decoder reads the tokens of {plan.outputs[name].of} alone.",
                "over",
                fix="Leave over out.",
            )

    @classmethod
    def reads_positions(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return (plan.outputs[name].of,)

    @classmethod
    def reads_summaries(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return ()


def _of(samples: Any, row: int) -> Any:
    return None if samples is None else samples[:, row]


def scores_during(attentions: Mapping[str, Any], call: Callable[[], Any]) -> dict[str, Tensor]:
    """The scores (B, T, S) that each attention computes during a call, step after step.

    Other threads may call the same attentions meanwhile; their scores are ignored.
    """
    # Not by hooks: they would be seen by other threads, which would then leave their kernels.
    with without_fast_paths(), watching(attentions.values()) as seen:
        call()
    return {name: torch.cat(seen[one], 1) for name, one in attentions.items()}


def truth_by_name(truth: Truth, attended: tuple[str, ...]) -> dict[str, Tensor]:
    if truth is None:
        return {}
    if isinstance(truth, Tensor):
        if len(attended) != 1:
            raise RegardError(
                f"A true alignment was given without a name, and the decoder attends to {len(attended)} memories.",
                fix="Give a mapping from the memory's name to its alignment.",
            )
        return {attended[0]: truth}
    return dict(truth)


def summaries(memories: Mapping[str, Memory], names: tuple[str, ...]) -> Tensor:
    """The concatenated summaries of several memories, (B, Σ D)."""
    missing = [name for name in names if name not in memories]
    if missing:
        raise RegardError(
            f"The decoder needs the memories {', '.join(names)}; {', '.join(missing)} is missing."
        )
    return torch.cat([memories[name].summary for name in names], -1)


def truth_rows(
    view: BatchView, row: int, length: int, trace_inputs: Mapping[str, Sequence[str]], attended: Sequence[str]
) -> dict[str, Any]:
    """The true attention for the rows of an answer; rows beyond the true output are zero."""
    found = {}
    for name, truth in view.truth.items():
        if name in attended:
            known = truth[row]
            rows = torch.zeros(length, len(trace_inputs[name]))
            height, width = min(length, known.shape[0]), min(rows.shape[1], known.shape[1])
            rows[:height, :width] = known[:height, :width]
            found[name] = rows.numpy()
    return found
