"""Optimizer steps on CUDA: clipping, Adam and the average in one kernel give torch's results."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.training.ema import MovingAverage
from regard.training.objective import Descent

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")


class Three(nn.Module):
    """Two weights, and a buffer that is averaged with them."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.first = nn.Parameter(torch.randn(300, 40, generator=generator))
        self.second = nn.Parameter(torch.randn(7, generator=generator))
        self.register_buffer("seen", torch.zeros(3))


def teach(network: Three, step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for one in network.parameters():
        one.grad = (torch.randn(one.shape, generator=generator) * (10.0 if step % 2 else 0.001)).to(one)
    network.seen += 1.0


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
@pytest.mark.parametrize("clip", [1.0, float("inf")])
def test_quick_steps_go_where_torch_goes(kind: type[torch.optim.Adam], clip: float) -> None:
    """With gradients longer and shorter than the clip, and from a loaded state."""
    networks = [Three().cuda(), Three().cuda()]
    averages = [MovingAverage(network, 0.9) for network in networks]
    optimizers = [kind(network.parameters(), lr=0.1, weight_decay=0.1, fused=True) for network in networks]
    quick = Descent(optimizers[0], clip, averages[0])
    plain = Descent(optimizers[1], clip, averages[1])
    plain.quick = None
    for step in range(1, 8):
        for network in networks:
            teach(network, step)
        torch.testing.assert_close(quick(step), plain(step))
        quick.forget()
        plain.forget()
        if step == 4:
            optimizers[0].load_state_dict(optimizers[0].state_dict())
    assert quick.quick is not None and quick.quick.tensors is not None
    torch.testing.assert_close(networks[0].state_dict(), networks[1].state_dict(), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(averages[0].state(), averages[1].state(), atol=1e-5, rtol=1e-5)
    steps = [optimizer.state_dict()["state"][0]["step"] for optimizer in optimizers]
    assert steps[0] == steps[1] == 7
