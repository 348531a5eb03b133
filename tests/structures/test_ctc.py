"""CTCAlignment against every alignment of frames with symbols, and against torch's loss."""

from __future__ import annotations

import itertools
import math
from typing import ClassVar

import numpy as np
import pytest
import torch

from regard.structures import CTCAlignment
from tests.structures.suite import StructureSuite, close, seeded
from tests.structures.truth import Case, Support, total

pytestmark = pytest.mark.thinned(5)

N, T = 5, 2
SYMBOLS = torch.randn(4, N, T, dtype=torch.float64, generator=seeded(0))
BLANK = torch.randn(4, N, dtype=torch.float64, generator=seeded(1))
DIRECT = torch.randn(4, T, dtype=torch.float64, generator=seeded(2))
LENGTHS = (torch.tensor([5, 3, 2, 0]), torch.tensor([2, 1, 0, 0]))
MASK = torch.ones(4, N, T, dtype=torch.bool)
MASK[0, 2] = MASK[1, 1:] = False
EQUAL = torch.zeros(4, T, dtype=torch.bool)
EQUAL[:2, 1] = True


def listed(frames: int, symbols: int) -> Support:
    """All sequences of symbols 1 … T and 0 (blank) in which every symbol has one run, in the order of the symbols."""
    support = []
    for said in itertools.product(range(symbols + 1), repeat=frames):
        runs = [symbol for symbol, _ in itertools.groupby(said) if symbol]
        if runs == list(range(1, symbols + 1)):
            value = np.zeros((N, T))
            for n, symbol in enumerate(said):
                if symbol:
                    value[n, symbol - 1] = 1
            support.append((value, value))
    return support


def score(b: int, potentials: list[np.ndarray], value: np.ndarray, parts: np.ndarray) -> float:
    symbols, blank, direct = potentials
    found = total(symbols, value) + blank[~value.any(1)].sum()
    for t in range(1, value.shape[1]):
        if value[:, t].any() and value[value[:, t].argmax() - 1, t - 1]:
            found += direct[t]
    return float(found)


def ragged_score(b: int, potentials: list[np.ndarray], value: np.ndarray, parts: np.ndarray) -> float:
    n, t = int(LENGTHS[0][b]), int(LENGTHS[1][b])
    cut = [potentials[0][:n, :t], potentials[1][:n], potentials[2][:t]]
    return score(b, cut, value[:n, :t], parts)


POTENTIALS = (SYMBOLS, BLANK, DIRECT)


class TestCTCAlignment(StructureSuite):
    backends: ClassVar = ["reference", "auto"]
    cases: ClassVar = {
        # (5+2 choose 4), (3+1 choose 2), all blank, nothing
        "ragged": Case(
            CTCAlignment,
            POTENTIALS,
            lambda b: listed(int(LENGTHS[0][b]), int(LENGTHS[1][b])),
            ragged_score,
            [35, 6, 1, 1],
            LENGTHS,
        ),
        # The third frame is blank: one symbol in two frames on either side. Only the first frame speaks: nothing fits.
        "masked": Case(CTCAlignment, POTENTIALS, lambda b: listed(N, T), score, [11, 0, 35, 35], mask=MASK),
        # Equal symbols need a blank between them: (4+2 choose 4).
        "infinite": Case(
            CTCAlignment,
            POTENTIALS,
            lambda b: listed(N, T),
            score,
            [15, 15, 35, 35],
            excluded=[None, None, EQUAL],
        ),
    }


@pytest.mark.parametrize("text", [[1, 2, 3], [2, 2, 1], [3, 3, 3], [1, 1]])
def test_it_is_the_probability_of_all_paths_and_the_loss_of_torch(text: list[int]) -> None:
    """Another definition: the sum over all sequences of symbols that become the text without repetitions and blanks."""
    logits = torch.randn(6, 4, dtype=torch.float64, generator=seeded(4), requires_grad=True)
    logs = logits.log_softmax(-1)
    alignment = CTCAlignment.of(logs, torch.tensor(text))
    sums = 0.0
    for path in itertools.product(range(4), repeat=6):
        if [symbol for symbol, _ in itertools.groupby(path) if symbol] == text:
            sums += math.exp(sum(float(logs[n, symbol]) for n, symbol in enumerate(path)))
    close(alignment.log_partition, math.log(sums))
    lengths = (torch.tensor([6]), torch.tensor([len(text)]))
    theirs = torch.nn.functional.ctc_loss(logs[:, None], torch.tensor([text]), *lengths, reduction="sum")
    close(-alignment.log_partition, theirs.item())
    (mine,) = torch.autograd.grad(-alignment.log_partition, logits, retain_graph=True)
    (other,) = torch.autograd.grad(theirs, logits)
    close(mine, other)
    # the gradient of the log-probabilities: the share of each symbol in each frame
    (shares,) = torch.autograd.grad(alignment.log_partition, logs)
    expected = torch.zeros(6, 4, dtype=torch.float64)
    for t, symbol in enumerate(text):
        expected[:, symbol] += alignment.marginals[:, t]
    expected[:, 0] = 1 - alignment.marginals.sum(-1)
    close(shares, expected.detach())


def test_a_batch_of_texts_of_several_lengths() -> None:
    logs = torch.randn(3, 9, 5, dtype=torch.float64, generator=seeded(5)).log_softmax(-1)
    text, lengths = torch.tensor([[1, 1, 2, 4], [3, 2, 0, 0], [0, 0, 0, 0]]), ([9, 6, 4], [4, 2, 0])
    found = CTCAlignment.of(logs, text, lengths=lengths).log_partition
    theirs = torch.nn.functional.ctc_loss(
        logs.transpose(0, 1), text, *map(torch.tensor, lengths), reduction="none"
    )
    close(found, (-theirs).tolist())


def test_a_text_that_does_not_fit_has_no_probability() -> None:
    logs = torch.zeros(3, 4).log_softmax(-1)
    assert CTCAlignment.of(logs, torch.tensor([1, 1])).count() == 1
    for text in ([1, 1, 2], [1, 2, 3, 1]):
        alignment = CTCAlignment.of(logs, torch.tensor(text))
        assert alignment.log_partition == -math.inf and not alignment.mode.any()


def test_there_are_as_many_as_the_formula_says() -> None:
    assert CTCAlignment(torch.zeros(60, 20)).count() == math.comb(80, 40)


def test_lengths_come_in_pairs() -> None:
    with pytest.raises(ValueError, match="pair"):
        CTCAlignment(SYMBOLS, lengths=torch.tensor([1, 2, 3, 3]))
    with pytest.raises(ValueError, match="symbol lengths must lie between 0 and 2"):
        CTCAlignment(SYMBOLS, lengths=(None, [5]))
