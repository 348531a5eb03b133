"""Films, series and what reads films on the board."""

from __future__ import annotations

from regard.describe.cells import cell_equations
from regard.describe.lines import Answer, column_line, encoder_lines
from regard.spec import SeriesSpec, VideoEncoderSpec, VideoSpec


@column_line.register(VideoSpec)
def _video_column(column: VideoSpec, name: str) -> str:
    height, width = (column.size, column.size) if isinstance(column.size, int) else column.size
    colour = "colour" if column.colour == "rgb" else "grey"
    return f"{name}: films of up to {column.frames} frames of {height} × {width} pixels in {colour}"


@column_line.register(SeriesSpec)
def _series_column(column: SeriesSpec, name: str) -> str:
    points = "" if column.points is None else f" of points with {column.points} coordinates"
    measured = "" if column.origin is None else f", measured from point {column.origin}"
    velocities = ", with their velocities" if column.velocities else ""
    return f"{name}: up to {column.most} vectors{points}{measured}{velocities}, (x − mean) / spread"


@encoder_lines.register(VideoEncoderSpec)
def _video(encoder: VideoEncoderSpec) -> Answer:
    network, *_ = encoder_lines(encoder.frame)
    local = encoder.motion == "local"
    lines = [
        "v_t = [f(x_t); g(x_t − x_{t−1}, x_{t+1} − x_t)]   f, g: convolutional networks of the frame and its motion"
        if local
        else "v_t = f(x_t)   f: a convolutional network",
        network,
    ]
    if encoder.cell == "none":
        return [*lines, "h_t = v_t; summary mean of h"]
    both = encoder.bidirectional
    states = "h_t = {0}(h_{{t−1}}, v_t)"
    if both:
        states = "h_t = [→h_t; ←h_t]   →h_t = {0}(→h_{{t−1}}, v_t)   ←h_t = {0}(←h_{{t+1}}, v_t)"
    read = "" if encoder.values == "states" else "; a look reads v_t, with h_t as its key"
    return [
        *lines,
        states.format(encoder.cell) + "   h_0 learned",
        *cell_equations(encoder.cell, "h", "v"),
        f"{encoder.size} units"
        + (" in each direction; summary [→h_T; ←h_1]" if both else "; summary h_T")
        + read,
    ]
