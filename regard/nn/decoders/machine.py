"""Machine decoder: a recurrent controller that reads its input while it uses an external memory.

    s_j = cell(s_{j−1}, [x_j; r_{j−1}])        at every step j of the input, blank or not
    r_j = the vectors that the store's heads read, after they wrote
    p_t = σ(V [s_j; r_j] + b)                  at the t-th blank step: the probability that each bit is 1

Without a store, it is the cell alone. Nothing reads the state of a row after its last step, so rows of
different lengths need no masks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.media import Series
from regard.errors import RegardError
from regard.nn.cells import AnyCell, Cell, make_cell
from regard.nn.decoders.decoder import BatchView, PositionDecoder
from regard.nn.letters import Letters, linear, under
from regard.nn.loss import Loss
from regard.nn.memory import Memory
from regard.nn.path import computed
from regard.nn.stores import AnyStore, Store
from regard.nn.symbols import MemorySymbols
from regard.parts import Mistakes, Plan, Size, register
from regard.trace import Tape, Trace
from regard.trace.prediction import Prediction


@dataclass(frozen=True)
class Vectors:
    """logits (B, S, W) of the bits of every step, and mask (B, S), True at the blank steps.

    looks   what the store shows of each step, by name, as lists of S tensors (B, …): `StoreStep.looks`
    """

    logits: Tensor
    mask: Tensor
    looks: dict[str, list[Tensor]] = field(default_factory=dict)

    @property
    def value(self) -> Tensor:
        """(B, S, W) the more probable value of each bit."""
        return (self.logits > 0).long()

    @property
    def step_scores(self) -> Tensor:
        """(B, S) the log-probability of the bits of each step."""
        return nn.functional.logsigmoid(self.logits.abs()).sum(-1)


@register("decoder", "machine")
class MachineDecoder(PositionDecoder):
    """A recurrent controller that reads its input while it uses an external memory.

    The last feature of the source `of` says whether a step is blank.
    """

    class Options(PositionDecoder.Options):
        """A recurrent controller with an external memory, run over its input.
        It outputs a vector at each blank step."""

        cell: AnyCell = "lstm"
        """The controller's recurrent cell."""
        size: Size = 100
        """Units of the controller."""
        store: AnyStore | None = "ntm"
        """The external memory: ntm, lie or dnc, with its options; null: the cell alone."""

    writes = ("bits",)
    weighs = True

    @classmethod
    def build(
        cls, options: Any, column: Any, sources: Mapping[str, Any], *, read_files: bool = True
    ) -> MachineDecoder:
        store = None if options.store is None else options.store.part.build(options.store, options.size)
        features = sources[column.of[0]].value_size
        cell = make_cell(options.cell, features + (0 if store is None else store.read_size), options.size)
        return cls(column.width, column.of[0], cell, store, dropout=options.dropout)

    @classmethod
    def check(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        super().check(options, name, plan, mistakes)
        encoder = plan.encoder.get(plan.outputs[name].of)
        if encoder is not None and not encoder.part.unchanged:
            mistakes.add(
                f"a machine decoder needs the encoder `vectors`; that of {plan.outputs[name].of} is {encoder.type}.",
                fix="Leave the encoder out, or write  encoder: {type: vectors}.",
            )

    @classmethod
    def board(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        (memory,) = memories.values()
        j, cell, store = memory.index, options.cell.part, options.store
        read, shown, lines = memory.values, f"s_{j}", []
        if store is not None:
            read = f"[{memory.values}; r_{{{j}−1,1}}; …; r_{{{j}−1,K}}]"
            shown = f"[s_{j}; r_{j}1; …; r_{j}K]"
            lines = store.part.equations(store, j, f"s_{j}", memory.length)
        dropout = f"; dropout {options.dropout}" if options.dropout else ""
        return [
            "t = 1 … T",
            cell.written_step(options.cell, "y", f"s_{j}", f"s_{{{j}−1}}", read, "c"),
            *lines,
            f"o_{j} = {shown}",
            f"p_t = σ(V_y o_{{τ_t}} + b_y)     — τ_t: the step of the t-th blank (_){dropout}",
            *cell.equations(options.cell, "y"),
        ]

    @classmethod
    def letters(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> Letters:
        cell, store = options.cell.part, options.store
        stored = {} if store is None else under("store", store.part.letters(store))
        return {
            **under("cell", cell.letters(options.cell, "y")),
            **stored,
            **linear("output", "V_y", "b_y"),
            "first_state": tuple(f"{letter}_0" for letter in ("s", *cell.carried_letters("c"))),
        }

    @classmethod
    def board_loss(cls, options: Any, memories: Mapping[str, MemorySymbols]) -> list[str]:
        return ["loss = −Σ_t mean(y_t ⊙ log(p_t) + (1 − y_t) ⊙ log(1 − p_t)) / T     — mean over the bits"]

    def __init__(
        self, width: int, of: str, cell: Cell, store: Store | None = None, *, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.of, self.cell, self.store = of, cell, store
        self.first_state = nn.Parameter(torch.zeros(cell.state_size))
        self.output = nn.Linear(cell.size + (0 if store is None else store.read_size), width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, memories: Mapping[str, Memory], *, looks: bool = False) -> Vectors:
        """looks: whether to record what the store shows."""
        memory = memories[self.of]
        shown: dict[str, list[Tensor]] = {}
        logits = self._run(memory.values, shown if looks else None)
        return Vectors(logits, self._blank(memory), shown)

    def _run(self, values: Tensor, shown: dict[str, list[Tensor]] | None = None) -> Tensor:
        """values (B, S, features) → logits (B, S, W); `shown` collects what the store shows."""
        rows, steps, _ = values.shape
        state, store = self.first_state.expand(rows, -1), self.store
        outputs = []
        held, reads = (None, None) if store is None else (store.start(rows), store.first_reads(rows))
        for step in range(steps):
            inputs = values[:, step]
            if reads is not None:
                inputs = torch.cat([inputs, reads], -1)
            state = self.cell(inputs, state)
            output = self.cell.output(state)
            if store is not None:
                done = store.step(output, held)
                held, reads = done.state, done.reads
                output = torch.cat([output, reads], -1)
                if shown is not None:
                    for name, look in done.looks.items():
                        shown.setdefault(name, []).append(look)
            outputs.append(output)
        logits: Tensor = self.output(self.dropout(torch.stack(outputs, 1)))
        return logits

    def _blank(self, memory: Memory) -> Tensor:
        """(B, S) the blank steps, at which a vector is output."""
        return (memory.values[..., -1] > 0.5) & memory.mask

    def count(self, target: Series) -> Tensor:
        """The number of bits of the target."""
        return (target.lengths.sum() * target.values.shape[-1]).float()

    def loss(self, memories: Mapping[str, Memory], target: Series, *, truth: Any = None) -> Loss:
        memory = memories[self.of]
        (every,) = computed(self, lambda values: (self._run(values),), memory.values)
        logits, true = every[self._blank(memory)], target.values[target.mask]
        if len(logits) != len(true):
            raise RegardError(
                f"There are {len(true)} vectors for {len(logits)} blank steps of {self.of!r}.",
                fix="Every blank step needs exactly one vector.",
            )
        total = nn.functional.binary_cross_entropy_with_logits(logits, true.to(logits.dtype), reduction="sum")
        return Loss(total, self.count(target), {"likelihood": total.detach()})

    @torch.no_grad()
    def predict(self, memories: Mapping[str, Memory], *, truth: Any = None) -> Vectors:
        found: Vectors = self(memories, looks=True)
        return found

    def predictions(self, found: Vectors, column: Any, view: BatchView) -> list[Prediction]:
        bits, scores, mask = found.value.cpu(), found.step_scores.cpu(), found.mask.cpu()
        places = 2 ** torch.arange(bits.shape[-1] - 1, -1, -1)
        numbers = (bits * places).sum(-1)
        answers = []
        for row in range(len(mask)):
            written = numbers[row][mask[row]].tolist()
            each = scores[row][mask[row]]
            seen = self._trace(found, column.tokens(written), each, view, row) if view.trace else None
            answers.append(
                Prediction(column.tokens(written), column.decode(written), float(each.sum()), seen)
            )
        return answers

    def _trace(self, found: Vectors, words: list[str], scores: Tensor, view: BatchView, row: int) -> Trace:
        inputs = view.inputs(row)
        steps = len(inputs[self.of])
        tapes = {self.of: tape_of(found.looks, row, steps)} if found.looks else {}
        return Trace(input=inputs, output=words, scores=scores.numpy(), kind="bits", tapes=tapes)


def tape_of(looks: Mapping[str, list[Tensor]], row: int, steps: int) -> Tape:
    """What a store showed of one row in the first `steps` steps."""
    kept = {name: [look[row].double().cpu() for look in several[:steps]] for name, several in looks.items()}
    if "write_path" in kept:  # every step wrote its own slot
        strengths = torch.cat([strength.flatten() for strength in kept.pop("write")])
        writes = torch.diag(strengths).unsqueeze(0)
        reads = torch.stack([nn.functional.pad(one, (0, steps - one.shape[-1])) for one in kept["read"]], 1)
    else:
        writes, reads = torch.stack(kept["write"], 1), torch.stack(kept["read"], 1)  # (K, S, N)
    return Tape(
        writes.numpy(),
        reads.numpy(),
        link=kept["link"][-1].numpy() if "link" in kept else None,
        write_path=torch.stack(kept["write_path"], 1).numpy() if "write_path" in kept else None,
        read_path=torch.stack(kept["read_path"], 1).numpy() if "read_path" in kept else None,
    )
