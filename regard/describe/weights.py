"""Map the parameters of a network to the letters on its board.

A part names its modules (`bridge`, `output`) and writes its equations (`W_s`, `V_y`); the table below relates the two.
An unknown parameter, such as one of a third-party part, is assigned to unused letters of the same part, or else drawn
as a box of its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from regard.nn.cells import Cell
from regard.nn.encoders.layer import RecurrentLayer
from regard.notation import Call, Symbol
from regard.notation.nodes import Node

FIRST = "first state"
STEP = "@"
"""Stands for the function of a cell in a letter: `gru_w→` is `@w→`."""

LETTERS: tuple[tuple[str, str], ...] = (
    # encoders
    (r"encoders (encoder\.|words\.)?embedding\.weight", r"E_x"),
    (r"encoders embedding\.linear\..*", r"[Wb]_e"),
    (r"encoders tables\.\d+\.embedding\.weight", r"E_[lAC]"),
    (r"encoders ages", r"T_[lAC]"),
    (r"encoders query", r"q_w"),
    (r"encoders attention\.score\.vector", r"[vw]_w"),
    (r"encoders attention\.score\.query\..*", r"[Uc]_w"),
    (r"encoders attention\.score\.key\..*", r"[Wd]_w"),
    (r"encoders attention\..*", r"[^q]_w"),
    (r"encoders parents\.root", r"=r"),
    (r"encoders parents\.attention\.score\..*", r"._h"),
    (r"encoders position\.(rows|columns)", r"[RC]_x"),
    (r"encoders (encoder\.)?layers\.\d+\.attention\.distance", r"D_l.*"),
    (r"encoders (encoder\.)?layers\.\d+\.attention\.(query|key)\..*", r"([QK]|b_[QK])_?l.*"),
    (r"encoders (encoder\.)?layers\.\d+\.attention\.value\..*", r"(V|b_V)_?l.*"),
    (r"encoders (encoder\.)?layers\.\d+\.attention\.output\..*", r"(O|b_O)_?l.*"),
    (r"encoders (encoder\.)?layers\.\d+\.feed\..*", r"([AB]|b_[AB])_?l"),
    (r"encoders (encoder\.)?layers\.\d+\.attended\..*", r"[gb]_al"),
    (r"encoders (encoder\.)?layers\.\d+\.fed\..*", r"[gb]_fl"),
    (r"encoders (encoder\.)?norm\..*", r"[gb]_z"),
    (r"encoders composer\.word\..*", r"[Wb]_[iuo]?x"),
    (r"encoders composer\.(node|forget)\..*", r"[Wb]_[ifguo]?p"),
    (r"encoders composer\.tensor", r"V_(δ|\d+)"),
    (r"encoders span.*", r"[ABbv]_s"),
    (r"encoders (network|frames)\.first\..*", r"[Fgb]_0"),
    (r"encoders (network|frames)\.stages\.(?P<at>\d+)\.(?P<within>\w+)\..*", r"[Fgb]_#[012]"),
    (r"encoders (network|frames)\.layers\.\d+\..*", r"[Fgb]_l"),
    (r"encoders (network|frames)\.summary\..*", r"[Wgb]_v"),
    (r"encoders motion\.first\..*", r"[Fgb]̇_0"),
    (r"encoders motion\.stages\.(?P<at>\d+)\.(?P<within>\w+)\..*", r"[Fgb]̇_#[012]"),
    (r"encoders motion\.layers\.\d+\..*", r"[Fgb]̇_l"),
    (r"encoders motion\.summary\..*", r"[Wgb]̇_v"),
    (r"encoders network\.[csf](?P<number>\d)\..*", r"[FWgb]_{number}"),
    # decoders
    (r"decoders (embedding|candidates\.bag\.embedding)\.weight", r"E_y"),
    (r"decoders asking\.weight", r"G_y"),
    (r"decoders output\.softmax\..*", r"[Vb]_y|[VPud]_[k\d]"),
    (r"decoders output\..*", r"[Vvb]_y"),
    (r"decoders narrow\.weight", r"N_y"),
    (r"decoders before\..*", r"(P|d)_y"),
    (r"decoders gate\..*", r"G_y|d_ρ"),
    (r"decoders bridge\..*", r"[Wb]_[sn][\u0300-\u036f]*\d*"),
    (r"decoders combine\..*", r"[Wb]_o"),
    (r"decoders reading\.gates\.(?P<nth>\w+)\..*", r"[wb]_β̂"),
    (r"decoders (reading\.attentions\.(?P<nth>\w+)|attention)\.score\.sentences\.(vector|query|key).*", r"[vUW]_k"),
    (r"decoders (reading\.attentions\.(?P<nth>\w+)|attention)\.score\.(words\.)?vector", r"[vw]_a"),
    (r"decoders (reading\.attentions\.(?P<nth>\w+)|attention)\.score\.(words\.)?query\..*", r"[Uc]_a"),
    (r"decoders (reading\.attentions\.(?P<nth>\w+)|attention)\.score\.(words\.)?key\..*", r"[Wd]_a"),
    (r"decoders (reading\.attentions\.(?P<nth>\w+)|attention)\.score\.filters", r"F_aι"),
    (r"decoders (reading\.attentions\.(?P<nth>\w+)|attention)\.score\.place\..*", r"V_a"),
    (r"decoders (reading\.attentions\.(?P<nth>\w+)|attention)\..*", r"._aι?"),
    (r"decoders copying\.gate\..*", r"[wb]_g"),
    (r"decoders query", r"q|q_k"),
    (r"decoders asks\..*", r"[Qb]_yk"),
    (r"decoders hidden\.parts\.(?P<at>\d+)\..*", r"[Wb]_r#"),
    (r"decoders hidden\.gates\..*", r"[Uc]_r\d"),
    (r"decoders hidden\.layer\..*", r"[Wb]_r"),
    (r"decoders hidden\.(?P<at>\d+)\..*", r"[Wb]_r#"),
    (r"decoders hidden\..*", r"U_y|b_u|[Wb]_h"),
    (r"decoders attend\.(?P<at>\d+)\..*", r"F_y|[Wb]_f#"),
    (r"decoders compare\.(?P<at>\d+)\..*", r"[Wb]_g#"),
    (r"decoders gather\..*", r"[Wb]_g"),
    (r"decoders ask\..*", r"Q_y"),
    (r"decoders onward\..*", r"W_t"),
    (r"decoders carry\..*", r"H_y"),
    (r"decoders mix\..*", r"[Wb]_r"),
    (r"decoders queries\..*", r"Q_k"),
    (r"decoders costs\..*", r"[Ca]_ℓ"),
    (r"decoders transitions\..+", r"[PGRD]_k"),
    (r"decoders following\..+", r"D_k"),
    (r"decoders transitions|decoders start|decoders end", r"[Aaz]_y"),
    (r"decoders arcs\.weight", r"[Bgdb]_y"),
    (r"decoders arcs\.heads\..*", r"[Wb]_uy"),
    (r"decoders arcs\.dependents\..*", r"[Wb]_vy"),
    (r"decoders relations\.weight", r"[Bgdb]_rν"),
    (r"decoders relations\.heads\..*", r"[Wb]_ur"),
    (r"decoders relations\.dependents\..*", r"[Wb]_vr"),
    (r"decoders root", r"=a"),
    (r"decoders log_deviation", r"=μ"),
    (r"decoders store\.interface\..*", r"[Wωb]_(?!y).*[arw]"),
    (r"decoders store\.first_read", r"=r"),
    (r"decoders store\.first_points", r"=x"),
    (r"decoders first", r"g_y|=s"),
    (r"decoders stop", r"k_y"),
    (r"decoders first_state", r"=s"),
    (r"decoders layers\.\d+\.itself\.distance", r"D_y.*"),
    (r"decoders layers\.\d+\.itself\.(query|key)\..*", r"([QK]|b_[QK])_?y.*"),
    (r"decoders layers\.\d+\.itself\.value\..*", r"(V|b_V)_?yℓ.*"),
    (r"decoders layers\.\d+\.itself\.output\..*", r"(O|b_O)_?y.*"),
    (r"decoders layers\.\d+\.over\.query\..*", r"(Q|b_Q)_?a.*"),
    (r"decoders layers\.\d+\.over\.key\..*", r"(K|b_K)_?a(?!′).*"),
    (r"decoders layers\.\d+\.over\.value\..*", r"(V|b_V)_?a(?!′).*"),
    (r"decoders layers\.\d+\.over\.further\.(?P<nth>\w+)\..*", r"(K|b_K)_?a(?!′).* & (V|b_V)_?a(?!′).*"),
    (r"decoders layers\.\d+\.over\.output\..*", r"(O|b_O)_?a.*"),
    (r"decoders layers\.\d+\.feed\..*", r"([AB]|b_[AB])_?y.*"),
    (r"decoders layers\.\d+\.first\..*", r"[gb]_y1.*"),
    (r"decoders layers\.\d+\.second\..*", r"[gb]_y2.*"),
    (r"decoders layers\.\d+\.third\..*", r"[gb]_y3.*"),
    (r"decoders norm\..*", r"[gc]_y"),
)  # fmt: skip
"""Pairs of a parameter, `encoders PATH`, and a pattern of letters, such as `W_rd` without primes; `=r` is the vertex
that defines r; # is the index of a layer among its neighbors; `A & B` for equal parts of one tensor. A group `nth` is
the input of one of several attentions, whose letters have a prime for each attention before it."""
MARKS = ("a", "β̂")
"""Subscripts of an attention and its gate; a prime on them belongs to the weight, not to an index."""


@dataclass(frozen=True)
class LetteredWeight:
    """A parameter, or the part of it that one letter stands for.

    name      its name in the network, `encoders.source.embedding.weight`
    letters   a pattern of its letters on the board of its part
    count     its size
    owner     the part or module it belongs to: "gru", "additive", "bridge"
    """

    name: str
    tensor: Tensor
    letters: str
    count: int
    owner: str

    @property
    def identity(self) -> tuple[int, str]:
        """Equal for the same weight under different names, and different for parts of one tensor."""
        return id(self.tensor), self.letters if self.count < self.tensor.numel() else ""


def letter(node: Symbol | Call) -> str:
    """`W_rd` of a symbol, without the primes of its part; `@w→` for the function of a cell."""
    below = "".join(_item(item, node.base.count("′")) for item in node.items)
    base = unicodedata.normalize("NFD", node.base).replace("′", "")
    return f"{base}_{below}" if below else base


def _item(node: Node, primes: int) -> str:
    """An index or a mark in a subscript; primes: how many the part has."""
    if isinstance(node, Symbol) and not node.items:
        bare = node.base.replace("′", "")
        if unicodedata.normalize("NFD", bare) in MARKS:
            return node.base
        # k marks the attention to sentences, or is an index, which has the primes of its part.
        return bare + "′" * max(0, node.base.count("′") - primes) if bare == "k" else bare
    return str(node.value) if hasattr(node, "value") else "?"


def held(part: nn.Module, side: str, name: str) -> list[LetteredWeight]:
    """Every parameter of an encoder or a decoder, including shared ones."""
    modules = dict(part.named_modules(remove_duplicate=False))
    paths = [path for path, _ in part.named_parameters(remove_duplicate=False)]
    found: list[LetteredWeight] = []
    for path, tensor in part.named_parameters(remove_duplicate=False):
        owner, full = _owner(path, modules), f"{side}.{name}.{path}"
        recurrent = _recurrent(path, modules)
        patterns = _letters(side, path, paths).split(" & ") if recurrent is None else recurrent
        share = tensor.numel() // len(patterns)
        found += [LetteredWeight(full, tensor, letters, share, owner) for letters in patterns]
    return found


def _letters(side: str, path: str, paths: list[str]) -> str:
    for pattern, letters in LETTERS:
        match = re.fullmatch(pattern, f"{side} {path}")
        if match is None:
            continue
        groups = match.groupdict()
        if "at" in groups:
            start = match.start("at") - len(side) - 1
            before = re.escape(path[:start])
            among = {int(one[1]) for other in paths if (one := re.match(rf"{before}(\d+)\.", other))}
            letters = letters.replace("#", str(sorted(among).index(int(groups["at"])) + 1))
        if groups.get("nth"):
            start = match.start("nth") - len(side) - 1
            before = re.escape(path[:start])
            names = [one[1] for other in paths if (one := re.match(rf"{before}(\w+)\.", other))]
            # The first input of a Transformer has weights of its own name; those of others are `further`.
            number = list(dict.fromkeys(names)).index(groups["nth"]) + before.endswith(r"further\.")
            letters = re.sub(r"(?<=[_?])(a|k|β̂)", rf"\g<1>{'′' * number}", letters)
        if "within" in groups:
            letters = letters.replace("[012]", {"first": "1", "second": "2", "past": "0"}[groups["within"]])
        return letters.replace("{number}", groups.get("number") or "")
    return ""


def _recurrent(path: str, modules: Mapping[str, nn.Module]) -> list[str] | None:
    """The functions that use the weights of a cell or the initial states of a layer; None for other parameters."""
    mark = "w" if path.startswith("words.") else "b" if path.startswith("parents.") else "(?![wb])"
    steps = path.split(".")
    for length in range(len(steps) - 1, 0, -1):
        module, above = modules[".".join(steps[:length])], ".".join(steps[: length - 2])
        if isinstance(module, Cell):
            layer = modules.get(above)
            if not isinstance(layer, RecurrentLayer):
                return [f"{STEP}{mark}{_numbered(steps[length - 1])}"]
            arrow = "→←"[int(steps[length - 1])] if len(layer.cells) == 2 else ""
            return [f"{STEP}{mark}{_numbered(steps[length - 3])}{arrow}"]
        if isinstance(module, RecurrentLayer):
            arrows = "→←" if len(module.cells) == 2 else ("",)
            return [f"{STEP}{mark}{_numbered(steps[length - 1])}{arrow}" for arrow in arrows]
    return None


def _numbered(step: str) -> str:
    """A pattern of the subscript of a layer's function: its number, from 1, or none if one line covers all layers."""
    return rf"\D*{int(step) + 1}?\D*" if step.isdigit() else r"\D*"


def _owner(path: str, modules: Mapping[str, Any]) -> str:
    """The innermost registered part of a parameter, else the name of its module."""
    steps = path.split(".")
    if isinstance(modules.get(".".join(steps[:-1])), RecurrentLayer):
        return FIRST
    for length in range(len(steps) - 1, 0, -1):
        options = getattr(type(modules[".".join(steps[:length])]), "Options", None)
        kind, name = getattr(options, "kind", ""), getattr(options, "type", "")
        if name and kind not in ("encoder", "decoder"):
            return name if kind == "cell" else f"{name} {kind}"
    if len(steps) == 1:
        return FIRST if steps[0].startswith("first") else steps[0].replace("_", " ")
    named = [step for step in steps[:-1] if not step.isdigit() and step not in ("layer", "linear")]
    return named[-1] if named else "weights"
