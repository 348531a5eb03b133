"""Every part computes with its own methods: a subclass that overrides one trains, scores and searches with it.

Each method of each registered part is overridden in a small spec that uses the part. The results must be those
without fast paths, which compute with the parts' own methods alone.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.data import Dataset
from regard.data.batch import PAD, Batch
from regard.errors import MissingExtra
from regard.fast.recording.recordable import recordable
from regard.model import AnyModel, build
from regard.model.building import fit_columns, make_columns
from regard.nn import Embedding
from regard.nn.path import without_fast_paths
from regard.nn.search import Beam, Greedy, Limits
from regard.parts import names, part
from regard.spec import Spec
from regard.structures.kernels import plainly
from regard.testing.rows import rows
from regard.testing.specs import Document, contexts, options_of, small
from tests.parts.effects import _set_weights

KINDS = ("cell", "composer", "score", "selection", "store", "network", "encoder", "decoder")
WITHIN = {"selection": 2, "score": 2}
"""Number of specs in which a part is tried; one for other kinds."""


def everywhere(document: Document, name: str) -> Document:
    """The spec with this cell in every encoder and decoder that has one."""
    made = copy.deepcopy(document)
    for kind in ("encoder", "decoder"):
        for options in made[kind].values():
            if "cell" in options_of(kind, options["type"]).model_fields:
                options["cell"] = small("cell", name)
    return made


def tried() -> Iterator[Any]:
    for kind in KINDS:
        for name in names(kind):
            if not part(kind, name).__module__.startswith("regard."):
                continue
            for number in range(WITHIN.get(kind, 1)):
                yield pytest.param(kind, name, number, id=f"{kind}-{name}-{number}")


@cache
def built(kind: str, name: str, number: int) -> tuple[AnyModel, Batch] | None:
    """A model that uses the part, and a batch; None without another such spec or an optional package."""
    found = contexts(kind, name)
    if number >= len(found):
        return None
    document = found[number].document
    spec = Spec.parse(copy.deepcopy(everywhere(document, name) if kind == "cell" else document))
    columns = make_columns(spec)
    fit_columns(columns, spec, rows)
    dataset = Dataset.build(rows(), columns.values(), on_bad="skip")
    torch.manual_seed(1)
    try:
        model = build(spec, columns)
    except MissingExtra:
        return None
    _set_weights(model.network)
    for module in model.network.modules():
        if isinstance(module, Embedding):
            module.weight.data[PAD] = 0
    return model, dataset.batch(range(len(dataset)))


def methods_of(kind: type[Any]) -> list[str]:
    """The public methods of a class that may compute something."""
    found = {
        name
        for one in kind.__mro__
        if one.__module__.startswith("regard.")
        for name, value in vars(one).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }
    return sorted(found - {"kernel", "torch_recurrence", "torch_weights"})


def scaled(value: Any) -> Any:
    """The value with other numbers."""
    if isinstance(value, Tensor):
        return value * 1.25 if value.is_floating_point() else value
    if isinstance(value, Mapping):
        return {name: scaled(one) for name, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(scaled, value))
    if isinstance(value, tuple | list):
        return type(value)(map(scaled, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        every = [one.name for one in dataclasses.fields(value) if one.init]
        return dataclasses.replace(value, **{name: scaled(getattr(value, name)) for name in every})
    return value


@contextmanager
def overridden(
    network: nn.Module, kind: type[Any], methods: list[str], change: Any
) -> Iterator[Counter[str]]:
    """All modules of a class are of a subclass that overrides these methods; counts their calls."""
    calls: Counter[str] = Counter()

    def override(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def changed(*given: Any, **more: Any) -> Any:
            calls[name] += 1
            return change(method(*given, **more))

        return changed

    subclass = type(
        f"Other{kind.__name__}", (kind,), {one: override(one, getattr(kind, one)) for one in methods}
    )
    modules = [module for module in network.modules() if type(module) is kind]
    for module in modules:
        module.__class__ = subclass
    try:
        yield calls
    finally:
        for module in modules:
            module.__class__ = kind


def results(model: AnyModel, batch: Batch) -> dict[str, Any]:
    """The training loss, the score of the true output, and what two searches or a prediction find."""
    network, found = model.network, {}
    torch.manual_seed(3)
    for decoder in network.train().decoders.values():
        decoder.carried = None
    for name, loss in network(batch).items():
        found[f"loss {name}"] = loss.total.detach()
    with torch.no_grad():
        network.eval()
        if not model.spec.inputs:
            return found
        encoded = network.encode(batch)
        for name, decoder in network.decoders.items():
            memories, truth = network.memories(name, encoded), network.truth(name, batch, encoded)
            given = {} if truth is None else {"truth": truth}
            if not decoder.stepwise:
                found[f"prediction {name}"] = figures(decoder.predict(memories, **given))
                continue
            found[f"score {name}"] = decoder.score(memories, batch[name], **given).scores
            for search in (Greedy(Limits(maximum=3)), Beam(2, limits=Limits(maximum=3))):
                found[f"{type(search).__name__} {name}"] = decoder.predict(memories, search, **given).scores
    return found


def figures(value: Any) -> list[Tensor]:
    """The numbers of a prediction."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        return [one for part in value.values() for one in figures(part)]
    if isinstance(value, tuple | list):
        return [one for part in value for one in figures(part)]
    if dataclasses.is_dataclass(value):
        return [one for field in dataclasses.fields(value) for one in figures(getattr(value, field.name))]
    return []


def outcome(model: AnyModel, batch: Batch) -> dict[str, Any]:
    before = {name: buffer.clone() for name, buffer in model.network.named_buffers()}
    try:
        return results(model, batch)
    except Exception as error:  # another number may be one that nothing can follow
        return {"failed": type(error).__name__}
    finally:  # normalizations gather statistics in training
        for name, buffer in model.network.named_buffers():
            buffer.copy_(before[name])


def plain(model: AnyModel, batch: Batch) -> dict[str, Any]:
    with plainly(), without_fast_paths():
        return outcome(model, batch)


def foreign(network: nn.Module) -> bool:
    """Whether it holds modules of another library, whose calls are never recorded."""
    return any(type(one).__module__.partition(".")[0] not in ("regard", "torch") for one in network.modules())


@pytest.mark.parametrize(("kind", "name", "number"), list(tried()))
def test_a_subclass_is_used_as_it_is(kind: str, name: str, number: int) -> None:
    made, own = built(kind, name, number), part(kind, name)
    if made is None or not any(type(module) is own for module in made[0].network.modules()):
        pytest.skip("no small spec has a module of this part")
    model, batch = made
    with overridden(model.network, own, methods_of(own), lambda value: value) as called:
        before = plain(model, batch)
        assert not recordable(model.network)
    assert "failed" not in before and called, called
    alone = recordable(model.network) or foreign(model.network)
    assert alone, "a module has an attribute with the name of one of its methods"
    for method in called:
        with overridden(model.network, own, [method], scaled) as calls:
            expected, wanted = plain(model, batch), calls[method]
            calls.clear()
            found = outcome(model, batch)
        assert wanted and calls[method], f"{own.__name__}.{method} is not called"
        torch.testing.assert_close(
            found, expected, rtol=2e-3, atol=1e-4, msg=lambda text, m=method: f"{own.__name__}.{m}: {text}"
        )
