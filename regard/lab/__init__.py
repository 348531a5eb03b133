"""The laboratory: what gradients, gates and tables do, one lab a file.

A lab computes what a lecture claims and draws it: `regard lab jacobian -o jacobian.svg --set steps=100`, or

    from regard.lab import run
    run("jacobian", steps=100).figure
"""

from regard.lab.lab import Lab, LabResult
from regard.lab.settings import lab_and_options, run

__all__ = ["Lab", "LabResult", "lab_and_options", "run"]
