"""The laboratory: small experiments on gradients, gates and dynamic programs, one lab per file.

A lab computes a lecture's claim and draws it: `regard lab jacobian -o jacobian.svg --set steps=100`, or

    from regard.course.lab import run
    run("jacobian", steps=100).figure
"""

from regard.course.lab.lab import Lab, LabResult
from regard.course.lab.settings import lab_and_options, run

__all__ = ["Lab", "LabResult", "lab_and_options", "run"]
