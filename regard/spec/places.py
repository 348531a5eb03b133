"""What a truth column of places is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from regard.errors import RegardError
from regard.spec.messages import nearest
from regard.spec.perception import ImageSpec, PerceivedSpec, PictureAugmentSpec, PlacesSpec, VideoSpec

if TYPE_CHECKING:
    from regard.spec.spec import Spec

Where = Callable[..., str]


def places_between(truth: PlacesSpec, spec: Spec) -> tuple[str, str]:
    """The input and the output it is about: those it names, else the only ones it could be."""
    return truth.of or (_perceived(spec)[0], next(iter(spec.outputs)))


def check_places(spec: Spec, where: Where) -> None:
    for name, truth in spec.truth.items():
        if not isinstance(truth, PlacesSpec):
            continue
        perceived = _perceived(spec)
        if truth.of is None and (len(perceived) != 1 or len(spec.outputs) != 1):
            raise RegardError(
                f"{len(perceived)} inputs are pictures, films or sounds and {len(spec.outputs)} outputs are written, "
                "and no word which of them these places are about.",
                where=where("truth", name, "of"),
                fix="Write  of: [INPUT, OUTPUT].",
            )
        source, target = places_between(truth, spec)
        for kind, one, known in (
            ("picture, film or sound", source, perceived),
            ("output", target, [*spec.outputs]),
        ):
            if one not in known:
                raise RegardError(
                    f"no {kind} is named {one!r}.", where=where("truth", name, "of"), fix=nearest(one, known)
                )
        column = spec.inputs[source]
        if isinstance(column, ImageSpec | VideoSpec) and column.fit in ("pad", "keep"):
            raise RegardError(
                f"places are fractions of the picture, which fit: {column.fit} moves on its canvas.",
                where=where("inputs", source, "fit"),
                fix="Choose  fit: stretch.",
            )
        _check_augment(spec, source, target, where)


def _check_augment(spec: Spec, source: str, target: str, where: Where) -> None:
    """What is taught from places must find them where they say."""
    column, decoder = spec.inputs[source], spec.decoder.get(target)
    augment = getattr(column, "augment", None)
    found = getattr(decoder, "attention", None) or ()
    taught = any(
        one.guide or one.select == "oracle" for one in (found if isinstance(found, tuple) else (found,))
    )
    if taught and isinstance(augment, PictureAugmentSpec) and (augment.flip or augment.crop):
        raise RegardError(
            "attention is taught from true places, which flip and crop move in training.",
            where=where("inputs", source, "augment"),
            fix="Leave out flip and crop, or guide and oracle.",
        )


def _perceived(spec: Spec) -> list[str]:
    return [name for name, column in spec.inputs.items() if isinstance(column, PerceivedSpec)]
