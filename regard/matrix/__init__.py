"""The mechanism matrix: one table for a task of everything that can be put between an encoder and a decoder.

mechanism   the rows
task        what a mechanism changes in a system of the zoo; tasks: the nine
plan        what all rows share, kept beside them
budget      how many updates fit into some minutes
matrix      the rows trained and measured, resumable
table       what was measured; seeing: what is to be seen in it; writing: HTML, Markdown, JSON, CSV
"""

from regard.matrix.matrix import MechanismMatrix
from regard.matrix.mechanism import MECHANISMS, Mechanism
from regard.matrix.table import Figure, MatrixRow, MatrixTable
from regard.matrix.task import Task
from regard.matrix.tasks import TASKS, find_task

__all__ = [
    "MECHANISMS",
    "TASKS",
    "Figure",
    "MatrixRow",
    "MatrixTable",
    "Mechanism",
    "MechanismMatrix",
    "Task",
    "find_task",
]
