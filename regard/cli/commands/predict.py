"""`regard predict`"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from regard.cli.command import (
    Answers,
    Beam,
    Command,
    Device,
    Grammar,
    Loading,
    Must,
    Never,
    Of,
    Overrides,
    Overwrite,
    Prefix,
    Regex,
    Run,
    Seed,
    With,
    spec_changes,
)
from regard.cli.outputs import outputs
from regard.errors import RegardError
from regard.parts.registry import register


@register("command", "predict")
class PredictCommand(Command):
    """Answer inputs with a trained model, in the order they come.

    \b
    regard predict runs/g2p attention
    regard predict runs/my I am going home
    regard predict runs/g2p -f words.txt --json out.jsonl
    regard predict runs/parser -f pairs.tsv --column premise --as tree -o parsed.tsv
    regard predict runs/parser-crf file.conllu -o out.conllu
    regard predict runs/g2p attention --never AE --must "SH AH N"
    regard predict runs/g2p -f 'words/*.parquet' -o out/ --shard 2/8

    The .conllu file is written back with the predicted columns in it. The last one answers a share of many rows into a
    folder, and continues where it stopped (docs/machines.md).
    """

    heading = "Use"
    order = 110
    computes = True

    @classmethod
    def run(
        cls,
        run: Run,
        texts: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Argument(
                metavar="TEXT",
                help="The input: a text (no quotes needed), or files if the model reads images, video or audio; or a "
                ".conllu file. For a model with several inputs, a quoted text for each, or JSON by their names. "
                "Without it, or with -: --file or standard input.",
            ),
        ] = None,
        files: Annotated[
            Optional[list[str]],  # noqa: UP045
            typer.Option(
                "--file",
                "-f",
                metavar="FILE",
                help="Read inputs from here: one per line, a table, or JSON lines by the inputs' names; a URL. With -o "
                "FOLDER/ also a pattern in quotes, several -f, or a folder of images.",
            ),
        ] = None,
        column: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--column",
                metavar="NAME",
                help="With --as: the column to read, of the table in --file, by name or number from 1.",
            ),
        ] = None,
        new_column: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--as",
                metavar="NAME",
                help="With --column: write the table with the answers as this new column (NAME=OUTPUT if the model has "
                "several outputs).",
            ),
        ] = None,
        of: Of = None,
        output: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "-o",
                "--output",
                metavar="FILE",
                help="Write here instead of to the terminal. FOLDER/: write parts, which the same command resumes.",
            ),
        ] = None,
        json_file: Annotated[
            Optional[Path],  # noqa: UP045
            typer.Option(
                "--json", metavar="FILE", help="Write JSON lines with scores here; -: standard output."
            ),
        ] = None,
        trace: Annotated[
            bool, typer.Option("--trace", help="With --json: also write the attention.")
        ] = False,
        n_best: Annotated[
            int,
            typer.Option(
                "--n-best",
                min=1,
                metavar="N",
                help="Print the N best texts with their log-probabilities, or the N most probable labels with their "
                "probabilities.",
            ),
        ] = 1,
        watch: Annotated[
            bool,
            typer.Option(
                "--watch",
                help="Warn of answers that do not depend on their input: other inputs of dev make them as probable.",
            ),
        ] = False,
        beam: Beam = None,
        must: Must = None,
        never: Never = None,
        prefix: Prefix = None,
        regex: Regex = None,
        grammar: Grammar = None,
        answers: Answers = None,
        others: With = None,
        overwrite: Overwrite = False,
        overrides: Overrides = None,
        device: Device = None,
        seed: Seed = None,
        bad_rows: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--bad-rows",
                metavar="stop|skip",
                help="What to do with an input that cannot be read: stop, or skip it. Default: stop.",
            ),
        ] = None,
        shard: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--shard",
                metavar="I/N",
                help="With -o FOLDER/: answer the I-th of N shares, each for a process of its own.",
            ),
        ] = None,
        engine: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--engine", metavar="plain|ray", help="With -o FOLDER/: who answers. Default: plain."
            ),
        ] = None,
        workers: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option("--workers", min=1, metavar="N", help="With --engine ray: number of processes."),
        ] = None,
        format: Annotated[
            Optional[str],  # noqa: UP045
            typer.Option(
                "--format", metavar="jsonl|tsv|parquet", help="With -o FOLDER/: of the parts. Default: jsonl."
            ),
        ] = None,
        part_rows: Annotated[
            Optional[int],  # noqa: UP045
            typer.Option("--part-rows", min=1, metavar="N", help="With -o FOLDER/: rows of each part."),
        ] = None,
    ) -> None:

        changes = spec_changes(overrides, beam=beam, seed=seed)
        if must or never or prefix or regex or grammar or answers:
            from regard.cli.constraining import constraint_change, given_constraints

            asked = given_constraints(must, never, prefix, regex, grammar, answers)
            changes = (constraint_change(asked), *changes)
        how = Loading(changes, device)
        _check_beam(beam, n_best)
        texts = [] if texts == ["-"] else texts or []
        files = [] if files == ["-"] else files or []
        parts = {
            "shard": shard,
            "engine": engine,
            "workers": workers,
            "format": format,
            "part_rows": part_rows,
        }
        if is_sharded(files, output, parts):
            check_sharded(
                output,
                {
                    "TEXT": bool(texts),
                    "--column": column is not None,
                    "--as": new_column is not None,
                    "--json": json_file is not None,
                    "--watch": watch,
                    "--overwrite": overwrite,
                    "--bad-rows stop": bad_rows == "stop",
                },
            )
            from regard.cli.sharding import answer_files

            given = {name: value for name, value in parts.items() if value is not None}
            answer_files(
                run,
                files,
                output or "",
                others=others or [],
                how=how,
                trace=trace,
                n_best=n_best,
                of=of,
                **given,
            )
            return
        from regard.cli.answering import answer

        file = Path(files[0]) if files else None
        _check_read(texts, file, trace=trace, json_lines=json_file is not None)
        target = None if output is None else Path(output)
        if column is not None or new_column is not None:
            from regard.cli.rewriting import add_column

            if watch:
                raise RegardError(
                    "a table is written without watching.", where="--watch", fix="Leave out --watch."
                )
            table, column, new_column = _whole_table(
                file, column, new_column, several=json_file is not None or n_best > 1
            )
            with outputs({"--output": target}, read=[table], overwrite=overwrite):
                add_column(
                    run,
                    file=table,
                    column=column,
                    name=new_column,
                    output=target,
                    others=others or [],
                    how=how,
                    bad_rows=bad_rows,
                    of=of,
                )
            return
        with outputs({"--output": target, "--json": json_file}, read=[file, *texts], overwrite=overwrite):
            answer(
                run,
                texts=texts,
                file=file,
                output=target,
                json_file=json_file,
                trace=trace,
                others=others or [],
                how=how,
                bad_rows=bad_rows,
                n_best=n_best,
                of=of,
                watch=watch,
            )


def is_sharded(files: list[str], output: str | None, parts: dict[str, Any]) -> bool:
    """Whether the answers are parts in a folder: one is named, or an option or an input needs one."""
    folder = (
        output is not None and output != "-" and (output.endswith(("/", os.sep)) or os.path.isdir(output))
    )
    pattern = any(set(name) & set("*?[") and not os.path.exists(name) for name in files)
    return folder or pattern or len(files) > 1 or any(value is not None for value in parts.values())


def check_sharded(output: str | None, refused: dict[str, bool]) -> None:
    """Refuse options that have no effect on parts in a folder, and parts without a folder."""
    if output is None or output == "-" or os.path.isfile(output):
        raise RegardError(
            "several files and shards are answered into a folder.",
            where="-o" if output is None else f"-o {output}",
            fix="Name a folder: -o out/",
        )
    for option, given in refused.items():
        if given:
            raise RegardError(
                f"{option} does not go together with a folder of parts, -o {output}.",
                fix="Leave out one of them.",
            )


def _check_beam(beam: int | None, n_best: int) -> None:
    if beam is not None and beam < n_best:
        raise RegardError(
            f"a beam of {beam} cannot give {n_best} answers.",
            where="--n-best",
            fix=f"Use --beam {n_best} or more.",
        )


def _check_read(texts: list[str], file: Path | None, *, trace: bool, json_lines: bool) -> None:
    """Refuse inputs that would not be read, and options that would have no effect."""
    if texts and file is not None:
        raise RegardError(
            f"received both texts and a file, {file}; only one of them can be read.", fix="Leave out one."
        )
    if trace and not json_lines:
        raise RegardError("--trace needs JSON output.", fix="Add --json FILE; `regard show` draws it.")


def _whole_table(
    file: Path | None, column: str | None, name: str | None, *, several: bool
) -> tuple[Path, str, str]:
    """The table, the column to read, and the column to write, which must be given together."""
    if file is None or column is None or name is None:
        raise RegardError(
            "a table needs --file, --column and --as together.",
            fix="For example  -f pairs.tsv --column premise --as premise_tree",
        )
    if several:
        raise RegardError(
            "--column writes one answer per row.", fix="Leave out --json and --n-best, or --column."
        )
    return file, column, name
