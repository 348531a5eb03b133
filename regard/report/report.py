"""The report of a run, or of several side by side: one page that works offline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import RegardError
from regard.inspect import PageSection, page
from regard.inspect.page import frame_of_page
from regard.live import live_module
from regard.model import AnyModel, load
from regard.report.context import FIGURES, ROWS, Progress, ReportContext, ReportedRun, ReportWishes
from regard.report.sections import SECTIONS, ReportSection
from regard.storage.files import write_text
from regard.storage.manifest import REPORT_FILE, claim
from regard.training import process_rank

if TYPE_CHECKING:
    from regard.fitting.experiment import Experiment

Run = str | PathLike[str] | AnyModel
SUBTITLE = "A report of regard."


@dataclass(frozen=True)
class Report:
    """A page about one or several runs. A notebook shows it; `save` writes it."""

    title: str
    sections: Sequence[PageSection]
    subtitle: str = SUBTITLE

    def html(self) -> str:
        """The page, complete in one file."""
        return page(
            self.title, self.sections, subtitle=self.subtitle, contents=True, sealed=True, live=live_module()
        )

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page."""
        path = Path(path)
        if path.suffix.lower() not in (".html", ".htm"):
            raise RegardError(
                f"a report is a web page; received {path.suffix or 'no ending'}.",
                where=str(path),
                fix=f"Name it {path.with_suffix('.html').name}.",
            )
        write_text(path, self.html())
        return path

    def __repr__(self) -> str:
        return f"Report({self.title!r}: {', '.join(one.heading for one in self.sections)})"

    def _repr_html_(self) -> str:
        return frame_of_page(
            page(self.title, self.sections, subtitle=self.subtitle, contents=True, script=False)
        )


def report(
    run: Run | Sequence[Run],
    *others: Run,
    split: str | None = None,
    rows: int = ROWS,
    figures: int = FIGURES,
    sections: Sequence[ReportSection] = SECTIONS,
    device: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """A report of a trained model, or of several side by side: `regard.report("runs/g2p").save("g2p.html")`.

    run, others   folders of runs, or models that were loaded from one
    split         the measured split; default: test, or dev if the data have no test
    rows          number of its rows to search for strange answers; all rows are measured
    figures       number of examples that are drawn
    sections      what the page tells; default: all of `regard.report.SECTIONS`
    progress      called with what is done, the number of rows that are done, and of all; what it raises stops the
                  work
    """
    if rows < 1:
        raise RegardError(f"expected at least one row, received {rows}.", where="rows")
    given = [*([run] if isinstance(run, str | PathLike | AnyModel) else run), *others]
    if not given:
        raise RegardError("there is no run to report.", fix="Name the folder of a run.")
    wanted = ReportWishes(rows=rows, figures=figures, split=split or "")
    models = [one if isinstance(one, AnyModel) else load(Path(one), device=device) for one in given]
    names = _names(models, given)
    reported = [
        ReportedRun(model, name, wanted, progress=progress) for model, name in zip(models, names, strict=True)
    ]
    return made(ReportContext(reported, wanted), sections)


def report_of_training(experiment: Experiment, *, sections: Sequence[ReportSection] = SECTIONS) -> Report:
    """The short report of a training that has ended: what it measured, and a few examples."""
    wanted = ReportWishes(rows=20, short=True)
    model = experiment.model
    run = ReportedRun(
        model,
        experiment.run.name,
        wanted,
        evaluations=experiment.evaluations,
        datasets=experiment.datasets,
    )
    return made(ReportContext([run], wanted), [one for one in sections if one.brief])


def write_after_training(experiment: Experiment) -> Path | None:
    """Write RUN/report.html; a failure is one line of warning, because the training has ended well."""
    if process_rank() > 0:
        return None
    path: Path = experiment.run / REPORT_FILE
    try:
        found = report_of_training(experiment)
        claim(experiment.run, [REPORT_FILE])
        return found.save(path)
    except Exception as error:
        experiment.announcer.warn(f"the report was not written: {str(error).partition(chr(10))[0]}")
        return None


def made(context: ReportContext, sections: Sequence[ReportSection]) -> Report:
    """The report with these sections."""
    found = [one for section in sections if (one := section.of(context)) is not None]
    return Report(" and ".join(run.name for run in context.runs), found)


def _names(models: Sequence[AnyModel], given: Sequence[Run]) -> list[str]:
    """Short names, made different: of the folder, or with the folder above it."""
    places = [model.folder for model in models]
    names = [
        place.absolute().name if place is not None else (model.spec.name or f"model {number}")
        for number, (place, model) in enumerate(zip(places, models, strict=True), 1)
    ]
    if len(set(names)) < len(names):
        names = [
            f"{place.absolute().parent.name}/{name}" if place is not None else name
            for place, name in zip(places, names, strict=True)
        ]
    if len(set(names)) < len(names):
        names = [f"{name} ({number})" for number, name in enumerate(names, 1)]
    return names
