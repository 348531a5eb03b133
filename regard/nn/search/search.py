"""Search: the base class of searches, which choose the tokens of an output step by step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from torch import Tensor

from regard.nn.search.hypotheses import Hypotheses, Unfinished
from regard.nn.search.stepper import Limits, Stepper
from regard.nn.search.token_by_token import TokenChoice, token_by_token
from regard.nn.search.tree import SearchTree, tree_of_hypotheses
from regard.parts import Options as PartOptions
from regard.parts.contract import base, optional, required


@dataclass(frozen=True)
class Request:
    """What is asked of a search, whatever the search.

    answers   number of outputs for each source
    limits    on the length of an output, its beginning and its tokens
    seed      of random draws
    precision of the products, one of the search's `precisions`
    keys      a number for each source: what is drawn for it depends on the seed and on this number alone, not on the
              batch; None: 0 … B−1
    spell     the number of a source and the tokens of an output without its END → its text; None: not known
    """

    answers: int = 1
    limits: Limits = field(default_factory=Limits)
    seed: int | None = None
    keys: Sequence[int] | None = None
    spell: Callable[[int, Sequence[int]], str] | None = None
    precision: str = "fp32"


@dataclass(frozen=True)
class Rule:
    """The choice of the next token by a function of the logits."""

    function: Callable[[Tensor], Tensor]
    most_probable: bool = False

    def given(self, unfinished: Unfinished, step: int, count: int) -> None:
        return None

    def choose(self, logits: Tensor, given: Tensor | None) -> Tensor:
        return self.function(logits)


@base("search", gives=("options", "request"), maker="make")
class Search(ABC):
    """Base class of searches.

    several     whether it can give more than one output for a source
    continues   whether its options also say how a text stream is continued
    draws       whether its outputs depend on the seed
    precisions  in which it computes
    chosen_by   options that choose this search when they are given to `predict` without `method`. `n_best` chooses it
                if several answers are asked of a search that gives one
    """

    several: ClassVar[bool] = True
    continues: ClassVar[bool] = False
    draws: ClassVar[bool] = False
    precisions: ClassVar[tuple[str, ...]] = ("fp32",)
    chosen_by: ClassVar[tuple[str, ...]] = ()

    class Options(PartOptions):
        pass

    def __init__(self, options: Any, request: Request) -> None:
        self.options, self.request = options, request

    @classmethod
    def make(cls, options: Any, request: Request) -> Self:
        """The search of some options. A search with a constructor of its own writes its own `make`."""
        return cls(options, request)

    @abstractmethod
    @required("for every batch")
    def __call__(self, stepper: Stepper) -> Hypotheses:
        """Write the outputs of all sources: `stepper.start()` is the first state, `stepper.step(tokens, state)` one
        step. `self.write(stepper, choose)` does it for a rule that chooses each next token."""

    @optional("to record the hypotheses of one source")
    def traced(self, stepper: Stepper) -> tuple[Hypotheses, SearchTree]:
        """The outputs of a single source, and all hypotheses as a tree. By default the tree of the outputs."""
        found = self(stepper)
        return found, tree_of_hypotheses(found)

    def write(self, stepper: Stepper, choose: Callable[[Tensor], Tensor]) -> Hypotheses:
        """One output for each source, within the limits of the request.

        choose   logits of the next token (B, 1, V), −inf where the limits forbid it → tokens (B, 1)
        """
        bounds = self.request.limits.of(stepper)
        return token_by_token(stepper, Rule(choose), steps=bounds.steps, bounds=bounds)

    @optional("to stream an output")
    def choice(self, sources: int) -> TokenChoice | None:
        """How it chooses the next token of each source, if it writes one output token by token; None if it does not,
        as a beam, whose best output is known at the end."""
        return None

    @classmethod
    @optional("when a spec is checked")
    def refused(cls, options: Any, answers: int) -> str:
        """Why it cannot give this many answers, two or more, with the remedy; empty if it can."""
        return ""

    @classmethod
    @optional("when options are given to `predict`")
    def implied(cls, options: Any, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """Further options that some changes of its options require."""
        return {}

    @classmethod
    @optional("by `regard export`")
    def exported(cls, options: Any) -> dict[str, Any] | None:
        """The search as data, if the runner of an exported model does the same; None: it cannot."""
        return None

    @classmethod
    @optional("when scores are printed")
    def named(cls, options: Any) -> str:
        """The search in a few words."""
        return f"{options.type} search"

    @classmethod
    @optional("by `regard describe`")
    def described(cls, options: Any) -> str:
        """The search with its options: `beam search of size 5, length penalty 1`."""
        return cls.named(options)
