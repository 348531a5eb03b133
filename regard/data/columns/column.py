"""A column: one typed field of the data, with its own way in (encode), out (decode) and side by side (collate)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import DTypeLike
from torch import Tensor

from regard import parts
from regard.data.batch import Evidence, Forest, Sentences, Span, Tokens, Trees
from regard.data.listed import LISTED
from regard.data.perceived import Films, Pictures, Places, Series
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import Mistakes, Plan, Settings
from regard.trace import Seen

Collated = Tensor | Tokens | Span | Sentences | Trees | Forest | Pictures | Films | Series | Places | Evidence


class RegisteredName:
    """The name a class is registered under, read as `cls.type`."""

    def __get__(self, column: Any, owner: type[Column]) -> str:
        return owner.Options.type


class Column(ABC):
    """The contract every kind of column keeps.

    name    its name in the spec and in a batch
    field   the field of the row it reads; the name, unless told otherwise
    of      the columns it is about: their encodings come first, and `check_beside` compares with them
    """

    class Options(parts.Options):
        """A typed field of the data."""

        field: str | None = None
        """The field of the row to read; default: the column's own name."""

    type: ClassVar[str] = cast(str, RegisteredName())
    roles: ClassVar[tuple[str, ...]] = ()
    """Where in a spec it may stand: inputs, outputs, truth."""
    encoder: ClassVar[str | None] = None
    """The encoder that reads it where the spec names none; None for a column that is not read by itself."""
    decoder: ClassVar[str | None] = None
    """The decoder that writes it where the spec names none."""
    alone: ClassVar[bool] = False
    """Whether it is an output without inputs: a text that runs on."""
    perceived: ClassVar[bool] = False
    """Whether something in it can have a place: an image, a video, audio, a series."""
    cached: ClassVar[bool] = True
    """Whether encodings are made once and kept in the cache (text), or made anew for every batch (pictures)."""
    of_sentences: ClassVar[bool] = False
    """Whether its positions are sentences of words: a document, a story, a dialog."""
    layout: ClassVar[str] = ""
    """How the positions of an input lie, where a figure of it is of a kind of its own: "dialog"."""
    copyable: ClassVar[bool] = False
    """Whether it can give the pieces of a batch `verbatim`, so that a decoder may copy them."""
    scalar: ClassVar[bool] = False
    """Whether an encoding is a single number (shape ()) instead of a sequence (1-D)."""
    dtype: ClassVar[DTypeLike] = np.int32
    """Of the numbers of an encoding, as the cache stores them; not used where nothing is `cached`."""
    listed: ClassVar[bool] = False
    """Whether a value may be a list of texts (`regard.data.listed`)."""
    usual: ClassVar[tuple[str, ...]] = ()
    """Metrics of an output of this type where the spec names none; of truth, metrics of the output it is about."""

    def __init__(self, name: str, *, field: str | None = None, of: Sequence[str] = ()) -> None:
        self.name, self.field, self.of = name, field or name, tuple(of)

    @property
    def reads_texts(self) -> bool:
        """Whether a batch needs the texts beside the encodings: then `collate_texts` makes it."""
        return False

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        """The unfitted column a spec describes.

        asked   what its encoder or decoder asks of it beyond the options, as keywords
        """
        given: dict[str, Any] = {
            key: value.model_dump() if isinstance(value, Settings) else value
            for key, value in dict(options).items()
        }
        return cls(name, **given, **asked)

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        """`name: what it is`, as `regard describe` prints it."""
        return f"{name}: {cls.type}"

    @classmethod  # noqa: B027  most columns have nothing to refuse
    def check_options(cls, options: Any, name: str, plan: Plan, mistakes: Mistakes) -> None:
        """Report what cannot be about this column of a spec; most have nothing to refuse."""

    @classmethod
    def between(cls, options: Any, plan: Plan) -> tuple[str, str] | None:
        """The input and the output a truth column is about; None for columns that say nothing of attention."""
        return None

    @abstractmethod
    def learn(self, values: Iterable[str]) -> None:
        """Take from the values of the training data what encoding needs: a vocabulary, classes, a subword model."""

    def learn_own(self, values: Iterable[str]) -> None:  # noqa: B027  most columns have nothing to do
        """Take what is of its own values alone, before `learn`, which also sees those of columns that share its
        vocabulary."""

    @property
    def learns_beside(self) -> str | None:
        """The column whose values `learn_beside` sees; None for a column that needs none."""
        return None

    def learn_beside(self, pairs: Iterable[tuple[str, str]]) -> None:  # noqa: B027  most columns have nothing to do
        """Take, before `learn`, what its values and those of the column `learns_beside` names say together."""

    def check(self, value: str | None) -> str | None:
        """Why this value cannot be used, to be read after the field's name ("is empty"); None when it can."""
        reason = self.check_value(value)
        if reason or value is None:
            return reason
        return self.check_encoded(self.encode(value))

    def check_value(self, value: str | None) -> str | None:
        """The part of `check` that needs no encoding."""
        if value is None:
            return "is missing"
        if not self.listed and LISTED in value:
            return "has a list, expected text"
        return None if value.strip() else "is empty"

    def unseen(self, value: str) -> list[str]:
        """The classes in a value that training did not have: to be measured as errors, not to be learned from."""
        return []

    def check_encoded(self, encoded: Array) -> str | None:
        """The part of `check` that looks at the encoding, so that nothing is encoded twice."""
        return None

    def check_beside(self, encoded: Array, beside: Mapping[str, Array]) -> str | None:
        """Why the encoding does not fit those of the columns it is `of`."""
        return None

    def written(self, value: Any) -> str:
        """The value as a row holds it, of whatever a Python program has at hand: a text here, or a number."""
        if isinstance(value, str | int) or (isinstance(value, float) and value == value):
            return str(value)
        raise RegardError(
            f"received {'nan' if isinstance(value, float) else f'a {type(value).__name__}'}, expected a text.",
            where=self.name,
        )

    def reference(self, value: str) -> Any:
        """The value of a row as metrics see it: what `Prediction.value` is where the prediction is right."""
        return value.strip()

    def located(self, value: str, file: str) -> str:
        """The value as it is kept: where it names a file, so that it is found whatever the working folder.

        file   that of the row; what is named relatively is looked for beside it first
        """
        return value

    @abstractmethod
    def encode(self, value: str) -> Array:
        """Numbers of the column's `dtype`: a sequence, or a scalar of shape (). What is not `cached`: any array."""

    @property
    def varies(self) -> bool:
        """Whether `varied` does anything else than `encode`."""
        return type(self).varied is not Column.varied

    def varied(self, value: str, generator: np.random.Generator) -> Array:
        """As `encode`, varied at random for training, where the column does such a thing."""
        return self.encode(value)

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Back to what a person reads."""

    @abstractmethod
    def tokens(self, value: str | Sequence[int]) -> list[str]:
        """The readable pieces of a text or of its ids: labels for the axes of a figure."""

    def readable(self, collated: Any) -> list[list[str]]:
        """The readable pieces of each row of a batch, one for each position that can be looked at."""
        rows = zip(collated.ids.tolist(), collated.lengths.tolist(), strict=True)
        return [self.tokens(ids[:length]) for ids, length in rows]

    def seen(self, collated: Any, row: int) -> Seen | None:
        """What a figure draws of one row of a batch, where the value is no text."""
        return None

    def cost(self, encoded: Array) -> int:
        """What a row costs in a batch; the cost of a batch is rows times the costliest of them."""
        return int(np.size(encoded))

    def remark(self, rows: Iterable[tuple[str, Array]]) -> str | None:
        """Something a person should know about the texts and encodings of a split; most columns have nothing to say."""
        return None

    @abstractmethod
    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Collated:
        """Encodings side by side; `beside` holds the collated columns this one is `of`."""

    def collate_texts(self, encoded: Ragged, texts: Sequence[str]) -> Collated:
        """As `collate`, for a column that `reads_texts`."""
        return self.collate(encoded)

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """What the constructor was given besides the name, as JSON."""

    def learned(self) -> dict[str, Any]:
        """What `learn` left behind, as JSON."""
        return {}

    def relearn(self, learned: Mapping[str, Any]) -> None:
        """The inverse of `learned`; a column that learns nothing has nothing to do."""
        return

    def pretend(self, size: int) -> None:  # noqa: B027  a column without units has nothing to do
        """Be as if fitted to so many made-up units (pieces, classes), to count parameters before the data are seen."""

    def state(self) -> dict[str, Any]:
        """Everything needed to make this column again, as JSON; `column_from_state` is the inverse."""
        return {"type": self.type, "name": self.name, "options": self.options(), "learned": self.learned()}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Column:
        column = cls(state["name"], **state["options"])
        column.relearn(state["learned"])
        return column
