"""A recurrence that attends, over whole outputs: forward, and backward through time written by hand.

plan.py       what is computed, its sizes, and where the gates stand in a row
room.py       the memory it is computed in, one piece that all plans share
gates.py      the cells, after their matrix products                            (Triton)
selecting.py  from scores to weights, and back                                  (Triton)
looks.py      score, select, read in one kernel, and back in another            (Triton)
keys.py       the gradient of additive keys, gathered over time                 (Triton)
launches.py   the kernels on the tensors of a room
forth.py      the steps forward
back.py       the steps backward
gathered.py   the gradients of weights and inputs, as single products
graphs.py     both ways as CUDA graphs, a bounded number of them
attend.py     the autograd function
looking.py    one look of a search, without a gradient
rows.py       rows moved to and from the places of a sweep                     (Triton)
sweeps.py     a layer without attention, several directions side by side
sweeping.py   its autograd function
"""

from regard.kernels.cuda.recurrence.attend import Inputs, UnrollGiven, recur
from regard.kernels.cuda.recurrence.looking import look_at
from regard.kernels.cuda.recurrence.plan import LookPlan, UnrollPlan
from regard.kernels.cuda.recurrence.sweeping import Orders, sweep_over
from regard.kernels.cuda.recurrence.sweeps import Sweep

__all__ = [
    "Inputs",
    "LookPlan",
    "Orders",
    "Sweep",
    "UnrollGiven",
    "UnrollPlan",
    "look_at",
    "recur",
    "sweep_over",
]
