"""Image networks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.encoders.image import VGG, VGG16, ImageEncoder, ImageNetwork, LeNet, ResidualNetwork
from regard.nn.encoders.image.network import Connected
from tests.describe.bindings.cells import Binding, of_layer


def by_place(weight: Tensor, features: int) -> Tensor:
    """Reorder columns from (feature, position) to (position, feature)."""
    return weight.unflatten(1, (features, -1)).transpose(1, 2).flatten(1)


def of_norm(norm: Any, below: str) -> Binding:
    found = {f"g_{{{below}}}": norm.weight, f"b_{{{below}}}": norm.bias}
    if isinstance(norm, nn.BatchNorm2d):
        found |= {f"μ_{{{below}}}": norm.running_mean, f"ω_{{{below}}}": norm.running_var}
    return found


def of_convolution(layer: Any, below: str) -> Binding:
    """A convolution and its normalization."""
    return {f"F_{{{below}}}": layer[0].weight, **of_norm(layer[1], below)}


def of_network(network: ImageNetwork) -> Binding:
    found: Binding = {}
    if isinstance(network, LeNet):
        return of_lenet(network)
    if isinstance(network, VGG16):
        return of_vgg16(network)
    if isinstance(network, VGG):
        convolutions = [layer for layer in network.layers if isinstance(layer, nn.Sequential)]
        for number, layer in enumerate(convolutions, start=1):
            found |= of_convolution(layer, str(number))
    if isinstance(network, ResidualNetwork):
        found |= {"F_0": network.first.layer.weight, **of_norm(network.first.norm, "0")}
        blocks: list[Any] = [block for block in network.stages if hasattr(block, "past")]
        for number, block in enumerate(blocks, start=1):
            parts = {0: block.past, 1: block.first, 2: block.second}
            for part, layer in parts.items():
                if isinstance(layer, nn.Sequential):
                    found |= of_convolution(layer, f"{number},{part}")
    summary: Any = network.summary
    if isinstance(summary, Connected):
        found["W_v"] = by_place(summary.layer.weight, network.channels)
        normed = isinstance(summary.norm, nn.LayerNorm)
        found |= of_norm(summary.norm, "v") if normed else {"b_v": summary.layer.bias}
    return found


def of_lenet(network: LeNet) -> Binding:
    filters = network.c3.kernels.new_zeros(*network.c3.seen.shape, 5, 5)
    filters[network.c3.seen] = network.c3.kernels
    return {
        "F_1": network.c1.weight,
        "b_1": network.c1.bias,
        "g_2": network.s2.weight,
        "b_2": network.s2.bias,
        "F_3": filters,
        "b_3": network.c3.bias,
        "g_4": network.s4.weight,
        "b_4": network.s4.bias,
        "W_5": by_place(network.c5.weight, 16),
        "b_5": network.c5.bias,
        "W_6": network.f6.weight,
        "b_6": network.f6.bias,
    }


def of_vgg16(network: VGG16) -> Binding:
    convolutions: list[Any] = [layer for layer in network.layers if isinstance(layer, nn.Conv2d)]
    six, seven = (layer for layer in network.connected if isinstance(layer, nn.Linear))
    found: Binding = {"Q": six.in_features // 512, "W_6": by_place(six.weight, 512), "b_f": six.bias}
    found |= {"W_7": seven.weight, "b_v": seven.bias}
    for number, layer in enumerate(convolutions, start=1):
        found |= {f"F_{number}": layer.weight, f"b_{number}": layer.bias}
    return found


def of_image(encoder: ImageEncoder, given: Any) -> Binding:
    rows, columns = encoder.grid
    found: Binding = {"S": rows * columns, "X": given.pixels[0], **of_network(encoder.network)}
    places, position = torch.arange(rows * columns), encoder.position
    if position.kind == "coordinates":
        found["λ_j"] = position.coordinates
    if position.kind == "learned":
        found |= {"R_x": position.rows[:, 0], "C_x": position.columns[0]}
    if position.kind == "learned" or encoder.rows is not None:
        found |= {"ρ_j": places // columns + 1, "χ_j": places % columns + 1}
    if encoder.rows is not None:
        layer = of_layer(encoder.rows.layer, letter="g", mark="r,", places=("", ""))
        named = {f"{arrow}g_{{}}": f"g_{arrow}" for arrow in "→←"}
        found |= {named.get(name, name): weight for name, weight in layer.items()} | {"U": rows, "K": columns}
    return found
