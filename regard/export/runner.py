"""Run an exported model: numpy and onnxruntime, without torch and without regard.

    python run.py "a text"                  one answer
    python run.py -f texts.txt --json       a file, one input a line; scores and attention as JSON

    from run import Exported
    model = Exported("folder")
    model.predict(["a text", "another"])[0].text

Texts of subwords need sentencepiece too, images Pillow. This file was written by regard, with the model beside it.
"""

from __future__ import annotations

import argparse
import base64
import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray
PAD, UNKNOWN, BEGIN, END = 0, 1, 2, 3
SHARE = 0.25
"""Share of the unfinished rows that must have ended before they leave the batch together."""


@dataclass(frozen=True)
class ExportedAnswer:
    """The answer to one input.

    score          log-probability
    alternatives   (text, log-probability) of the `n_best` answers, the best first
    probabilities  of each class
    tokens         the pieces of the answer, with the end; `token_scores`: their log-probabilities
    attention      {input: (tokens, positions)}; `inputs`: {input: the names of its positions}
    """

    text: str
    score: float
    alternatives: Sequence[tuple[str, float]] = ()
    probabilities: Mapping[str, float] = field(default_factory=dict)
    tokens: Sequence[str] = ()
    token_scores: Sequence[float] = ()
    attention: Mapping[str, Array] = field(default_factory=dict)
    inputs: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"text": self.text, "score": self.score}
        if self.alternatives:
            found["alternatives"] = [{"text": text, "score": score} for text, score in self.alternatives]
        if self.probabilities:
            found["probabilities"] = dict(self.probabilities)
        if self.tokens:
            found |= {"tokens": list(self.tokens), "token_scores": [*map(float, self.token_scores)]}
        if self.attention:
            found["attention"] = {name: weights.tolist() for name, weights in self.attention.items()}
            found["inputs"] = {name: list(names) for name, names in self.inputs.items()}
        return found


# Texts.

JOINER, CAPITAL, UPPER, SPACE, ESCAPE = "￭", "⇧", "⇪", "▁", "␛"
SPELLING = {JOINER: "j", CAPITAL: "c", UPPER: "u", SPACE: "s", ESCAPE: "e", "\0": "0", "▅": "b"}
MEANING = {letter: mark for mark, letter in SPELLING.items()}
MARKS = re.compile("[" + "".join(SPELLING) + "]")
ESCAPED = re.compile(f"{ESCAPE}([{''.join(MEANING)}])")
LETTERS = r"[^\W\d_]"
WORD = re.compile(f"{LETTERS}+")
MARKED = re.compile(f"([{CAPITAL}{UPPER}])({LETTERS}*)")


def escape(text: str) -> str:
    return MARKS.sub(lambda match: ESCAPE + SPELLING[match[0]], text)


def unescape(text: str) -> str:
    return ESCAPED.sub(lambda match: MEANING[match[1]], text)


def capitalize(word: str) -> str:
    """Capitalize the first letter that has an upper case."""
    for place, letter in enumerate(word):
        if letter.upper() != letter:
            return word[:place] + letter.upper() + word[place + 1 :]
    return word


def mark_case(word: str) -> list[str]:
    """Lower case, preceded by a mark of the original case if it can be restored."""
    lower = word.lower()
    if lower == word:
        return [word]
    if capitalize(lower) == word:
        return [CAPITAL, lower]
    return [UPPER, lower] if lower.upper() == word else [word]


def restore_case(pieces: Iterable[str]) -> list[str]:
    words, mark = [], ""
    for piece in pieces:
        if piece in (CAPITAL, UPPER):
            mark = piece
            continue
        words.append(capitalize(piece) if mark == CAPITAL else piece.upper() if mark == UPPER else piece)
        mark = ""
    return words


def belongs_to_word(character: str) -> bool:
    combines = unicodedata.category(character)[0] == "M"
    return character.isalnum() or combines or character in "\u200c\u200d"


