"""A probe: one input of a model, its answer, and what the model would say with other rows of attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from regard.data import Row
from regard.data.batch import BEGIN, END, PAD, UNKNOWN, Tokens
from regard.errors import Option, RegardError
from regard.model import Model
from regard.model.edits import Edit
from regard.nn.imposed import Imposed
from regard.nn.memory import Memory
from regard.nn.network import answering
from regard.parts import nearest
from regard.trace import Trace
from regard.trace.prediction import Prediction

END_WORD = "</s>"
"""The end of a text, as a word."""
WHY = Option("why")
"""The place that messages about a word show."""


class Probe:
    """One input, and the looks of the model at it while it writes its own answer.

    pieces   the pieces of the answer; a label has one
    steps    the number of looks: pieces of a text, glimpses of a label, hops into a story
    ids      the decoder's choices, one for each piece of a text
    over     the attended input that is probed; `attends`: whether there must be one
    """

    def __init__(
        self,
        model: Model,
        value: Any,
        *,
        output: str | None = None,
        over: str | None = None,
        where: str | Option = WHY,
        attends: bool = True,
    ) -> None:
        self.model, self.output, self.where = model, model.output_name(output), where
        self.column: Any = model.columns[self.output]
        self.decoder: Any = model.network.decoders[self.output]
        self.row: Row = model.row(value)
        with torch.no_grad(), answering(model):
            batch = model.dataset([self.row]).batch([0])
            self.inference = model.inference(batch, self.output)
            found = self.inference.find()
            self.prediction: Prediction = self.inference.seen(self.inference.answers(found))[0]
            self.memories: dict[str, Memory] = dict(self.inference.memories)
        assert self.prediction.trace is not None
        self.trace: Trace = self.prediction.trace
        self.stepwise = bool(self.decoder.stepwise)
        self.pieces = [str(piece) for piece in self.trace.output]
        self.ids: list[int] = found.tokens[0, 0, : len(self.pieces)].tolist() if self.stepwise else []
        self._before: dict[int, Any] = {}
        self._copied: Any = None
        self.over = self._over(over) if attends else ""
        if attends:
            known = self.memories[self.over]
            # An override that imposes nothing keeps the steps from kernels that cannot be overridden later.
            nothing = Imposed(known.values.new_zeros(1, 1, known.mask.shape[1]))
            self.memories[self.over] = replace(known, override=nothing)
        self.steps = len(self.pieces) if self.stepwise else len(self._label({})[1][0]) if attends else 1

    def _over(self, over: str | None) -> str:
        attended = tuple(self.decoder.attended)
        if not attended:
            raise RegardError("this output has no attention.", where=self.where)
        if over is None and len(attended) > 1:
            raise RegardError(
                f"the output attends to {', '.join(attended)}.",
                where=self.where,
                fix=f"Pass over={attended[0]!r}.",
            )
        if over is not None and over not in attended:
            raise RegardError(
                f"the output does not attend to {over!r}.",
                where=self.where,
                fix=nearest(over, list(attended)),
            )
        return over or attended[0]

    @property
    def places(self) -> Tensor:
        """(n) the positions that exist."""
        return self.memories[self.over].mask[0].nonzero().flatten()

    def check_step(self, step: int) -> int:
        """A step that exists."""
        if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step < self.steps:
            kind = "pieces" if self.stepwise else "looks"
            raise RegardError(
                f"there is no step {step!r}; the {kind} of the output are 0 to {self.steps - 1}.",
                where=Option("step"),
            )
        return step

    def choice(self, word: str) -> int:
        """The number of a word among the decoder's choices."""
        if not self.stepwise:
            return self._label_number(word)
        if word == END_WORD:
            return int(getattr(self.decoder, "end", END))
        reason = self.column.check_value(word)
        if reason is not None:
            raise RegardError(f"the word {reason}.", where=WHY)
        data = self.model.dataset([Row({**self.row, self.column.field: word})], [self.output])
        target = data.batch([0])[self.output]
        if not isinstance(target, Tokens) or not self.decoder.from_vocabulary:
            raise RegardError("the output is not made of words.", where=WHY)
        choices = self.decoder.targets(self.memories, target) if hasattr(self.decoder, "targets") else target
        if int(target.lengths[0]) != 1:
            pieces = " ".join(self.column.tokens(word))
            raise RegardError(
                f"{word!r} is {int(target.lengths[0])} pieces of the output: {pieces}.",
                where=WHY,
                fix="Ask for one of them.",
            )
        number = int(choices.ids[0, 0])
        if number == UNKNOWN:
            raise RegardError(f"the model cannot write {word!r}: it is not in its vocabulary.", where=WHY)
        return number

    def _label_number(self, word: str) -> int:
        classes = [str(one) for one in getattr(self.column, "classes", ())]
        if not classes:
            raise RegardError("the output is not a word or a label.", where=WHY)
        if word not in classes:
            raise RegardError(f"there is no label {word!r}.", where=WHY, fix=nearest(word, classes))
        return classes.index(word)

    def name(self, choice: int) -> str:
        """The word of a choice."""
        if not self.stepwise:
            return str(self.column.classes[choice])
        if choice == getattr(self.decoder, "end", END):
            return END_WORD
        view = self.inference.view()
        shown = self.decoder.readable([choice], self.column, view, 0)
        return shown[0] if shown else END_WORD

    def probability(self, step: int, word: str) -> float | None:
        """p(word) at a step of the model's own answer; None if it cannot write it."""
        if not self.stepwise:
            known = self.prediction.probabilities
            return None if not known else known.get(word)
        try:
            choice = self.choice(word)
        except RegardError:
            return None
        with torch.no_grad(), answering(self.model):
            state, token = self._state(step)
            logits = self.decoder.step(token, state, self.memories).logits[:, 0]
            return float(self._logs(logits)[0, choice].exp())

    def own(self, step: int) -> tuple[Tensor, Tensor]:
        """(S) the model's own row at a step, normalized, and (V) the log-probabilities there."""
        with torch.no_grad():
            logits, rows = self._answers(step, None)
            row = rows[0] * self.memories[self.over].mask[0]
            return row / row.sum().clamp(min=1e-12), self._logs(logits)[0]

    def logs(self, step: int, rows: Tensor) -> Tensor:
        """(R, V) the log-probabilities of all choices at a step if the attention is one of the rows (R, S)."""
        return self._logs(self._answers(step, rows)[0])

    def _logs(self, logits: Tensor) -> Tensor:
        logs = torch.log_softmax(logits.double(), -1)
        if not self.stepwise:
            return logs
        never = torch.zeros(logs.shape[-1], dtype=torch.bool, device=logs.device)
        never[list(getattr(self.decoder, "forbidden", (PAD, BEGIN)))] = True
        return logs.masked_fill(never, -torch.inf)

    def _answers(self, step: int, rows: Tensor | None) -> tuple[Tensor, Tensor]:
        """Logits (R, V) and rows (R, S)."""
        with answering(self.model):
            if not self.stepwise:
                imposed = {} if rows is None else {step: rows}
                logits, looks = self._label(imposed)
                return logits, looks[:, step]
            token, state, memories = self._copies(step, 1 if rows is None else len(rows))
            if rows is not None:
                override = Imposed(rows.unsqueeze(1).to(memories[self.over].values.dtype))
                memories = {**memories, self.over: replace(memories[self.over], override=override)}
            found = self.decoder.step(token, state, memories)
            return found.logits[:, 0], found.looks[self.over][:, 0]

    def _copies(self, step: int, count: int) -> tuple[Tensor, Any, dict[str, Memory]]:
        """The token before a step, the state and the memories, `count` times."""
        if self._copied is None or self._copied[0] != (step, count):
            state, token = self._state(step)
            copies = torch.zeros(count, dtype=torch.int64, device=token.device)
            memories = {name: memory.select(copies) for name, memory in self.memories.items()}
            self._copied = (step, count), (token.expand(count, 1), state.select(copies), memories)
        found: tuple[Tensor, Any, dict[str, Memory]] = self._copied[1]
        return found

    def rewritten(self, edits: Sequence[Edit], step: int, choice: int) -> Prediction:
        """The answer with these edits: the model's own up to a step, this choice there, and from then on as it
        decodes."""
        with torch.no_grad(), answering(self.model):
            inference = self.model.inference(self.inference.batch, self.output, [list(edits)])
            found = inference.find([*self.ids[:step], choice] if self.stepwise else None)
            return inference.structured(inference.seen(inference.answers(found)), found, 0)[0]

    def _state(self, step: int) -> tuple[Any, Tensor]:
        """The state before a step of the model's own answer, and the token before it, (1, 1)."""
        tokens = [int(getattr(self.decoder, "begin", BEGIN)), *self.ids]
        if not self._before:
            with torch.no_grad():
                self._before[0] = self.decoder.start(self.memories, truth=self.inference.truth)
        latest = max(known for known in self._before if known <= step)
        with torch.no_grad():
            while latest < step:
                token = torch.tensor([[tokens[latest]]], device=self.model.network.device)
                self._before[latest + 1] = self.decoder.step(token, self._before[latest], self.memories).state
                latest += 1
        return self._before[step], torch.tensor([[tokens[step]]], device=self.model.network.device)

    def _label(self, imposed: Mapping[int, Tensor]) -> tuple[Tensor, Tensor]:
        """Logits (R, C) and looks (R, K, S) of a decoder that answers at once."""
        memories = dict(self.memories)
        if imposed:
            (step, rows), count = next(iter(imposed.items())), len(next(iter(imposed.values())))
            copies = torch.zeros(count, dtype=torch.int64, device=rows.device)
            memories = {name: memory.select(copies) for name, memory in memories.items()}
            before = rows.new_zeros(count, step, rows.shape[1])
            after = rows.new_zeros(count, 1, rows.shape[1])
            table = torch.cat([before, rows.unsqueeze(1), after], 1).to(memories[self.over].values.dtype)
            memories[self.over] = replace(memories[self.over], override=Imposed(table))
        found = self.decoder(memories)
        logits, looks = found if isinstance(found, tuple) else (found, None)
        looks = looks[self.over] if isinstance(looks, Mapping) else getattr(looks, "weights", None)
        if not isinstance(logits, Tensor) or logits.ndim != 2 or looks is None:
            raise RegardError(
                "this question needs a text, or a label with attention; this output is another kind.",
                where=self.where,
            )
        return logits, looks
