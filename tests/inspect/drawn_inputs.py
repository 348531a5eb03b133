"""Traces of models with images, video or audio, with known figures."""

from dataclasses import replace

import numpy as np

from regard.trace import Glimpses, SeenImage, SeenSeries, SeenVideo, Trace

GROUND, RED, BLUE = (238, 236, 228), (213, 60, 40), (40, 90, 200)


def canvas() -> np.ndarray:
    """Twelve by twelve pixels: in a grid of three by three, cell (0, 1) is red and cell (2, 2) blue."""
    pixels = np.full((12, 12, 3), GROUND, dtype=np.uint8)
    pixels[0:4, 4:8] = RED
    pixels[8:12, 8:12] = BLUE
    return pixels


def caption(*, truth: bool = True, dark: bool = False) -> Trace:
    """ "red" attends to its square, "blue" to the corner opposite to its own, "square" to everything."""
    weights = np.zeros((4, 9))
    weights[0, 1], weights[0, 4] = 0.8, 0.2
    weights[1, 0], weights[1, 8] = 0.9, 0.1
    weights[2:] = 1 / 9
    true = np.zeros((4, 9))
    true[0, 1] = true[1, 8] = 1.0
    pixels = 255 - canvas() if dark else canvas()
    return Trace(
        {"image": [f"{row},{column}" for row in range(3) for column in range(3)]},
        ["red", "blue", "square", "</s>"],
        {"image": weights},
        truth={"image": true} if truth else {},
        scores=np.log([0.5, 0.75, 1.0, 1.0]),
        seen={"image": SeenImage(pixels, (3, 3))},
    )


def answered() -> Trace:
    """A label from an image and a question."""
    looked = caption()
    return Trace(
        {**looked.input, "question": ["which", "color", "?"]},
        ["red"],
        {"image": looked.attention["image"][:1]},
        truth={"image": looked.truth["image"][:1]},
        scores=np.log([0.9]),
        seen=looked.seen,
        kind="label",
    )


def glimpsed() -> Trace:
    """The same with two glimpses: the first correctly at red, the second next to blue."""
    alone, looked = answered(), caption()
    weights = looked.attention["image"][:2]
    return replace(
        alone,
        attention={"image": weights.mean(axis=0, keepdims=True)},
        truth={"image": looked.truth["image"][:2].mean(axis=0, keepdims=True)},
        glimpses={"image": Glimpses(weights, looked.truth["image"][:2])},
    )


def film(frames: int = 6, positions: int | None = None) -> Trace:
    """Frames that grow lighter; "jumps" attends to the last third, which is correct."""
    positions = positions or frames
    weights = np.full((3, positions), 1 / positions)
    late = np.arange(positions) >= positions * 2 // 3
    weights[1] = np.where(late, 0.9 / late.sum(), 0.1 / (~late).sum())
    true = np.zeros_like(weights)
    true[1, late] = 1
    shown = np.stack([np.full((4, 8, 3), 40 * (frame % 6), dtype=np.uint8) for frame in range(frames)])
    return Trace(
        {"film": [f"frame {place}" for place in range(positions)]},
        ["ball", "jumps", "</s>"],
        {"film": weights},
        truth={"film": true},
        scores=np.log([0.5, 0.75, 1.0]),
        seen={"film": SeenVideo(shown)},
    )


def spoken(letters: str = "no", vectors: int = 16, positions: int = 4) -> Trace:
    """Each letter attends to its share of the time; low features are strong first, high ones later."""
    weights = np.zeros((len(letters), positions))
    for place in range(len(letters)):
        weights[place, place * positions // len(letters)] = 1.0
    values = np.zeros((vectors, 5), dtype=np.float32)
    values[: vectors // 2, 0] = values[vectors // 2 :, 4] = 1.0
    return Trace(
        {"sound": [f"{place / 10:.2f} s" for place in range(positions)]},
        list(letters),
        {"sound": weights},
        truth={"sound": (weights > 0).astype(float)},
        seen={"sound": SeenSeries(values, 0.8)},
    )
