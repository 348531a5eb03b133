"""Dataclasses of tensors as nodes of torch's trees, so that `torch.export`, `torch.func` and tracers find the
tensors inside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from torch import Tensor
from torch.fx import _pytree as fx_pytree
from torch.utils import _pytree as pytree

from regard.private.feature import Feature, expect

Class = TypeVar("Class", bound=type)


class Aside:
    """A value that goes along without being part of a tree: all are equal, so that trees with other values
    have the same form."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aside)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "…"


def tensor_node(aside: Collection[str] = ()) -> Callable[[Class], Class]:
    """Decorate a dataclass. Its fields that contain tensors are its branches. The other fields belong to the
    form of the tree, which an exported program requires to be the same at every call.

    aside   fields that may differ at every call, because no computation depends on them
    """

    def decorate(kind: Class) -> Class:
        register = _nodes.get()
        if register is not None:
            register(kind, frozenset(aside))
        return kind

    return decorate


def _register(kind: Any, aside: frozenset[str]) -> None:
    names = [field.name for field in fields(kind)]

    def flatten(node: Any) -> tuple[list[Any], Any]:
        branches: list[tuple[str, Any]] = []
        form: list[tuple[str, Any]] = []
        for name in names:
            value = getattr(node, name)
            if name in aside:
                form.append((name, Aside(value)))
                continue
            value = dict(value) if isinstance(value, Mapping) else value
            if any(isinstance(leaf, Tensor) for leaf in pytree.tree_leaves(value)):
                branches.append((name, value))
            else:
                form.append((name, value))
        return [value for _, value in branches], (tuple(name for name, _ in branches), tuple(form))

    def flatten_with_keys(node: Any) -> tuple[list[Any], Any]:
        branches, context = flatten(node)
        keys = [pytree.GetAttrKey(name) for name in context[0]]
        return list(zip(keys, branches, strict=True)), context

    def unflatten(branches: Any, context: Any) -> Any:
        given, form = context
        plain = {name: value.value if isinstance(value, Aside) else value for name, value in form}
        return kind(**dict(zip(given, branches, strict=True)), **plain)

    pytree.register_pytree_node(
        kind,
        flatten,
        unflatten,
        serialized_type_name=f"{kind.__module__}.{kind.__qualname__}",
        flatten_with_keys_fn=flatten_with_keys,
    )
    # exported programs of torch before 2.7 look it up here
    fx_pytree.register_pytree_flatten_spec(kind, lambda node, spec: flatten(node)[0])


def _try_nodes() -> Any:
    """The trial is the use: whether torch registers nodes of this form can be seen without registering one."""
    for name in ("register_pytree_node", "tree_leaves", "GetAttrKey"):
        getattr(pytree, name)
    getattr(fx_pytree, "register_pytree_flatten_spec")  # noqa: B009
    expect(pytree.tree_leaves({"a": (1, None)})[0] == 1, "the leaves of a tree")
    return _register


_nodes = Feature(
    "torch's registration of dataclasses",
    "torch.export, torch.func and torch.jit cannot look into batches and memories",
    _try_nodes,
    alone=False,
)
