"""Sounds, series and what reads them on the board."""

from __future__ import annotations

from regard.describe.cells import cell_equations
from regard.describe.lines import Answer, column_line, encoder_lines
from regard.spec import AudioSpec, PyramidEncoderSpec


@column_line.register(AudioSpec)
def _audio(column: AudioSpec, name: str) -> str:
    return (
        f"{name}: a sound at {column.rate / 1000:g} kHz, {column.mels} log-mel bands of {column.window_ms:g} ms "
        f"every {column.hop_ms:g} ms"
    )


@encoder_lines.register(PyramidEncoderSpec)
def _pyramid(encoder: PyramidEncoderSpec) -> Answer:
    cell, plain = encoder.cell, encoder.layers - encoder.reductions
    lines = []
    if plain:
        lines.append(
            f"h_j = [→h_j; ←h_j]   →h_j = {cell}(→h_{{j−1}}, x_j)   ←h_j = {cell}(←h_{{j+1}}, x_j)   h_0 learned"
        )
    if encoder.reductions:
        below = "h" if plain else "x"
        lines.append(f"above: h_j of the pairs [{below}_2j; {below}_2j+1], {encoder.reductions} times")
    dropout = f", dropout {encoder.dropout} between them" if encoder.dropout else ""
    return [
        *lines,
        *cell_equations(cell, "h", "x"),
        f"{encoder.layers} layers of {encoder.size} units in each direction{dropout}; "
        f"S = T / {2**encoder.reductions}; summary [→h_S; ←h_1]",
    ]
