"""Recurrences with attention over whole outputs: forward, and a handwritten backward pass through time.

plan.py       the computation, its sizes, and the layout of the gates
workspace.py  the memory of a computation, taken from a buffer that all plans share
gates.py      the cells, after their matrix products                            (Triton)
selecting.py  from scores to weights, and back                                  (Triton)
looks.py      score, select and read in one kernel, backward in another         (Triton)
keys.py       the gradient of additive keys, summed over time                   (Triton)
launches.py   launches of the kernels on the tensors of a workspace
forth.py      the forward steps
back.py       the backward steps
gathered.py   the gradients of weights and inputs, as single products
graphs.py     forward and backward as CUDA graphs, a bounded number of them
attend.py     the autograd function
looking.py    one attention step of a search, without a gradient
rows.py       copies of rows to and from the layout of a sweep                  (Triton)
sweeps.py     a layer without attention, in several directions at once
sweeping.py   the autograd function of sweeps
"""

from regard.fast.cuda.recurrence.attend import Inputs, UnrollGiven, recur
from regard.fast.cuda.recurrence.looking import look_at
from regard.fast.cuda.recurrence.plan import LookPlan, UnrollPlan
from regard.fast.cuda.recurrence.sweeping import Orders, sweep_over
from regard.fast.cuda.recurrence.sweeps import Sweep

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
