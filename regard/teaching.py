"""Teachers: trained models whose distributions a new one learns from (distillation)."""

from __future__ import annotations

from regard.data.columns import TextColumn
from regard.errors import RegardError
from regard.model import Model
from regard.model.network import Teaching


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
                    fix="Train the teachers on the same data with the same columns.",
                )
        teachers.append(teacher.network.requires_grad_(False))
    return Teaching(teachers, options.teaching)
