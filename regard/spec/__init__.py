"""A model as validated data: reads YAML and reports errors with path and remedy. The schema comes from the parts."""

from regard.spec.sections import DataSpec, SearchSpec, SweepSpec, TrainingSpec
from regard.spec.spec import Spec

__all__ = ["DataSpec", "SearchSpec", "Spec", "SweepSpec", "TrainingSpec"]
