"""The exercises of the lectures: a template to fill in, hints, and a grader that checks the mathematics.

regard exercise · regard exercise summing -o summing.py · regard exercise summing summing.py
"""

from regard.course.exercises.catalog import exercise, names, write_template
from regard.course.exercises.exercise import Exercise, GradedQuestion, Wrong
from regard.course.exercises.grading import Grade, Verdict, grade

__all__ = [
    "Exercise",
    "Grade",
    "GradedQuestion",
    "Verdict",
    "Wrong",
    "exercise",
    "grade",
    "names",
    "write_template",
]
