"""The models of a server: the runs that were named, loaded once, and what they are asked."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.serve.options import ServeOptions
from regard.serve.refusing import Refused, refused
from regard.serve.requests import Content, SearchRequest

if TYPE_CHECKING:
    from regard.model.base import AnyModel


FILE = 256
"""The length for which a file counts: the models read a fixed size of most."""


class ServedModel:
    """A trained model that is loaded at first use."""

    def __init__(self, name: str, folder: Path, options: ServeOptions, device: str | None) -> None:
        self.name, self.folder, self.options, self.device = name, folder, options, device
        self._model: Any = None

    @property
    def model(self) -> Any:
        """The model, a `Model` or a `LanguageModel`."""
        if self._model is None:
            from regard.model import load

            self._model = load(self.folder, device=self.device)
        return self._model

    @property
    def loaded(self) -> bool:
        return self._model is not None

    @property
    def continues(self) -> bool:
        """Whether it continues a text."""
        return bool(self.model.continues)

    @property
    def inputs(self) -> list[str]:
        return list(self.model.spec.inputs)

    @property
    def outputs(self) -> list[str]:
        return list(self.model.spec.outputs)

    @property
    def kind(self) -> str:
        if self.continues:
            return "continues"
        dialog = any(self.model.columns[name].can_be("dialog") for name in self.inputs)
        return "dialog" if dialog else "answers"

    def attended(self, output: str) -> list[str]:
        """The inputs to which an output attends."""
        return [] if self.continues else list(self.model.network.over[output])

    def warm(self) -> None:
        """Answer something, so that the first request does not wait for compiled kernels."""
        model = self.model
        try:
            if model.continues:
                model.generate("", length=2)
                return
            examples = model.metrics.get("examples")
            first = examples[0].get("input") if isinstance(examples, list) and examples else None
            if (
                len(self.inputs) == 1
                and isinstance(first, str)
                and not model.columns[self.inputs[0]].names_files
            ):
                for output in self.outputs:
                    for trace in (True, False):
                        model.predict([first, f"{first} {first}"], output=output, trace=trace)
                        model.predict(first, output=output, trace=trace)
        except Exception:  # an example that cannot be answered is no reason not to serve
            return

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs of a request, checked: their names, their lengths, and that none names a file."""
        if self.continues:
            raise Refused(
                422, f"the model {self.name!r} continues a text.", where="model", fix="Use  POST /generate."
            )
        names = self.inputs
        unknown = next((name for name in given if name not in names), None)
        lacking = next((name for name in names if name not in given), None)
        if unknown is not None or lacking is not None:
            told = f"no input {unknown!r}." if unknown is not None else f"the input {lacking!r} is missing."
            raise Refused(422, told, where="inputs", fix=f"The inputs are {', '.join(names)}.")
        return {name: self._value(name, given[name]) for name in names}

    def _value(self, name: str, given: Any) -> Any:
        column = self.model.columns[name]
        if isinstance(given, Content):
            given = _bytes(given.base64, name)
        if isinstance(given, bytes):
            if column.names_files:
                return given
            given = _text(given, name)
        check_text(given, self.options.length, name)
        if column.names_files and not _is_numbers(given):
            raise Refused(
                422,
                "a text would name a file; a server opens no files.",
                where=name,
                fix='Send the content of the file: {"base64": "…"}.',
            )
        return given

    def asking(self, asked: SearchRequest) -> Asking:
        """What a request asks about its inputs."""
        search = asked.search
        for name in ("n_best", "beam"):
            if search.get(name, 1) > self.options.n_best:
                raise Refused(
                    422, f"received {search[name]}, expected at most {self.options.n_best}.", where=name
                )
        for name in ("min_length", "max_length"):
            if search.get(name, 0) > self.options.tokens:
                raise Refused(
                    422, f"received {search[name]}, expected at most {self.options.tokens}.", where=name
                )
        if "constraint" in search:  # as options, which can be compared
            search["constraint"] = self.model.searching(
                constraint=search["constraint"]
            ).spec.search.constraint
        return Asking(self, asked.output, asked.trace, tuple(sorted(search.items())))


