"""The lines of a board in the letters of a lecture."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from regard.course.notations.applications import Application
from regard.course.notations.letters import Letters
from regard.course.notations.levels import CELL, LevelLines, is_local, sentence_look
from regard.describe.six_answers import NOTE
from regard.spec import Spec

WEIGHT = re.compile(r"\b([WUbc])_([rznifgoh])(w?)([→←dxys]?)(?![\w→←])")
SYMBOL = re.compile(r"([→←]?[^\W\d_Σ][\u0300-\u036f]*)_(\{[^{}]*\}|[^\W_])(?![\w^])")
WHOLE = "⌂"
"""Stands for the summary of the input while a line is renamed."""
PLACED = {"h", "s", "c", "x", "y", "w", "m", "n", "ŝ"}
"""Letters of what has a value at each position or step."""


class Lettering:
    """The lines of one model in the letters of one lecture."""

    def __init__(self, spec: Spec, letters: Letters, application: Application) -> None:
        self.letters, self.application = letters, application
        self.encoder: Any = spec.encoder.get(application.source)
        self.decoder: Any = spec.decoder[application.target]
        self.image_first = next(iter(spec.encoder), None) == application.image
        self.bias = letters.language if application.kind == "language" else letters.bias
        self.levels = application.kind == "hierarchical"
        self.attends = self.levels and application.writes == "attention"

    # Names of modules and weights

    def module(self, word: str, mark: str) -> tuple[str, str, str]:
        """The name, level and cell of the recurrent network with this mark: enc, 1, gru."""
        if mark == "s":  # of a language model, which has one network
            return "", "", self.decoder.cell.type
        if mark == "y":
            return "dec", "", self.decoder.cell.type
        if self.levels:
            level = self.encoder.words if word else self.encoder.sentences
            return "enc", "1" if word else "2", level.cell.type
        return ("q" if self.application.kind == "question" else "enc"), "", self.encoder.cell.type

    def cell_weight(self, ours: str, gate: str, word: str, mark: str) -> str:
        """U_enc^o_→: of the input, in the reset gate, read forward."""
        name, level, cell = self.module(word, mark)
        letter = {"W": self.letters.input, "U": self.letters.state, "b": "b", "c": "d"}[ours]
        above = [one for one in (level, self.letters.gates[cell][gate]) if one]
        direction = f"_{mark}" if mark and mark in "→←d" else ""
        return f"{letter}{'_' if name else ''}{name}{raised(above)}{direction}"

    def cell(self, found: re.Match[str]) -> str:
        name, level, _ = self.module(found[2], found[3] or "")
        direction = f"_{found[3]}" if found[3] and found[3] in "→←d" else ""
        if level:
            return f"{found[1].upper()}^{level}{direction}"
        return found[1].upper() + (direction or (f"_{name}" if name else ""))

    # Lines

    def encoder_lines(self, lines: Sequence[str]) -> list[str]:
        """The lines of the encoders; those of convolutional networks are CNN(x)."""
        kind, at = self.application.kind, self.letters.position
        if kind == "language":
            return list(lines)
        if kind == "image":
            whole = (
                "" if self.application.writes == "attention" else f"{NOTE} {self._summary()}: the whole image"
            )
            looked = [f"{at} = 1 … S", f"{NOTE} {self.letters.value}_{at} = CNN(I) at each position"]
            return [*(looked if self.application.writes == "attention" else []), *([whole] if whole else [])]
        own = list(lines)
        if kind == "question":
            own = _block(lines, self.application.source)
            own = [line.replace("′", "") for line in own]
        if kind == "video":
            own = [*_range(own), *_from_states(own)]
        found = [line for one in own for line in self._encoder_line(one)]
        if kind == "question":
            read = ["h̃" if self.encoder.bidirectional else "h̃_T", "ĥ_I"]
            both = "; ".join(reversed(read) if self.image_first else read)
            return ["ĥ_I = CNN(I)", *found, f"s = [{both}]"]
        return found

    def _encoder_line(self, line: str) -> Iterator[str]:
        if self.levels:
            levels = LevelLines(self.attends, self.application.at_once, self.cell)
            yield from [self.line(line, "enc")] if is_local(line) else levels.encoder(line)
            return
        written = self.line(line, "enc")
        if self.application.kind == "question":
            if re.match(r"h = h_\w", line):
                return
            written = (
                re.sub(r"(?<=[→← (\[])h(?=[_ ])|^h(?=[_ ])", "h̃", written) if not is_local(line) else written
            )
            written = written.replace("e_enc(w_", "e_q(q_")
        if self.application.at_once and self.letters.condition and self.application.kind != "question":
            written = re.sub(r"^h = ", "s = ", written).replace(f"     {NOTE} the summary", "")
        yield written

    def decoder_lines(self, lines: Sequence[str]) -> list[str]:
        found: list[str] = []
        for line in lines:
            if self.attends:
                found += sentence_look(line, self.letters.bias)
                continue
            if self.application.kind == "language":
                found += self._language_line(line)
                continue
            if not is_local(line):
                line = re.sub(r"(?<![\w^_′])\[h; h′\]|(?<![\w^_′])\[h′; h\]", WHOLE, line)
                line = re.sub(r"(?<![\w→←_′])h(?![\w_′])", WHOLE, line)
            found.append(self.line(line, "dec").replace(WHOLE, self._summary()))
        return [self._probability(line) for line in found]

    def _language_line(self, line: str) -> Iterator[str]:
        """A line of a language model, whose slides give the input of a step a letter, and the word an index."""
        if is_local(line) or "E_y[y_{t−1}]" not in line:
            yield re.sub(r"^p\(y_t\) = (softmax\(.*\))$", r"p(y_t = j) = \1_j", self.line(line, "dec"))
            return
        yield f"x_t = e(y_{{t−1}})     {NOTE} the vector of the word before"
        yield self.line(line.replace("E_y[y_{t−1}]", "x_t"), "dec")

    def loss_lines(self, lines: Sequence[str]) -> list[str]:
        return [self._probability(self.line(line, "los")) for line in lines]

    def _summary(self) -> str:
        """What a decoder reads of the whole input."""
        if self.application.kind == "image":
            return "CNN(I)" if not self.letters.condition else "CNN(x)"
        if self.application.at_once and self.letters.condition:
            return "s"
        return self.letters.value

    def _probability(self, line: str) -> str:
        if not self.letters.condition:
            return line
        return re.sub(r"\bp\((y(?:_\w)?(?: = j)?)\)", rf"P(\1|{self.application.given})", line)

    def line(self, line: str, side: str) -> str:
        """A line with the lecture's names; notes stay. side: enc, dec or los."""
        said, dash, note = line.partition(NOTE)
        if not said.strip():
            return line
        local = is_local(line)
        said = WEIGHT.sub(lambda m: self.cell_weight(m[1], m[2], m[3], m[4]) if m[3] + m[4] else m[0], said)
        word = bool(re.match(r"(gru|lstm|rnn)_w", said))
        said = CELL.sub(self.cell, said)
        if local:
            return f"{self._inside(said, side, word)}{dash}{note}"
        return f"{self._outside(said)}{dash}{self._note(note)}"

    def _note(self, note: str) -> str:
        """A note that names symbols, in the letters of the lecture."""
        if re.search(r"[a-z]_[\w{]", note) is None:
            return note
        if self.letters.position != "j":
            note = _indexed(note, "j", self.letters.position)
        if self.letters.value != "h":
            note = re.sub(r"(?<=[→← ])h(?=_)", self.letters.value, note)
        return placed(note, self.letters)

    def _inside(self, said: str, side: str, word: bool) -> str:
        """The function of a cell, with the lecture's letters of its gates."""
        level = (
            self.encoder.words if self.levels and word else getattr(self.encoder, "sentences", self.encoder)
        )
        options = self.decoder if side == "dec" else level if self.levels else self.encoder
        cell = getattr(getattr(options, "cell", None), "type", "")
        if not cell:
            return said
        renamed = {**self.letters.inside[cell]}
        if side == "dec" and cell != "lstm":
            renamed |= self.letters.decoder
        if cell == "gru" and side == "enc" and self.letters.decoder:
            renamed["n"] = "h̃"
        return re.sub(
            r"(?<![\w^_{,])([a-z]′?)(?![\w(\u0300-\u036f_])", lambda m: renamed.get(m[1], m[1]), said
        )

    def _outside(self, said: str) -> str:
        letters = self.letters
        said = self._attention(said)
        said = re.sub(r"\b([Wb])_([sn])(?!\w)", lambda m: self._first(m[1], m[2]), said)
        said = re.sub(r"\b([Wb])_o(?!\w)", r"\1_out", said)
        said = said.replace("V_y", letters.output).replace("b_y", self.bias)
        said = re.sub(r"E_x\[([^\[\]]*)\]", r"e_enc(\1)", said)
        said = re.sub(r"E_y\[([^\[\]]*)\]", r"e_dec(\1)", said)
        if letters.value != "h":  # one pass: x and h exchange their letters
            exchange = {"x": letters.vector, "h": letters.value}
            said = re.sub(r"(?<![\w^′])([xh])(?=[_ ;\])]|$)", lambda m: exchange[m[1]], said)
        if self.application.at_once and not self.levels and letters.condition:
            said = _indexed(_indexed(said, "j", "t"), "S", "T")
            if self.application.kind == "video":
                said = said.replace("v_t", "CNN(x_t)")
        elif letters.position != "j":
            said = _indexed(said, "j", letters.position)
        if self.application.kind == "video":
            said = said.replace("v_j", "CNN(x_j)")
        if letters.step != "t":
            said = _indexed(said, "t", letters.step)
        return SYMBOL.sub(_above, said) if letters.above else said

    def _first(self, letter: str, which: str) -> str:
        """The weights of the initial state; for an LSTM, separate ones for state and memory."""
        carries = self.decoder.type == "recurrent" and self.decoder.cell.part.carries
        return f"{letter}_init^{which}" if carries else f"{letter}_init"

    def _attention(self, said: str) -> str:
        """Rename scores, weights and contexts of an attention."""
        letters = self.letters
        if said.startswith("α_t = softmax_j(e_tj)"):
            over = letters.position
            scored = letters.scored
            return f"{letters.weight} = exp({scored}) / Σ_{over} exp({scored})     "
        if "v_a·" in said:
            said = re.sub(r"v_a·|U_a\b|W_a\b", lambda m: letters.score.get(m[0], m[0]), said)
        else:
            said = re.sub(r"\bW_a\b", letters.general, said)
        chosen = letters.weight
        if "segments" in letters.selections and any(one.select.type == "segments" for one in self.looks()):
            chosen, said = "p_t(z_i = 1)", re.sub(r"\bb_a\b", "θ_a", said)
        said = said.replace("e_tj", letters.scored).replace("α_tj", chosen)
        return re.sub(r"\bc_t\b", f"{letters.context}_t", said)

    def looks(self) -> tuple[Any, ...]:
        return tuple(getattr(self.decoder, "attention", ()) or ())


