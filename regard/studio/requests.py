"""What the page may ask, as validated data: unknown keys are refused, and every size has a bound."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from regard.errors import RegardError

MOST_TEXT = 100_000
MOST_EDITS = 2_000
MOST_SEED = 2**63 - 1
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Line = Annotated[str, StringConstraints(max_length=MOST_TEXT)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{8,64}$")]
Step = Annotated[int, Field(ge=0, le=100_000)]


class Asked(BaseModel):
    """Base class of requests."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FromRow(Asked):
    """The value of an input in a row of the run's data; split: default test, or dev if there is none."""

    row: Annotated[int, Field(ge=0, le=10**9)]
    split: Name | None = None


class FromUpload(Asked):
    """An image, video or audio that was uploaded."""

    upload: Identifier


Given = Line | FromRow | FromUpload


class SearchChanges(Asked):
    """Changes of the search; beam 1 is greedy."""

    beam: Annotated[int, Field(ge=1, le=64)] | None = None
    n_best: Annotated[int, Field(ge=1, le=64)] | None = None


class LookRequest(Asked):
    """One input of one run, and what is changed about it.

    inputs   by name
    output   default: the only one
    prefix   the beginning of the output
    target   the output to score instead of the model's own
    edits    of the attention and of structures: `regard.model.edits`
    panel    the name of a panel to draw besides the figure
    """

    run: Name
    inputs: Annotated[dict[Name, Given], Field(max_length=64)]
    output: Name | None = None
    prefix: Line | None = None
    target: Line | None = None
    edits: Annotated[list[dict[str, Any]], Field(max_length=MOST_EDITS)] = []
    search: SearchChanges = SearchChanges()
    panel: Name | None = None
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] | None = None


class WhyRequest(LookRequest):
    """What look makes the model write this word at this step."""

    word: Line
    step: Step | None = None


class Like(LookRequest):
    """Which training rows are alike at this step."""

    step: Step | None = None


class Download(LookRequest):
    """A view as a file."""

    kind: Literal["svg", "png", "json", "trace", "html"] = Field(alias="as")


class RowsRequest(Asked):
    """Some rows of a split, in their order or the strangest first."""

    run: Name
    split: Name | None = None
    sort: Literal["order", "strange"] = "order"
    start: Annotated[int, Field(ge=0, le=10**9)] = 0
    count: Annotated[int, Field(ge=1, le=100)] = 20


class Compare(Asked):
    """One input of two runs."""

    runs: Annotated[list[Name], Field(min_length=2, max_length=2)]
    inputs: Annotated[dict[Name, Given], Field(max_length=64)]
    output: Name | None = None
    edits: Annotated[list[dict[str, Any]], Field(max_length=MOST_EDITS)] = []
    search: SearchChanges = SearchChanges()


class Said(Asked):
    """One turn of a dialog."""

    speaker: Name
    text: Line


class ChatRequest(Asked):
    """A dialog so far, whose last turn is answered."""

    run: Name
    turns: Annotated[list[Said | Line], Field(min_length=1, max_length=500)]
    output: Name | None = None
    edits: Annotated[list[dict[str, Any]], Field(max_length=MOST_EDITS)] = []


class Continue(Asked):
    """A text for a language model to continue."""

    run: Name
    prompt: Line = ""
    length: Annotated[int, Field(ge=0, le=2_000)] = 200
    temperature: Annotated[float, Field(ge=0, le=100)] | None = None
    top_k: Annotated[int, Field(ge=0, le=10**6)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] | None = None


Kind = TypeVar("Kind", bound=Asked)


def read(kind: type[Kind], content: bytes) -> Kind:
    """The request in some JSON, or an error that names the first wrong key."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(one) for one in first["loc"])
        raise RegardError(f"{first['msg'].rstrip('.')}.", where=place[:200]) from None
