"""A recurrent network unrolled, frame by frame: each step is computed from its input and the step before.

    h_t = tanh(b + W h_{t−1} + U x_t),  h_0 = 0        ŷ_t = σ(c + V h_t)

U, W, V, b and c are the same at every step. The frames: the network with its loop, the inputs, then h_t and ŷ_t of
one step after the other.
"""

from __future__ import annotations

from typing import Annotated, Any

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


@register("lab", "unrolled")
class UnrolledLab(Lab):
    """A recurrent network unrolled over its inputs, one frame for each thing that is computed."""

    class Options(Lab.Options):
        """A recurrent network unrolled over its inputs, one frame for each thing that is computed."""

        inputs: Annotated[tuple[Number, ...], Field(min_length=1, max_length=6)] = (1.0, 0.5, -1.0, 2.0)
        """x_1, …, x_T."""
        u: Number = 0.8
        """U, weight of the input."""
        w: Number = 0.9
        """W, weight of the state before."""
        v: Number = 1.2
        """V, weight of the output."""
        b: Number = 0.0
        """Bias of the state."""
        c: Number = 0.0
        """Bias of the output."""
        frame: Annotated[int | None, Field(ge=1)] = None
        """Show the network in this frame. Default: the last."""

    summary = "a recurrent network unrolled over time, frame by frame, with the numbers of every step"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        x = np.array(options.inputs)
        h, y = states(x, options.u, options.w, options.v, options.b, options.c)
        T = len(x)
        frames = frames_of(x, h, y)
        last = options.frame or len(frames)
        if last > len(frames):
            raise RegardError(
                f"there are {len(frames)} frames here, received {last}.",
                where="--set frame",
                fix=f"Give 1 to {len(frames)}.",
            )
        rows = [(f"t = {t + 1}", float(x[t]), float(h[t]), float(y[t])) for t in range(T)]
        return LabResult(
            title="A recurrence, unrolled",
            see=f"The network with a loop (frame 1) becomes a network without one: {T} copies of the same U, W and V, "
            f"of which each h waits for the one before; ŷ_{T} = {written(float(y[-1]))} is a function of all inputs.",
            blocks=[draw_network(frames[last - 1]), draw_film(frames)],
            table=(("", "x", "h", "ŷ"), rows),
            numbers={"x": x, "h": h, "y": y, "frames": [one.told for one in frames]},
            worked=_worked(options, x, h, y),
            steps=[
                Card(
                    framed(draw_network(one), description=f"Frame {number}: {one.told}."),
                    heading=f"{number}: {one.told}",
                )
                for number, one in enumerate(frames, 1)
            ],
        )


def states(x: Array, u: float, w: float, v: float, b: float, c: float) -> tuple[Array, Array]:
    """h and ŷ of every step, (T,) each."""
    h, y, state = np.zeros(len(x)), np.zeros(len(x)), 0.0
    for t, value in enumerate(x):
        state = float(np.tanh(b + w * state + u * value))
        h[t], y[t] = state, 1 / (1 + np.exp(-(c + v * state)))
    return h, y


def frames_of(x: Array, h: Array, y: Array) -> list[NetworkFrame]:
    """The loop, the inputs, then h_t and ŷ_t of each step: 2 + 2 T frames."""
    T = len(x)
    found = [
        NetworkFrame("the loop", x, h, y, states=0, outputs=0, loop=True),
        NetworkFrame("the inputs", x, h, y, states=0, outputs=0),
    ]
    for t in range(1, T + 1):
        before = f"h_{t - 1} and " if t > 1 else ""
        found.append(
            NetworkFrame(f"h_{t} from {before}x_{t}", x, h, y, states=t, outputs=t - 1, newest="state")
        )
        found.append(NetworkFrame(f"ŷ_{t} from h_{t}", x, h, y, states=t, outputs=t, newest="output"))
    return found


def _worked(options: Any, x: Array, h: Array, y: Array) -> list[str]:
    lines, before = [], 0.0
    for t in range(len(x)):
        lines.append(
            f"h_{t + 1} = tanh({options.b:g} + {options.w:g} · {before:.3f} + {options.u:g} · {x[t]:g}) = {h[t]:.3f}"
        )
        lines.append(f"ŷ_{t + 1} = σ({options.c:g} + {options.v:g} · {h[t]:.3f}) = {y[t]:.3f}")
        before = h[t]
    return [line.replace("-", "−") for line in lines]
