"""Attention replaced by other weights (Jain and Wallace 2019; Wiegreffe and Pinter 2019): how much the output changes.

If the same distribution comes out with uniform or shuffled weights, the weights do not matter for it, whatever they
show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from regard.data import Batch
from regard.data.ragged import Array
from regard.model.edits import PermuteEdit, UniformEdit
from regard.model.inference import BatchInference
from regard.nn.network import answering
from regard.questions.faithfulness.forced import forced_logs
from regard.questions.faithfulness.measures import jensen_shannon, total_variation
from regard.questions.faithfulness.rows import Examined, Looked, in_chunks

ROWS = 64


def replaced_attention(
    examined: Examined, looked: Sequence[Looked], *, seed: int, draws: int
) -> dict[tuple[int, str], dict[str, Array]]:
    """{(row, input): {"uniform TVD": (T,), "uniform JSD", "permuted TVD", "permuted JSD"}}; the permuted ones are means
    over `draws` permutations."""
    found: dict[tuple[int, str], dict[str, Array]] = {}
    for name in dict.fromkeys(one.input for one in looked):
        for chunk in in_chunks([one for one in looked if one.input == name], ROWS):
            batch = examined.batch([(one.row, name, None) for one in chunk], fill=False, looked={})
            before = distributions(examined, batch)
            uniform = distributions(examined, batch, [[UniformEdit(input=name)]] * len(chunk))
            shuffled = [
                distributions(examined, batch, [[PermuteEdit(input=name, seed=seed + draw)]] * len(chunk))
                for draw in range(draws)
            ]
            for place, one in enumerate(chunk):
                mine = before[place][: one.steps]
                others = [two[place][: one.steps] for two in shuffled]
                found[one.row, name] = {
                    "uniform TVD": total_variation(mine, uniform[place][: one.steps]),
                    "uniform JSD": jensen_shannon(mine, uniform[place][: one.steps]),
                    "permuted TVD": np.mean([total_variation(mine, two) for two in others], axis=0),
                    "permuted JSD": np.mean([jensen_shannon(mine, two) for two in others], axis=0),
                }
    return found


@torch.inference_mode()
def distributions(examined: Examined, batch: Batch, edits: Any = None) -> Array:
    """(B, T, V) p(· | y_<t, x) of the answers of a batch, under edits of each row; for labels (B, 1, C)."""
    model = examined.model
    with answering(model):
        inference = BatchInference(
            model.spec, model.columns, model.network, batch.to(model.device), examined.output, edits
        )
        if not examined.stepwise:
            answers = inference.answers(inference.find(), trace=False)
            return np.array([[list(one.probabilities.values())] for one in answers])
        logs, _ = forced_logs(inference.stepper(), inference.batch[examined.output])
        return logs.double().exp().cpu().numpy()
