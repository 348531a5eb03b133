"""JoeyNMT 1 and 2: one file with data, testing, training and model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from regard.spec.foreign.keys import Keys, filled

UNITS = {"word": "word", "char": "char", "bpe": "subword"}
BRIDGES = {"bridge": "tanh", "last": "copy"}
METRICS = {"bleu": "bleu", "chrf": "chrf", "sequence_accuracy": "exact", "loss": "loss", "ppl": "loss"}
TOP = ("name", "joeynmt_version", "use_cuda", "fp16", "random_seed", "model_dir", "num_workers")
TESTING = ("batch_size", "batch_type", "eval_metrics", "sacrebleu_cfg", "n_best", "return_prob")
TRAINING = (
    *("use_cuda", "fp16", "model_dir", "overwrite", "shuffle", "logging_freq", "print_valid_sents", "loss"),
    *("keep_last_ckpts", "keep_best_ckpts", "eval_batch_size", "eval_batch_type"),
    *("reset_best_ckpt", "reset_scheduler", "reset_optimizer", "reset_iter_state"),
)
WITHOUT_MEANING = (*TOP, *(f"testing.{key}" for key in TESTING), *(f"training.{key}" for key in TRAINING))
"""Keys about files, printing and devices, which are given otherwise here."""


def is_mine(document: dict[str, Any]) -> bool:
    model = document.get("model")
    return isinstance(model, dict) and "encoder" in model and "data" in document


def converted(document: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    keys = Keys(document)
    keys.ignore(*WITHOUT_MEANING)
    source, target = _side(keys, "src"), _side(keys, "trg")
    inputs, outputs = {"source": source}, {"target": target}
    if keys.take("model.tied_embeddings", False):
        outputs["target"] = {**target, "shared": "source"}
    spec: dict[str, Any] = {
        "name": str(document.get("name") or "converted"),
        "inputs": inputs,
        "outputs": outputs,
    }
    spec |= _model(keys)
    spec["search"] = filled(
        method="beam" if keys.take("testing.beam_size", 1) > 1 else "greedy",
        beam=keys.take("testing.beam_size"),
        length_penalty=_first(keys, "testing.beam_alpha", "testing.alpha"),
        max_length=_positive(_first(keys, "testing.max_output_length", "training.max_output_length")),
    )
    if spec["search"]["method"] == "greedy":
        spec["search"] = {"method": "greedy", **filled(max_length=spec["search"].get("max_length"))}
    spec["training"] = _training(keys)
    spec["data"] = _data(keys, document)
    return spec, keys.left()


def _first(keys: Keys, *paths: str) -> Any:
    found = [keys.take(path) for path in paths]
    return next((value for value in found if value is not None), None)


def _positive(value: Any) -> Any:
    return value if value is not None and value > 0 else None


def _side(keys: Keys, side: str) -> dict[str, Any]:
    """The column of one language. Version 2 has a section for each, version 1 shares most keys."""
    at, common = f"data.{side}", "data"
    level = _first(keys, f"{at}.level", f"{common}.level") or "word"
    lower = _first(keys, f"{at}.lowercase", f"{common}.lowercase")
    limit = _first(keys, f"{at}.voc_limit", f"{common}.{side}_voc_limit")
    least = _first(keys, f"{at}.voc_min_freq", f"{common}.{side}_voc_min_freq")
    merges = keys.take(f"{at}.tokenizer_cfg.num_merges")
    keys.take(f"{at}.lang")
    unit = UNITS[level]
    return {"type": "text"} | filled(
        unit=unit,
        vocabulary=limit if unit != "subword" else limit or merges or 8000,
        min_count=least if least and least > 1 and unit != "subword" else None,
        case="lower" if lower else None,
    )


def _data(keys: Keys, document: dict[str, Any]) -> dict[str, Any]:
    keys.take("data.dataset_type")

    def language(side: str) -> str:
        given = document["data"].get(side)
        keys.take(f"data.{side}" if not isinstance(given, dict) else f"data.{side}.lang")
        return str(given.get("lang") if isinstance(given, dict) else given)

    ends = language("src"), language("trg")
    return {
        split: "+".join(f"{prefix}.{end}" for end in ends)
        for split in ("train", "dev", "test")
        if (prefix := keys.take(f"data.{split}"))
    }


def _model(keys: Keys) -> dict[str, Any]:
    encoder, decoder = _network(keys, "encoder"), _network(keys, "decoder")
    found: dict[str, Any] = {"encoder": encoder, "decoder": decoder}
    if "cell" in encoder:
        encoder["bidirectional"] = keys.take("model.encoder.bidirectional", True)
    if "cell" in decoder:
        luong = keys.take("model.decoder.attention", "bahdanau") == "luong"
        feed = keys.take("model.decoder.input_feeding", True)
        first = keys.take("model.decoder.init_hidden", "bridge")
        found["attention"] = (
            {"score": "general", "state": "current", "feed": feed} if luong else {"score": "additive"}
        )
        decoder["condition"] = ["attention"] if first == "zero" else ["start", "attention"]
        if first != "zero":
            same = encoder.get("size") == decoder.get("size") and not encoder.get("bidirectional")
            decoder["bridge"] = (
                "linear" if BRIDGES.get(first) == "copy" and not same else BRIDGES.get(first, "tanh")
            )
    tie = keys.take("model.tied_softmax", False)
    if tie:
        decoder["tie"] = "all" if keys.take("model.tied_embeddings", False) else "output"
    smoothing = keys.take("training.label_smoothing", 0.0)
    if smoothing:
        decoder["label_smoothing"] = smoothing
    return found


def _network(keys: Keys, side: str) -> dict[str, Any]:
    at = f"model.{side}"
    kind = keys.take(f"{at}.type", "recurrent")
    common = filled(
        type=kind,
        size=keys.take(f"{at}.hidden_size"),
        embedding=keys.take(f"{at}.embeddings.embedding_dim"),
        layers=keys.take(f"{at}.num_layers", 1),
        dropout=keys.take(f"{at}.dropout"),
    )
    if kind == "transformer":
        norm = keys.take(f"{at}.layer_norm")
        return common | filled(
            heads=keys.take(f"{at}.num_heads"),
            hidden=keys.take(f"{at}.ff_size"),
            norm=norm if norm in ("pre", "post") else None,
        )
    return common | {"cell": keys.take(f"{at}.rnn_type", "lstm")}


def _training(keys: Keys) -> dict[str, Any]:
    size = keys.take("training.batch_size", 64)
    tokens = keys.take("training.batch_type", "sentence") == "token"
    optimizer = keys.take("training.optimizer", "sgd")
    known = optimizer if optimizer in ("adam", "adamw", "sgd") else "adam"
    if known != optimizer:
        keys.notes.append(f"training.optimizer: {optimizer} (adam takes its place)")
    rate, schedule = _schedule(keys)
    betas = keys.take("training.adam_betas") if known.startswith("adam") else None
    found = filled(
        epochs=keys.take("training.epochs"),
        steps=_positive(keys.take("training.updates")),
        batch_tokens=size if tokens else None,
        batch_rows=None if tokens else size,
        accumulate=keys.take("training.batch_multiplier"),
        optimizer={
            "type": known,
            **filled(betas=betas, weight_decay=keys.take("training.weight_decay") or None),
        },
        lr=rate,
        clip=keys.take("training.clip_grad_norm"),
        evaluate_every=keys.take("training.validation_freq"),
        metric=METRICS.get(keys.take("training.early_stopping_metric", "loss"), "loss"),
        seed=keys.take("training.random_seed"),
        schedule=schedule,
    )
    if found.get("accumulate") == 1:
        del found["accumulate"]
    return found


def _schedule(keys: Keys) -> tuple[float, dict[str, Any] | None]:
    """The learning rate and its schedule; constant if JoeyNMT's has no counterpart."""
    made = SCHEDULES.get(keys.take("training.scheduling"))
    rate = keys.take("training.learning_rate", 3e-4)
    return made(keys, rate) if made else (rate, None)


def _plateau(keys: Keys, rate: float) -> tuple[float, dict[str, Any]]:
    return rate, {"type": "plateau"} | filled(
        patience=keys.take("training.patience"),
        factor=keys.take("training.decrease_factor"),
        minimum=keys.take("training.learning_rate_min"),
    )


def _noam(keys: Keys, rate: float) -> tuple[float, dict[str, Any]]:
    """Noam's highest rate depends on the size of the model (Vaswani 2017)."""
    factor, size = keys.take("training.learning_rate_factor", 1), keys.take("model.encoder.hidden_size", 512)
    warmup = keys.take("training.learning_rate_warmup", 4000)
    keys.take("training.learning_rate_min")
    return float(f"{factor * (size * warmup) ** -0.5:.4g}"), {"type": "inverse-sqrt", "warmup": warmup}


SCHEDULES: dict[str, Callable[[Keys, float], tuple[float, dict[str, Any]]]] = {
    "plateau": _plateau,
    "noam": _noam,
}
