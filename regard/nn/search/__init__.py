from typing import TYPE_CHECKING

from regard.lazy import at_first_use
from regard.nn.search.score import score
from regard.nn.search.token_by_token import TokenChoice, token_by_token

if TYPE_CHECKING:
    from regard.nn.search.beam import Beam
    from regard.nn.search.greedy import Greedy
    from regard.nn.search.hypotheses import Hypotheses
    from regard.nn.search.mbr import MinimumBayesRisk
    from regard.nn.search.sample import Sample
    from regard.nn.search.search import Request, Search
    from regard.nn.search.stepper import Ensemble, Limits, Stepper
    from regard.nn.search.streaming import growing
    from regard.nn.search.tree import SearchTree
    from regard.nn.stepping import Stepwise
else:
    __getattr__ = at_first_use(__name__)

__all__ = [
    "Beam",
    "Ensemble",
    "Greedy",
    "Hypotheses",
    "Limits",
    "MinimumBayesRisk",
    "Request",
    "Sample",
    "Search",
    "SearchTree",
    "Stepper",
    "Stepwise",
    "TokenChoice",
    "growing",
    "score",
    "token_by_token",
]
