"""A recurrent network unrolled, frame by frame: each step is computed from its input and the step before.

    h_t = φ(b + W h_{t−1} + U x_t),  h_0 = 0        ŷ_t = σ(c + V h_t)

φ is tanh or the identity, and the output may be linear too. x_t is a number or two of them. U, W, V, b and c are the
same at every step. The frames: the network with its loop, the inputs, then h_t and ŷ_t of one step after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from regard.course.lab.lab import Lab, LabResult, written
from regard.course.lab.unrolled_drawing import NetworkFrame, draw_film, draw_network
from regard.errors import RegardError
from regard.inspect.layout import frame as framed
from regard.inspect.section import Card
from regard.parts import register
from regard.trace import Array

Number = Annotated[float, Field(ge=-20, le=20)]
Numbers = Number | tuple[Number, Number]
"""One number, or two."""


@register("lab", "unrolled")
class UnrolledLab(Lab):
    """A recurrent network unrolled over its inputs, one frame for each thing that is computed."""

    class Options(Lab.Options):
        """A recurrent network unrolled over its inputs, one frame for each thing that is computed."""

        inputs: Annotated[tuple[Numbers, ...], Field(min_length=1, max_length=6)] = (1.0, 0.5, -1.0, 2.0)
        """x_1, …, x_T; each a number, or each two."""
        u: Numbers = 0.8
        """U, weight of the input; as many as an input has numbers."""
        w: Number = 0.9
        """W, weight of the state before."""
        v: Number = 1.2
        """V, weight of the output."""
        b: Number = 0.0
        """Bias of the state."""
        c: Number = 0.0
        """Bias of the output."""
        activation: Literal["tanh", "identity"] = "tanh"
        """φ of the state."""
        output: Literal["sigmoid", "identity"] = "sigmoid"
        """What squashes the output."""
        labels: Literal["letters", "numbers"] = "letters"
        """What is written at the arrows: the letters of the weights, or the weights."""
        frame: Annotated[int | None, Field(ge=1)] = None
        """Show the network in this frame. Default: the last."""

    summary = "a recurrent network unrolled over time, frame by frame, with the numbers of every step"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        x, u = _inputs(options)
        h, y = states(options, x, u)
        T, driven = len(x), bool(np.any(u))
        weights = {"W": options.w, "V": options.v, **dict(zip(_named("U", len(u)), u, strict=True))}
        frames = frames_of(
            x,
            h,
            y,
            {name: f"{one:g}".replace("-", "−") for name, one in weights.items()}
            if options.labels == "numbers"
            else {},
        )
        last = options.frame or len(frames)
        if last > len(frames):
            raise RegardError(
                f"there are {len(frames)} frames here, received {last}.",
                where="--set frame",
                fix=f"Give 1 to {len(frames)}.",
            )
        rows = [(f"t = {t + 1}", *map(float, x[t]), float(h[t]), float(y[t])) for t in range(T)]
        squeezed = x[:, 0] if len(u) == 1 else x
        return LabResult(
            title="A recurrence, unrolled",
            see=f"The network with a loop (frame 1) becomes a network without one: {T} copies of the same U, W and V, "
            f"of which each h waits for the one before; h_{T} = {_nested(T, driven)}, and "
            f"ŷ_{T} = {written(float(y[-1]))} is a function of {'all inputs' if driven else 'h_0 alone'}.",
            blocks=[draw_network(frames[last - 1]), draw_film(frames)],
            table=(("", *_named("x", len(u)), "h", "ŷ"), rows),
            numbers={"x": squeezed, "h": h, "y": y, "frames": [one.told for one in frames]},
            worked=_worked(options, x, u, h, y),
            steps=[
                Card(
                    framed(draw_network(one), description=f"Frame {number}: {one.told}."),
                    heading=f"{number}: {one.told}",
                )
                for number, one in enumerate(frames, 1)
            ],
        )


def _inputs(options: Any) -> tuple[Array, Array]:
    """x (T, I) and U (I,)."""
    u = np.atleast_1d(np.array(options.u, dtype=float))
    sizes = {np.size(one) for one in options.inputs}
    if sizes != {len(u)}:
        given = " or ".join(map(str, sorted(sizes)))
        raise RegardError(
            f"an input has {given} numbers, u has {len(u)}.",
            where="--set inputs",
            fix="Give each input and u one number, or each two: `--set inputs=[[1,0],[0,2]] --set u=[1,-1]`.",
        )
    return np.array(options.inputs, dtype=float).reshape(len(options.inputs), len(u)), u


def _named(letter: str, count: int) -> tuple[str, ...]:
    """x; or x¹ and x²."""
    return (letter,) if count == 1 else tuple(f"{letter}{sign}" for sign in "¹²")


def _nested(T: int, driven: bool) -> str:
    """f(f(h_1, x_2), x_3): the last state as one function of all inputs; f(f(h_1)) where no input has a weight."""
    read = [f", x_{t}" if driven else "" for t in range(1, T + 1)]
    found = "h_1" if T > 1 else f"f(h_0{read[0]})"
    for one in read[1:]:
        found = f"f({found}{one})"
    return found


def states(options: Any, x: Array, u: Array) -> tuple[Array, Array]:
    """h and ŷ of every step, (T,) each."""
    h, y, state = np.zeros(len(x)), np.zeros(len(x)), 0.0
    for t, value in enumerate(x):
        state = options.b + options.w * state + float(u @ value)
        h[t] = state = float(np.tanh(state)) if options.activation == "tanh" else state
        y[t] = options.c + options.v * state
    return h, 1 / (1 + np.exp(-y)) if options.output == "sigmoid" else y


def frames_of(x: Array, h: Array, y: Array, labels: Mapping[str, str]) -> list[NetworkFrame]:
    """The loop, the inputs, then h_t and ŷ_t of each step: 2 + 2 T frames."""
    T = len(x)
    frame = partial(NetworkFrame, x=x, h=h, y=y, labels=labels)
    found = [
        frame("the loop", states=0, outputs=0, loop=True),
        frame("the inputs", states=0, outputs=0),
    ]
    for t in range(1, T + 1):
        before = f"h_{t - 1} and " if t > 1 else ""
        found.append(frame(f"h_{t} from {before}x_{t}", states=t, outputs=t - 1, newest="state"))
        found.append(frame(f"ŷ_{t} from h_{t}", states=t, outputs=t, newest="output"))
    return found


def _worked(options: Any, x: Array, u: Array, h: Array, y: Array) -> list[str]:
    squash, top = (
        {"tanh": "tanh", "identity": ""}[options.activation],
        {"sigmoid": "σ", "identity": ""}[options.output],
    )
    lines, before = [], 0.0
    for t in range(len(x)):
        read = " + ".join(f"{weight:g} · {value:g}" for weight, value in zip(u, x[t], strict=True))
        lines.append(
            f"h_{t + 1} = {_in(squash, f'{options.b:g} + {options.w:g} · {before:.3f} + {read}')} = {h[t]:.3f}"
        )
        lines.append(f"ŷ_{t + 1} = {_in(top, f'{options.c:g} + {options.v:g} · {h[t]:.3f}')} = {y[t]:.3f}")
        before = h[t]
    return [line.replace("-", "−") for line in lines]


def _in(function: str, term: str) -> str:
    return f"{function}({term})" if function else term
