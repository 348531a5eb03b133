"""Searches in int8: products against whole numbers, scores near those of fp32, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.data.columns.vocabulary import Words
from regard.errors import RegardError
from regard.fast import whole_search
from regard.fast.cpu.byte_tile import multiplies_bytes
from regard.fast.cpu.bytes import byte_panels
from regard.fast.cpu.either import multiply_rows, read_rows
from regard.fast.cpu.product import Target, Window
from regard.nn import Embedding
from regard.nn.decoders.transformer import TransformerDecoder
from regard.nn.encoders.transformer import TransformerEncoder
from regard.nn.path import without_fast_paths
from regard.nn.search import Beam, Greedy, Limits, Request, Sample, Stepper
from regard.nn.search.constrained import Constrained
from regard.spec.sections import SearchSpec
from regard.structures.kernels.cpu.compilation import kernel

from .conftest import model, tokens
from .test_constraints import table_of

ROWS = [[4, 5, 6, 7, 8], [9, 4], [10, 6, 4, 4], [5], [7, 7, 7, 9, 10, 4, 4], [8, 5, 6]]
needs_vnni = pytest.mark.skipif(not multiplies_bytes(), reason="needs a CPU with AVX-512 VNNI")


def stepper_of(**options):
    encoder, decoder = model(seed=5, **options)
    return Stepper(decoder.eval(), {"source": encoder.eval()(tokens(*ROWS))})


@kernel
def product(rows, weight, out, add):
    given = read_rows(len(rows), Window(rows, 0, 1, 0), weight)
    multiply_rows(len(rows), given, weight, Target(out, 0, 1, 0, add))


@needs_vnni
@pytest.mark.parametrize(("outputs", "depth"), [(70, 37), (32, 64), (5, 3), (129, 1)])
def test_products_of_whole_numbers_are_exact(outputs: int, depth: int) -> None:
    """Numbers up to 127, of which one is 127: their scale is 1, and they are bytes already."""
    rng = np.random.default_rng(0)
    weight = rng.integers(-127, 128, (outputs, depth)).astype(np.float32)
    weight[:, 0] = 127
    packed = byte_panels(torch.from_numpy(weight))
    for count in range(1, 19):
        rows = rng.integers(-127, 128, (count, depth)).astype(np.float32)
        rows[:, -1] = -127
        truth = rows.astype(np.int64) @ weight.T.astype(np.int64)
        out = np.full((count, outputs), 3.0, np.float32)
        product(rows, packed, out, True)
        np.testing.assert_allclose(out, truth + 3, rtol=1e-6)
        product(rows, packed, out, False)
        np.testing.assert_allclose(out, truth, rtol=1e-6)


@needs_vnni
def test_what_is_not_finite_stays_so() -> None:
    rows, out = np.ones((2, 8), np.float32), np.zeros((2, 32), np.float32)
    rows[1, 3] = np.nan
    product(rows, byte_panels(torch.ones(32, 8)), out, False)
    assert np.isfinite(out[0]).all() and not np.isfinite(out[1]).any()


@needs_vnni
@pytest.mark.parametrize(
    "search",
    [
        Greedy,
        pytest.param(
            lambda limits, precision: Beam(3, limits=limits, precision=precision), marks=pytest.mark.thorough
        ),
    ],
)
@pytest.mark.parametrize("state", ["previous", "current"])
def test_scores_are_near_those_of_single_precision(state, search) -> None:
    """Both write the words of a prefix; the scores of its words differ, but by little."""
    stepper = stepper_of(state=state)
    with without_fast_paths():
        truth = Greedy()(stepper)
    lengths = truth.lengths[:, 0] - 1
    limits = Limits(
        prefix=tokens(*(row[:n].tolist() for row, n in zip(truth.tokens[:, 0], lengths, strict=True)))
    )
    plain = search(limits=limits, precision="fp32")(stepper)
    found = search(limits=limits, precision="int8")(stepper)
    for row, length in enumerate(lengths.tolist()):
        assert torch.equal(found.tokens[row, 0, :length], truth.tokens[row, 0, :length])
        apart = found.token_scores[row, 0, :length] - plain.token_scores[row, 0, :length]
        assert 0 < apart.abs().max() < 0.15


def transformer_of(**options) -> Stepper:
    torch.manual_seed(4)
    encoder = TransformerEncoder(Embedding(12, 16), size=16, heads=2, layers=2)
    decoder = TransformerDecoder(
        Embedding(12, 16), {"source": encoder}, size=16, heads=2, layers=2, **options
    )
    for parameter in decoder.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return Stepper(decoder.eval(), {"source": encoder.eval()(tokens(*ROWS))})


@needs_vnni
@pytest.mark.parametrize("beam", [False, True])
@pytest.mark.parametrize("options", [{}, {"norm": "post", "distances": 2}])
def test_scores_of_transformers_are_near_those_of_single_precision(beam: bool, options) -> None:
    stepper = transformer_of(**options)
    with without_fast_paths():
        truth = Greedy()(stepper)
    lengths = truth.lengths[:, 0] - 1
    rows = [row[:n].tolist() for row, n in zip(truth.tokens[:, 0], lengths, strict=True)]
    limits = Limits(prefix=tokens(*rows))
    plain = (Beam(3, limits=limits) if beam else Greedy(limits))(stepper)
    search = Beam(3, limits=limits, precision="int8") if beam else Greedy(limits, precision="int8")
    found = search(stepper)
    for row, length in enumerate(lengths.tolist()):
        assert torch.equal(found.tokens[row, 0, :length], truth.tokens[row, 0, :length])
        apart = found.token_scores[row, 0, :length] - plain.token_scores[row, 0, :length]
        assert 0 < apart.abs().max() < 0.15


@needs_vnni
def test_a_transformer_obeys_a_constraint() -> None:
    stepper, limits = transformer_of(), Limits(maximum=6)
    letters = [chr(97 + number) for number in range(8)]
    phrases = ["a", "c", "e"]
    table = table_of(Words(), letters, "never", 48, phrases=phrases)
    bound = Constrained(stepper, table, limits.of(stepper).last)
    free, found = Greedy(limits, precision="int8")(stepper), Greedy(limits, precision="int8")(bound)
    forbidden = torch.tensor([4 + letters.index(one) for one in phrases])
    assert torch.isin(free.tokens, forbidden).any() and not torch.isin(found.tokens, forbidden).any()
    several = Beam(3, limits=limits, precision="int8")(bound)
    assert not torch.isin(several.tokens, forbidden).any()


@needs_vnni
def test_a_changed_transformer_is_refused() -> None:
    stepper = transformer_of()
    stepper.decoder.layers[0].feed[1] = torch.nn.GELU()
    with pytest.raises(
        RegardError, match=r"cannot compute in int8\. The decoder or a layer in it was changed"
    ):
        Beam(2, precision="int8")(stepper)
    with pytest.raises(
        RegardError, match=r"cannot compute in int8\. The weights are not in single precision"
    ):
        Greedy(precision="int8")(Stepper(transformer_of().decoder.double(), stepper.memories))


def test_refused_where_the_cpu_cannot(monkeypatch) -> None:
    monkeypatch.setattr(whole_search, "bytes_lack", lambda: "This CPU does not multiply bytes.")
    with pytest.raises(
        RegardError, match=r"cannot compute in int8\. This CPU does not multiply bytes"
    ) as raised:
        Greedy(precision="int8")(stepper_of())
    assert raised.value.where == "search.precision" and raised.value.fix == "Use fp32."


@needs_vnni
def test_refused_where_the_decoder_cannot() -> None:
    stepper = stepper_of()
    stepper.decoder.forward = stepper.decoder.forward  # a method of its own
    stepper.decoder.step = stepper.decoder.step
    with pytest.raises(RegardError, match="cannot compute in int8"):
        Beam(2, precision="int8")(stepper)


def test_sampling_computes_in_single_precision() -> None:
    with pytest.raises(
        ValueError, match=r"sample search computes in fp32\. Use precision: fp32, or method: beam or greedy"
    ):
        SearchSpec(method="sample", precision="int8")
    assert Sample.precisions == ("fp32",)
    made = SearchSpec(method="beam", precision="int8")
    assert Beam.make(made.method, Request(precision=made.precision)).precision == "int8"
