"""yoyodyne 0.4 and later: a model by its class, alone or as `model` beside `data` and `trainer`."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from regard.spec.foreign.keys import Keys, filled

CLASS = re.compile(r"(?:yoyodyne\.models\.)?(\w*?)(GRU|LSTM|Transformer)Model$")
RECURRENT = {"GRU": "gru", "LSTM": "lstm"}


def is_mine(document: dict[str, Any]) -> bool:
    model = document.get("model", document)
    return isinstance(model, dict) and "yoyodyne" in str(model.get("class_path", ""))


def converted(document: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    model = document.get("model", document)
    keys = Keys(document)
    at = "model." if "model" in document else ""
    found = CLASS.search(str(keys.take(f"{at}class_path")))
    if found is None:
        return {}, [f"class_path: {model.get('class_path')}"]
    way, kind = found[1], found[2]
    init = f"{at}init_args."
    columns, fields = _columns(keys)
    spec: dict[str, Any] = {"name": "converted", **columns}
    size = keys.take(f"{init}embedding_size", 128)
    encoder = _network(keys, f"{init}source_encoder", kind, size, model)
    decoder = filled(
        type="transformer" if kind == "Transformer" else "recurrent",
        embedding=size,
        layers=keys.take(f"{init}decoder_layers", 1),
        dropout=keys.take(f"{init}decoder_dropout"),
        label_smoothing=keys.take(f"{init}label_smoothing") or None,
    )
    hidden = keys.take(f"{init}decoder_hidden_size", 512)
    if kind == "Transformer":
        decoder |= {"size": size, "hidden": hidden, "heads": keys.take(f"{init}decoder_attention_heads", 4)}
    else:
        decoder |= {"cell": RECURRENT[kind], "size": hidden}
        attends = "Attention" in way or "Pointer" in way
        spec["attention"] = _attention(way) if attends else None
        decoder["condition"] = ["start", "attention"] if attends else ["start", "every-step"]
    if "Pointer" in way and kind == "Transformer":
        keys.notes.append(
            "the pointer of the Transformer: only recurrent decoders copy here (decoder: {copy: true})"
        )
    elif "Pointer" in way:
        decoder["copy"] = "source"
    spec |= {"encoder": {"source": encoder} if len(columns["inputs"]) > 1 else encoder, "decoder": decoder}
    if len(columns["inputs"]) > 1:
        spec["encoder"]["features"] = {"type": "mean", "embedding": size}
    beam = keys.take(f"{init}beam_width", 1)
    spec["search"] = {"method": "beam", "beam": beam} if beam > 1 else {"method": "greedy"}
    data = filled(train=keys.take("data.train"), dev=keys.take("data.val"), test=keys.take("data.test"))
    data = {"train": "train.tsv", "dev": "dev.tsv"} | data | {"fields": fields}
    spec["training"] = _training(keys, init, data["train"])
    spec["data"] = data
    return {key: value for key, value in spec.items() if value is not None}, keys.left()


def _attention(way: str) -> dict[str, Any]:
    return {"select": "hard"} if way.startswith("Hard") else {"score": "additive"}


def _columns(keys: Keys) -> tuple[dict[str, Any], list[str]]:
    """The columns of the table. yoyodyne counts them from 1; 0 means that there is none."""
    source, target = keys.take("data.source_col", 1), keys.take("data.target_col", 2)
    features = keys.take("data.features_col", 0)
    units = {name: keys.take(f"data.{name}_sep", "") for name in ("source", "target", "features")}
    places = {source: "source", target: "target"} | ({features: "features"} if features else {})
    fields = [places.get(number, f"unused{number}") for number in range(1, max(places) + 1)]
    inputs = {"source": _text(units["source"])}
    if features:
        inputs["features"] = {"type": "text", "unit": "word"}
    return {"inputs": inputs, "outputs": {"target": _text(units["target"])}}, fields


def _text(separator: str) -> dict[str, Any]:
    return {"type": "text", "unit": "word" if separator.strip() == "" and separator else "char"}


def _network(keys: Keys, at: str, kind: str, size: int, model: dict[str, Any]) -> dict[str, Any]:
    """The encoder. Values such as ${init_args.decoder_dropout} name another key."""

    def value(name: str, default: Any) -> Any:
        found = keys.take(f"{at}.init_args.{name}", default)
        if isinstance(found, str) and (other := re.fullmatch(r"\$\{(?:model\.)?init_args\.(\w+)\}", found)):
            found = model["init_args"].get(other[1], default)
        return found

    keys.take(f"{at}.class_path")
    size = value("embedding_size", size)
    found = filled(layers=value("layers", 1), dropout=value("dropout", None), embedding=size)
    hidden = value("hidden_size", 512)
    if kind == "Transformer":
        return {
            "type": "transformer",
            "size": size,
            "hidden": hidden,
            "heads": value("attention_heads", 4),
        } | found
    return {
        "type": "recurrent",
        "cell": RECURRENT[kind],
        "size": hidden,
        "bidirectional": value("bidirectional", True),
    } | found


def _training(keys: Keys, init: str, file: str) -> dict[str, Any]:
    name = str(keys.take(f"{init}optimizer.class_path", "torch.optim.Adam")).rpartition(".")[2].lower()
    known = name if name in ("adam", "adamw", "sgd") else "adam"
    if known != name:
        keys.notes.append(f"optimizer: {name} (adam takes its place, with its own learning rate)")
    rate = keys.take(f"{init}optimizer.init_args.lr", 0.001)
    betas = keys.take(f"{init}optimizer.init_args.betas")
    scheduler = str(keys.take(f"{init}scheduler.class_path", "")).rpartition(".")[2]
    schedule: dict[str, Any] | str | None
    schedule = {"WarmupInverseSquareRoot": "inverse-sqrt", "ReduceOnPlateau": "plateau"}.get(scheduler)
    rows = keys.take("data.batch_size", 32)
    if warmup := _warmup(keys, f"{init}scheduler.init_args.", file, rows) if schedule else None:
        schedule = {"type": schedule, "warmup": warmup}
    callbacks = keys.take("trainer.callbacks", [])
    patience = [
        one["init_args"].get("patience") for one in callbacks if "EarlyStopping" in str(one.get("class_path"))
    ]
    return filled(
        epochs=keys.take("trainer.max_epochs"),
        batch_rows=rows,
        optimizer={"type": known, **filled(betas=betas)},
        lr=rate if known == name else 0.001,
        clip=keys.take("trainer.gradient_clip_val"),
        accumulate=keys.take("trainer.accumulate_grad_batches"),
        schedule=schedule,
        patience=patience[0] if patience else None,
        seed=keys.take("seed_everything"),
    )


def _warmup(keys: Keys, at: str, file: str, rows: int) -> int | None:
    """The updates of the warm-up. Its epochs are counted in the training file, or taken as 100 updates each."""
    if steps := keys.take(f"{at}warmup_steps"):
        return int(steps)
    epochs = keys.take(f"{at}warmup_epochs")
    if not epochs:
        return None
    if Path(file).is_file():
        with Path(file).open("rb") as lines:
            return int(epochs) * math.ceil(sum(1 for _ in lines) / rows)
    keys.notes.append(
        f"{at}warmup_epochs: {epochs} (the updates of an epoch are not known without {file}: 100 are assumed)"
    )
    return 100 * int(epochs)