def separate(chunk: str) -> list[str]:
    """Words and single signs of a text without spaces; the signs carry the joiners."""
    if chunk.isalnum():
        return [chunk]
    pieces: list[str] = []
    for is_word, run in groupby(chunk, belongs_to_word):
        characters = list(run)
        pieces += ["".join(characters)] if is_word else map(escape, characters)
    for place in range(1, len(pieces)):
        if not belongs_to_word(pieces[place][0]):
            pieces[place] = JOINER + pieces[place]
        else:
            pieces[place - 1] += JOINER
    return pieces


class TextRecipe:
    """A text column: normalizes, cuts, numbers and joins texts as its recipe says."""

    def __init__(self, name: str, recipe: Mapping[str, Any]) -> None:
        self.name, self.unit, self.marked = name, recipe["unit"], recipe["case"] == "marked"
        self.recipe, self.special = recipe, list(recipe["special"])
        self.processor: Any = None
        if self.unit == "subword":
            import sentencepiece

            self.processor = sentencepiece.SentencePieceProcessor(
                model_proto=base64.b64decode(recipe["model"])
            )
            count = len(self.processor)
            pieces = [self.processor.id_to_piece(number) for number in range(len(self.special), count)]
        elif self.unit == "byte":
            pieces = [f"{byte:02x}" for byte in range(256)]
        else:
            pieces = list(recipe["pieces"])
        self.vocabulary = [*self.special, *pieces]
        self.numbers = {piece: number for number, piece in enumerate(pieces, len(self.special))}
        self.unknown = "<unk>" if self.unit in ("word", "subword") else "\ufffd"

    def pieces(self, text: str) -> list[str]:
        return getattr(self, f"_cut_{self.unit}")(self._composed(text))  # type: ignore[no-any-return]

    def ids(self, text: str) -> list[int]:
        found = [self.numbers.get(piece, UNKNOWN) for piece in self.pieces(text)]
        most = self.recipe["max_length"]
        if not found or (most is not None and len(found) > most):
            problem = "is empty" if not found else f"has {len(found)} tokens, more than {most}"
            raise ValueError(f"{self.name} {problem}: {text[:40]!r}")
        return found * int(self.recipe["repeat"])

    def arrays(self, values: Sequence[str]) -> dict[str, Array]:
        rows = [self.ids(text) for text in values]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        ids = np.full((len(rows), lengths.max()), PAD, dtype=np.int64)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
        return {"ids": ids, "lengths": lengths}

    def positions(self, text: str) -> list[str]:
        return [self.shown(piece) for piece in self.pieces(text)] * int(self.recipe["repeat"])

    def spelled(self, ids: Sequence[int]) -> list[str]:
        """The pieces of an output, without special ones."""
        kept = (number for number in ids if number not in (PAD, BEGIN, END))
        return [self.unknown if number == UNKNOWN else self.vocabulary[number] for number in kept]

    def readable(self, ids: Sequence[int]) -> list[str]:
        return [
            self.special[number] if number < len(self.special) else self.shown(self.vocabulary[number])
            for number in ids
        ]

    def shown(self, piece: str) -> str:
        if self.unit == "char":
            return {" ": "␣", "\n": "⏎"}.get(piece, piece)
        if self.unit == "byte" and len(piece) == 2 and 0x21 <= int(piece, 16) <= 0x7E:
            return chr(int(piece, 16))
        return piece

    def join(self, pieces: Sequence[str]) -> str:
        return getattr(self, f"_join_{self.unit}")(pieces)  # type: ignore[no-any-return]

    def _composed(self, text: str) -> str:
        form = self.recipe["normalize"]
        if self.recipe["spaces"] == "drop":
            text = "".join(text.split())
        if form is not None:
            text = unicodedata.normalize(form, text)
        if self.recipe["case"] == "lower":
            text = text.lower()
            text = text if form is None else unicodedata.normalize(form, text)
        return text

    def _cut_word(self, text: str) -> list[str]:
        if self.recipe["split"] == "punctuation":
            pieces = [piece for chunk in text.split() for piece in separate(chunk)]
        elif self.marked:
            pieces = escape(text).split()
        else:
            return text.split()
        return [part for piece in pieces for part in mark_case(piece)] if self.marked else pieces

    def _cut_char(self, text: str) -> list[str]:
        if not self.marked:
            return list(text)
        return [part for character in text for part in mark_case(escape(character))]

    def _cut_byte(self, text: str) -> list[str]:
        return [f"{byte:02x}" for byte in text.encode("utf-8")]

    def _cut_subword(self, text: str) -> list[str]:
        text = escape(" ".join(text.split()))
        if self.marked:
            text = WORD.sub(lambda match: "".join(mark_case(match[0])), text)
        return list(self.processor.encode(text, out_type=str))

    def _join_word(self, pieces: Sequence[str]) -> str:
        if self.marked:
            pieces = restore_case(pieces)
        if self.recipe["split"] != "punctuation":
            text = " ".join(pieces)
            return unescape(text) if self.marked else text
        text, open_end = "", True
        for piece in pieces:
            text += ("" if open_end or piece.startswith(JOINER) else " ") + piece.strip(JOINER)
            open_end = piece.endswith(JOINER)
        return unescape(text)

    def _join_char(self, pieces: Sequence[str]) -> str:
        return "".join(map(unescape, restore_case(pieces))) if self.marked else "".join(pieces)

    def _join_byte(self, pieces: Sequence[str]) -> str:
        known = bytes(int(piece, 16) for piece in pieces if len(piece) == 2)
        return known.decode("utf-8", errors="replace")

    def _join_subword(self, pieces: Sequence[str]) -> str:
        text = "".join(pieces).replace(SPACE, " ").removeprefix(" ")
        if self.marked:
            text = MARKED.sub(lambda match: "".join(restore_case([match[1], match[2]])), text)
        return unescape(text)


