"""`regard doctor`: what is installed here, what works, and what is off and why."""

from regard.cli.doctor.finding import Finding, Findings
from regard.cli.doctor.page import examined, printed

__all__ = ["Finding", "Findings", "examined", "printed"]
