"""CTC decoder: each position says a unit or nothing, all at once (Graves et al. 2006).

    q_n = softmax(V h_n + b)                       n = 1 … N frames; the first entry is blank: nothing is said
    p(y | x) = Σ_π Π_n q_n[π_n]                    over the paths π that become y without repetitions and blanks

There is no recurrence over the output and no attention. Which frames say which unit is a structure,
`regard.structures.CTCAlignment`, with exact marginals. With `upsample`, each position of the input is several frames,
for outputs that are longer than the input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batch import BEGIN, END, PAD, Tokens
from regard.errors import RegardError
from regard.nn.decoders.decoder import BatchView, Decoder, Source, truth_rows
from regard.nn.letters import Letters, linear
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.precision import at_least_single
from regard.nn.search.prefixes import prefix_beam
from regard.nn.symbols import MemorySymbols
from regard.parts import Depth, Mistakes, Plan, register
from regard.structures import CTCAlignment
from regard.trace import Segments, Trace
from regard.trace.prediction import Alternative, Prediction

BLANK = PAD
"""The unit that says nothing."""


@dataclass(frozen=True)
class CTCTexts:
    """The texts of B rows, and their alignment.

    ids          (B, T) int64 the units; lengths (B,) how many
    scores       (B,) log p(y | x), over all alignments
    marginals    (B, F, T) p(frame says unit | x, y)
    frames       (B,) numbers of frames
    others       the n best texts of each row with log p of the alignments in the beam, if there are several
    """

    ids: Tensor
    lengths: Tensor
    scores: Tensor
    marginals: Tensor
    frames: Tensor
    others: Sequence[Sequence[tuple[Sequence[int], float]]] = ()


@register("decoder", "ctc")
class CTCDecoder(Decoder):
    """p(y | x) = Σ_π Π_n softmax(V h_n + b)[π_n], over the paths that say y."""

    class Options(Decoder.Options):
        """Every position says a unit or nothing, all at once: connectionist temporal classification (Graves 2006)."""

        upsample: Depth = 1
        """Frames of each position of the input; more than 1 if outputs can be longer than inputs."""
        beam: Depth = 1
        """Number of texts in a prefix beam search; 1: the best unit of each frame."""

    writes = ("text",)
    weighs = True
    from_vocabulary = True
    traces_given = True

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> CTCDecoder:
        return cls(
            column.size, sources, upsample=options.upsample, beam=options.beam, dropout=options.dropout
        )

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        read = options.over or tuple(plan.encoder)
        if len(read) > 1:
            mistakes.add(
                f"a ctc decoder reads the positions of one input; here there are {', '.join(read)}.",
                "over",
                fix=f"Set  over: {read[0]}.",
            )

    @classmethod
    def reads_summaries(cls, options: Any, name: str, plan: Plan) -> tuple[str, ...]:
        return ()

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        (memory,) = memories.values()
        j, length = memory.index, memory.length
        before = f"{{{j}−1,t}}"
        several = f"; each position of the input is {options.upsample} frames" if options.upsample > 1 else ""
        found = (
            f"prefix beam search, {options.beam} texts" if options.beam > 1 else "the best unit of each frame"
        )
        dropout = f", dropout {options.dropout}" if options.dropout else ""
        return [
            f"t = 1 … T     — y_t: the units of the text{several}",
            f"q_{j} = softmax(V_y {memory.values} + b_y)     — the first is blank; b_y is −∞ for marks of ends",
            "a_{0,0} = 1     — a: the last frame is blank, and t units were said",
            "a_{0,t} = 0",
            "s_{0,0} = 0     — s: the last frame says unit t",
            "s_{0,t} = 0",
            f"s_{{{j},0}} = 0",
            f"a_{{{j},0}} = (a_{{{j}−1,0}} + s_{{{j}−1,0}}) q_{j}[1]",
            f"a_{j}t = (a_{before} + s_{before}) q_{j}[1]",
            f"s_{j}t = (s_{before} + a_{{{j}−1,t−1}} + s_{{{j}−1,t−1}}) q_{j}[y_t] for y_t ≠ y_{{t−1}}",
            f"s_{j}t = (s_{before} + a_{{{j}−1,t−1}}) q_{j}[y_t] for y_t = y_{{t−1}}",
            f"p(y) = a_{{{length},T}} + s_{{{length},T}}",
            f"— prediction: {found}{dropout}",
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        return linear("output", "V_y", "b_y")

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        return ["loss = −log(p(y)) / T     — mean over the units of the text"]

    @classmethod
    def board_algorithm(cls, options: Any) -> list[str]:
        return ["back-propagation through the sum over all alignments (forward algorithm)"]

    never: Tensor

    def __init__(
        self,
        units: int,
        sources: Mapping[str, Source],
        *,
        upsample: int = 1,
        beam: int = 1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        (self.of,) = sources
        self.upsample, self.beam = upsample, beam
        self.output = nn.Linear(sources[self.of].value_size, upsample * units)
        self.dropout = nn.Dropout(dropout)
        never = torch.zeros(units, dtype=torch.bool)
        never[[BEGIN, END]] = True
        self.register_buffer("never", never, persistent=False)

    @property
    def attended(self) -> tuple[str, ...]:
        return (self.of,)

    def forward(self, memories: Mapping[str, Memory]) -> Tensor:
        """Log-probabilities (B, F, V) of the frames."""
        if memories[self.of].override is not None:
            raise RegardError(
                "a ctc decoder has no attention to override: its alignment follows from what each frame says.",
                where="look",
                fix="Use a decoder with attention, such as recurrent.",
            )
        logits = self.output(self.dropout(memories[self.of].values)).unflatten(-1, (self.upsample, -1))
        logits = at_least_single(logits.flatten(1, 2)).masked_fill(self.never, -torch.inf)
        return torch.log_softmax(logits, -1)

    def frames(self, memories: Mapping[str, Memory]) -> Tensor:
        """(B,) numbers of frames."""
        return memories[self.of].mask.sum(-1) * self.upsample

    def alignment(self, memories: Mapping[str, Memory], ids: Tensor, lengths: Tensor) -> CTCAlignment:
        """The alignments of texts (B, T)."""
        return CTCAlignment.of(self(memories), ids, lengths=(self.frames(memories), lengths), blank=BLANK)

    def count(self, target: Tokens) -> Tensor:
        return target.lengths.sum()

    def loss(self, memories: Mapping[str, Memory], target: Tokens, *, truth: Any = None) -> Loss:
        """−log p(y | x), summed over rows; the count is of units."""
        self._check_room(target, self.frames(memories))
        total = -self.alignment(memories, target.ids, target.lengths).log_partition.sum()
        return Loss(total, self.count(target), {"likelihood": total.detach()})

    def _check_room(self, target: Tokens, frames: Tensor) -> None:
        """Refuse a text that needs more frames than its input has."""
        again = (target.ids[:, 1:] == target.ids[:, :-1]) & target.mask[:, 1:]
        needed = target.lengths + again.sum(-1)
        over = needed > frames
        if not bool(over.any()):
            return
        row = int(over.nonzero()[0])
        more = -(-int(needed[row]) * self.upsample // max(int(frames[row]), 1))
        raise RegardError(
            f"an output of {int(target.lengths[row])} units needs {int(needed[row])} frames (repeated units need a "
            f"blank between them), and its input has {int(frames[row])}.",
            where="decoder.upsample",
            fix=f"Set  upsample: {more}, reduce the positions of the input less, or leave out such rows.",
        )

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Any = None) -> CTCTexts:
        logs, frames = self(memories), self.frames(memories)
        if self.beam == 1:
            texts, others = best_paths(logs, frames), []
        else:
            rows = logs.double().cpu().numpy()
            counts = frames.tolist()
            others = [
                prefix_beam(row[:n], self.beam, blank=BLANK) for row, n in zip(rows, counts, strict=True)
            ]
            others = [found or [((), 0.0)] for found in others]
            texts = [list(found[0][0]) for found in others]
        return self._told(logs, frames, texts, others)

    @torch.no_grad()
    def score(self, memories: Mapping[str, Memory], target: Tokens, *, truth: Any = None) -> CTCTexts:
        texts = [ids[:count] for ids, count in zip(target.ids.tolist(), target.lengths.tolist(), strict=True)]
        return self._told(self(memories), self.frames(memories), texts)

    def _told(
        self,
        logs: Tensor,
        frames: Tensor,
        texts: Sequence[Sequence[int]],
        others: Sequence[Sequence[tuple[Sequence[int], float]]] = (),
    ) -> CTCTexts:
        longest = max(map(len, texts), default=0)
        ids = torch.tensor([[*text, *[PAD] * (longest - len(text))] for text in texts], dtype=torch.int64)
        ids = ids.view(len(texts), longest).to(logs.device)
        lengths = torch.tensor([len(text) for text in texts], device=logs.device)
        alignment = CTCAlignment.of(logs, ids, lengths=(frames, lengths), blank=BLANK)
        return CTCTexts(ids, lengths, alignment.log_partition, alignment.marginals, frames, others)

    def predictions(self, found: CTCTexts, column: Any, view: BatchView) -> list[Prediction]:
        answers = []
        for row, (ids, count) in enumerate(zip(found.ids.tolist(), found.lengths.tolist(), strict=True)):
            text = column.join(column.spell(ids[:count]))
            score = float(found.scores[row])
            seen = None
            if view.trace:
                inputs = view.inputs(row)
                said = (
                    self._by_position(found.marginals[row, :, :count].T, len(inputs[self.of])).cpu().numpy()
                )
                total = said.sum(-1, keepdims=True)
                looks = said / total.clip(min=1e-30)
                truth = truth_rows(view, row, count, inputs, [self.of])
                seen = Trace(
                    input=inputs, output=column.tokens(ids[:count]), attention={self.of: looks}, truth=truth
                )
            several = (
                [
                    Alternative(column.join(column.spell(list(other))), log_p)
                    for other, log_p in found.others[row]
                ]
                if found.others
                else []
            )
            answers.append(Prediction(text, text, score, seen, several if len(several) > 1 else ()))
        return answers

    def _by_position(self, frames: Tensor, positions: int) -> Tensor:
        """(…, F) of frames → (…, S) of positions."""
        found: Tensor = frames.unflatten(-1, (-1, self.upsample)).sum(-1)[..., :positions]
        return found

    @torch.no_grad()
    def with_structures(
        self,
        answers: Sequence[Prediction],
        found: CTCTexts,
        memories: Callable[[], Mapping[str, Memory]],
        *,
        samples: int,
        seed: int,
    ) -> list[Prediction]:
        """The answers, with the marginals of the alignment, the best alignment and samples in their traces."""
        alignment = self.alignment(memories(), found.ids, found.lengths)
        generator = torch.Generator(alignment.marginals.device).manual_seed(seed)
        best, drawn = alignment.mode, None
        if samples:
            drawn = alignment.sample((samples,), generator=generator)
        shown = []
        for row, answer in enumerate(answers):
            if answer.trace is not None:
                count, positions = len(answer.trace.output), len(answer.trace.input[self.of])

                def placed(frames: Tensor, count: int = count, positions: int = positions) -> Any:
                    kept = self._by_position(frames[..., :count].transpose(-1, -2), positions)
                    return kept.float().cpu().numpy()

                truth = answer.trace.truth.get(self.of)
                segments = Segments(
                    placed(found.marginals[row]).clip(max=1.0),
                    best=placed(best[row]) > 0,
                    truth=None if truth is None else (truth > 0).astype(int),
                    samples=None if drawn is None else placed(drawn[:, row]) > 0,
                )
                structures = {**answer.trace.structures, self.of: segments}
                answer = replace(answer, trace=replace(answer.trace, structures=structures))
            shown.append(answer)
        return shown


def best_paths(logs: Tensor, frames: Tensor) -> list[list[int]]:
    """The best unit of each frame, without repetitions and blanks."""
    best = logs.argmax(-1)  # (B, F)
    first = torch.ones_like(best, dtype=torch.bool)
    first[:, 1:] = best[:, 1:] != best[:, :-1]
    inside = torch.arange(best.shape[1], device=best.device) < frames[:, None]
    kept = first & (best != BLANK) & inside
    return [row[where].tolist() for row, where in zip(best.cpu(), kept.cpu(), strict=True)]
