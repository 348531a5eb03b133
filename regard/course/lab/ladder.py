"""The LSTM in five rungs and the GRU in four, each trained on the same task: recall a symbol after many steps.

    LSTM 1   h = tanh(W h + U x)                    GRU 1   h = h̃ = tanh(W h + U x)
         2   c = c + c̃,  h = tanh(c)                    2   h̃ = tanh(W (r ⊙ h) + U x)
         3   c = f ⊙ c + c̃                              3   h = z ⊙ h̃
         4   c = f ⊙ c + i ⊙ c̃                          4   h = (1 − z) ⊙ h + z ⊙ h̃
         5   h = o ⊙ tanh(c)

The first input is one of several symbols, and all others are distractors; at the end the network must name
the symbol. All rungs of a family, each with several learning rates, are trained together as one batch of
matrices. Held-out sequences choose the best rate of each rung, which is then evaluated on new ones. Gates
that keep a memory start with a bias of log T, and gates that write to it with −log T (Tallec and Ollivier
2018), so they forget over T steps, not at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from regard.course.lab.lab import Lab, LabResult
from regard.inspect.layout import Block
from regard.inspect.named_bars import draw_bars
from regard.inspect.plot import Curve, draw_plot
from regard.parts import Positive, Seed, register
from regard.trace import Array

LSTM = {
    "1 rnn": "tanh(W h + U x)",
    "2 + memory": "c + c̃",
    "3 + forget gate": "f ⊙ c + c̃",
    "4 + input gate": "f ⊙ c + i ⊙ c̃",
    "5 + output gate": "o ⊙ tanh(c)",
}
GRU = {
    "1 rnn": "tanh(W h + U x)",
    "2 + reset gate": "h̃ from r ⊙ h",
    "3 + update gate": "z ⊙ h̃",
    "4 + copy": "(1 − z) ⊙ h + z ⊙ h̃",
}
EQUATIONS = (
    "LSTM 1:  h_t = tanh(W h_{t−1} + U x_t)",
    "LSTM 2:  c̃_t = tanh(W h_{t−1} + U x_t),  c_t = c_{t−1} + c̃_t,  h_t = tanh(c_t)",
    "LSTM 3:  f_t = σ(W_f h_{t−1} + U_f x_t),  c_t = f_t ⊙ c_{t−1} + c̃_t",
    "LSTM 4:  i_t = σ(W_i h_{t−1} + U_i x_t),  c_t = f_t ⊙ c_{t−1} + i_t ⊙ c̃_t",
    "LSTM 5:  o_t = σ(W_o h_{t−1} + U_o x_t),  h_t = o_t ⊙ tanh(c_t)",
    "GRU 1:  h̃_t = tanh(W h_{t−1} + U x_t),  h_t = h̃_t",
    "GRU 2:  r_t = σ(W_r h_{t−1} + U_r x_t),  h̃_t = tanh(W (r_t ⊙ h_{t−1}) + U x_t)",
    "GRU 3:  z_t = σ(W_z h_{t−1} + U_z x_t),  h_t = z_t ⊙ h̃_t",
    "GRU 4:  h_t = (1 − z_t) ⊙ h_{t−1} + z_t ⊙ h̃_t",
    "each tanh and σ of x_t has a bias beside",
)
"""What each rung computes; the rest is as on the rung before."""
SMOOTHED = 9
"""Updates whose mean is a point of a curve."""
DISTRACTORS, BATCH, MEASURED = 4, 16, 256
"""Kinds of distractors, sequences per update, and sequences per measurement."""


@register("lab", "ladder")
class LadderLab(Lab):
    """The rungs from an RNN to an LSTM and to a GRU, trained on recall."""

    class Options(Lab.Options):
        """The rungs from an RNN to an LSTM and to a GRU, trained on recall."""

        steps: Annotated[int, Field(ge=2, le=400)] = 100
        """Steps between the symbol and the question."""
        symbols: Annotated[int, Field(ge=2, le=16)] = 4
        """Number of symbols."""
        size: Annotated[int, Field(ge=1, le=128)] = 16
        """Units of every rung."""
        updates: Annotated[int, Field(ge=1, le=5000)] = 100
        """Number of training updates."""
        rates: Annotated[tuple[Positive, ...], Field(min_length=1, max_length=5)] = (0.003, 0.01, 0.03)
        """Learning rates that each rung is trained with; the best one counts."""
        seed: Seed = 0
        """Seed of the initial weights and of the sequences."""

    summary = "LSTM in five rungs and GRU in four, each trained to recall a symbol after 100 steps"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        families = {name: train(name, options) for name in ("LSTM", "GRU")}
        blocks: list[Block] = []
        rows: list[tuple[object, ...]] = []
        numbers: dict[str, Any] = {"chance": 1 / options.symbols}
        at = np.arange(1, options.updates + 1)
        for family, found in families.items():
            names = list(LSTM if family == "LSTM" else GRU)
            written_as = LSTM if family == "LSTM" else GRU
            accuracy = {name: float(found.accuracy[i]) for i, name in enumerate(names)}
            blocks.append(
                draw_bars(
                    accuracy,
                    title=f"{family}: recall after {options.steps} steps",
                    mark=1 / options.symbols,
                    mark_name="chance",
                )
            )
            curves = {name: Curve(at, _smooth(found.losses[i])) for i, name in enumerate(names)}
            blocks.append(draw_plot(curves, x_name="update", y_name="loss", height=90, y_range=(0, 2)))
            for i, name in enumerate(names):
                rows.append(
                    (
                        f"{family} {name}",
                        written_as[name],
                        accuracy[name],
                        float(found.losses[i, -1]),
                        float(found.rates[i]),
                    )
                )
            numbers[family] = {"accuracy": accuracy, "losses": found.losses, "rates": found.rates}
        lstm, gru = (list(numbers[family]["accuracy"].values()) for family in families)
        return LabResult(
            title="Up the ladder to LSTM and GRU",
            see=_sentence(lstm, gru, options),
            blocks=blocks,
            table=(("rung", "new", "accuracy", "last loss", "best rate"), rows),
            numbers=numbers,
            worked=EQUATIONS,
        )


def _sentence(lstm: list[float], gru: list[float], options: Any) -> str:
    """What each rung recalls; and why, where the numbers say so."""
    plain = " or ".join(dict.fromkeys(map(_percent, (lstm[0], gru[0]))))
    depends = ", depending on its first weights" if " or " in plain else ""
    rungs = [", ".join(f"{100 * one:.0f}" for one in ladder) for ladder in (lstm, gru)]
    told = (
        f"After {options.steps} steps the plain RNN recalls {plain} of the symbols{depends} "
        f"({_percent(1 / options.symbols)} by chance). From rung to rung the LSTM has {rungs[0]} %, "
        f"the GRU {rungs[1]} %."
    )
    ends = f"The last loss is that of the last update; the curves are running means over {SMOOTHED}."
    added, scaled = (*lstm[1:], gru[3]), gru[1:3]
    if min(added) < max(scaled) + 0.25:
        return f"{told} {ends}"
    keep = "Rungs that add to the old state keep the symbol; gates that only scale it (GRU 2 and 3) do not."
    return f"{told} {keep} {ends}"


@dataclass(frozen=True, eq=False)
class Trained:
    """Per rung at its best rate: accuracy (R,) on new sequences, losses (R, updates), rate (R,)."""

    accuracy: Array
    losses: Array
    rates: Array


class _Product(torch.autograd.Function):
    """h W of every network, (N, B, H) and (N, H, G) → (N, B, G).

    The backward pass copies transposed factors: without the copy, batched products take a hundred times as
    long in some of the libraries torch is built with."""

    @staticmethod
    def forward(context: Any, state: Tensor, weight: Tensor) -> Tensor:
        context.save_for_backward(state, weight)
        return torch.bmm(state, weight)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        state, weight = context.saved_tensors
        gradient = gradient.contiguous()
        return (
            torch.bmm(gradient, weight.transpose(1, 2).contiguous()),
            torch.bmm(state.transpose(1, 2).contiguous(), gradient),
        )


def product(state: Tensor, weight: Tensor) -> Tensor:
    """h W, differentiable."""
    found: Tensor = _Product.apply(state, weight)
    return found


class Rungs:
    """All rungs of a family at several rates: N = R · rates networks, whose weights are stacked.

    `forward` maps (N, B, T, I) to the scores at the end, (N, B, symbols).
    """

    def __init__(self, family: str, options: Any) -> None:
        self.family, self.size = family, options.size
        self.count = len(LSTM) if family == "LSTM" else len(GRU)
        self.gates = 4 if family == "LSTM" else 3
        rates, inputs, size = len(options.rates), options.symbols + DISTRACTORS, options.size
        generator = torch.Generator().manual_seed(options.seed)
        self.networks = self.count * rates

        def drawn(*shape: int, scale: float) -> Tensor:
            """The same first weights for every rung and rate."""
            one = scale * torch.randn(shape, generator=generator)
            return one.repeat(self.networks, *([1] * len(shape))).requires_grad_()

        self.U = drawn(inputs, self.gates * size, scale=1 / math.sqrt(inputs))
        self.W = drawn(size, self.gates * size, scale=1 / math.sqrt(size))
        self.b = torch.zeros(self.networks, 1, self.gates * size)
        keep = math.log(options.steps)
        if family == "LSTM":
            self.b[:, :, size : 2 * size] = keep
            self.b[:, :, :size] = -keep
        else:
            self.b[:, :, size : 2 * size] = -keep  # z lets the new state in
        self.b.requires_grad_()
        self.V = drawn(size, options.symbols, scale=1 / math.sqrt(size))
        self.c = torch.zeros(self.networks, 1, options.symbols, requires_grad=True)
        self.parameters = [self.U, self.W, self.b, self.V, self.c]
        rung = torch.arange(self.count).repeat_interleave(rates)[:, None, None]

        def has(level: int) -> Tensor:
            """1 for networks from rung `level` + 1 on, else 0."""
            return (rung >= level).float()

        # The constant value of a gate that a rung lacks: 1, but 0 for f on the first rung of the LSTM.
        levels = (3, 2, 4) if family == "LSTM" else (1, 2)
        self.learned = torch.cat([has(level).expand(-1, 1, size) for level in levels], -1)
        self.absent = torch.ones_like(self.learned)
        if family == "LSTM":
            self.absent[..., size : 2 * size] = has(1)
        self.adds = has(1) if family == "LSTM" else has(3)

    def forward(self, inputs: Tensor) -> Tensor:
        projected = torch.einsum("nbti,nig->tnbg", inputs, self.U) + self.b
        state = memory = torch.zeros(self.networks, inputs.shape[1], self.size)
        for one in projected:
            state, memory = self._lstm(one, state, memory) if self.family == "LSTM" else self._gru(one, state)
        return self.c + product(state, self.V)

    def _lstm(self, projected: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        gates = projected + product(h, self.W)
        i, f, o = self._opened(gates[..., : 3 * self.size]).chunk(3, -1)
        new = torch.tanh(gates[..., 3 * self.size :])
        c = torch.addcmul(f * c, i, new)
        return torch.lerp(new, o * torch.tanh(c), self.adds), c

    def _gru(self, projected: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        size = self.size
        W_gates, W_new = (part.contiguous() for part in self.W.split([2 * size, size], -1))
        gates = projected[..., : 2 * size] + product(h, W_gates)
        r, z = self._opened(gates).chunk(2, -1)
        new = torch.tanh(projected[..., 2 * size :] + product(r * h, W_new))
        return torch.addcmul(z * new, self.adds * (1 - z), h), h

    def _opened(self, preactivations: Tensor) -> Tensor:
        """The gates that each rung has, and constants for those that it lacks."""
        return torch.lerp(self.absent, torch.sigmoid(preactivations), self.learned)


def sequences(count: int, options: Any, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """One-hot inputs (count, T + 1, symbols + distractors), and the symbols (count,) that come first."""
    symbols = torch.randint(0, options.symbols, (count,), generator=generator)
    others = options.symbols + torch.randint(0, DISTRACTORS, (count, options.steps), generator=generator)
    rows = torch.cat([symbols[:, None], others], 1)
    return torch.nn.functional.one_hot(rows, options.symbols + DISTRACTORS).float(), symbols


def train(family: str, options: Any) -> Trained:
    """Train every rung of a family at every rate, with Adam and gradients clipped at 1 per network."""
    networks = Rungs(family, options)
    count, many = networks.count, len(options.rates)
    rates = torch.tensor(options.rates).repeat(count)
    generator = torch.Generator().manual_seed(options.seed + 1)
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in networks.parameters]
    losses = np.zeros((options.updates, networks.networks))
    for update in range(1, options.updates + 1):
        inputs, symbols = sequences(BATCH, options, generator)
        loss = _losses(networks, inputs, symbols)  # (N,)
        gradients = torch.autograd.grad(loss.sum(), networks.parameters)
        losses[update - 1] = loss.detach().numpy()
        _adam(networks.parameters, gradients, moments, rates, update)
    with torch.no_grad():
        dev = _accuracy(networks, *sequences(MEASURED, options, generator)).reshape(count, many)
        test = _accuracy(networks, *sequences(MEASURED, options, generator)).reshape(count, many)
    final = losses[-max(1, options.updates // 10) :].mean(0).reshape(count, many)
    best = np.lexsort((final, -dev), axis=1)[:, 0]  # the highest accuracy, then the lowest loss
    rungs = np.arange(count)
    return Trained(
        test[rungs, best], losses.T.reshape(count, many, -1)[rungs, best], np.array(options.rates)[best]
    )


def _losses(networks: Rungs, inputs: Tensor, symbols: Tensor) -> Tensor:
    scores = networks.forward(inputs.expand(networks.networks, *inputs.shape))
    chances = scores.log_softmax(-1)
    return -chances.gather(-1, symbols.expand(networks.networks, -1)[..., None]).mean((1, 2))


def _accuracy(networks: Rungs, inputs: Tensor, symbols: Tensor) -> Array:
    found = networks.forward(inputs.expand(networks.networks, *inputs.shape)).argmax(-1)
    return (found == symbols).double().mean(1).numpy()


def _adam(
    parameters: list[Tensor],
    gradients: tuple[Tensor, ...],
    moments: list[tuple[Tensor, Tensor]],
    rates: Tensor,
    update: int,
) -> None:
    """One update of all networks, each with its own rate; the gradient of each network is clipped to a norm of 1."""
    norms = torch.stack([g.square().sum((1, 2)) for g in gradients]).sum(0).sqrt()  # (N,)
    scale = torch.nan_to_num(1 / norms.clamp(min=1))[:, None, None]
    with torch.no_grad():
        for parameter, gradient, (mean, square) in zip(parameters, gradients, moments, strict=True):
            gradient = torch.nan_to_num(gradient * scale)
            mean.lerp_(gradient, 0.1)
            square.lerp_(gradient.square(), 0.01)
            size = (mean / (1 - 0.9**update)) / ((square / (1 - 0.99**update)).sqrt() + 1e-8)
            parameter -= rates[:, None, None] * size


def _smooth(values: Array, width: int = SMOOTHED) -> Array:
    """Running means, to keep several curves distinguishable."""
    width = min(width, len(values))
    padded = np.concatenate([np.full(width - 1, values[0]), values])
    return np.convolve(padded, np.ones(width) / width, "valid")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
