"""Captions in JSON, in the layout of COCO (Lin et al. 2014) or of Karpathy's splits of COCO, Flickr8k and Flickr30k.

    {"images": [{"id": 9, "file_name": "a.jpg"}], "annotations": [{"id": 1, "image_id": 9, "caption": "A dog."}]}
    {"images": [{"filename": "a.jpg", "filepath": "val2014", "split": "train", "sentences": [{"raw": "A dog."}]}]}

A row is a caption: the name of the image (`image`), the text (`caption`), the id of the image (`id`) and, in the second
layout, its split (`split`). Row numbers from 1 replace line numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from regard.data.readers.files import opened
from regard.data.readers.reader import Reader
from regard.data.readers.row import Row
from regard.errors import RegardError
from regard.parts import register


@register("reader", "coco")
class CocoReader(Reader):
    """Image captions in JSON, in the layout of COCO or of Karpathy's splits."""

    about: ClassVar[str] = "a COCO caption file"
    fields: ClassVar[tuple[str, ...]] = ("image", "caption", "id", "split")

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        content = _parsed(path)
        captions = _annotated(content) if "annotations" in content else _karpathy(content)
        for number, found in enumerate(captions, start=1):
            if isinstance(found, str):
                yield Row(file=str(path), line=number, problem=found)
                continue
            values = {field: found[field] for field in fields if field in found}
            yield Row(values, file=str(path), line=number)


def _parsed(path: Path) -> Mapping[str, Any]:
    with opened(path) as stream:
        try:
            content = json.loads(stream.read())
        except ValueError as error:
            raise RegardError(f"this is not valid JSON: {error}.", where=str(path)) from None
    if not isinstance(content, dict) or not isinstance(content.get("images"), list):
        raise RegardError(
            "there is no list of images.",
            where=str(path),
            fix='Expected {"images": […], "annotations": […]}, as the captions of COCO are written.',
        )
    return content


def _annotated(content: Mapping[str, Any]) -> Iterator[dict[str, str] | str]:
    names = {image.get("id"): image.get("file_name") for image in content["images"]}
    for annotation in content["annotations"]:
        picture, caption = annotation.get("image_id"), annotation.get("caption")
        if not names.get(picture):
            yield f"is a caption of the image {picture!r}, which is not among the images"
        elif not isinstance(caption, str):
            yield "is an annotation without a caption"
        else:
            yield {"image": str(names[picture]), "caption": _line(caption), "id": str(picture)}


def _karpathy(content: Mapping[str, Any]) -> Iterator[dict[str, str] | str]:
    for image in content["images"]:
        if not image.get("filename"):
            yield "is an image without a filename"
            continue
        name = "/".join(part for part in (image.get("filepath"), image["filename"]) if part)
        number = str(image.get("cocoid", image.get("imgid", "")))
        for sentence in image.get("sentences", ()):
            if not isinstance(sentence.get("raw"), str):
                yield f"is a sentence of {name!r} without its raw text"
                continue
            found = {"image": name, "caption": _line(sentence["raw"]), "id": number}
            yield found | ({"split": str(image["split"])} if "split" in image else {})


def _line(caption: str) -> str:
    """The caption on one line: some captions of COCO contain line ends."""
    return " ".join(caption.split())
