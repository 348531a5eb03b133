"""What a model is, as validated data: YAML in, errors with a path and a fix out. The schema comes from the parts."""

from regard.spec.data import DataSpec
from regard.spec.search import SearchSpec
from regard.spec.spec import Spec
from regard.spec.training import TrainingSpec

__all__ = ["DataSpec", "SearchSpec", "Spec", "TrainingSpec"]
