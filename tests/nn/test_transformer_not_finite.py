"""NaN and infinity reach what a Transformer's attention reads on every processor. Torch's kernel loses them on
x86, so every test runs both with torch's attention and with one that loses them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.nn import Embedding
from regard.nn.decoders.transformer import TransformerDecoder
from regard.nn.encoders.transformer import TransformerEncoder
from regard.nn.search import Beam, Greedy, Limits, Stepper, score
from regard.nn.transformer_layers import MultiHead

from .careless import careless_attention
from .conftest import SOURCE, TARGET, VOCABULARY

NOT_FINITE = [math.nan, math.inf, -math.inf]
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]], dtype=torch.bool)[:, None, None]


@pytest.fixture(params=["torch's attention", "an attention that loses NaN"], autouse=True)
def loses(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if "loses" in request.param:
        monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", careless_attention)
        return True
    return False


def attention(**options: object) -> MultiHead:
    torch.manual_seed(0)
    made = MultiHead(8, 2, **options)  # type: ignore[arg-type]
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.4)
    return made.eval()


def finite(read: Tensor) -> list[list[bool]]:
    """Whether the vector of each row and position is finite."""
    found: list[list[bool]] = read.isfinite().all(-1).tolist()
    return found


@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize("distances", [None, 2])
def test_a_query_spoils_its_own_position(value: float, distances: int | None) -> None:
    layer = attention(distances=distances)
    x, query = torch.randn(2, 4, 8), torch.randn(2, 4, 8)
    query[1, 2, 3] = value
    assert finite(layer(query, layer.prepare(x), MASK)) == [[True] * 4, [True, True, False, True]]


@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize("distances", [None, 2])
def test_a_key_spoils_what_may_see_it(value: float, distances: int | None, loses: bool) -> None:
    """Row 0 sees all four positions, row 1 only the first three. Torch adds −∞ to the masked score, which
    leaves it NaN; the check of ours spoils no masked position."""
    layer = attention(distances=distances)
    keys, values = layer.prepare(torch.randn(2, 4, 8))
    keys = keys.detach().clone()
    keys[:, 1, 3, 2] = value
    found = finite(layer(torch.randn(2, 4, 8), (keys, values), MASK))
    assert not any(found[0])
    assert not loses or all(found[1])


@pytest.mark.parametrize("distances", [None, 2])
def test_a_key_spoils_every_later_position(distances: int | None, loses: bool) -> None:
    layer = attention(distances=distances, causal=True)
    keys, values = layer.prepare(torch.randn(2, 4, 8))
    keys = keys.detach().clone()
    keys[1, 0, 2, 0] = math.nan
    query = torch.randn(2, 4, 8)
    found = finite(layer(query, (keys, values)))
    assert found[0] == [True] * 4 and not any(found[1][2:])
    assert not loses or all(found[1][:2])
    assert finite(layer(query[:, 3:], (keys, values))) == [[True], [False]]  # a step of a search


def test_a_value_and_a_score_of_a_distance_spoil_what_reads_them() -> None:
    layer = attention(distances=2)
    keys, values = layer.prepare(torch.randn(2, 4, 8))
    poisoned = values.detach().clone()
    poisoned[0, 1, 2, 0] = math.nan
    assert finite(layer(torch.randn(2, 4, 8), (keys, poisoned), MASK)) == [[False] * 4, [True] * 4]
    with torch.no_grad():
        layer.distance[0, 1] = math.nan
    assert finite(layer(torch.randn(2, 4, 8), (keys, values), MASK)) == [[False] * 4] * 2


def test_scores_that_overflow_are_not_finite() -> None:
    layer = attention()
    keys, values = layer.prepare(torch.randn(2, 4, 8))
    query = torch.randn(2, 4, 8)
    query[0, 1] *= 1e25
    found = finite(layer(query, (keys * 1e25, values), MASK))
    assert found == [[True, False, True, True], [True] * 4]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_finite_numbers_of_every_precision_stay_finite(dtype: torch.dtype) -> None:
    layer = attention().to(dtype)
    x = (torch.randn(2, 200, 8) * 30).to(dtype)
    read = layer(x, layer.prepare(x))
    assert read.dtype == dtype and read.isfinite().all()


MODULES: dict[str, Callable[[], nn.Module]] = {
    "plain": lambda: both(),
    "distances": lambda: both(distances=3),
    "post": lambda: both(norm="post"),
}


def both(**options: object) -> nn.ModuleList:
    torch.manual_seed(0)
    sizes = {"size": 8, "heads": 2, "hidden": 12, "layers": 1, **options}
    encoder = TransformerEncoder(Embedding(VOCABULARY, 8), **sizes)  # type: ignore[arg-type]
    decoder = TransformerDecoder(Embedding(VOCABULARY, 8), {"source": encoder}, **sizes)  # type: ignore[arg-type]
    return nn.ModuleList([encoder, decoder]).eval()


def poisoned(model: nn.Module) -> Iterator[str]:
    """The name of each parameter, while it is NaN."""
    for name, parameter in model.named_parameters():
        before = parameter.detach().clone()
        parameter.detach().fill_(math.nan)
        yield name
        parameter.detach().copy_(before)


@pytest.mark.parametrize("kind", MODULES)
def test_every_parameter_reaches_the_loss_its_gradients_and_every_search(kind: str) -> None:
    encoder, decoder = model = MODULES[kind]()
    for name in poisoned(model):
        memories = {"source": encoder(SOURCE)}
        loss = decoder.forced_cost(memories, TARGET).total
        assert not loss.isfinite(), name
        loss.backward()
        assert not all(one.grad.isfinite().all() for one in model.parameters() if one.grad is not None), name
        model.zero_grad()
        with torch.no_grad():
            stepper = Stepper(decoder, {"source": encoder(SOURCE)})
            for search in (Greedy(limits=Limits(maximum=3)), Beam(size=2, limits=Limits(maximum=3))):
                with pytest.raises(RegardError, match="the model's scores are not finite"):
                    search(stepper)
            with pytest.raises(RegardError, match="the model's scores are not finite"):
                score(stepper, TARGET)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("count", [8, 70])
@pytest.mark.parametrize("causal", [False, True])
def test_both_ways_on_cuda_hide_nothing(count: int, causal: bool, loses: bool) -> None:
    if loses:
        pytest.skip("about torch's attention")
    layer = attention(causal=causal).cuda()
    x = torch.randn(2, count, 8, device="cuda")
    mask = None if causal else torch.ones(2, 1, 1, count, dtype=torch.bool, device="cuda")
    for parameter in (layer.query.weight, layer.key.weight, layer.value.bias):
        before = parameter.detach().clone()
        parameter.detach()[0, ...] = math.nan
        assert not layer(x, layer.prepare(x), mask).isfinite().any()
        parameter.detach().copy_(before)
    keys, values = layer.prepare(x)
    asked = x.clone()
    asked[1, 3] = math.nan
    found = layer(asked, (keys, values), mask).isfinite().all(-1)
    assert not found[1, 3] and found.sum() == 2 * count - 1
