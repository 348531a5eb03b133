"""What a search reads at one step on CUDA, in one kernel for each memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from regard.fast.paths.graphed import attention_lacks, look_of
from regard.fast.recurrence import AROUND
from regard.nn.attention import Attention, Read, Reading
from regard.nn.memory import Memory
from regard.nn.path import Path
from regard.nn.scores import Additive
from regard.nn.selections import Segmental
from regard.parts import register
from regard.private import eager, triton_works


@register("path", "look")
class LookKernel(Path):
    """One kernel for CUDA: score, select and read at one step of a search, without a gradient."""

    serves = "decoder.read"
    devices = ("cuda",)
    rank = 20

    def takes(
        self, reading: Reading, query: Tensor, memories: Mapping[str, Memory], keys: Mapping[str, Tensor]
    ) -> bool:
        return (
            not reading.gates
            and AROUND(reading)
            and all(looks_at_once(reading.attention(name), memories[name]) for name in reading.names)
        )

    def why_not(
        self, reading: Reading, query: Tensor, memories: Mapping[str, Memory], keys: Mapping[str, Tensor]
    ) -> str:
        if reading.gates:
            return "The state gates the context."
        if not AROUND(reading):
            return "A module around the attention was changed."
        reasons = (attention_lacks(reading.attention(name), memories[name]) for name in reading.names)
        return next((reason for reason in reasons if reason), "")

    def run(
        self, reading: Reading, query: Tensor, memories: Mapping[str, Memory], keys: Mapping[str, Tensor]
    ) -> Read:
        found = {
            name: look(reading.attention(name), query, memories[name], keys[name]) for name in reading.names
        }
        context = torch.cat([context for context, _ in found.values()], -1)
        return Read(context, {name: weights for name, (_, weights) in found.items()}, {})


def looks_at_once(attention: Attention, memory: Memory) -> bool:
    """Whether one kernel can compute a look of a search, which has no gradient."""
    return (
        memory.values.is_cuda
        and memory.values.dtype in (torch.float32, torch.float64)
        and memory.values.ndim == 3
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cuda")
        and eager()
        and triton_works()
        and not attention_lacks(attention, memory)
    )


def look(attention: Attention, query: Tensor, memory: Memory, keys: Tensor) -> tuple[Tensor, Tensor]:
    """query (B, K, Q) → context (B, K, D) and weights (B, K, S)."""
    from regard.fast.cuda.recurrence import look_at

    score, select = attention.score, attention.select
    plan = replace(look_of(attention, memory), positions=memory.values.shape[1])
    vector = None
    if isinstance(score, Additive):
        query, vector = score.query(query), score.vector
    transitions = select.transitions if isinstance(select, Segmental) else None
    given = (query, keys, memory.values, memory.mask)
    return look_at(plan, *given, vector=vector, transitions=transitions)