@dataclass(frozen=True)
class Asking:
    """What is asked about some inputs of a model. Inputs of which the same is asked are computed together."""

    served: ServedModel
    output: str | None
    trace: bool
    search: tuple[tuple[str, Any], ...]

    def answer(self, values: Sequence[Mapping[str, Any]]) -> list[Any]:
        """A prediction for each of the inputs, or the error that says why there is none."""
        model, found = self.served.model, {}
        usable: list[Mapping[str, Any]] = []
        keys = [tuple(value.items()) for value in values]
        for key, value in dict(zip(keys, values, strict=True)).items():
            problem = _problem(model, value)
            found[key] = problem
            if problem is None:
                usable.append(value)
        for value, answer in zip(usable, self._predicted(usable), strict=True):
            found[tuple(value.items())] = answer
        return [found[key] for key in keys]

    def _predicted(self, values: Sequence[Mapping[str, Any]]) -> list[Any]:
        """The predictions. If there is none because of one of the inputs, the others are answered without it."""
        if not values:
            return []
        try:
            return list(
                self.served.model.predict(
                    list(values),
                    output=self.output,
                    trace=self.trace,
                    batch_rows=len(values),
                    **dict(self.search),
                )
            )
        except Exception as error:
            if len(values) == 1 or not isinstance(error, RegardError):
                return [error] * len(values)
            half = len(values) // 2
            return [*self._predicted(values[:half]), *self._predicted(values[half:])]

    def written(self, answers: Sequence[Any]) -> int:
        """Number of tokens of the answers."""
        column = self.served.model.columns[self.served.model.output_name(self.output)]
        if not column.is_text:
            return len(answers)
        return sum(len(column.tokens(one.text)) for one in answers if not isinstance(one, Exception))

    def steps(self, value: Mapping[str, Any]) -> Iterator[Any]:
        """The new characters after each token, and at the end the prediction; only this if it cannot be streamed."""
        from regard.model.streaming import stream_answer

        if self.unstreamed:
            (answer,) = self.answer([value])
            if isinstance(answer, Exception):
                raise answer
            yield answer
            return
        model = self.served.model.searching(**dict(self.search))
        yield from stream_answer(model, value, output=self.output, trace=self.trace)

    @property
    def unstreamed(self) -> str:
        """Why the answer comes at once; empty if it comes token by token."""
        from regard.model.streaming import can_stream

        return can_stream(self.served.model.searching(**dict(self.search)), self.output)


class ServedModels:
    """All models of a server by name."""

    def __init__(
        self, folders: Sequence[str | PathLike[str]], options: ServeOptions, device: str | None = None
    ) -> None:
        from regard.runs.finished import finished_runs

        if not folders:
            raise RegardError("no run to serve.", where="serve", fix="Name the folder of a trained model.")
        self._known = {
            name.replace("/", "-"): ServedModel(name.replace("/", "-"), folder, options, device)
            for name, folder in finished_runs(folders).items()
        }

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._known.values())

    def find(self, name: str | None) -> ServedModel:
        if name is None:
            return next(iter(self))
        if name not in self._known:
            raise Refused(
                404, f"there is no model {name!r}.", where="model", fix=f"There are {', '.join(self._known)}."
            )
        return self._known[name]

    @property
    def loaded(self) -> bool:
        return all(one.loaded for one in self)

    def load(self) -> None:
        for one in self:
            _ = one.model


def check_text(text: Any, most: int, where: str) -> None:
    """Refuse a text that is too long, or is none."""
    if not isinstance(text, str):
        raise Refused(422, "expected a text.", where=where)
    if len(text) > most:
        raise Refused(422, f"the text has {len(text):,} characters, expected at most {most:,}.", where=where)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refused(
            422, "the text has an unpaired surrogate, which is not a character.", where=where
        ) from None


def size_of(value: Mapping[str, Any]) -> int:
    """How long the inputs of one row are together, to compute rows of similar length together."""
    return sum(len(one) if isinstance(one, str) else FILE for one in value.values())


def _problem(model: AnyModel, value: Mapping[str, Any]) -> Exception | None:
    """Why a model cannot read an input, as far as this is known before it computes."""
    try:
        row = model.row(value)  # type: ignore[attr-defined]
        for name in model.spec.inputs:
            column = model.columns[name]
            reason = None if column.names_files else column.check_value(row[column.field])
            if reason is not None:
                return Refused(422, f"the input {reason}.", where=name)
    except Exception as error:
        return refused(error)
    return None


def _bytes(text: str, where: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Refused(422, "this is not base64.", where=where) from None


def _text(content: bytes, where: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Refused(422, "the text is not UTF-8.", where=where) from None


def _is_numbers(text: str) -> bool:
    """Whether it is a list of numbers, which names no file."""
    if not text.lstrip().startswith("["):
        return False
    try:
        return isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False
