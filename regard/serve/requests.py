"""What clients may ask, as validated data: unknown keys are refused, and every size has a bound."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from regard.serve.refusing import Refused

MOST_SEED = 2**63 - 1
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Count = Annotated[int, Field(ge=1, le=10_000)]
Length = Annotated[int, Field(ge=0, le=1_000_000)]


class AskedFor(BaseModel):
    """Base class of requests.

    model     the name of a model; default: the first one of the server
    timeout   seconds until the answer; default: that of the server
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    model: Name | None = None
    timeout: Seconds | None = None


class Content(BaseModel):
    """The bytes of an image, video or audio file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    base64: str


Value = str | Content
Inputs = dict[str, Value]


SEARCH = (
    "method",
    "beam",
    "n_best",
    "length_penalty",
    "min_length",
    "max_length",
    "temperature",
    "top_k",
    "top_p",
    "seed",
    "constraint",
)


class SearchRequest(AskedFor):
    """How an output is searched; default: as the model's spec says.

    output       the name of the output, if the model has several
    trace        whether to return the attention too
    constraint   conditions that the output obeys, as in a spec: {"type": "must", "phrases": ["dog"]}
    """

    output: Name | None = None
    trace: bool = False
    method: Name | None = None
    beam: Count | None = None
    n_best: Count | None = None
    length_penalty: Annotated[float, Field(ge=0, le=10)] | None = None
    min_length: Length | None = None
    max_length: Length | None = None
    temperature: Annotated[float, Field(gt=0, le=100)] | None = None
    top_k: Annotated[int, Field(ge=0, le=10**6)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] | None = None
    constraint: Annotated[list[dict[str, Any]], Field(max_length=16)] | None = None

    @property
    def search(self) -> dict[str, Any]:
        """The options of the search that were given."""
        return {name: value for name in SEARCH if (value := getattr(self, name)) is not None}


class PredictRequest(SearchRequest):
    """One input or several: `text` for a model with one input that is a text, or `inputs` by name.

    text     a text, or a list of texts
    inputs   the value of each input by its name, or a list of such objects; a file is {"base64": "…"}
    """

    text: str | list[str] | None = None
    inputs: Inputs | list[Inputs] | None = None


class StreamRequest(SearchRequest):
    """One input whose answer is sent token by token; or the prompt of a language model."""

    text: str | None = None
    inputs: Inputs | None = None
    length: Length | None = None


class SaidTurn(BaseModel):
    """One turn of a dialog."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    speaker: Name
    text: str


class ChatCall(SearchRequest):
    """The last turn of a dialog, after its history: turns of {"speaker": …, "text": …}, or texts in turns, of which the
    last is the model's."""

    text: str
    history: Annotated[list[SaidTurn | str], Field(max_length=1000)] = []


class GenerateRequest(AskedFor):
    """A text for a language model to continue."""

    prompt: str = ""
    length: Length | None = None
    temperature: Annotated[float, Field(ge=0, le=100)] | None = None
    top_k: Annotated[int, Field(ge=0, le=10**6)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] | None = None

    @property
    def options(self) -> dict[str, Any]:
        names = ("length", "temperature", "top_k", "top_p", "seed")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


Kind = TypeVar("Kind", bound=BaseModel)


def read(kind: type[Kind], content: bytes) -> Kind:
    """The request in some JSON; 400 if it is no JSON, 422 with the first wrong key if it asks for what is not there."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(one) for one in first["loc"])
        status = 400 if first["type"] == "json_invalid" else 422
        raise Refused(status, f"{first['msg'].rstrip('.')}.", where=place[:200]) from None
