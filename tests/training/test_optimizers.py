"""Steps of the optimizers."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from regard.training.optimizers import quick_step


def weights() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(shape, generator=generator)) for shape in ((3, 4), (7,), (2, 2, 2))]


def teach(parameters: list[nn.Parameter], step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for parameter in parameters:
        parameter.grad = torch.randn(parameter.shape, generator=generator) * (10.0 if step % 2 else 0.01)


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
@pytest.mark.parametrize("clip", [1.0, float("inf")])
def test_a_quick_step_goes_where_torch_goes(kind: type[torch.optim.Adam], clip: float) -> None:
    """Gradients longer than the clip, and shorter ones."""
    plain, quick = weights(), weights()
    optimizers = [kind(one, lr=0.1, weight_decay=0.1, fused=True) for one in (plain, quick)]
    for step in range(5):
        teach(plain, step)
        teach(quick, step)
        expected = nn.utils.clip_grad_norm_(plain, clip)
        optimizers[0].step()
        if step == 0:  # the first makes the state
            nn.utils.clip_grad_norm_(quick, clip)
            optimizers[1].step()
            continue
        found: Tensor = quick_step(optimizers[1], clip)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(quick, plain, atol=1e-6, rtol=1e-5)
    assert optimizers[1].state_dict()["state"][0]["step"] == 5
