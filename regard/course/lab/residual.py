"""Residual blocks: the identity at initialization, and a gradient that can bypass every block.

    x_{ℓ+1} = x_ℓ + F(x_ℓ),   F(x) = W₂ φ(W₁ x + b₁)        x̄_ℓ = (I + ∂F/∂x)ᵀ x̄_{ℓ+1}

If W₂ = 0, every block is the identity, at any depth. The plain network x_{ℓ+1} = F(x_ℓ) lacks the I, and
∂x_L/∂x_0 is the product of L Jacobians W₂ diag(1 − φ²) W₁. In a convolutional block W₁ and W₂ are convolutions of
3 × 3 places, and x is a map of SIDE × SIDE places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import conv2d

from regard.course.lab.lab import Lab, LabResult, gradient_range, written
from regard.inspect.plot import Curve, draw_plot
from regard.parts import Seed, register
from regard.trace import Array

SIDE = 6
"""Height and width of the maps of a convolutional stack."""
LONGEST, DEEPEST = 512, 100
"""Maximum length of an input, and maximum number of layers, whose Jacobians are multiplied."""


@register("lab", "residual")
class ResidualLab(Lab):
    """Gradients through a deep stack with and without skip connections."""

    class Options(Lab.Options):
        """Gradients through a deep stack with and without skip connections."""

        layers: Annotated[int, Field(ge=1, le=500)] = 50
        """Number of stacked blocks."""
        layer: Literal["dense", "convolutional"] = "dense"
        """Kind of layers: matrices, or convolutions over a map."""
        size: Annotated[int, Field(ge=1, le=256)] = 32
        """Features of every layer; channels of a convolutional one."""
        gain: Annotated[float, Field(ge=0, le=100)] = 0.3
        """Scale of W₂, in units of 1/√size; 0 makes every residual block the identity."""
        seed: Seed = 0
        """Seed of weights and inputs."""

    summary = "y = x + F(x): the identity at initialization, and a gradient multiplied by I + ∂F/∂x"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        L = options.layers
        depth = np.arange(L + 1)
        kinds = {
            "plain F(x)": (False, options.gain),
            "x + F(x)": (True, options.gain),
            "x + F(x), W₂ = 0": (True, 0.0),
        }
        found = {
            name: gradients(L, options.size, gain, skip, options.seed, options.layer)
            for name, (skip, gain) in kinds.items()
        }
        moved = identity_error(L, options.size, options.seed, options.layer)
        difference = block_difference(options.size, options.gain, options.seed)
        bends = {count: from_linear(options.size, options.seed, count) for count in (1, 2)}
        by_hand = backward(L, options.size, options.gain, options.seed) if options.layer == "dense" else None
        product = plain_product(L, options.size, options.gain, options.seed, options.layer)
        rows = [(name, norms[-1], norms[0], norms[0] / norms[-1]) for name, norms in found.items()]
        return LabResult(
            title="Skip connections carry gradients",
            see=f"Over {L} {'' if options.layer == 'dense' else 'convolutional '}layers the gradient of the plain "
            f"network is multiplied by {written(rows[0][3])}, with skip connections by "
            f"{written(rows[1][3])}; with W₂ = 0 it is unchanged, because every block is the identity "
            f"(the output differs from the input by {written(moved)}).",
            blocks=[
                draw_plot(
                    {name: Curve(depth, norms) for name, norms in found.items()},
                    x_name="layer ℓ",
                    y_name="‖∂loss/∂x_ℓ‖",
                    log_y=True,
                    y_range=gradient_range(list(found.values())),
                ),
            ],
            table=(("", "at the top", "at the input", "ratio"), rows),
            numbers={
                "gradients": found,
                "identity_error": moved,
                "from_linear": bends,
                "jacobian_difference": difference,
                "by_hand": by_hand if by_hand is not None else [],
                "product": product,
            },
            worked=[
                *_worked(options, found["x + F(x)"], moved, difference, by_hand, bends),
                *_multiplied(product),
            ],
        )


def _worked(
    options: Any,
    norms: Array,
    moved: float,
    difference: float,
    by_hand: Array | None,
    bends: dict[int, float],
) -> list[str]:
    L = options.layers
    lines = [
        "y = x + F(x),  F(x) = W₂ φ(W₁ x + b₁),  φ = tanh",
        f"F = 0 in all {L} blocks: the output minus the input is {written(moved)}",
        f"∂y/∂x = I + ∂F/∂x,  ∂F/∂x = W₂ diag(1 − φ²) W₁: at most {written(difference)} from autograd's",
        "x̄_ℓ = x̄_{ℓ+1} + x̄_{ℓ+1} ∂F/∂x = x̄_{ℓ+1} (I + ∂F/∂x)",
    ]
    if by_hand is not None:
        shown = sorted({L, L - 1, 0} - {-1}, reverse=True)
        lines += [f"‖x̄_{at}‖ = {written(by_hand[at])}, by autograd {written(norms[at])}" for at in shown]
    return [
        *lines,
        f"past one layer: x + W₁ x + b₁ = (I + W₁) x + b₁, a layer as without the shortcut "
        f"(distance from the nearest one: {written(bends[1])})",
        f"past two layers: x + W₂ φ(W₁ x + b₁) is no such layer (distance: {written(bends[2])})",
    ]


def _multiplied(product: Mapping[str, Any]) -> list[str]:
    """The product of the Jacobians of the plain network, with its norms."""
    norms = product.get("norms", [])
    L = len(norms)
    if L < 2:
        return []
    depths = [*(depth for depth in (1, 5, 10, 50) if depth < L), L]
    return [
        f"plain F(x): ∂x_{L}/∂x_0 = ∂x_{L}/∂x_{L - 1} ⋯ ∂x_1/∂x_0, a product of {L} Jacobians W₂ diag(1 − φ²) W₁",
        f"norm of the product {written(norms[-1])}, of the Jacobian of all layers at once "
        f"{written(product['whole'])}, largest difference {written(product['difference'])}",
        f"norm of the product of {', '.join(map(str, depths))} Jacobians: "
        f"{', '.join(written(norms[depth - 1]) for depth in depths)}",
    ]


def from_linear(size: int, seed: int, layers: int) -> float:
    """How far x + F(x) is from the affine function nearest to it, as a share of its deviation from its mean; F has
    one layer W₁ x + b₁ or two."""
    generator = torch.Generator().manual_seed(seed)
    first, bias, second = weights(size, 1.0, generator)
    x = torch.randn(8 * size, size, generator=generator, dtype=torch.float64)
    new = x @ first.T + bias
    y = x + (new if layers == 1 else torch.tanh(new) @ second.T)
    inputs = torch.cat([x, torch.ones(len(x), 1, dtype=torch.float64)], 1)
    nearest = inputs @ torch.linalg.lstsq(inputs, y).solution
    return float((y - nearest).norm() / (y - y.mean(0)).norm())


def weights(
    size: int, gain: float, generator: torch.Generator, kind: str = "dense"
) -> tuple[Tensor, Tensor, Tensor]:
    """W₁, b₁, W₂ of one block; in a convolutional one W has a kernel for every pair of channels."""
    width = (3, 3) if kind == "convolutional" else ()
    scale = (9 * size if width else size) ** 0.5
    first = torch.randn(size, size, *width, generator=generator, dtype=torch.float64) / scale
    bias = 0.1 * torch.randn(size, generator=generator, dtype=torch.float64)
    second = gain * torch.randn(size, size, *width, generator=generator, dtype=torch.float64) / scale
    return first, bias, second


def start(size: int, generator: torch.Generator, kind: str = "dense") -> Tensor:
    """The input: a vector, or a map of `size` channels."""
    shape = (size, SIDE, SIDE) if kind == "convolutional" else (size,)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def block(x: Tensor, first: Tensor, bias: Tensor, second: Tensor, *, skip: bool) -> Tensor:
    """x + F(x), or F(x) alone."""
    if first.ndim == 4:
        new = conv2d(torch.tanh(conv2d(x, first, bias, padding=1)), second, padding=1)
    else:
        new = second @ torch.tanh(first @ x + bias)
    return x + new if skip else new


def block_jacobian(x: Tensor, first: Tensor, bias: Tensor, second: Tensor) -> Tensor:
    """I + W₂ diag(1 − tanh²) W₁, written out."""
    slopes = 1 - torch.tanh(first @ x + bias) ** 2
    return torch.eye(len(x), dtype=x.dtype) + second @ torch.diag(slopes) @ first


def gradients(layers: int, size: int, gain: float, skip: bool, seed: int, kind: str = "dense") -> Array:
    """(L + 1,) norms of ∂loss/∂x_ℓ, ℓ = 0 at the input; the loss is the output along a fixed unit vector."""
    generator = torch.Generator().manual_seed(seed)
    x = start(size, generator, kind).requires_grad_()
    states = [x]
    for _ in range(layers):
        states.append(block(states[-1], *weights(size, gain, generator, kind), skip=skip))
        states[-1].retain_grad()
    (states[-1].sum() / states[-1].numel() ** 0.5).backward()
    return np.array([float(state.grad.norm()) for state in states if state.grad is not None])


def backward(layers: int, size: int, gain: float, seed: int) -> Array:
    """(L + 1,) the same norms with skip connections, by x̄_ℓ = x̄_{ℓ+1} (I + ∂F/∂x) from the top, without autograd."""
    generator = torch.Generator().manual_seed(seed)
    x, jacobians = start(size, generator), []
    for _ in range(layers):
        made = weights(size, gain, generator)
        jacobians.append(block_jacobian(x, *made))
        x = block(x, *made, skip=True)
    gradient = torch.full((size,), size**-0.5, dtype=torch.float64)
    found = [float(gradient.norm())]
    for one in reversed(jacobians):
        gradient = gradient @ one
        found.append(float(gradient.norm()))
    return np.array(found[::-1])


def as_matrix(layer: Tensor) -> Tensor:
    """The matrix of a layer without its bias: W itself, or that of a convolution of whole maps."""
    if layer.ndim == 2:
        return layer
    length = layer.shape[1] * SIDE**2
    units = torch.eye(length, dtype=layer.dtype).reshape(length, layer.shape[1], SIDE, SIDE)
    return conv2d(units, layer, padding=1).flatten(1).T


def plain_product(layers: int, size: int, gain: float, seed: int, kind: str = "dense") -> dict[str, Any]:
    """The product of the Jacobians W₂ diag(1 − φ²) W₁ of a plain network, from the first layer on: its norm after
    each layer, that of autograd's Jacobian of all layers, and the largest difference of the two; empty if they are
    many or large."""
    generator = torch.Generator().manual_seed(seed)
    x = start(size, generator, kind)
    if x.numel() > LONGEST or layers > DEEPEST:
        return {}
    made = [weights(size, gain, generator, kind) for _ in range(layers)]
    product, state, norms = torch.eye(x.numel(), dtype=x.dtype), x, []
    for first, bias, second in made:
        inner = conv2d(state, first, bias, padding=1) if first.ndim == 4 else first @ state + bias
        slopes = 1 - torch.tanh(inner).flatten() ** 2
        product = as_matrix(second) @ (slopes[:, None] * as_matrix(first)) @ product
        state = block(state, first, bias, second, skip=False)
        norms.append(float(product.norm()))

    def stack(x: Tensor) -> Tensor:
        for one in made:
            x = block(x, *one, skip=False)
        return x

    whole = torch.autograd.functional.jacobian(stack, x, vectorize=True).reshape(product.shape)
    return {
        "norms": norms,
        "whole": float(whole.norm()),
        "difference": float((whole - product).abs().max()),
    }


def identity_error(layers: int, size: int, seed: int, kind: str = "dense") -> float:
    """The largest change of an input by blocks with W₂ = 0; expected: 0."""
    generator = torch.Generator().manual_seed(seed)
    first = x = start(size, generator, kind)
    for _ in range(layers):
        x = block(x, *weights(size, 0.0, generator, kind), skip=True)
    return float((x - first).abs().max())


def block_difference(size: int, gain: float, seed: int) -> float:
    """The largest difference between `block_jacobian` and autograd's Jacobian."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(size, generator=generator, dtype=torch.float64)
    made = weights(size, gain, generator)
    found = torch.autograd.functional.jacobian(lambda one: block(one, *made, skip=True), x)
    return float((found - block_jacobian(x, *made)).abs().max())
