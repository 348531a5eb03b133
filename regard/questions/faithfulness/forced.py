"""The whole distribution of every output piece, teacher-forced; with gradients where they are asked for."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.data.batch import Tokens
from regard.nn.packing import shifted
from regard.nn.search import Stepper


def forced_logs(stepper: Stepper, target: Tokens) -> tuple[Tensor, Tensor]:
    """(B, T, V) log p(· | y_<t, x) of the targets and their ends, and (B, T) the ids that were written.

    Unlike a score, it keeps the whole distribution, and its gradient.
    """
    target = stepper.targets(target)
    _, following, _ = shifted(target)
    following = following.scatter(1, target.lengths[:, None], stepper.end)
    tokens = torch.full_like(following[:, :1], stepper.begin)
    state, logs = stepper.start(), []
    for step in range(following.shape[1]):
        found = stepper.step(tokens, state)
        logs.append(torch.log_softmax(found.logits.squeeze(1).float(), -1))
        state, tokens = found.state, following[:, step : step + 1]
    return torch.stack(logs, 1), following
