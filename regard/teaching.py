"""Teachers: trained models whose distributions a new one learns from (distillation)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from regard.data.columns import Column, TextColumn
from regard.errors import RegardError
from regard.model import Model
from regard.model.network import Teaching
from regard.model.store import COLUMNS, read_columns, read_spec
from regard.spec import Spec


def learn_from_teacher(columns: Mapping[str, Column], spec: Spec) -> bool:
    """Take over what the first teacher's columns learned: a student's data may hold more than its teachers saw.

    False where there is no teacher, or one whose columns are made otherwise; `load_teachers` says what differs.
    """
    if not spec.training.teachers:
        return False
    folder = Path(spec.training.teachers[0])
    read_spec(folder)  # raises where no model is there
    known = read_columns(folder / COLUMNS)
    for name, column in columns.items():
        if name not in known or known[name].options() != column.options():
            return False
    for name, column in columns.items():
        column.relearn(known[name].learned())
    return True


def load_teachers(model: Model) -> Teaching | None:
    """Those that the model's spec names, None where it names none; they must read and write what the model does."""
    options = model.spec.training
    if not options.teachers:
        return None
    if not any(isinstance(model.columns[name], TextColumn) for name in model.spec.outputs):
        raise RegardError("teachers teach texts, and this model writes none.", where="training.teachers")
    teachers = []
    for folder in options.teachers:
        teacher = Model.load(folder, device="cpu")
        for name in (*model.spec.inputs, *model.spec.outputs):
            if (
                name not in teacher.columns
                or teacher.columns[name].learned() != model.columns[name].learned()
            ):
                raise RegardError(
                    f"the teacher's column {name!r} is not this model's: other pieces or another vocabulary.",
                    where=f"training.teachers: {folder}",
                    fix="Describe the columns as the teachers' specs do; all teachers must come from the same data.",
                )
        teachers.append(teacher.network.requires_grad_(False))
    return Teaching(teachers, options.teaching)