# Images.


class ImageRecipe:
    """An image column: a path, or an array (H, W, C) of uint8 of the canvas's size."""

    def __init__(self, name: str, recipe: Mapping[str, Any]) -> None:
        self.name, self.recipe = name, recipe

    def arrays(self, values: Sequence[Any]) -> dict[str, Array]:
        pixels = np.stack([self._pixels(value) for value in values])
        return {"pixels": np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))}

    def positions(self, value: Any) -> list[str]:
        return []

    def _pixels(self, value: Any) -> Array:
        shape = (*self.recipe["canvas"], self.recipe["channels"])
        if isinstance(value, np.ndarray):
            if value.shape != shape or value.dtype != np.uint8:
                raise ValueError(f"{self.name} is {value.dtype} {value.shape}, expected uint8 {shape}")
            return value
        from PIL import Image, ImageOps

        picture: Any = ImageOps.exif_transpose(Image.open(value))
        if picture.mode.startswith("I"):
            wide = np.asarray(picture).astype(np.int64)
            picture = Image.fromarray(((wide * 255 + 32767) // 65535).astype(np.uint8))
        if picture.has_transparency_data:
            gray = picture.mode in ("L", "LA", "La")
            over = Image.new("RGBA", picture.size, (255,) * 4)
            over.alpha_composite(picture.convert("RGBA"))
            picture = over.convert("L" if gray else "RGB")
        mode = "RGB" if self.recipe["color"] == "rgb" else "L"
        return self._laid(
            picture if picture.mode == mode else picture.convert(mode), Image.Resampling.BILINEAR
        )

    def _laid(self, picture: Any, way: Any) -> Array:
        """The image on the canvas: cropped, stretched, or with white around it."""
        (height, width), fit = self.recipe["canvas"], self.recipe["fit"]
        wide, high = picture.size
        box = (0.0, 0.0, float(wide), float(high))
        if fit in ("pad", "keep"):
            scale = min(width / wide, height / high, 1.0 if fit == "keep" else np.inf)
            inner = max(1, round(wide * scale)), max(1, round(high * scale))
            part = picture if picture.size == inner else picture.resize(inner, way, box=box)
            pixels = np.full((height, width, len(picture.getbands())), 255, dtype=np.uint8)
            y, x = (height - inner[1]) // 2, (width - inner[0]) // 2 if fit == "pad" else 0
            pixels[y : y + inner[1], x : x + inner[0]] = np.asarray(part).reshape(inner[1], inner[0], -1)
            return pixels
        if fit == "crop":
            ratio = width / height
            inside = min(wide, high * ratio), min(high, wide / ratio)
            left, top = (wide - inside[0]) / 2, (high - inside[1]) / 2
            box = (left, top, left + inside[0], top + inside[1])
        if picture.size != (width, height) or box != (0, 0, width, height):
            picture = picture.resize((width, height), way, box=box)
        return np.asarray(picture).reshape(height, width, -1)


COLUMNS: dict[str, Any] = {"tokens": TextRecipe, "pixels": ImageRecipe}


# Searches.


@dataclass(frozen=True)
class OneHypothesis:
    """One hypothesis: its ids with END, their log-probabilities, and where each of them looked."""

    ids: Sequence[int]
    scores: Array
    looks: Mapping[str, Array]
    total: float


def log_sums(logits: Array) -> Array:
    """log Σ exp over the last axis."""
    most = logits.max(-1, keepdims=True)
    most = np.where(np.isfinite(most), most, 0)
    with np.errstate(divide="ignore"):
        found: Array = np.log(np.exp(logits - most).sum(-1)) + most[..., 0]
    return found


def highest(scores: Array, count: int) -> tuple[Array, Array]:
    """The `count` highest numbers of the last axis, the highest first and the first of equals first; their places."""
    if count < scores.shape[-1]:
        places = np.sort(np.argpartition(-scores, count - 1, axis=-1)[..., :count], -1)
    else:
        places = np.broadcast_to(np.arange(scores.shape[-1]), scores.shape)
    values = np.take_along_axis(scores, places, -1)
    order = np.argsort(-values, axis=-1, kind="stable")
    return np.take_along_axis(values, order, -1), np.take_along_axis(places, order, -1)


class Steps:
    """The steps of a decoder for some sources: what they share, and the state of their hypotheses."""

    def __init__(
        self, model: Exported, shared: dict[str, Array], state: dict[str, Array], last: Array
    ) -> None:
        self.model, self.shared, self.state, self.last = model, shared, state, last
        self.rows, self.position = np.arange(len(last)), 0

    def step(self, tokens: Array) -> tuple[Array, dict[str, Array]]:
        """Logits (B, K, V), −inf for tokens that are never allowed or not now, their normalizers are apart."""
        description = self.model.description
        given = {"tokens": tokens, **self.shared, **self.state}
        if description["timed"]:
            given["position"] = np.array(self.position, dtype=np.int64)
        found = self.model.run("step", given)
        self.state = {name: found[f"next.{name}"] for name in description["state"]}
        self.allowed = found.get("allowed")
        self.position += 1
        return found["logits"], {name: found[f"attention.{name}"] for name in description["looks"]}

    def limit(self, logits: Array, step: int) -> None:
        """Set the tokens that are not allowed at a step to −inf."""
        description, search = self.model.description, self.model.search
        end = description["end"]
        if self.allowed is not None:
            logits[~self.allowed] = -np.inf
        for token in description["forbidden"]:
            if 0 <= token < logits.shape[-1]:
                logits[..., token] = -np.inf
        if step < search["min_length"]:
            logits[..., end] = -np.inf
        ended = self.last <= step
        if ended.any():
            kept = logits[ended, :, end].copy()
            logits[ended] = -np.inf
            logits[ended, :, end] = kept

    def reorder(self, parents: Array) -> None:
        rows = np.arange(len(parents))[:, None]
        self.state = {name: part[rows, parents] for name, part in self.state.items()}

    def select(self, kept: Array) -> None:
        self.shared = {name: part[kept] for name, part in self.shared.items()}
        self.state = {name: part[kept] for name, part in self.state.items()}
        self.last, self.rows = self.last[kept], self.rows[kept]

    def all(self, found: Array) -> Array:
        """(B', …) of the unfinished sources → (B, …) of all."""
        whole = np.zeros((self.model.batch, *found.shape[1:]), found.dtype)
        whole[self.rows] = found
        return whole


def check_finite(normalizers: Array, alive: Array) -> None:
    if not np.all(normalizers[alive] < np.inf):
        raise ValueError("the model's scores are not finite: its files may be damaged.")


def greedy(steps: Steps) -> list[list[OneHypothesis]]:
    """The most probable token at every step."""
    description, count = steps.model.description, len(steps.last)
    words = np.full((count, 1), description["begin"], dtype=np.int64)
    ids: list[list[int]] = [[] for _ in range(count)]
    scores: list[list[float]] = [[] for _ in range(count)]
    looks: list[dict[str, list[Array]]] = [{name: [] for name in description["looks"]} for _ in range(count)]
    done = np.zeros(count, dtype=bool)
    for step in range(int(steps.last.max()) + 1):
        logits, seen = steps.step(words)
        normalizers = log_sums(logits)
        check_finite(normalizers[:, 0], ~done)
        steps.limit(logits, step)
        words = logits.argmax(-1)
        gained = np.take_along_axis(logits, words[..., None], -1)[..., 0] - normalizers
        for place in np.flatnonzero(~done):
            row = steps.rows[place]
            ids[row].append(int(words[place, 0]))
            scores[row].append(gained[place, 0])
            for name, weights in seen.items():
                looks[row][name].append(weights[place, 0])
        done = done | (words[:, 0] == description["end"])
        if done.all():
            break
        if done.sum() >= max(1, SHARE * len(done)):
            kept = np.flatnonzero(~done)
            steps.select(kept)
            words, done = words[kept], done[kept]
    return [
        [
            OneHypothesis(
                ids[row],
                np.array(scores[row], dtype=np.float32),
                {name: np.stack(parts) for name, parts in looks[row].items()},
                float(np.sum(np.array(scores[row], dtype=np.float32), dtype=np.float32)),
            )
        ]
        for row in range(count)
    ]


class BeamSearch:
    """The `size` best prefixes of each source; see `Beam` of regard, whose steps these are."""

    def __init__(self, search: Mapping[str, Any]) -> None:
        self.size, self.best = int(search["beam"]), int(search["n_best"])
        self.length_penalty = float(search["length_penalty"])

    def penalty(self, step: int) -> float:
        return float(((6 + step) / 6) ** self.length_penalty)

    def __call__(self, steps: Steps) -> list[list[OneHypothesis]]:
        end, count, size = steps.model.description["end"], len(steps.last), self.size
        words: Array = np.full((count, 1), steps.model.description["begin"], dtype=np.int64)
        live: Array = np.zeros((count, 1), dtype=np.float32)
        done: Array = np.zeros(count, dtype=bool)
        nothing = np.full((count, size), -np.inf, dtype=np.float32)
        zeros = np.zeros((count, size), dtype=np.int64)
        final: list[Array] = [nothing.copy(), nothing.copy(), zeros.copy(), zeros.copy()]
        finished: list[Array] = [nothing, nothing, zeros, zeros]  # normalized, totals, steps, slots
        kept: list[tuple[Array, Array, Array, dict[str, Array]]] = []
        for step in range(int(steps.last.max()) + 1):
            logits, seen = steps.step(words)
            normalizers = log_sums(logits)
            check_finite(normalizers, (live > -np.inf) & ~done[:, None])
            steps.limit(logits, step)
            best, words = highest(logits, min(2 * size, logits.shape[-1]))
            dead = ~np.isfinite(normalizers)
            gained = np.where(dead, -np.inf, live - np.where(dead, 0, normalizers)).astype(np.float32)
            best = np.where(dead[..., None], -np.inf, best)
            totals = (best + gained[..., None]).astype(np.float32).reshape(len(best), -1)
            scores, order = highest(totals, min(2 * size, totals.shape[1]))
            parents, words = (
                order // best.shape[2],
                np.take_along_axis(words.reshape(len(words), -1), order, 1),
            )
            if (lacking := 2 * size - scores.shape[1]) > 0:
                scores = np.pad(scores, ((0, 0), (0, lacking)), constant_values=-np.inf)
                parents, words = (np.pad(part, ((0, 0), (0, lacking))) for part in (parents, words))
            ends = (words == end) & ~done[:, None]
            finished = self._finish(finished, scores, parents, ends, step)
            live, places = highest(np.where(words == end, np.float32(-np.inf), scores), size)
            parents, words = (np.take_along_axis(part, places, 1) for part in (parents, words))
            hopeless = live[:, 0] / np.float32(self.penalty(step)) <= finished[0][:, self.best - 1]
            full = finished[0][:, -1] > -np.inf
            done = done | (full & hopeless) | (live[:, 0] == -np.inf) | (steps.last <= step)
            looks = {name: steps.all(look) for name, look in seen.items()}
            kept.append((steps.all(words), steps.all(parents), steps.all(live), looks))
            for whole, part in zip(final, finished, strict=True):
                whole[steps.rows] = part
            if done.all():
                break
            if done.sum() >= max(1, SHARE * len(done)):
                still = np.flatnonzero(~done)
                steps.select(still)
                finished = [part[still] for part in finished]
                words, parents, live, done = (part[still] for part in (words, parents, live, done))
            steps.reorder(parents)
        return [self._followed(row, final, kept, end) for row in range(count)]

    def _finish(
        self, finished: list[Array], scores: Array, parents: Array, ends: Array, step: int
    ) -> list[Array]:
        """Add the candidates among the first that end; the older first among equals."""
        size = self.size
        totals = np.where(ends[:, :size], scores[:, :size], np.float32(-np.inf))
        slots = parents[:, :size]
        new = [totals / np.float32(self.penalty(step)), totals, np.full_like(slots, step), slots]
        every = [np.concatenate([old, now], 1) for old, now in zip(finished, new, strict=True)]
        order = np.argsort(-every[0], axis=1, kind="stable")[:, :size]
        return [np.take_along_axis(part, order, 1) for part in every]

    def _followed(self, row: int, finished: list[Array], kept: list[Any], end: int) -> list[OneHypothesis]:
        """The best hypotheses of a source, from their ends back to their begins."""
        found = []
        for rank in range(self.best):
            total = finished[1][row, rank]
            if total == -np.inf:
                continue
            last, slot = int(finished[2][row, rank]), int(finished[3][row, rank])
            ids, along, places = [end], [total], [slot]
            for step in reversed(range(last)):
                words, parents, totals, _ = kept[step]
                ids.append(int(words[row, slot]))
                along.append(totals[row, slot])
                slot = int(parents[row, slot])
                places.append(slot)
            reached = np.array([0, *along[::-1]], dtype=np.float32)
            looks = {
                name: np.stack([kept[step][3][name][row, place] for step, place in enumerate(places[::-1])])
                for name in kept[0][3]
            }
            found.append(OneHypothesis(ids[::-1], np.diff(reached), looks, float(total)))
        if not found:
            raise ValueError("no output is possible within the limits of the length.")
        return found


# The model.


class Exported:
    """The model in a folder that `regard export` wrote.

    threads   number of threads of onnxruntime; None: as many as it chooses
    search    changes of the search: method, beam, length_penalty, n_best, min_length, max_length, replace_unknown
    """

    def __init__(
        self, folder: str | Path | None = None, *, threads: int | None = None, **search: Any
    ) -> None:
        self.folder = Path(__file__).parent if folder is None else Path(folder)
        self.description = json.loads((self.folder / "model.json").read_text(encoding="utf-8"))
        self.threads, self.batch = threads, 0
        self.search = {"beam": 5, "length_penalty": 1.0, **self.description["search"]}
        if unknown := [name for name in search if name not in self.search]:
            raise ValueError(f"there is no option {unknown[0]!r}. The options are {', '.join(self.search)}.")
        self.search |= search
        if self.search["method"] == "beam" and not 1 <= self.search["n_best"] <= self.search["beam"]:
            raise ValueError("n_best must be at least 1 and at most beam.")
        self.columns = {
            name: COLUMNS[recipe["form"]](name, recipe) for name, recipe in self.description["inputs"].items()
        }
        recipe = self.description["output"]
        self.writes = TextRecipe(recipe["name"], recipe) if recipe["form"] == "tokens" else None

    @cached_property
    def sessions(self) -> dict[str, Any]:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        if self.threads is not None:
            options.intra_op_num_threads = self.threads
        return {
            name: onnxruntime.InferenceSession(str(self.folder / graph["file"]), options)
            for name, graph in self.description["graphs"].items()
        }

    def run(self, name: str, given: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of one of the graphs, by name."""
        outputs = self.description["graphs"][name]["outputs"]
        wanted = self.description["graphs"][name]["inputs"]
        found = self.sessions[name].run(outputs, {one: given[one] for one in wanted})
        return dict(zip(outputs, found, strict=True))

    def predict(self, inputs: Any, *, batch_rows: int = 64) -> Any:
        """The answers to several inputs, in their order; one answer if one text or mapping is given."""
        if isinstance(inputs, str | Mapping | np.ndarray):
            return self.predict([inputs])[0]
        rows = [self._row(value) for value in inputs]
        answers: list[ExportedAnswer] = []
        for begin in range(0, len(rows), batch_rows):
            answers += self._answers(rows[begin : begin + batch_rows])
        return answers

    def _row(self, value: Any) -> dict[str, Any]:
        row = dict(value) if isinstance(value, Mapping) else {next(iter(self.columns)): value}
        if missing := [name for name in self.columns if name not in row]:
            raise ValueError(f"the input lacks {missing[0]!r}; expected {', '.join(self.columns)}.")
        return row

    def _answers(self, rows: Sequence[Mapping[str, Any]]) -> list[ExportedAnswer]:
        given = {
            f"{name}.{part}": array
            for name, column in self.columns.items()
            for part, array in column.arrays([row[name] for row in rows]).items()
        }
        if "model" in self.description["graphs"]:
            return self._at_once(self.run("model", given), rows, given)
        begun = self.run("encoder", given)
        lengths = {name.partition(".")[2]: begun[name] for name in begun if name.startswith("length.")}
        longest = np.max(list(lengths.values()), 0)
        limits, maximum = self.description["longest"], self.search["max_length"]
        last = (
            limits["factor"] * longest + limits["plus"] if maximum is None else np.full_like(longest, maximum)
        )
        last = np.maximum(last, self.search["min_length"])
        shared = {name: begun[name] for name in self.description["shared"]}
        state = {name: begun[name] for name in self.description["state"]}
        self.batch = len(rows)
        steps = Steps(self, shared, state, last)
        found = BeamSearch(self.search)(steps) if self.search["method"] == "beam" else greedy(steps)
        return [
            self._answer(several, row, {name: int(part[place]) for name, part in lengths.items()})
            for place, (several, row) in enumerate(zip(found, rows, strict=True))
        ]

    def _positions(self, row: Mapping[str, Any], lengths: Mapping[str, int]) -> dict[str, list[str]]:
        """The names of the positions of each memory."""
        found = {}
        for name, length in lengths.items():
            names = self.columns[name].positions(row[name])
            if grid := self.description["grids"].get(name):
                names = [f"{down},{across}" for down in range(grid[0]) for across in range(grid[1])]
            found[name] = names if len(names) == length else [str(place) for place in range(length)]
        return found

    def _answer(
        self, several: Sequence[OneHypothesis], row: Mapping[str, Any], lengths: Mapping[str, int]
    ) -> ExportedAnswer:
        column, positions = self.writes, self._positions(row, lengths)
        assert column is not None
        texts = []
        for one in several:
            pieces = column.spelled(one.ids)
            if self.search["replace_unknown"] and one.looks:
                name, looks = next(iter(one.looks.items()))
                source = self.columns[name].pieces(row[name])
                numbers = [number for number in one.ids if number not in (PAD, BEGIN, END)]
                pieces = [
                    source[int(looks[step, : len(source)].argmax())] if numbers[step] == UNKNOWN else piece
                    for step, piece in enumerate(pieces)
                ]
            texts.append((column.join(pieces), one.total))
        best = several[0]
        return ExportedAnswer(
            *texts[0],
            alternatives=texts if len(texts) > 1 else (),
            tokens=[*column.readable(best.ids[:-1]), column.special[END]],
            token_scores=best.scores.tolist(),
            attention={name: looks[:, : lengths[name]] for name, looks in best.looks.items()},
            inputs={name: positions[name] for name in best.looks},
        )

    def _at_once(
        self, found: Mapping[str, Array], rows: Sequence[Mapping[str, Any]], given: Mapping[str, Array]
    ) -> list[ExportedAnswer]:
        """A label, several labels, or tags of the positions of an input."""
        recipe, logs, answers = self.description["output"], found["log_probabilities"], []
        classes = recipe["classes"]
        looks = {name.partition(".")[2]: found[name] for name in found if name.startswith("attention.")}
        for place, row in enumerate(rows):
            best = logs[place].argmax(-1)
            if recipe["form"] == "classes":
                length = int(given[f"{recipe['of']}.lengths"][place])
                tags, scores = [classes[number] for number in best[:length]], logs[place].max(-1)[:length]
                total = float(scores.sum(dtype=np.float32))
                answers.append(
                    ExportedAnswer(" ".join(tags), total, tokens=tags, token_scores=scores.tolist())
                )
                continue
            if recipe["form"] == "set":
                chosen, yes = found["chosen"][place].astype(bool), logs[place][:, 1]
                text = recipe["separator"].join(
                    one for one, given_it in zip(classes, chosen, strict=True) if given_it
                )
                score, likely = float(np.where(chosen, yes, logs[place][:, 0]).sum()), np.exp(yes).tolist()
            else:
                text, score, likely = (
                    classes[int(best)],
                    float(logs[place].max()),
                    np.exp(logs[place]).tolist(),
                )
            lengths = {
                name: int(given.get(f"{name}.lengths", np.full(len(rows), part.shape[-1]))[place])
                for name, part in looks.items()
            }
            answers.append(
                ExportedAnswer(
                    text,
                    score,
                    probabilities=dict(zip(classes, likely, strict=True)),
                    attention={name: part[place][..., : lengths[name]] for name, part in looks.items()},
                    inputs=self._positions(row, lengths),
                )
            )
        return answers


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Answer with an exported model.")
    parser.add_argument("input", nargs="*", help="one or more inputs; - reads lines from standard input")
    parser.add_argument("-f", "--file", metavar="FILE", help="one input a line")
    parser.add_argument("--json", action="store_true", help="scores, tokens and attention, one object a line")
    parser.add_argument("--beam", type=int, metavar="N", help="beam search of this size; 1 is greedy")
    parser.add_argument("--n-best", type=int, metavar="N", help="number of answers")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of onnxruntime")
    options = parser.parse_args(arguments)
    search: dict[str, Any] = {}
    if options.beam is not None:
        search |= {"method": "greedy"} if options.beam == 1 else {"method": "beam", "beam": options.beam}
    if options.n_best is not None:
        search["n_best"] = options.n_best
    try:
        inputs = [_read(text) for text in options.input if text != "-"]
        if options.file is not None:
            inputs += [_read(line) for line in Path(options.file).read_text(encoding="utf-8").splitlines()]
        if "-" in options.input:
            inputs += [_read(line) for line in sys.stdin.read().splitlines()]
        if not inputs:
            parser.error("give an input, or -f FILE")
        for answer in Exported(threads=options.threads, **search).predict(inputs):
            if options.json:
                print(json.dumps(answer.as_json(), ensure_ascii=False))
            else:
                print("\n".join(text for text, _ in answer.alternatives) or answer.text)
    except (OSError, ValueError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _read(text: str) -> Any:
    """A text, or several inputs by name as JSON: {"premise": "…", "hypothesis": "…"}."""
    if text.startswith("{"):
        try:
            found = json.loads(text)
        except ValueError:
            return text
        return found if isinstance(found, dict) else text
    return text


if __name__ == "__main__":
    sys.exit(main())
