"""The memory of a Differentiable Neural Computer (Graves et al. 2016), with its own symbols.

One head writes, to a slot found by content or to a free one. K heads read by content, or forward or backward
along the order in which slots were written.

    ψ = Π_k (1 − f_k w^r_k)                              retention: what the free gates leave in use
    u ← (u + w^w − u ⊙ w^w) ⊙ ψ                          usage, from the weights of the previous step
    a_φ1, a_φ2, …                                        allocation: a_φi = (1 − u_φi) Π_{i' < i} u_φi', φ sorts u
    w^w = g_w (g_a a + (1 − g_a) c)
    m_ℓ ← m_ℓ ⊙ (1 − w^w_ℓ e) + w^w_ℓ v
    L_ℓι ← (1 − w^w_ℓ − w^w_ι) L_ℓι + w^w_ℓ p_ι,  L_ℓℓ = 0     ℓ was written after ι
    p ← (1 − Σ w^w) p + w^w                              precedence
    w^r_k = π_1 Lᵀ w^r_k + π_2 c_k + π_3 L w^r_k         backward, by content, forward

Without `free` there is no ψ, and slots in use stay in use. If there are enough slots in training, an open
free gate does no harm there. On a longer input it then overwrites the beginning.

In the allocation, usage is at least ε, as in the published program, so that its product has a gradient.
"""

from __future__ import annotations

from functools import reduce
from typing import Annotated, Any, NamedTuple

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import softplus

from regard.nn.letters import Letters
from regard.nn.products import pair_products, weighted_sums
from regard.nn.stores.content import EPSILON, WRITTEN_EPSILON, content_line, content_weights
from regard.nn.stores.store import Store, StoreStep, interface_letters, number, vector
from regard.parts import Depth, register


class DNCState(NamedTuple):
    """slots (B, N, W), usage (B, N), link (B, N, N), precedence (B, N), write (B, N), read (B, K, N)."""

    slots: Tensor
    usage: Tensor
    link: Tensor
    precedence: Tensor
    write: Tensor
    read: Tensor


