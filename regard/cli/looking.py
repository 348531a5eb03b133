"""What `show` and `compare` look at: a text, or a row of the data with what is true of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.cli.answering import load, parse_line
from regard.data.columns import TextColumn
from regard.errors import RegardError
from regard.evaluation import open_dataset
from regard.inspect.sights import Style
from regard.model import Model
from regard.prediction import Prediction


@dataclass(frozen=True)
class Looked:
    """What to look at.

    text     an input; a JSON object by the inputs' names where there are several
    target   the output to write, instead of the model's own
    row      a row of the data instead of a text: a text is written as it truly is, anything else is answered
    split    the part of the data the row is of
    samples  how many structures to draw
    """

    text: str | None = None
    target: str | None = None
    row: int | None = None
    split: str = "test"
    samples: int = 0

    def __post_init__(self) -> None:
        if (self.text is None) == (self.row is None):
            raise RegardError("say what to look at.", fix="Give a text, or --row N for a row of the data.")

    def by(self, model: Model, output: str | None = None) -> Prediction:
        """What a model answers, with its trace."""
        if self.row is not None:
            return self._row(model, model.output_name(output))
        given = parse_line((self.text or "").encode(), "the text", model)
        if self.target is None:
            return model.predict([given], output=output, samples=self.samples)[0]
        return model.score([given], [self.target], output=output, samples=self.samples)[0]

    def _row(self, model: Model, output: str) -> Prediction:
        dataset = open_dataset(model, (), [self.split])
        if self.row is None or not 0 <= self.row < len(dataset):
            raise RegardError(
                f"there is no row {self.row}.",
                where="--row",
                fix=f"{self.split} has 0 to {len(dataset) - 1}.",
            )
        batch = dataset.batch([self.row])
        if isinstance(model.columns[output], TextColumn):
            return model.score_batch(batch, output, structures=True, samples=self.samples)[0]
        return model.answer(batch, output=output, samples=self.samples)[0]


def show_trace(
    run: Path,
    looked: Looked,
    *,
    grid: bool = False,
    output: Path | None,
    overrides: Sequence[str],
    device: str | None,
) -> None:
    """The figure of each output, in the terminal or as a file; attention over pictures smoothed, or by its grid."""
    from rich.console import Console

    from regard.inspect import figure, save

    model = load(run, overrides, device)
    style: Style = "grid" if grid else "smooth"
    for name in model.spec.outputs:
        found = looked.by(model, name)
        if found.trace is None:
            continue
        if output is not None:
            path = output if len(model.spec.outputs) == 1 else output.with_stem(f"{output.stem}-{name}")
            page = path.suffix.lower() in (".html", ".htm")
            save(found.trace.html() if page else figure(found.trace, style=style), path)
            print(f"{found.text}\n{path}")
        else:
            console = Console()
            console.print(figure(found.trace, style=style))
            console.print(f"log p {found.score:.3f}", highlight=False)
