"""Bodies of pretrained models of transformers: read from a folder, or built empty from a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn
from torch.nn.utils import parametrize

from regard.errors import MissingExtra, RegardError
from regard.storage.pretrained import license_of, model_files, model_folder

Train = Literal["frozen", "lora", "full"]


@dataclass(frozen=True)
class ModelOrigin:
    """Where a pretrained model comes from, for the record of a run: its name, its files and its license."""

    model: str
    files: Mapping[str, Any]
    license: str

    def record(self, counts: Mapping[int, int]) -> dict[str, Any]:
        """The record of a run."""
        return {"model": self.model, "files": dict(self.files), "license": self.license or "not stated"}


def make_body(name: str, config: Mapping[str, Any], *, read_files: bool) -> tuple[Any, ModelOrigin | None]:
    """The encoder of a model; with its weights and their origin if `read_files`."""
    with _quiet() as library:
        if not read_files:
            return _encoder(library.AutoModel.from_config(_config(library, config, name))), None
        folder = model_folder(name)
        try:
            body = library.AutoModel.from_pretrained(
                str(folder), local_files_only=True, dtype=torch.float32, trust_remote_code=False
            )
        except Exception as error:  # the library raises errors of many kinds for a damaged folder
            raise RegardError(
                f"the model cannot be loaded: {(str(error).strip().splitlines() or [type(error).__name__])[0]}",
                where=str(folder),
                fix="Download it again, or name another model.",
            ) from None
    return _encoder(body), ModelOrigin(name, model_files(folder), license_of(folder))


def _config(library: Any, config: Mapping[str, Any], name: str) -> Any:
    known = {key: value for key, value in config.items() if key != "model_type"}
    try:
        return library.AutoConfig.for_model(config["model_type"], **known)
    except (KeyError, ValueError) as error:
        raise RegardError(
            f"transformers {library.__version__} does not know this model: {error}",
            where=name,
            fix="Install a newer version of transformers.",
        ) from None


@contextmanager
def _quiet() -> Iterator[Any]:
    """The library transformers, without its progress bars and remarks."""
    try:
        import transformers
    except ImportError:
        raise MissingExtra("transformers", "text", "A pretrained encoder") from None
    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        yield transformers
    finally:
        transformers.logging.set_verbosity(before)


def _encoder(body: Any) -> Any:
    """The part of a model that encodes, without parameters that nothing reads."""
    if getattr(body.config, "is_encoder_decoder", False):
        body = body.get_encoder()
    if isinstance(getattr(body, "pooler", None), nn.Module):
        body.pooler = None
    if hasattr(body, "masked_spec_embed"):  # for the library's own augmentation
        del body.masked_spec_embed
        body.config.apply_spec_augment = False
    for module in list(body.modules()):
        for name, child in list(module.named_children()):
            if parametrize.is_parametrized(child, "weight") and hasattr(child, "kernel_size"):
                setattr(module, name, _plain(child))
    return body


def _plain(child: Any) -> nn.Conv1d:
    """A convolution with its weights themselves, in place of their directions and lengths."""
    parametrize.remove_parametrizations(child, "weight")
    made = nn.Conv1d(
        child.in_channels,
        child.out_channels,
        child.kernel_size,
        stride=child.stride,
        padding=child.padding,
        dilation=child.dilation,
        groups=child.groups,
        bias=child.bias is not None,
    )
    made.load_state_dict(child.state_dict())
    return made


def body_size(body: Any) -> int:
    """Features of a state."""
    return int(getattr(body.config, "hidden_size", None) or body.config.d_model)


def set_trained(body: Any, train: Train, rank: int, dropout: float) -> Any:
    """The body with the parameters to train: none, low-rank changes of its matrices (Hu 2021), or all."""
    body.requires_grad_(train == "full")
    if train != "lora":
        return body
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError:
        raise MissingExtra("peft", "text", "train: lora") from None
    settings = LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=dropout, target_modules=_matrices(body))
    changed = inject_adapter_in_model(settings, body)
    for name, parameter in changed.named_parameters():
        parameter.requires_grad_("lora_" in name)
    return changed


def _matrices(body: Any) -> list[str]:
    """The names of the matrices to change: those of queries and values, if the library knows them; else all."""
    from peft.utils import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as KNOWN

    linear = {name.rpartition(".")[2] for name, one in body.named_modules() if hasattr(one, "in_features")}
    chosen = [name for name in KNOWN.get(body.config.model_type, ()) if name in linear]
    return sorted(chosen or linear)
