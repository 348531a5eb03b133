"""What `show` and `compare` look at: a text, or a row of the data with what is true of it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.cli.answering import as_inputs, load, refuse_stream
from regard.cli.outputs import file_of
from regard.cli.unknown import UnknownUnits
from regard.console import safe_console
from regard.errors import RegardError
from regard.evaluation import open_dataset
from regard.inspect.sights import Style
from regard.model import Model
from regard.model.override import Override, check_reached, check_sampled
from regard.prediction import Prediction
from regard.terminal import say
from regard.trace import SeenFilm, SeenPicture, Trace


@dataclass(frozen=True)
class LookRequest:
    """What to look at.

    text     an input; a JSON object by the inputs' names where there are several
    target   the output to write, instead of the model's own
    row      a row of the data instead of a text: a text is written as it truly is, anything else is answered
    split    the part of the data the row is of
    samples  how many structures to draw
    look     where to look instead, as `Override`; a JSON object by the inputs' names where several are looked at
    """

    text: str | None = None
    target: str | None = None
    row: int | None = None
    split: str = "test"
    samples: int = 0
    look: str | None = None

    def __post_init__(self) -> None:
        if self.text is not None and self.row is not None:
            raise RegardError(
                f"there are a text, {self.text!r}, and --row {self.row}; one of them would not be looked at.",
                where="--row",
                fix="Leave out one.",
            )
        if self.target is not None and self.row is not None:
            raise RegardError(
                "a row of the data has its own output.", where="--target", fix="Leave out --target, or --row."
            )
        if self.text is None and self.row is None:
            raise RegardError("say what to look at.", fix="Give a text, or --row N for a row of the data.")

    def untold(self, model: Model, output: str) -> Prediction:
        """What a model answers by itself whose attention is overridden."""
        found = replace(self, look=None).by(model, output, own=True)
        if found.trace is None:
            return found
        # the true places of a row are those of the words that belong there, not of the words that were written
        return replace(found, trace=replace(found.trace, truth={}))

    def by(self, model: Model, output: str | None = None, *, own: bool = False) -> Prediction:
        """What a model answers, with its trace; of a row its `own` text, or the true one."""
        if self.row is not None:
            return self._row(model, model.output_name(output), own=own)
        given = as_inputs(model, [self.text or ""])[0]
        if output is None or output == next(iter(model.spec.outputs)):
            unknown = UnknownUnits(model)
            unknown.look_at([given])
            unknown.tell()
        how: dict[str, Any] = {"output": output, "samples": self.samples, "look": self._told()}
        if self.target is None:
            return model.predict([given], **how)[0]
        return model.score([given], [self.target], **how)[0]

    def _told(self) -> Override | None:
        if self.look is None or not self.look.lstrip().startswith("{"):
            return self.look
        try:
            told: dict[str, str] = json.loads(self.look)
        except json.JSONDecodeError as error:
            raise RegardError(f"this is not JSON: {error}.", where="--look") from None
        return told

    def _row(self, model: Model, output: str, *, own: bool) -> Prediction:
        dataset = open_dataset(model, (), [self.split])
        if self.row is None or not 0 <= self.row < len(dataset):
            raise RegardError(
                f"there is no row {self.row}.",
                where="--row",
                fix=f"{self.split} has 0 to {len(dataset) - 1}.",
            )
        batch = dataset.batch([self.row])
        if model.network.decoders[output].stepwise and self.look is None and not own:
            return model.score_batch(batch, output, structures=True, samples=self.samples)[0]
        answer = model.answer(batch, output=output, samples=self.samples, look=self._told())[0]
        if self.look is not None:
            check_reached(self._told() or "", answer)
        return answer


def show_trace(
    run: Path,
    looked: LookRequest,
    *,
    of: str | None = None,
    grid: bool = False,
    heads: bool = False,
    layers: Sequence[str] | None = None,
    output: Path | None,
    overrides: Sequence[str],
    device: str | None,
) -> None:
    """The figure of each output, or `of` one, in the terminal or as a file; attention over pictures smoothed, or by its
    grid; with `heads` or `layers`, what each head looked at."""
    from regard.inspect import before_and_after, figure, save, together

    if (heads or layers) and grid:
        raise RegardError("the heads are not drawn over images.", where="--grid", fix="Leave it out.")
    if heads or layers:
        show_heads(run, looked, layers or None, of=of, output=output, overrides=overrides, device=device)
        return
    model = load(run, overrides, device)
    if not model.spec.inputs:
        from regard.cli.continuing import show_surprise

        _check_text_alone(looked, grid=grid)
        show_surprise(model, looked.text or "", output)
        return
    style: Style = "grid" if grid else "smooth"
    names = list(model.spec.outputs) if of is None else [model.output_name(of)]
    if looked.look is not None and len(names) > 1:
        raise RegardError(
            f"--look works with one output. Which of {', '.join(names)}?",
            where="--look",
            fix=f"--of {names[0]}",
        )
    for name in names:
        found = looked.by(model, name)
        if found.trace is None:
            continue
        if looked.samples:
            check_sampled(found)
        _check_shown(found.trace, grid=grid)
        scenes = [figure(found.trace, style=style)]
        if looked.look is not None:
            before = looked.untold(model, name)
            scenes = before_and_after(before.trace or found.trace, found.trace, style=style)
        if output is not None:
            path = file_of(output, name, names)
            page = path.suffix.lower() in (".html", ".htm") and looked.look is None
            save(found.trace.html() if page else scenes[0] if len(scenes) == 1 else together(scenes), path)
            say(f"{found.text}\n{path}")
        else:
            screen = safe_console()
            for scene in scenes:
                screen.print(scene)
            if not math.isnan(found.score):
                screen.print(f"log p {found.score:.3f}", highlight=False)


def _check_text_alone(looked: LookRequest, *, grid: bool) -> None:
    """A language model has one figure: a text, shaded by how surprising it is."""
    given = {
        "--row": looked.row is not None,
        "--target": looked.target is not None,
        "--samples": bool(looked.samples),
        "--look": looked.look is not None,
        "--grid": grid,
    }
    for option, used in given.items():
        if used:
            raise RegardError(
                "this model reads no input: a text is shown with how surprising each token is.",
                where=option,
                fix="Give a text alone.",
            )


def _check_shown(trace: Trace, *, grid: bool) -> None:
    """Refuse options that this figure has nothing for."""
    if grid and not any(isinstance(one, SeenPicture | SeenFilm) for one in trace.seen.values()):
        raise RegardError("this model reads no image or video.", where="--grid", fix="Leave it out.")


def show_heads(
    run: Path,
    looked: LookRequest,
    layers: Sequence[str] | None,
    *,
    of: str | None = None,
    output: Path | None,
    overrides: Sequence[str],
    device: str | None,
) -> None:
    """What each head of each layer looked at, or of the `layers` that are named or numbered, for each output that has
    heads to show."""
    if looked.look is not None:
        raise RegardError(
            "the heads are drawn as the model looks by itself.", where="--heads", fix="Leave out --look."
        )
    model = load(run, overrides, device)
    refuse_stream(model, run)
    names = list(model.spec.outputs) if of is None else [model.output_name(of)]
    found = {name: looked.by(model, name) for name in names}
    shown = {
        name: (one, one.trace) for name, one in found.items() if one.trace is not None and one.trace.heads
    }
    if not shown:
        raise RegardError(
            "this model has no heads to show: none of its layers has several.",
            where="--heads",
            fix="Leave out --heads and --layer to see where it looked.",
        )
    for name, (answer, trace) in shown.items():
        if output is None:
            trace.print(heads=True, layers=layers)
            print(f"log p {answer.score:.3f}")
        else:
            path = file_of(output, name, list(shown))
            trace.save(path, heads=True, layers=layers)
            say(f"{answer.text}\n{path}")
