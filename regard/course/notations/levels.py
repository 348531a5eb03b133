"""The lines of two levels, words and sentences, as slides 47 and 49 of deck 004 have them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from regard.describe.six_answers import NOTE

FUNCTION = re.compile(r"(gru|lstm|rnn)_w?[→←dxys]?\(")
CELL = re.compile(r"\b(gru|lstm|rnn)_(w?)([→←d]|[xys](?!\w))?(?=\()")
"""The call of a recurrent cell: its kind, w for words, and its direction or side."""


def is_local(line: str) -> bool:
    """Whether a line belongs to the function of a cell."""
    return line.startswith("    ") or FUNCTION.match(line) is not None


@dataclass(frozen=True)
class LevelLines:
    """The lines of a hierarchical encoder.

    attends   whether both levels attend (slide 49), or hand on their last states (slide 47)
    at_once   whether the output is one class, so that s is free for the sentences
    cell      renames the call of a cell
    """

    attends: bool
    at_once: bool
    cell: Callable[[re.Match[str]], str]

    def encoder(self, line: str) -> Iterator[str]:
        """A line of the hierarchical encoder: sentences i, words j."""
        said, dash, note = line.partition(NOTE)
        one, two = ("", "") if self.attends else ("^1", "^2")
        sentence = "s" if self.at_once else "z"
        if said.startswith("j = 1 … S, m"):
            rest = said.partition("N_j")[2]
            yield f"i = 1 … K, j = 1 … T_i{rest}{NOTE} w_ij: word j of sentence i"
        elif not said.strip():
            if "q_w" not in note:
                yield line.replace("z_j", f"{sentence}_i")
        elif said.startswith("f_jm = "):
            yield f"b_w = B_w q_w     {NOTE} the bias, here a product of two factors that are learned"
            yield "u_ij = tanh(W_w h_ij + b_w)"
        elif said.startswith("β_j = "):
            yield "α_ij = exp(u_ijᵀ u_w) / Σ_j exp(u_ijᵀ u_w)"
        elif self.attends and re.match(r"h = ", said):
            return
        else:
            said = CELL.sub(self.cell, said)
            said = re.sub(r"E_x\[([^\[\]]*)\]", r"e_enc(\1)", said)
            said = re.sub(r"([→←]?)b_w([→←]?)(?!\w)", lambda m: f"{m[2]}h_0^1", said)
            said = said.replace("β_jm", "α_jm")
            said = re.sub(r"(?<![\w])h_(\{[^}]*\}|\w+)(?!\^)", lambda m: f"h_{m[1]}{two}", said)
            said = re.sub(r"([→←])h_(\{[^}]*\}|\w+)(?!\w|\^)", lambda m: f"{m[1]}h_{m[2]}{two}", said)
            said = re.sub(r"([→←]?)\bb_(\{[^}]*\}|j\w*)", lambda m: f"{m[1]}h_{m[2]}{one}", said)
            said = said.replace("z_j", f"{sentence}_j")
            said = re.sub(r"_(\{[^{}]*\}|[^\W\d_]\w*)", lambda m: "_" + _swapped(m[1]), said)
            if self.at_once:
                said, note = re.sub(r"^h = ", "s = ", said), note.replace(" the summary", "")
            note = note.replace("sentence j", "sentence i")
            note = re.sub(r"h_(\{[^}]*\}|\w+)", lambda m: f"h_{_swapped(m[1])}{two}", note)
            yield f"{said}{dash if note.strip() else ''}{note}".rstrip()


def sentence_look(line: str, bias: str) -> list[str]:
    """The look at the sentences, as slide 49 has it."""
    said = line.partition(NOTE)[0]
    if not said.strip() and "q: " in line:
        return []
    if said.startswith("e_j = "):
        product = f"b_s = B_s q     {NOTE} the bias, here a product of two factors that are learned"
        return [product, "u_i = tanh(W_s h_i + b_s)"]
    if said.startswith("α = "):
        return ["α_i = exp(u_iᵀ u_s) / Σ_i exp(u_iᵀ u_s)"]
    if said.startswith("c = "):
        return ["s = Σ_i α_i h_i"]
    return [line.replace("V_y c", "V s").replace("b_y", bias)]


def _swapped(text: str) -> str:
    """The indices of two levels as slide 47 has them: sentence i of K, word j of T_i."""
    exchange: Mapping[str, str] = {"j": "i", "m": "j", "S": "K", "N": "T"}
    return re.sub("[jmSN]", lambda m: exchange[m[0]], text)
