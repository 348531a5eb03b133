from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.nn.constraints.constraint import Automaton, Constraint, OutputSpelling
else:
    __getattr__ = at_first_use(__name__)

__all__ = ["Automaton", "Constraint", "OutputSpelling"]
