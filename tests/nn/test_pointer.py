"""The pointer decoder against its equations, written naively, and its searches against its loss."""

from __future__ import annotations

import pytest
import torch

from regard.data.batch import Tokens
from regard.data.media import Series
from regard.nn.decoders import PointerDecoder
from regard.nn.encoders.points import Coordinates, PointsEncoder
from regard.nn.imposed import Imposed
from regard.nn.memory import Memory
from regard.nn.search import Greedy, Sample, Stepper, score


@pytest.fixture(params=[("lstm", 1, "states"), ("gru", 2, "embeddings"), ("mrnn", 1, "states")], ids=str)
def parts(request: pytest.FixtureRequest) -> tuple[PointerDecoder, PointsEncoder]:
    torch.manual_seed(0)
    cell, layers, values = request.param
    encoder = PointsEncoder(Coordinates([0.5, 0.4], 0.3, 5), cell=cell, size=6, values=values)
    decoder = PointerDecoder("points", encoder, cell=cell, size=7, layers=layers)
    return decoder.double().eval(), encoder.double().eval()


POINTS = Series(
    torch.rand(3, 6, 2, generator=torch.Generator().manual_seed(1)).double(), torch.tensor([6, 4, 5])
)
TARGET = Tokens(torch.tensor([[2, 5, 6, 1], [4, 1, 0, 0], [3, 0, 0, 0]]), torch.tensor([4, 2, 1]))


def naive(decoder: PointerDecoder, memory: Memory, row: int, target: list[int]) -> torch.Tensor:
    """log p(target and the stop) of one row: u_j = v·tanh(W h_j + U s_t) of each position by itself."""
    count = int(memory.mask[row].sum())
    values, keys = (
        memory.values[row, :count],
        (memory.values if memory.keys is None else memory.keys)[row, :count],
    )
    score_part = decoder.pointing.score
    states = torch.tanh(decoder.bridge(memory.summary[row])).chunk(len(decoder.stack.cells))
    read, total = decoder.first, torch.zeros((), dtype=torch.float64)
    for pointer in [*target, 0]:
        below, reached = read, []
        for cell, state in zip(decoder.stack.cells, states, strict=True):
            reached.append(cell(below, state))
            below = cell.output(reached[-1])
        states = reached
        energies = [
            score_part.vector @ torch.tanh(score_part.key(key) + score_part.query(below))
            for key in [decoder.stop, *keys]
        ]
        total = total + torch.log_softmax(torch.stack(energies), 0)[pointer]
        read = values[pointer - 1]
    return total


def test_the_loss_is_that_of_the_equations(parts: tuple[PointerDecoder, PointsEncoder]) -> None:
    decoder, encoder = parts
    memories = {"points": encoder(POINTS)}
    rows = zip(TARGET.ids.tolist(), TARGET.lengths.tolist(), strict=True)
    true = [naive(decoder, memories["points"], row, ids[:length]) for row, (ids, length) in enumerate(rows)]
    loss = decoder.loss(memories, TARGET)
    torch.testing.assert_close(loss.total, -torch.stack(true).sum(), rtol=1e-10, atol=1e-10)
    assert int(loss.count) == 10
    scored = score(Stepper(decoder, memories), TARGET)
    torch.testing.assert_close(scored.scores[:, 0], torch.stack(true), rtol=1e-10, atol=1e-10)
    loss.total.backward()
    assert all(one.grad is not None and bool(one.grad.isfinite().all()) for one in decoder.parameters())


@torch.no_grad()
def test_positions_that_do_not_exist_are_never_pointed_at(
    parts: tuple[PointerDecoder, PointsEncoder],
) -> None:
    decoder, encoder = parts
    memories = {"points": encoder(POINTS)}
    for search in (Greedy(), Sample(samples=5, seed=1, temperature=5.0)):
        found = search(Stepper(decoder, memories))
        for row, count in enumerate(POINTS.lengths.tolist()):
            for rank in range(found.tokens.shape[1]):
                assert all(1 <= place <= count for place in found.content(row, rank))
            assert float(found.attention["points"][row, :, :, count:].sum()) == 0


@torch.no_grad()
def test_what_else_is_in_the_batch_changes_nothing(parts: tuple[PointerDecoder, PointsEncoder]) -> None:
    decoder, encoder = parts
    together = Greedy()(Stepper(decoder, {"points": encoder(POINTS)}))
    for row, count in enumerate(POINTS.lengths.tolist()):
        alone = Series(POINTS.values[row : row + 1, :count], torch.tensor([count]))
        found = Greedy()(Stepper(decoder, {"points": encoder(alone)}))
        assert found.content(0) == together.content(row)
        torch.testing.assert_close(found.scores[0], together.scores[row])


@torch.no_grad()
def test_attention_that_is_imposed_is_what_is_pointed_at(parts: tuple[PointerDecoder, PointsEncoder]) -> None:
    from dataclasses import replace

    decoder, encoder = parts
    memory = encoder(POINTS)
    table = torch.zeros(3, 2, 6).double()
    table[:, 0, 3] = 1.0
    imposed = {"points": replace(memory, override=Imposed(table))}
    found = Greedy()(Stepper(decoder, imposed))
    assert [found.content(row)[0] for row in range(3)] == [4, 4, 4]
