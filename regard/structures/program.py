"""A distribution defined by potentials and one dynamic program, which runs over any semiring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor
from torch.distributions import Distribution, constraints

from regard.structures.potentials import as_size, as_tensor, expand_batch
from regard.structures.recording import recorded
from regard.structures.semirings import LogSemiring, Semiring

Backend = Literal["auto", "reference"]
Shape = Sequence[int]
FAST = ("_fast_log_partition", "_fast_marginals", "_fast_mode", "_folded")
"""Methods that compute the same as `_inside` with kernels."""


class Program(Distribution):
    """Potentials, and the sum over all structures of the product of their parts.

    potentials   tensors (*batch_shape, *own axes), −inf where a part is not allowed; marginals have the shape
                 of the first
    value_index  index of the potential that has the shape of a value z
    event_dims   number of trailing axes of each potential that are not batch axes
    options      other settings that distinguish structures of this class; comparisons require equal options
    lengths      None, or tensors that broadcast to the batch shape
    backend      "auto": a fast path where one exists; "reference": always the semiring program, as for a subclass
                 that changes what the fast paths of its parent compute
    event_shape  of a value, if the subclass's `potentials` creates its potential on demand
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    value_index: ClassVar[int] = 0
    _outdated: ClassVar[bool] = False

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        own = vars(cls)
        if any(name in own for name in FAST):
            cls._outdated = False
        elif "_inside" in own or "potentials" in own:
            cls._outdated = any(name in vars(one) for one in cls.__mro__[1:] for name in FAST)

    def __init__(
        self,
        potentials: Sequence[Any],
        batch_shape: Shape,
        event_dims: Sequence[int],
        *,
        lengths: tuple[Tensor | None, ...] = (),
        options: tuple[object, ...] = (),
        backend: Backend = "auto",
        event_shape: Shape | None = None,
    ) -> None:
        if backend not in ("auto", "reference"):
            raise ValueError(f'backend must be "auto" or "reference", not {backend!r}.')
        self._given = tuple(potentials)
        self.event_dims = tuple(event_dims)
        self.backend: Backend = "reference" if self._outdated else backend
        self.options = options
        self._lengths = lengths
        if event_shape is None:
            value = self._given[self.value_index]
            event_shape = value.shape[value.dim() - self.event_dims[self.value_index] :]
        super().__init__(as_size(batch_shape), as_size(event_shape), validate_args=False)

    @property
    def potentials(self) -> tuple[Tensor, ...]:
        """Log scores of parts; `_inside` receives them, lifted, in this order."""
        return self._given

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_shape={tuple(self.batch_shape)}, event_shape={tuple(self.event_shape)})"

    def __getitem__(self, index: Any) -> Self:
        """Index the batch like a tensor of its shape: `chain[0]`, `chain[2:5]`, `chain[mask]`."""
        if not self.batch_shape:
            raise IndexError(f"{type(self).__name__} has no batch dimensions to index.")
        places = torch.arange(self.batch_shape.numel(), device=self._given[0].device).view(self.batch_shape)
        places = places[index]

        def chosen(values: Tensor, own: int) -> Tensor:
            every = expand_batch(values, self.batch_shape, own)
            return every.reshape(-1, *every.shape[len(self.batch_shape) :])[places]

        return self._rebatched(chosen, places.shape)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Self:
        """Expand to a larger batch shape without a copy, as in `torch.distributions`."""
        shape, own = torch.Size(batch_shape), self.batch_shape
        trailing = shape[max(len(shape) - len(own), 0) :]
        if len(own) > len(shape) or any(o not in (1, n) for o, n in zip(own, trailing, strict=True)):
            raise ValueError(f"The batch {tuple(own)} does not expand to {tuple(shape)}.")
        return self._rebatched(lambda values, own: expand_batch(values, shape, own), shape)

    def to(self, *where: Any, **options: Any) -> Self:
        """Move to another device or precision; takes the arguments of `Tensor.to`."""
        given: list[Any] = [None if one is None else one.to(*where, **options) for one in self._given]
        wanted = next(one.dtype for one in given if one is not None)
        if wanted not in (torch.float32, torch.float64):
            raise ValueError(f"Structures are computed in float32 or float64, not {wanted}.")
        device = given[0].device
        lengths = tuple(None if one is None else one.to(device) for one in self._lengths)
        return self._with_lengths(lengths)._with_potentials(given)

    def _rebatched(self, change: Callable[[Tensor, int], Tensor], batch_shape: Shape) -> Self:
        """A copy with another batch shape, by change(values, own axes). Unbatched potentials are kept."""
        dims = (*self.event_dims, *[self.event_dims[-1]] * (len(self._given) - len(self.event_dims)))
        given = [
            values if values is None or values.dim() == own else change(values, own)
            for values, own in zip(self._given, dims, strict=True)
        ]
        lengths = tuple(None if one is None else change(one, 0) for one in self._lengths)
        copy = self._with_lengths(lengths)._with_potentials(given)
        copy._batch_shape = torch.Size(batch_shape)
        return copy

    def _with_lengths(self, lengths: tuple[Tensor | None, ...]) -> Self:
        copy = self._with_potentials(self._given)
        for name, value in self.__dict__.items():
            for old, new in zip(self._lengths, lengths, strict=True):
                if value is old and old is not None:
                    copy.__dict__[name] = new
        copy._lengths = lengths
        return copy

    def _inside(self, semiring: Semiring, *parts: Tensor) -> Tensor:
        """The sum over all structures of the product of their parts. Index parts from the right only."""
        raise NotImplementedError

    def _run(self, semiring: Semiring, potentials: Sequence[Tensor] | None = None, rank: int = 0) -> Tensor:
        """Run the program over a semiring, with at least `rank` batch dimensions."""
        aligned = self._aligned(self.potentials if potentials is None else potentials, rank)
        with torch.autocast(self.potentials[0].device.type, enabled=False):
            parts = [semiring.lift(i, potential) for i, potential in enumerate(aligned)]
            return semiring.goal(self._inside(semiring, *parts))

    def _aligned(self, potentials: Sequence[Tensor], rank: int) -> list[Tensor]:
        """Potentials with the same number of batch dimensions, so that leading axes broadcast."""
        ranks = [potential.dim() - own for potential, own in zip(potentials, self.event_dims, strict=True)]
        rank = max(rank, *ranks)
        return [potential[(None,) * (rank - has)] for potential, has in zip(potentials, ranks, strict=True)]

    def _with_respect_to(self, index: int, semiring: Semiring) -> Callable[[Tensor], Tensor]:
        """The program as a function of one potential."""
        before, after = self.potentials[:index], self.potentials[index + 1 :]
        return lambda potential: self._run(semiring, [*before, potential, *after])

    @recorded
    def _marginals_of(self, index: int) -> Tensor:
        """The gradient of the log-partition with respect to one potential."""
        inside = self._with_respect_to(index, LogSemiring())
        gradient: Tensor = torch.func.grad(lambda potential: inside(potential).sum())(self.potentials[index])
        return gradient

    @recorded
    def _indicator(self, semiring: Semiring, sample_shape: Shape = ()) -> Tensor:
        """The gradient of a path-tracing semiring, which is a value; one for each entry of `sample_shape`."""
        inside = self._with_respect_to(self.value_index, semiring)
        potential = self.potentials[self.value_index].detach()
        with torch.no_grad():
            value: Tensor = torch.func.grad(lambda x: inside(x).sum())(
                potential.expand(*sample_shape, *potential.shape)
            )
        return value

    def _with_value(self, value: Tensor, sample_shape: Shape) -> Self:
        """The same structure with another value potential, with `sample_shape` before the batch shape."""
        at = self.value_index
        copy = self._with_potentials((*self._given[:at], value, *self._given[at + 1 :]))
        copy._batch_shape = torch.Size([*sample_shape, *self.batch_shape])
        return copy

    def _with_potentials(self, potentials: Sequence[Tensor]) -> Self:
        """A copy with other potentials."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._given = tuple(potentials)
        return copy

    def _flat_lengths(self) -> Tensor | None:
        """One length for each entry of the flattened batch, for the kernels; None: all have full length."""
        (lengths,) = self._lengths
        return None if lengths is None else lengths.expand(self.batch_shape).reshape(-1).contiguous()

    def _as_parts(self, name: str, value: Tensor) -> Tensor:
        """A value (a tensor, an array or lists) as Booleans, after a check of its shape."""
        value = as_tensor(name, value, device=self._given[0].device)
        dims = len(self.event_shape)
        if value.shape[value.dim() - dims :] != self.event_shape or value.dim() < dims:
            wanted = ", ".join(["...", *map(str, self.event_shape)])
            states = hasattr(self, "value_of") and not value.is_floating_point()
            raise ValueError(
                f"{name} must have shape ({wanted}), the shape of a value, but has {tuple(value.shape)}."
                + " Convert states or tags with value_of(states)." * states
            )
        return value != 0
