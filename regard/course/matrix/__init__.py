"""The mechanism matrix: one table per task that compares all ways to connect an encoder to a decoder.

mechanism   the rows
task        a system of the zoo, and the changes for each mechanism; tasks: the nine tasks
plan        the settings that all rows share, saved beside them
budget      the number of updates that fit into the given minutes
matrix      trains and evaluates the rows; resumable
table       the results; summary: sentences that summarize them; writing: HTML, Markdown, JSON, CSV
"""

from regard.course.matrix.matrix import MechanismMatrix
from regard.course.matrix.mechanism import MECHANISMS, Mechanism
from regard.course.matrix.table import Figure, MatrixRow, MatrixTable
from regard.course.matrix.task import Task
from regard.course.matrix.tasks import TASKS, find_task

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
