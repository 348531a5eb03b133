"""`regard show`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from regard.cli.command import (
    Beam,
    Command,
    DataRow,
    Device,
    Loading,
    Of,
    Output,
    Overrides,
    Overwrite,
    Run,
    Seed,
    spec_changes,
)
from regard.cli.outputs import file_of, outputs
from regard.errors import RegardError
from regard.parts.registry import register


@register("command", "show")
class ShowCommand(Command):
    """See where a model looked, in the terminal or as a figure (-o .svg .png .pdf .html), or keep it (-o .trace).

    \b
    regard show runs/g2p attention
    regard show runs/translation the small cat sleeps -o cat.svg
    regard show runs/g2p knight --look 0-0
    regard show runs/parser-crf --row 3
    regard show runs/caption --gallery 4 -o captions.html
    regard show RUN TEXT --heads --layer 2
    regard show runs/g2p knight --why K
    regard show runs/g2p knight --like --step 1
    regard show runs/g2p attention --panel beam
    regard show runs/g2p attention -o x.trace
    regard show x.trace --panel states
    """

    heading = "Look inside"
    order = 210

    @classmethod
    def run(
        cls,
        run: Run,
        text: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Argument(
                metavar="TEXT",
                help="The input: a text (no quotes needed), or the file of an image, video or audio. For a model with "
                "several inputs, a quoted text for each, or JSON by their names.",
            ),
        ] = None,
        target: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--target",
                help="Show where the model looks while it writes this text, instead of its own answer.",
            ),
        ] = None,
        row: DataRow = None,
        split: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--split",
                metavar="NAME",
                help="The split of the data for --row or --gallery. Default: test, or dev if there is none.",
            ),
        ] = None,
        samples: Annotated[
            int,
            typer.Option(
                "--samples",
                min=0,
                metavar="K",
                help="Draw K samples of what a structured attention selects: segments, facts or trees.",
            ),
        ] = 0,
        look: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--look",
                metavar="WHERE",
                help="Override the attention, and show what changes. INPUT-OUTPUT, counted from 0: '3-0 4-0' makes "
                "output piece 0 look at input positions 3 and 4. In an image, OUTPUT:LEFT,TOP,RIGHT,BOTTOM, as "
                "fractions of width and height: '0:0.1,0.2,0.3,0.5'. '3-0=0.7 4-0=0.3': with these weights; '!3-0': "
                "not at position 3; uniform-0, permute-0, truth; mask-3: input word 3 becomes unknown. * is every "
                "piece: '!3-*'. Also a JSON list of edits.",
            ),
        ] = None,
        why: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--why",
                metavar="WORD",
                help="Find the least change of attention after which the model writes WORD, and show the answer with "
                "it. </s> is the end of the output.",
            ),
        ] = None,
        like: Annotated[
            bool,
            typer.Option(
                "--like",
                help="List the training rows whose decoder states are nearest to those of the piece --step.",
            ),
        ] = False,
        step: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option(
                "--step",
                min=0,
                metavar="N",
                help="The output piece of --why or --like, counted from 0. Default: where the change is least, or 0.",
            ),
        ] = None,
        of: Of = None,
        grid: Annotated[
            bool, typer.Option("--grid", help="Draw attention over images by its cells, not smoothed.")
        ] = False,
        heads: Annotated[
            bool, typer.Option("--heads", help="Show the attention of each head of each layer.")
        ] = False,
        layer: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Option(
                "--layer",
                metavar="NAME|N",
                help="Only the heads of this layer, by name or number from 1. Can be repeated.",
            ),
        ] = None,
        panel: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--panel",
                metavar="NAME",
                help="Show another view of the answer: states (gates and states over time), beam (the search as a "
                "tree), probabilities, … A wrong name lists those of this answer.",
            ),
        ] = None,
        gallery: Annotated[
            int,
            typer.Option(
                "--gallery",
                min=0,
                metavar="N",
                help="Show N right and N wrong answers of --split, with their attention.",
            ),
        ] = 0,
        faithful: Annotated[
            bool,
            typer.Option(
                "--faithful",
                help="Also tell what each piece depends on: × marks a weight of at least 0.2 whose position can be "
                "removed without a change of log p.",
            ),
        ] = False,
        output: Output = None,
        beam: Beam = None,
        overwrite: Overwrite = False,
        overrides: Overrides = None,
        device: Device = None,
        seed: Seed = None,
    ) -> None:
        how = Loading(spec_changes(overrides, beam=beam, seed=seed), device)
        output = None if output == Path("-") else output
        by_head = heads or bool(layer)
        kept = run.suffix.lower() == ".trace" and not run.is_dir()
        if panel is not None or kept or (output is not None and output.suffix.lower() == ".trace"):
            _check_panel(
                grid=grid,
                by_head=by_head,
                gallery=bool(gallery),
                faithful=faithful,
                asked=why is not None or like,
            )
            from regard.cli.panels import show_panels, show_saved
            from regard.cli.show_request import ShowRequest

            given = text or target is not None or row is not None or look is not None or samples
            if kept and given:
                raise RegardError(
                    "a saved trace has its own input.", where=str(run), fix="Give only --panel and -o."
                )
            with outputs(_files(run, output, of), read=[run] if kept else [], overwrite=overwrite):
                if kept:
                    show_saved(run, panel, output)
                else:
                    request = ShowRequest(text or None, target, row, split, samples, look)
                    show_panels(run, request, panel, of=of, output=output, how=how)
            return
        if gallery:
            chosen = bool(text or look or target is not None or row is not None or why is not None or like)
            _check_gallery(chosen=chosen, samples=samples, by_head=by_head)
            from regard.cli.gallery import show_gallery

            with outputs(_files(run, output, None), overwrite=overwrite):
                show_gallery(run, gallery, split, grid=grid, output=output, how=how)
            return
        from regard.cli.show_request import ShowRequest
        from regard.cli.showing import show_heads, show_trace

        request = ShowRequest(text or None, target, row, split, samples, look)
        _check_questions(why=why, like=like, step=step, by_head=by_head, output=output)
        with outputs(_files(run, output, of), overwrite=overwrite):
            if why is not None:
                from regard.cli.asking import show_why

                show_why(run, request, why, step, of=of, grid=grid, output=output, how=how)
            elif like:
                from regard.cli.asking import show_like

                show_like(run, request, step, of=of, how=how)
            elif not by_head:
                _check_faithful(faithful, look=look)
                show_trace(run, request, of=of, grid=grid, output=output, how=how, faithful=faithful)
            else:
                _check_heads(grid=grid)
                show_heads(run, request, layer or None, of=of, output=output, how=how)


def _check_faithful(faithful: bool, *, look: str | None) -> None:
    if faithful and look is not None:
        raise RegardError(
            "--faithful examines the model's own attention.", where="--faithful", fix="Leave out --look."
        )


def _check_questions(
    *, why: str | None, like: bool, step: int | None, by_head: bool, output: Path | None
) -> None:
    """Refuse options that have no effect on a question."""
    if why is not None and like:
        raise RegardError(
            "--why and --like are two questions.", where="--like", fix="Ask one after the other."
        )
    if by_head and (why is not None or like):
        raise RegardError(
            "--heads shows the model's own attention.", where="--heads", fix="Leave out --heads."
        )
    if step is not None and why is None and not like:
        raise RegardError(
            "--step is the piece of --why or --like.", where="--step", fix="Add --why WORD or --like."
        )
    if like and output is not None:
        raise RegardError("--like prints lines, and draws nothing.", where="--output", fix="Leave out -o.")


def _check_panel(*, grid: bool, by_head: bool, gallery: bool, faithful: bool, asked: bool) -> None:
    given = {"--grid": grid, "--heads": by_head, "--gallery": gallery, "--faithful": faithful}
    given |= {"--why and --like": asked}
    for option, used in given.items():
        if used:
            raise RegardError(
                "panels and saved traces are shown without this option.",
                where=option,
                fix=f"Leave out {option}.",
            )


def _check_heads(*, grid: bool) -> None:
    if grid:
        raise RegardError(
            "attention heads are not drawn over images.", where="--grid", fix="Leave out --grid."
        )


def _check_gallery(*, chosen: bool, samples: int, by_head: bool) -> None:
    """Refuse options that a gallery does not support; chosen: whether an input or a row was given."""
    if chosen:
        raise RegardError(
            "a gallery chooses its rows itself.",
            where="--gallery",
            fix="Leave out the text, --row, --target and --look.",
        )
    if samples:
        raise RegardError(
            "a gallery does not draw samples.", where="--samples", fix="Use --samples with a text or --row."
        )
    if by_head:
        raise RegardError(
            "a gallery does not draw heads.", where="--gallery", fix="Use --heads with a text or --row."
        )


def _files(run: Path, output: Path | None, of: str | None) -> dict[str, Path | None]:
    """The files of all figures, one per output."""
    if output is None:
        return {}
    if of is not None or not (run / "spec.yaml").is_file():
        return {"--output": output}
    from regard import zoo

    names = list(zoo.find(str(run)).outputs)
    if len(names) == 1:
        return {"--output": output}
    return {f"--output of {name}": file_of(output, name, names) for name in names}
