"""The Open Inference Protocol, version 2, which KServe and Triton speak: tensors in and out, in JSON or binary.

An input is a BYTES tensor of B texts (or contents of files) under its name. For an output NAME there are

    NAME                      BYTES (B)         the answers
    NAME.score                FP32 (B)          their log-probabilities
    NAME.n_best               BYTES (B, K)      the K best answers
    NAME.n_best.score         FP32 (B, K)       their log-probabilities
    NAME.attention.INPUT      FP32 (B, T, S)    the attention of each of T pieces to S positions of an input
    NAME.pieces               BYTES (B, T)      the pieces of the answers
    NAME.pieces.INPUT         BYTES (B, S)      the positions of an input

Rows that are shorter than others are filled with 0, with empty texts, and with the lowest number for scores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from regard.serve.refusing import Refused
from regard.serve.requests import read

HEADER = "inference-header-content-length"
VERSION = "1"
LOWEST = float(np.finfo(np.float32).min)


class _Asked(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class InputTensor(_Asked):
    """A tensor of the request; `parameters.binary_data_size` if its data follow the JSON."""

    name: Annotated[str, Field(max_length=200)]
    datatype: Annotated[str, Field(max_length=20)]
    shape: Annotated[list[Annotated[int, Field(ge=0, le=1_000_000)]], Field(min_length=1, max_length=8)]
    data: list[Any] | None = None
    parameters: dict[str, Any] = {}


class OutputTensor(_Asked):
    """A tensor that is asked for."""

    name: Annotated[str, Field(max_length=400)]
    parameters: dict[str, Any] = {}


class InferRequest(_Asked):
    """A request for inference."""

    id: Annotated[str, Field(max_length=1000)] = ""
    inputs: Annotated[list[InputTensor], Field(max_length=64)]
    outputs: Annotated[list[OutputTensor], Field(max_length=256)] = []
    parameters: dict[str, Any] = {}


@dataclass(frozen=True)
class InferenceRequest:
    """A request that was read: the texts or bytes of each input, and what is asked."""

    request: InferRequest
    inputs: Mapping[str, Sequence[str | bytes]]

    @property
    def rows(self) -> int:
        return len(next(iter(self.inputs.values())))


def read_inference(content: bytes, header: str | None, most_rows: int) -> InferenceRequest:
    """A request with JSON alone, or with JSON whose length the header tells and binary data behind it."""
    size = len(content)
    if header is not None:
        if not (header.isascii() and header.isdigit()) or len(header) > 12 or int(header) > size:
            raise Refused(400, f"this is no length within the body: {header[:40]!r}.", where=HEADER)
        size = int(header)
    request, rest = read(InferRequest, content[:size]), memoryview(content)[size:]
    found: dict[str, Sequence[str | bytes]] = {}
    for tensor in request.inputs:
        if tensor.name in found:
            raise Refused(422, "the input is given twice.", where=tensor.name)
        if tensor.datatype != "BYTES":
            raise Refused(422, f"the datatype is {tensor.datatype!r}, expected BYTES.", where=tensor.name)
        found[tensor.name], rest = _values(tensor, rest, most_rows)
    if len(rest):
        raise Refused(400, f"{len(rest):,} bytes are left over behind the inputs.", where="body")
    counts = {len(values) for values in found.values()}
    if len(counts) != 1:
        raise Refused(422, "the inputs have different numbers of rows, or there are none.", where="inputs")
    return InferenceRequest(request, found)


def _values(tensor: InputTensor, rest: memoryview, most: int) -> tuple[Sequence[str | bytes], memoryview]:
    rows = tensor.shape[0]
    if any(size != 1 for size in tensor.shape[1:]):
        raise Refused(422, f"the shape is {tensor.shape}, expected [rows] or [rows, 1].", where=tensor.name)
    if not 1 <= rows <= most:
        raise Refused(422, f"the shape has {rows:,} rows, expected 1 to {most:,}.", where=tensor.name)
    size = tensor.parameters.get("binary_data_size")
    values: Sequence[str | bytes]
    if size is None:
        values = [text for one in tensor.data or () for text in (one if isinstance(one, list) else [one])]
        if not all(isinstance(value, str) for value in values):
            raise Refused(422, "expected texts.", where=tensor.name)
    else:
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= len(rest):
            raise Refused(400, "binary_data_size is no length within the body.", where=tensor.name)
        values, rest = _unpacked(rest[:size], tensor.name), rest[size:]
    if len(values) != rows:
        raise Refused(422, f"there are {len(values):,} values, expected {rows:,}.", where=tensor.name)
    return values, rest


def _unpacked(content: memoryview, where: str) -> list[bytes]:
    """Values that each follow their length, four bytes with the lowest first."""
    found, place = [], 0
    while place < len(content):
        length = int.from_bytes(content[place : place + 4], "little")
        if place + 4 + length > len(content):
            raise Refused(400, "a value is longer than the tensor.", where=where)
        found.append(bytes(content[place + 4 : place + 4 + length]))
        place += 4 + length
    return found


@dataclass(frozen=True)
class AnswerTensor:
    """A tensor of the answer: FP32, or nested lists of texts."""

    name: str
    values: NDArray[Any]

    @property
    def datatype(self) -> str:
        return "BYTES" if self.values.dtype == object else "FP32"

    def json(self) -> dict[str, Any]:
        data = self.values.ravel().tolist()
        return {"name": self.name, "datatype": self.datatype, "shape": list(self.values.shape), "data": data}

    def binary(self) -> tuple[dict[str, Any], bytes]:
        if self.datatype == "BYTES":
            texts = [text.encode("utf-8", errors="replace") for text in self.values.ravel()]
            packed = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
        else:
            packed = self.values.astype("<f4").tobytes()
        told = {"name": self.name, "datatype": self.datatype, "shape": list(self.values.shape)}
        return {**told, "parameters": {"binary_data_size": len(packed)}}, packed


def texts(name: str, rows: Sequence[Sequence[str]]) -> AnswerTensor:
    """(B, K) texts, filled with empty ones."""
    made = np.full((len(rows), max(map(len, rows), default=0)), "", dtype=object)
    for number, row in enumerate(rows):
        made[number, : len(row)] = row
    return AnswerTensor(name, made)


def numbers(name: str, rows: Sequence[Any], fill: float = 0.0) -> AnswerTensor:
    """(B, …) numbers, filled where a row is smaller than others."""
    arrays = [np.maximum(np.asarray(row, dtype=np.float32), LOWEST) for row in rows]
    shape = np.max([one.shape for one in arrays], axis=0)
    made = np.full((len(arrays), *shape), fill, dtype=np.float32)
    for number, one in enumerate(arrays):
        place: tuple[Any, ...] = (number, *(slice(size) for size in one.shape))
        made[place] = one
    return AnswerTensor(name, made)


def tensors(output: str, answers: Sequence[Any], inputs: Sequence[str]) -> list[AnswerTensor]:
    """All tensors of one output, from predictions."""
    column = np.array([one.text for one in answers], dtype=object)
    found = [AnswerTensor(output, column), numbers(f"{output}.score", [one.score for one in answers])]
    if any(one.alternatives for one in answers):
        found.append(
            texts(f"{output}.n_best", [[other.text for other in one.alternatives] for one in answers])
        )
        scores = [[other.score for other in one.alternatives] for one in answers]
        found.append(numbers(f"{output}.n_best.score", scores, LOWEST))
    if all(one.trace is not None for one in answers):
        found.append(texts(f"{output}.pieces", [list(one.trace.output) for one in answers]))
        for name in inputs:
            if all(name in one.trace.attention for one in answers):
                weights = [one.trace.attention[name] for one in answers]
                found.append(numbers(f"{output}.attention.{name}", weights))
                pieces = [list(one.trace.input.get(name, ())) for one in answers]
                found.append(texts(f"{output}.pieces.{name}", pieces))
    return found


def written(model: str, asked: InferRequest, found: Sequence[AnswerTensor]) -> tuple[bytes, dict[str, str]]:
    """The answer to a request, and its headers."""
    binary = {one.name: one.parameters.get("binary_data") for one in asked.outputs}
    usual = asked.parameters.get("binary_data_output") is True
    told, packed = [], []
    for one in found:
        wanted = binary.get(one.name)
        if wanted is True or (wanted is None and usual):
            about, content = one.binary()
            told.append(about)
            packed.append(content)
        else:
            told.append(one.json())
    answer = {"model_name": model, "model_version": VERSION, **({"id": asked.id} if asked.id else {})}
    text = json.dumps({**answer, "outputs": told}, ensure_ascii=True).encode()
    if not packed:
        return text, {"content-type": "application/json"}
    headers = {"content-type": "application/octet-stream", HEADER: str(len(text))}
    return b"".join([text, *packed]), headers
