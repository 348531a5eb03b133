"""A model as validated data: reads YAML and reports errors with path and remedy. The schema comes from the parts."""

from regard.spec.data import DataSpec
from regard.spec.search import SearchSpec
from regard.spec.spec import Spec
from regard.spec.training import TrainingSpec

__all__ = ["DataSpec", "SearchSpec", "Spec", "TrainingSpec"]
