"""Sets every option of a part to other values, and compares the effects."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from regard.parts import Settings
from regard.testing.specs import ABOVE, BESIDE, INSIDE, TOGETHER, Context, contexts, options_of
from tests.parts.effects import Refused, effects
from tests.parts.others import held, other_values


@dataclass
class Tried:
    """The results for the options of a part, by name.

    changed   the effect that another value changed
    refused   the reason why another value was refused
    idle      contexts in which another value was accepted without an effect
    """

    changed: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    idle: list[str] = field(default_factory=list)
    last_changed: bool = False


class Bench:
    """Tries options; caches the effects of each spec.

    varied   number of specs in which a part is also tried with each other choice of each option
    """

    def __init__(self, vectors: str, varied: int = 1) -> None:
        self.vectors = vectors
        self.varied = varied
        self._known: dict[str, list[tuple[str, Any]]] = {}
        self._running: dict[str, Iterator[tuple[str, Any]]] = {}

    def try_part(self, kind: str, name: str) -> Tried:
        """Try the part's own options."""
        tried = Tried()
        for place, context in enumerate(contexts(kind, name)):
            self._try(name, options_of(kind, name), context, "", tried, variants=place < self.varied)
        return tried

    def try_nested(self, kind: str, name: str, option: str, settings: type[Settings]) -> Tried:
        """Try the nested settings of an option."""
        tried = Tried()
        for context in contexts(kind, name):
            above = ABOVE.get(f"{name}.{option}")
            for start in [context] if above is None else [context, context.changed(above, str(above))]:
                below = (
                    start
                    if isinstance(start.get(option), dict)
                    else start.changed({option: self._inside(name, option)})
                )
                if self._refusal(below) is None:
                    self._try(name, settings, below.below(option), f"{option}.", tried)
        return tried

    def _inside(self, name: str, option: str) -> dict[str, Any]:
        return {"vectors": self.vectors} if option == "embedding" else INSIDE.get(f"{name}.{option}", {})

    def _try(
        self,
        part: str,
        settings: type[Settings],
        context: Context,
        prefix: str,
        tried: Tried,
        *,
        variants: bool = True,
    ) -> None:
        together = TOGETHER.get(f"{part}.{prefix}".rstrip("."), [])
        further = [context.changed(more, str(more)) for more in together]
        varied = self._variants(part, settings, context, prefix) if variants else ()
        for here in [context, *further, *varied]:
            if self._refusal(here) is not None or self._is_without_rows(here):
                continue
            for option, info in settings.model_fields.items():
                others = other_values(part, f"{prefix}{option}", info, here, self.vectors)
                current = held(info, option, here)
                for value in others.choices:
                    # other parts only once
                    if value != current and (here is context or not isinstance(value, dict)):
                        tried.idle += self._idle(part, f"{prefix}{option}", value, here, tried)
                idle = []
                for value in others.samples:
                    if value != current:
                        idle += (found := self._idle(part, f"{prefix}{option}", value, here, tried))
                        if not found and tried.last_changed:
                            idle = []
                            break
                tried.idle += idle

    def _variants(
        self, part: str, settings: type[Settings], context: Context, prefix: str
    ) -> Iterator[Context]:
        """Contexts with each other choice, which may make other options ineffective."""
        for option, info in settings.model_fields.items():
            others = other_values(part, f"{prefix}{option}", info, context, self.vectors)
            values = [
                value for value in others.choices if isinstance(value, str | bool) and option != "field"
            ]
            if held(info, option, context) is None and getattr(settings, "kind", "") != "column":
                values += [value for value in others.samples if isinstance(value, int | float)][:1]
            for value in values:
                yield context.changed({option: value}, f"{option}: {value}")

    def _idle(self, part: str, dotted: str, value: Any, context: Context, tried: Tried) -> list[str]:
        """The context, if a value is accepted there without an effect."""
        beside = BESIDE.get((part, dotted, value), {}) if isinstance(value, str) else {}
        changed = context.changed({dotted.rpartition(".")[2]: value, **beside})
        tried.last_changed = False
        try:
            what = self._difference(context, changed)
        except Refused as error:
            tried.refused.setdefault(dotted, str(error))
            return []
        if what:
            tried.changed.setdefault(dotted, what)
            tried.last_changed = True
            return []
        return [f"{dotted}: {value} (in {context.name}, at {'.'.join(context.path)})"]

    def _refusal(self, context: Context) -> str | None:
        try:
            self._effect(context, 0)
        except Refused as error:
            return str(error)
        return None

    def _is_without_rows(self, context: Context) -> bool:
        """Whether no row can be used, so that nothing could change, as with texts that must be trees."""
        found = self._effect(context, 1)
        return found is not None and found[0] == "rows"

    def _difference(self, before: Context, after: Context) -> str:
        """The name of the first difference, or ""; unused weights are no difference."""
        for place in itertools.count():
            one, other = self._effect(before, place), self._effect(after, place)
            if one is None or other is None:
                return "" if one == other else "what follows"
            if one[0] == other[0] == "first weights" and set(other[1]) - set(one[1]):
                return ""  # new unused weights have only shifted the initial values of others
            if one != other:
                return one[0]
        return ""

    def _effect(self, context: Context, place: int) -> tuple[str, Any] | None:
        key = json.dumps(context.document, sort_keys=True)
        if key not in self._known:
            self._known[key], self._running[key] = [], effects(context.document)
        known = self._known[key]
        while len(known) <= place:
            try:
                known.append(next(self._running[key]))
            except StopIteration:
                return None
            except Refused as error:
                known.append(("refused", error))
        found = known[place]
        if found[0] == "refused":
            raise found[1]
        return found