@register("store", "dnc")
class DNCStore(Store):
    """The memory of a Differentiable Neural Computer (Graves et al. 2016): heads address slots by content, by usage and
    in the order of writing. At first, nothing is written, used, linked or read."""

    class Options(Store.Options):
        """The memory of a Differentiable Neural Computer: slots are allocated, freed, and linked in the order
        in which they were written."""

        slots: Annotated[int, Field(ge=1, le=4096)] = 64
        """Number of slots. The links take slots² numbers; the parameters do not depend on it."""
        heads: Depth = 1
        """Number of read heads; one head writes."""
        free: bool = True
        """Whether read heads can free the slots they have read; false: a slot in use stays in use."""

    begin = {"ga": 2.0, "gw": 2.0, "fr": -2.0}
    """Initially the head writes to free slots, and the read heads free nothing."""

    def __init__(
        self, size: int, *, slots: int = 64, width: int = 20, heads: int = 1, free: bool = True
    ) -> None:
        pieces = {"κa": width, "βa": 1, "ea": width, "va": width, "ga": 1, "gw": 1}
        pieces |= {"κr": heads * width, "βr": heads}
        pieces |= {"fr": heads} if free else {}
        super().__init__(size, width, heads, pieces | {"πr": 3 * heads})
        self.slots, self.free = slots, free

    @classmethod
    def equations(cls, options: Any, j: str, state: str, length: str) -> list[str]:
        was = f"{j}−1"
        more = f"υ_{{{was},ℓ}} + w_{{{was},ℓ}} − υ_{{{was},ℓ}} w_{{{was},ℓ}}"
        freed = [
            f"f_{j}k = σ({number('f', 'kr', state)})",
            f"ψ_{j}0ℓ = 1",
            f"ψ_{j}kℓ = ψ_{{{j},k−1,ℓ}} (1 − f_{j}k w_{{{was},k,ℓ}})     — frees slots that a head has read",
        ]
        return [
            f"ℓ = 1 … N, ι = 1 … N, k = 1 … K     — {options.slots} slots of {options.width} numbers; read heads: "
            f"{options.heads}",
            *(freed if options.free else ()),
            f"u_{j}ℓ = ε + (1 − ε) υ_{j}ℓ     — usage",
            f"υ_{j}ℓ = ({more}) ψ_{j}Kℓ" if options.free else f"υ_{j}ℓ = {more}",
            f"λ_{j}ℓ = Σ_ι [u_{j}ι < u_{j}ℓ] log(u_{j}ι) + Σ_{{ι: ι < ℓ}} [u_{j}ι = u_{j}ℓ] log(u_{j}ι)",
            f"a_{j}ℓ = (1 − u_{j}ℓ) exp(λ_{j}ℓ)     — allocation: favors the least-used slot",
            f"κ_{j}a = tanh({vector('κ', 'a', state)})",
            f"β_{j}a = 1 + log(1 + exp({number('β', 'a', state)}))",
            content_line(f"v_{j}a", f"κ_{j}a", f"β_{j}a", f"m_{{{was},ℓ}}", "ℓ"),
            f"g_{j}a = σ({number('g', 'a', state)})",
            f"g_{j}w = σ({number('g', 'w', state)})",
            f"w_{j}ℓ = g_{j}w (g_{j}a a_{j}ℓ + (1 − g_{j}a) v_{j}aℓ)     — write weights",
            f"e_{j} = σ({vector('e', 'a', state)})",
            f"v_{j} = tanh({vector('v', 'a', state)})",
            f"m_{j}ℓ = m_{{{was},ℓ}} ⊙ (1 − w_{j}ℓ e_{j}) + w_{j}ℓ v_{j}",
            f"L_{j}ℓι = [ℓ ≠ ι] ((1 − w_{j}ℓ − w_{j}ι) L_{{{was},ℓ,ι}} + w_{j}ℓ η_{{{was},ι}})"
            "     — ℓ was written after ι",
            f"η_{j}ℓ = (1 − Σ_ι w_{j}ι) η_{{{was},ℓ}} + w_{j}ℓ",
            f"κ_{j}kr = tanh({vector('κ', 'kr', state)})",
            f"β_{j}kr = 1 + log(1 + exp({number('β', 'kr', state)}))",
            content_line(f"v_{j}kr", f"κ_{j}kr", f"β_{j}kr", f"m_{j}ℓ", "ℓ"),
            f"π_{j}k = softmax({vector('π', 'kr', state)})     — backward, by content, forward",
            f"←w_{j}kℓ = Σ_ι L_{j}ιℓ w_{{{was},k,ι}}",
            f"→w_{j}kℓ = Σ_ι L_{j}ℓι w_{{{was},k,ι}}",
            f"w_{j}kℓ = π_{j}k[1] ←w_{j}kℓ + π_{j}k[2] v_{j}krℓ + π_{j}k[3] →w_{j}kℓ     — read weights",
            f"r_{j}k = Σ_ℓ w_{j}kℓ m_{j}ℓ",
            "m_0ℓ = 0_W",
            "υ_0ℓ = 0",
            "η_0ℓ = 0",
            "w_0ℓ = 0",
            "w_0kℓ = 0",
            "L_0ℓι = 0",
            f"ε = {WRITTEN_EPSILON}",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        pieces = ["κa", "βa", "ea", "va", "ga", "gw", "κkr", "βkr", "fkr", "πkr"]
        return {**super().letters(options), **interface_letters(*pieces)}

    def start(self, rows: int) -> DNCState:
        like, slots = self.first_read, self.slots
        return DNCState(
            like.new_zeros(rows, slots, self.width),
            like.new_zeros(rows, slots),
            like.new_zeros(rows, slots, slots),
            like.new_zeros(rows, slots),
            like.new_zeros(rows, slots),
            like.new_zeros(rows, self.heads, slots),
        )

    def step(self, controller: Tensor, state: DNCState) -> StoreStep:
        said = self.said(controller)
        free = torch.sigmoid(said["fr"]) if self.free else None
        usage = used(state.usage, state.write, state.read, free)
        keys = torch.tanh(said["κa"]).unsqueeze(1)
        content = content_weights(keys, 1.0 + softplus(said["βa"]), state.slots).squeeze(1)
        where = torch.lerp(content, allocated(usage), torch.sigmoid(said["ga"]))
        write = torch.sigmoid(said["gw"]) * where
        erase, add = torch.sigmoid(said["ea"]), torch.tanh(said["va"])
        place = write.unsqueeze(-1)
        slots = state.slots - state.slots * (place * erase.unsqueeze(1)) + place * add.unsqueeze(1)
        link = linked(state.link, write, state.precedence)
        precedence = (1.0 - write.sum(-1, keepdim=True)) * state.precedence + write
        keys = torch.tanh(said["κr"]).unflatten(-1, (self.heads, self.width))
        found = content_weights(keys, 1.0 + softplus(said["βr"]), slots)
        modes = said["πr"].unflatten(-1, (self.heads, 3)).softmax(-1)
        read = followed(link, state.read, found, modes)
        reads = weighted_sums(read, slots).flatten(1)
        looks = {"write": write.unsqueeze(1), "read": read, "link": link}
        return StoreStep(reads, DNCState(slots, usage, link, precedence, write, read), looks)


def used(usage: Tensor, write: Tensor, read: Tensor, free: Tensor | None) -> Tensor:
    """(B, N): (u + w − u ⊙ w) ⊙ Π_k (1 − f_k w_k): usage and write (B, N), read (B, K, N), free (B, K) or none."""
    if free is None:
        return usage + write - usage * write
    # not prod, whose gradient waits for the GPU to look for zeros
    kept = reduce(torch.mul, (1.0 - free.unsqueeze(-1) * read).unbind(1))
    return (usage + write - usage * write) * kept


def allocated(usage: Tensor) -> Tensor:
    """(B, N): a_φi = (1 − u_φi) Π_{i' < i} u_φi', φ the slots from the least used on;
    ties in the order of the slots."""
    usage = EPSILON + (1.0 - EPSILON) * usage
    ranked, order = usage.sort(dim=-1, stable=True)
    before = torch.cat([torch.zeros_like(ranked[:, :1]), ranked[:, :-1].log().cumsum(-1)], -1).exp()
    return torch.zeros_like(usage).scatter(-1, order, (1.0 - ranked) * before)


def linked(link: Tensor, write: Tensor, precedence: Tensor) -> Tensor:
    """(B, N, N): (1 − w_ℓ − w_ι) L_ℓι + w_ℓ p_ι, and 0 on the diagonal: link (B, N, N), write and precedence (B, N)."""
    after, before = write.unsqueeze(2), write.unsqueeze(1)
    moved = (1.0 - after - before) * link + after * precedence.unsqueeze(1)
    return moved * (1.0 - torch.eye(link.shape[-1], dtype=link.dtype, device=link.device))


def followed(link: Tensor, read: Tensor, content: Tensor, modes: Tensor) -> Tensor:
    """(B, K, N): π_1 Lᵀ w + π_2 c + π_3 L w: read and content (B, K, N), modes (B, K, 3)."""
    back, here, on = modes.unsqueeze(-2).unbind(-1)
    return back * weighted_sums(read, link) + here * content + on * pair_products(read, link)
