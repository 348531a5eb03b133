"""Pictures on the board."""

from __future__ import annotations

from regard.describe.lines import Answer, column_line, encoder_lines
from regard.spec import ImageEncoderSpec, ImageSpec, PlacesSpec

POSITIONS = {
    "none": "",
    "coordinates": "   h_s ← [h_s; x_s; y_s], where it is in the picture",
    "learned": "   h_s ← h_s + r[row of s] + c[column of s]",
}


@column_line.register(ImageSpec)
def _image_column(column: ImageSpec, name: str) -> str:
    height, width = (column.size, column.size) if isinstance(column.size, int) else column.size
    return (
        f"{name}: pictures of {height} × {width} pixels in {'colour' if column.colour == 'rgb' else 'grey'}"
    )


@column_line.register(PlacesSpec)
def _places_column(column: PlacesSpec, name: str) -> str:
    return f"{name}: where lies what the output names"


@encoder_lines.register(ImageEncoderSpec)
def _image(encoder: ImageEncoderSpec) -> Answer:
    summary = "the mean of h" if encoder.summary == "mean" else f"relu(W [h_1; …; h_S] + b) of {encoder.size}"
    channels = ", ".join(map(str, encoder.channels))
    grid = f"S places of {encoder.cell} × {encoder.cell} pixels, {encoder.channels[-1]} features each"
    lines = {
        "lenet": [
            "LeNet-5: C1 6 @ 5×5 → S2 ÷2 → C3 16 @ 5×5 → S4 ÷2 → C5 120 → F6 84   squash(a) = 1.7159 tanh(⅔ a)",
            "h = S4, 16 features at each place; summary F6",
        ],
        "vgg16": [
            "VGG-16: relu(W * x) with W of 3 × 3: 2 × 64, 2 × 128, 3 × 256, 3 × 512, 3 × 512, max pooling between",
            "h = conv5_3, 512 features at each place of 16 × 16 pixels; summary fc7 of 4096",
        ],
        "resnet": [
            f"a convolution and residual blocks x ← relu(x + F(x)), F two convolutions of 3 × 3; {channels} channels, "
            f"{encoder.blocks} blocks a stage",
            f"h = the last stage: {grid}; summary {summary}",
        ],
        "vgg": [
            f"x ← relu(W * x) with W of 3 × 3; stages of {channels} channels, {encoder.blocks} each, max pooling "
            "between",
            f"h = the last stage: {grid}; summary {summary}",
        ],
    }
    known = lines.get(encoder.network)
    if known is None:
        weights = "its published weights" if encoder.pretrained else "fresh weights"
        known = [
            f"{encoder.network.removeprefix('timm:')} of timm, {weights}{', frozen' if encoder.freeze else ''}",
            f"h = its last features; summary {summary}",
        ]
    rows = "   h_rc ← [→g_rc; ←g_rc], g along the columns c of each row r" if encoder.rows else ""
    return [known[0], known[1] + POSITIONS[encoder.position] + rows]
