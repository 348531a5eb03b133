"""Of a model that continues a text: what it writes."""

from __future__ import annotations

from typing import cast

from regard.inspect import PageSection
from regard.model import LanguageModel
from regard.report.context import ReportContext, ReportedRun
from regard.report.sections.section import ReportSection

COUNT, LENGTH = 3, 200


class SampleSection(ReportSection):
    title = "Generated text"

    def of_run(self, run: ReportedRun, context: ReportContext) -> PageSection | None:
        if run.answers:
            return None
        model = cast(LanguageModel, run.model)
        count, length = (1, LENGTH // 2) if run.wanted.short else (COUNT, LENGTH)
        texts = [model.generate(length=length, seed=seed).text for seed in range(1, count + 1)]
        told = (
            f"Sampled without a prompt, seeds 1 to {count}."
            if count > 1
            else "Sampled without a prompt, seed 1."
        )
        return PageSection(text=told, code="\n\n———\n\n".join(texts))
