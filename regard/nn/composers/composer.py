"""A composer: the state of a node of a tree from the states of its children, and that of a leaf from its word."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from torch import Tensor, nn

from regard import parts
from regard.nn.letters import Letters
from regard.parts import find, one_of
from regard.parts.contract import base, optional, required

AnyComposer = Annotated[Any, one_of("composer")]
"""A key of options that chooses a composer: `compose: lstm`, `compose: {type: lstm}`."""


@base("composer", gives=("input_size", "size"), spread=True, maker="build")
class Composer(nn.Module):
    """States are (…, state_size); `output` returns their visible part, (…, size).

    To add a composer, derive from this class and write `equations`, `leaf` and `pair`. For any number of
    children, set `any_number`, and write `several` and `several_equations` too.

    carries      whether the state is [h; m], with h visible and m of the same size
    any_number   whether a node may have more than two children; else trees are binarized
    """

    class Options(parts.Options):
        """Each composer defines its own options."""

    carries: ClassVar[bool] = False
    any_number: ClassVar[bool] = False

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.input_size, self.size = input_size, size
        self.state_size = 2 * size if self.carries else size

    @classmethod
    def declared_wrong(cls) -> str | None:
        """Why the declarations of the class are not valid; None if they are. Asked when it is registered."""
        for name in ("several", "several_equations"):
            own = getattr(getattr(cls, name), "__func__", getattr(cls, name))
            usual = getattr(getattr(Composer, name), "__func__", getattr(Composer, name))
            if cls.any_number and own is usual:
                return f"declares any_number and lacks the method {name}"
        return None

    @classmethod
    def build(cls, options: Any, input_size: int, size: int) -> Composer:
        """The composer with its options, for leaves of `input_size` features and nodes of `size`."""
        return cls(input_size, size, **dict(options))

    @classmethod
    @required("by `regard describe`")
    def equations(cls, options: Any, size: int) -> list[str]:
        """Two functions, for nodes of `size` features: `leaf_x(x)` for the vector of a word and
        `node_x(l, r)` for two children. If the composer `carries` m, the second is `node_x(l, m, r, n)`, and
        both return a pair (h, m)."""
        raise NotImplementedError

    @classmethod
    @optional("by `regard describe`, if `any_number`")
    def several_equations(cls, options: Any) -> list[str]:
        """Equations of h_j, and of m_j, for any number of children; π_c is the parent of node c."""
        raise NotImplementedError

    @classmethod
    @optional("to draw the network")
    def letters(cls, options: Any) -> Letters:
        """The letter of each parameter in the equations (`regard.nn.letters`)."""
        return {}

    @required("once for all words of a batch")
    def leaf(self, vectors: Tensor) -> Tensor:
        """(…, input_size) → (…, state_size)."""
        raise NotImplementedError

    @required("once for each height of the trees")
    def pair(self, left: Tensor, right: Tensor) -> Tensor:
        """(…, state_size) twice → (…, state_size)."""
        raise NotImplementedError

    @optional("once for each height, if `any_number`")
    def several(self, children: Tensor, owner: Tensor, count: int) -> Tensor:
        """(E, state_size) of the children of `count` nodes,
        `owner` (E) their parents → (count, state_size)."""
        raise NotImplementedError

    @optional("after every node")
    def output(self, state: Tensor) -> Tensor:
        """(…, state_size) → (…, size), the part of the state that others see."""
        return state[..., : self.size]


def make_composer(composer: str | parts.Options, input_size: int, size: int) -> Composer:
    """The composer with this name or these options."""
    options = find("composer", composer).Options() if isinstance(composer, str) else composer
    made: Composer = options.part.build(options, input_size, size)
    return made
