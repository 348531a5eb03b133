"""A composer: the state of a node of a tree from the states of its children, and that of a leaf from its word."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from torch import Tensor, nn

from regard import parts
from regard.parts import find, one_of

AnyComposer = Annotated[Any, one_of("composer")]
"""A key of options that chooses a composer: `compose: lstm`, `compose: {type: lstm}`."""


class Composer(nn.Module):
    """States are (…, state_size); `output` gives the part of them that others see, (…, size).

    A new composer derives from this class and writes `equations`, `leaf` and `pair`; one for any number of children
    sets `any_number` and writes `several` too.

    carries      whether the state is [h; m], h being what others see and m as large
    any_number   whether a node may have more than two children; else trees are binarized
    """

    class Options(parts.Options):
        """A composer has the options its own file names."""

    carries: ClassVar[bool] = False
    any_number: ClassVar[bool] = False

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.input_size, self.size = input_size, size
        self.state_size = 2 * size if self.carries else size

    @classmethod
    def build(cls, options: Any, input_size: int, size: int) -> Composer:
        """The composer with its options, for leaves of `input_size` features and nodes of `size`."""
        return cls(input_size, size, **dict(options))

    @classmethod
    def equations(cls, options: Any, size: int) -> list[str]:
        """Two functions, for nodes of `size` features: `leaf_x(x)` of the vector of a word and `node_x(l, r)` of two
        children. Of a composer that `carries` more than h it is `node_x(l, m, r, n)`, and both give a pair (h, m)."""
        raise NotImplementedError

    @classmethod
    def several_equations(cls, options: Any) -> list[str]:
        """Of a composer for any number of children: what h_j, and m_j, are; π_c is the parent of node c."""
        raise NotImplementedError

    def leaf(self, vectors: Tensor) -> Tensor:
        """(…, input_size) → (…, state_size)."""
        raise NotImplementedError

    def pair(self, left: Tensor, right: Tensor) -> Tensor:
        """(…, state_size) twice → (…, state_size)."""
        raise NotImplementedError

    def several(self, children: Tensor, owner: Tensor, count: int) -> Tensor:
        """(E, state_size) of the children of `count` nodes, `owner` (E) saying whose → (count, state_size)."""
        raise NotImplementedError

    def output(self, state: Tensor) -> Tensor:
        return state[..., : self.size]


def make_composer(composer: str | parts.Options, input_size: int, size: int) -> Composer:
    """The composer a name or its options describe."""
    options = find("composer", composer).Options() if isinstance(composer, str) else composer
    made: Composer = options.part.build(options, input_size, size)
    return made
