"""A column: one typed field of the data, with its own encoding, decoding and collation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import DTypeLike
from pydantic import field_validator
from torch import Tensor

from regard import parts
from regard.data.batch import Evidence, Forest, Sentences, Span, SpanLabels, Tokens, Trees
from regard.data.media import Images, Places, Series, Videos
from regard.data.ragged import Array, Ragged
from regard.data.readers.row import LISTED, OBJECT
from regard.errors import RegardError
from regard.parts import Mistakes, Plan, Settings
from regard.parts.contract import base, declared, optional, required
from regard.trace import Seen

Collated = (
    Tensor
    | Tokens
    | Span
    | Sentences
    | Trees
    | Forest
    | SpanLabels
    | Images
    | Videos
    | Series
    | Places
    | Evidence
)


ROLES = ("inputs", "outputs", "truth")
"""The sections of a spec with columns."""


class RegisteredName:
    """The name a class is registered under, read as `cls.type`."""

    def __get__(self, column: Any, owner: type[Column]) -> str:
        return owner.Options.type


@base("column", gives=("name",), spread=True, maker="build")
class Column(ABC):
    """Base class of all columns.

    name    its name in the spec and in a batch
    field   the field of the row to read; default: the name
    of      the columns it refers to. They are encoded first, and `check_beside` compares with their encodings
    """

    class Options(parts.Options):
        """A typed field of the data."""

        field: str | None = None
        """The field of the row to read; default: the column's name. In a table without a header, the number of the
        column, from 1."""

        @field_validator("field", mode="before")
        @classmethod
        def _by_number(cls, value: Any) -> Any:
            return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    type: ClassVar[str] = cast(str, RegisteredName())
    roles: ClassVar[tuple[str, ...]] = ()
    """Sections of a spec in which it may appear: inputs, outputs, truth."""
    stands_for: ClassVar[tuple[str, ...] | None] = None
    """Other types as which encoders, decoders and metrics may take it; None: those of the columns it derives from."""
    encoder: ClassVar[str | None] = None
    """The default encoder; None for a column that is not encoded by itself."""
    decoder: ClassVar[str | None] = None
    """The default decoder."""
    alone: ClassVar[bool] = False
    """Whether it is an output without inputs, such as continuous text."""
    has_regions: ClassVar[bool] = False
    """Whether it can contain regions: an image, a video, audio, a series."""
    cached: ClassVar[bool] = True
    """Whether encodings are computed once and cached (text), or anew for every batch (images)."""
    of_sentences: ClassVar[bool] = False
    """Whether its positions are sentences of words: a document, a story, a dialog."""
    layout: ClassVar[str] = ""
    """The arrangement of an input's positions, if it needs its own kind of figure: "dialog"."""
    copyable: ClassVar[bool] = False
    """Whether it can provide the pieces of a batch `verbatim`, for decoders that copy."""
    scalar: ClassVar[bool] = False
    """Whether an encoding is a single number (shape ()) instead of a sequence (1-D)."""
    dtype: ClassVar[DTypeLike] = np.int32
    """Dtype of an encoding in the cache; unused if the column is not `cached`."""
    listed: ClassVar[bool] = False
    """Whether a value may be a list of texts (`regard.data.readers.row`)."""
    objects: ClassVar[bool] = False
    """Whether a value may be an object in JSON (`regard.data.readers.row`)."""
    is_text: ClassVar[bool] = False
    """Whether a value is a text as people write it, which `pieces` cuts into its units."""
    names_files: ClassVar[bool] = False
    """Whether values may be paths, which `located` resolves."""
    drawn: ClassVar[bool] = False
    """Whether figures show the value itself, which `seen` gives: an image, a video, audio, points."""
    shows_unknown: ClassVar[bool] = False
    """Whether `readable_texts` shows units outside the vocabulary as written."""
    classed: ClassVar[bool] = False
    """Whether values have classes, of which `unseen` tells those that the training data lack."""
    learns_own: ClassVar[bool] = False
    """Whether something is fitted to its own values only, by `learn_own`."""
    has_remark: ClassVar[bool] = False
    """Whether it has a `remark` about the values of a split."""
    has_units: ClassVar[bool] = False
    """Whether its fitted `units` number rows of weights."""
    may_lack: bool = False
    """Whether rows may lack a value: they are left out of its loss and of its metrics."""
    may_be_empty: ClassVar[bool] = False
    """Whether an empty value says something: that a row has none of the classes."""
    shows_pieces: ClassVar[bool] = False
    """Whether a value names positions of the column it is `of`, and is shown as the pieces there (`shown`)."""
    usual: ClassVar[tuple[str, ...]] = ()
    """Default metrics of an output of this type; for a truth column, of the output it refers to."""

    @classmethod
    def declared_wrong(cls) -> str | None:
        """Why the declarations of the class are not valid; None if they are. Asked when it is registered."""
        unknown = [role for role in cls.roles if role not in ROLES]
        silent = not any("roles" in vars(one) for one in cls.__mro__ if one not in Column.__mro__)
        if unknown or silent:
            return f"declares roles = {cls.roles!r}; expected some of {', '.join(ROLES)}"
        return None

    def __init__(self, name: str, *, field: str | None = None, of: Sequence[str] = ()) -> None:
        self.name, self.field, self.of = name, field or name, tuple(of)

    @optional("by `regard export`")
    def exported(self) -> dict[str, Any] | None:
        """How a program without regard reads and writes values of this column, as data for JSON: the `form` that its
        runner knows, and what was fitted. None: the column cannot be exported."""
        return None

    @classmethod
    def types(cls) -> tuple[str, ...]:
        """The types as which encoders, decoders and metrics may take it, its own first."""
        others = vars(cls).get("stands_for")  # not inherited: what derives from a story stands for a story
        if others is None:
            bases: Any = (one for one in cls.__mro__[1:] if getattr(vars(one).get("Options"), "type", ""))
            others = next((one.types() for one in bases), ())
        return tuple(dict.fromkeys((cls.Options.type, *others)))

    @classmethod
    def can_be(cls, *types: str) -> bool:
        """Whether it may be taken as a column of one of these types."""
        return not set(types).isdisjoint(cls.types())

    @property
    def reads_texts(self) -> bool:
        """Whether batches need the texts in addition to the encodings; then `collate_texts` makes them."""
        return False

    @classmethod
    @optional("when a model is built")
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        """The unfitted column that a spec describes.

        asked   additional keywords required by its encoder or decoder
        """
        given: dict[str, Any] = {
            key: value.model_dump() if isinstance(value, Settings) else value
            for key, value in dict(options).items()
        }
        return cls(name, **given, **asked)

    @classmethod
    @optional("by `regard describe`")
    def describe(cls, options: Any, name: str) -> str:
        """`name: what it is`, as `regard describe` prints it."""
        return f"{name}: {cls.type}"

    @classmethod  # noqa: B027  most columns have nothing to refuse
    @optional("when a spec is checked")
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        """Report contradictions between the options and the rest of the spec; most columns have none."""

    @classmethod
    def between(cls, options: Any, plan: Plan) -> tuple[str, str] | None:
        """The input and the output that a truth column relates; None if it does not describe attention."""
        return None

    @abstractmethod
    @required("once, on the training rows")
    def learn(self, values: Iterable[str]) -> None:
        """Fit to the training values whatever encoding needs: a vocabulary, classes, a subword model."""

    @declared("learns_own")  # noqa: B027  most columns have nothing to do
    def learn_own(self, values: Iterable[str]) -> None:
        """Fit to its own values only. Called before `learn`, which also sees the values of columns that share its
        vocabulary."""

    @property
    def learns_beside(self) -> str | None:
        """The column whose values `learn_beside` needs; None if it needs none."""
        return None

    def learn_beside(self, pairs: Iterable[tuple[str, str]]) -> None:  # noqa: B027  most columns have nothing to do
        """Fit to pairs of its own value and the value of the column `learns_beside`. Called before `learn`."""

    def check(self, value: str | None) -> str | None:
        """Why this value cannot be used, to follow the field's name in a message ("is empty"); None if it can be
        used."""
        reason = self.check_value(value)
        if reason or value is None:
            return reason
        return self.check_encoded(self.encode(value))

    @optional("once for each row, before `encode`")
    def check_value(self, value: str | None) -> str | None:
        """The part of `check` that does not need the encoding."""
        if value is None:
            return "is missing"
        if not self.listed and LISTED in value:
            return "is an empty list" if value == LISTED else "has a list, expected text"
        if not self.objects and OBJECT in value:
            return "has an object, expected text"
        return None if value.strip() else "is empty"

    def unknown_units(self, value: str) -> list[str]:
        """The words or other units of a value that are outside the vocabulary and are read as the unknown one."""
        return []

    def pieces(self, text: str) -> list[Any]:
        """The units of a value, as written; for a column that `is_text`."""
        return []

    def copied(self, value: str) -> list[str]:
        """The pieces of a value that a decoder can copy, as written; for a `copyable` column."""
        return []

    @declared("classed")
    def unseen(self, value: str) -> list[str]:
        """Classes in a value that the training data lack: they count as errors and are left out of the loss."""
        return []

    def check_encoded(self, encoded: Array) -> str | None:
        """The part of `check` that needs the encoding, so that values are encoded only once."""
        return None

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        """Why the encoding does not match those of the columns it is `of`."""
        return None

    @optional("for values that are passed in Python")
    def written(self, value: Any) -> str:
        """Convert a Python value, here a text or a number, to the text of a row."""
        if isinstance(value, str | int) or (isinstance(value, float) and value == value):
            return str(value)
        raise RegardError(
            f"received {'nan' if isinstance(value, float) else f'a {type(value).__name__}'}, expected a text.",
            where=self.name,
        )

    def is_several(self, array: Array) -> bool:
        """Whether an array of numbers holds several values, one in each of its rows, and not a single one."""
        return False

    @optional("for metrics")
    def reference(self, value: str) -> Any:
        """The reference value for metrics: the `Prediction.value` of a correct prediction."""
        return value.strip()

    def shown(self, value: Any, pieces: Sequence[str] = ()) -> str:
        """A reference value as answers show it.

        pieces   those of the column it is `of`, if it `shows_pieces`
        """
        return " ".join(map(str, value)) if isinstance(value, list | tuple) else self.written(value)

    @declared("names_files")
    def located(self, value: str, file: str) -> str:
        """The value with paths resolved, so that files are found from any working folder.

        file   the file of the row; relative paths are resolved beside it first
        """
        return value

    @abstractmethod
    @required("once for each row")
    def encode(self, value: str) -> Array:
        """Numbers of the column's `dtype`: a sequence, or a scalar of shape (). If not `cached`: any array."""

    @property
    def varies(self) -> bool:
        """Whether `varied` differs from `encode`."""
        return False

    @declared("varies")
    def varied(self, value: str, generator: np.random.Generator) -> Array:
        """Like `encode`, with random augmentation if the column has any."""
        return self.encode(value)

    @abstractmethod
    @required("for answers and figures")
    def decode(self, ids: Sequence[int]) -> str:
        """The readable text of an encoding."""

    @abstractmethod
    @required("for traces and figures")
    def tokens(self, value: str | Sequence[int]) -> list[str]:
        """The readable pieces of a text or of its ids: labels for the axes of a figure."""

    @optional("for traces of an input")
    def readable(self, collated: Any) -> list[list[str]]:
        """The readable pieces of each row of a batch, one per attention position."""
        rows = zip(collated.ids.tolist(), collated.lengths.tolist(), strict=True)
        return [self.tokens(ids[:length]) for ids, length in rows]

    @declared("shows_unknown")
    def readable_texts(self, collated: Any, texts: Sequence[str]) -> list[list[str]]:
        """Like `readable`; units outside the vocabulary are shown as in the texts of the rows."""
        return self.readable(collated)

    @declared("drawn")
    def seen(self, collated: Any, row: int) -> Seen | None:
        """The content of one row for a figure, if the value is not a text."""
        return None

    @optional("to remove positions of an input: `regard faithful`")
    def reduced(
        self, encoded: Array, kept: Array, *, words: bool = False, fill: bool = False
    ) -> Array | None:
        """The encoding without the attention positions at which `kept` is False; None if it has no such form.

        kept    (S,) bool, (rows, columns) for a grid; at least one position is kept
        words   the positions are the words of a column whose positions are otherwise sentences
        fill    put the unknown unit, or the mean, in their place instead of leaving them out
        """
        return None

    @optional("with `reduced`, for a column that `reads_texts`")
    def reduced_text(self, text: str, kept: Array, *, words: bool = False, fill: bool = False) -> str:
        """The text that `reduced` encodes."""
        return text

    def stored(self, encoded: Array) -> Array:
        """The encoding in the dtype of the column; refused if the conversion would lose fractions."""
        if encoded.dtype == self.dtype:
            return encoded
        if encoded.size and not np.can_cast(encoded.dtype, self.dtype, casting="same_kind"):
            raise RegardError(
                f"the column encodes values as {encoded.dtype}, but stores {np.dtype(self.dtype)}.",
                where=self.name,
                fix=f"Set  dtype = np.{encoded.dtype.name}  in {type(self).__name__}."
                if encoded.dtype.kind in "biuf"
                else f"Return numbers from the method encode of {type(self).__name__}.",
            )
        return encoded.astype(self.dtype, copy=False)

    @property
    def by_itself(self) -> bool:
        """Whether an encoding follows from the value alone, and costs as much as it is long."""
        costs = any("cost" in vars(one) for one in type(self).__mro__ if one not in Column.__mro__)
        return self.cached and not self.names_files and not self.of and not costs

    @property
    def between_words(self) -> Array | None:
        """What each space adds to an encoding that is made of those of the words; None: values are encoded whole."""
        return None

    @property
    def most_numbers(self) -> int | None:
        """The most numbers of an encoding that is made of those of the words."""
        return None

    @property
    def learns_counts(self) -> bool:
        """Whether `learn_counts` can take the place of `learn`."""
        return False

    @property
    def learns_from(self) -> Any:
        """All that it learns from besides values, as JSON, so that what was learned is not learned again; None if that
        is not known."""
        return None

    def learn_counts(self, counts: Iterable[tuple[str, int]]) -> None:  # noqa: B027  most columns need each value
        """Fit it to values, or to their words and the spaces between them, each with how often it occurs."""

    def cost(self, encoded: Array) -> int:
        """The cost of a row; the cost of a batch is the number of rows × the highest cost."""
        return int(np.size(encoded))

    @declared("has_remark")
    def remark(self, rows: Iterable[tuple[str, Array]]) -> str | None:
        """A remark about the texts and encodings of a split; most columns have none."""
        return None

    @abstractmethod
    @required("for every batch")
    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Collated:
        """The encodings as one batch; `beside` holds the collated columns this one is `of`."""

    def collate_texts(self, encoded: Ragged, texts: Sequence[str]) -> Collated:
        """Like `collate`, for a column that `reads_texts`."""
        return self.collate(encoded)

    @abstractmethod
    @required("when a model is saved")
    def options(self) -> dict[str, Any]:
        """The arguments of the constructor besides the name, as JSON."""

    @optional("when a model is saved")
    def learned(self) -> dict[str, Any]:
        """The fitted state, as JSON."""
        return {}

    @optional("when a model is loaded")
    def relearn(self, learned: Mapping[str, Any]) -> None:
        """The inverse of `learned`; does nothing if the column has no fitted state."""
        return

    @optional("to count parameters before the data are read")  # noqa: B027  a column without units has nothing to do
    def pretend(self, size: int) -> None:
        """Simulate fitting to `size` units (pieces, classes), to count parameters before the data are read."""

    @declared("has_units")
    def units(self) -> dict[str, Sequence[Hashable]]:
        """The fitted units that number rows of weights, by their kind ("words"), in the order of their numbers. A model
        that starts from another takes its rows by these names."""
        return {}

    def grow(self, kind: str) -> None:
        """Add one unit of this kind, at the end, and rebind what changes: the column may be a shallow copy. The axes of
        the weights that grow with it have a row for each unit."""
        raise NotImplementedError(
            f"{type(self).__name__}.grow must add a unit, because units() names {kind!r}"
        )

    @property
    def inherits(self) -> bool:
        """Whether a model that starts from another takes the fitted state of this column as it is: a state without
        units, such as a mean, means nothing to weights that were trained with another."""
        return not self.has_units

    def inherit(self, other: Column) -> None:
        """Take the fitted state of the same column of another model."""
        self.relearn(other.learned())

    def inner_sizes(self) -> dict[str, int]:
        """{name: number} of other things that are counted in the data besides `size`: characters of words."""
        return {}

    def pretend_inner(self, name: str, size: int) -> None:  # noqa: B027  most columns have no inner sizes
        """Simulate fitting to `size` of the things that `inner_sizes` names."""

    def state(self) -> dict[str, Any]:
        """Everything needed to restore this column, as JSON; `column_from_state` is the inverse."""
        return {"type": self.type, "name": self.name, "options": self.options(), "learned": self.learned()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Column:
        column = cls(state["name"], **state["options"])
        column.relearn(state["learned"])
        return column
