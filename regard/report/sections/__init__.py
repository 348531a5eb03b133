"""The sections of a report, in their order. A new one is a file with a class, added here or passed to `report`."""

from regard.report.sections.commands import CommandSection
from regard.report.sections.confusion import ConfusionSection
from regard.report.sections.curves import CurveSection
from regard.report.sections.data import DataSection
from regard.report.sections.description import DescriptionSection
from regard.report.sections.environment import EnvironmentSection
from regard.report.sections.examples import ExampleSection
from regard.report.sections.faithfulness import FaithfulnessSection
from regard.report.sections.lengths import LengthSection
from regard.report.sections.overview import OverviewSection
from regard.report.sections.samples import SampleSection
from regard.report.sections.scores import ScoreSection
from regard.report.sections.section import ReportSection
from regard.report.sections.strangest import StrangestSection

__all__ = ["SECTIONS", "ReportSection"]

SECTIONS: tuple[ReportSection, ...] = (
    OverviewSection(),
    ScoreSection(),
    CurveSection(),
    LengthSection(),
    ConfusionSection(),
    StrangestSection(),
    ExampleSection(),
    SampleSection(),
    FaithfulnessSection(),
    DataSection(),
    DescriptionSection(),
    EnvironmentSection(),
    CommandSection(),
)
"""All sections of a report, in their order."""