def raised(above: Sequence[str]) -> str:
    """A superscript: ^o, ^{1,o}."""
    if not above:
        return ""
    return f"^{above[0]}" if len(above) == 1 else f"^{{{','.join(above)}}}"


def placed(symbol: str, letters: Letters) -> str:
    """A learned state, as the lecture writes its place: h^(0)."""
    return SYMBOL.sub(_above, symbol) if letters.above else symbol


def _above(found: re.Match[str]) -> str:
    """h_j → h^(j), for what has a value at each position or step."""
    if found[1].lstrip("→←") not in PLACED:
        return found[0]
    return f"{found[1]}^({found[2].strip('{}')})"


def _indexed(said: str, ours: str, theirs: str) -> str:
    """An index renamed, alone or among others in a subscript."""
    return re.sub(rf"(?<![A-Za-z]){ours}(?![A-Za-z(])|(?<=_){ours}|(?<=_t){ours}\b", theirs, said)


def _block(lines: Sequence[str], name: str) -> list[str]:
    """The lines below the heading of an input."""
    found, inside = [], False
    for line in lines:
        if line.startswith(NOTE) and " ".join(line.split()[1:]) == name:
            inside = True
        elif inside and line.startswith(f"{NOTE} ") and len(line.split()) == 2:
            break
        elif inside:
            found.append(line)
    return found


def _range(lines: Sequence[str]) -> list[str]:
    """The range of the frames of a video, without that of their positions."""
    both = ", d ∈ {→, ←}" if "→" in lines[0] else ""
    return [f"j = 1 … S{both}     {NOTE} the frames x_1 … x_S"]


def _from_states(lines: Sequence[str]) -> list[str]:
    """The lines from the first state on."""
    start = next(place for place, line in enumerate(lines) if re.match(r"→?h_j = ", line))
    return list(lines[start:])
