"""Checks of parts for their authors: `check_part("cell", "mgu")`, as scikit-learn's check_estimator."""

from regard.testing.part import check_part, failures

__all__ = ["check_part", "failures"]
