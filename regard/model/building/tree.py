"""The tree decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.data.columns import Column, TreeColumn
from regard.model.building.parts import build_decoder
from regard.nn import TreeDecoder
from regard.spec import TreeDecoderSpec


@build_decoder.register(TreeDecoderSpec)
def _tree(
    decoder: TreeDecoderSpec, column: Column, sources: Mapping[str, Any], *, read_files: bool = True
) -> TreeDecoder:
    assert isinstance(column, TreeColumn)
    return TreeDecoder(
        column.size,
        sources,
        of=column.of[0],
        structure=decoder.structure,
        decode=decoder.decode,
        single_root=column.single_root,
        size=decoder.size,
        relation_size=decoder.relation_size,
        dropout=decoder.dropout,
    )
