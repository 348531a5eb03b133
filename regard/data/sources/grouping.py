"""The field by which an automatic split keeps rows together: a conversation, a document."""

from __future__ import annotations

import re
from collections.abc import Iterable

from regard.data import Row
from regard.data.readers.row import sources_of
from regard.data.sources.splits import file_fields, open_split
from regard.errors import Setting
from regard.parts import is_stream
from regard.spec import Spec

RECOGNIZED = frozenset(
    (
        "conversation",
        "conv",
        "dialog",
        "dialogue",
        "session",
        "thread",
        "document",
        "doc",
        "article",
        "story",
        "group",
    )
)
"""Names of fields, without `id` at their end, whose rows belong together."""
FEWEST = 3
"""Fewest groups of which one is held out without being told."""
_NUMBERING = re.compile(r"[ ._-]?(id|no|nr|number|key)$", re.IGNORECASE)


def with_group(spec: Spec) -> Spec:
    """The spec, with `data.group` set to a field of the data whose rows belong together, if there is one.

    It is written into the spec, so that a later evaluation of the run splits the data in the same way.
    """
    data = spec.data
    if data.group is not None or data.provider or data.dev or not data.train or is_stream(spec):
        return spec
    for field in _candidates(spec):
        if _keeps_together(open_split(spec, "train", data.train, extra=[field]), field):
            return spec.changed(Setting("data.group", field))
    return spec


def _candidates(spec: Spec) -> list[str]:
    """Fields with a recognized name that no input or output reads."""
    used = {part.field or name for part_of in (spec.inputs, spec.outputs) for name, part in part_of.items()}
    sources = sources_of(open_split(spec, "train", spec.data.train))
    found = {*file_fields(spec), *(field.name for source in sources for field in source.found())}
    return sorted(field for field in found - used if _NUMBERING.sub("", field).lower() in RECOGNIZED)


def _keeps_together(rows: Iterable[Row], field: str) -> bool:
    """Whether the rows form groups by this field: every row has a value, and values repeat."""
    groups: set[str] = set()
    count = 0
    for row in rows:
        value = row.get(field, "").strip()
        if not value:
            return False
        groups.add(value)
        count += 1
    return FEWEST <= len(groups) < count
