"""Writes hf_models.json: what a config.json means for positions, by the model classes themselves.

models: the configs of model_configs.json (position keys only, as published: old and new key forms).
saved_defaults: for every model_type with a rotary embedding class, the position keys of the config
that the class saves when nothing is given. Every entry has `config` and `uses`, one per rotary
embedding and layer type: inverse frequencies as pair_count and the pairs kept, the attention
factor, the pairing that the apply function was seen to use (absent: not seen), softmax_scale of
the first attention layer, `beyond_original` (LongRoPE, first position past the trained length) and
`at_twice_maximum` (dynamic).
`layer_types` maps a type to its layers as the config class fills them in. `uses` is empty where the
model does not rotate; `error` replaces it where Hugging Face cannot build the model.
"""

import importlib
import inspect
import json
import logging
import re
import warnings

import torch
import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

import golden_io

# Keys of a saved config that say something about positions.
POSITION_KEY = re.compile(
    r"model_type|.*rope.*|.*rotary.*|(global_)?head_dim|hidden_size|n_embd|d_model|embed_dim"
    r"|(num_)?(attention_)?heads|n_heads?|num_(global_)?key_value_heads|num_(hidden_)?layers|n_layers?|depth"
    r"|max_position_embeddings|n_positions|original_max_position_embeddings|sliding_window.*|layer_types"
    r"|query_pre_attn_scalar|attention_multiplier|qk_nope_head_dim|v_head_dim|kv_lora_rank"
    r"|q_lora_rank|kv_channels|attention_head_dim|(en|de)coder_num_attention_heads|spatial_merge_size"
)
SUB_CONFIGS = ("text_config", "vision_config", "attn_config")


def position_keys(config):
    """The part of a config dict that concerns positions."""
    kept = {}
    for key, value in config.items():
        if key in SUB_CONFIGS and isinstance(value, dict):
            kept[key] = position_keys(value)
        elif POSITION_KEY.fullmatch(key) and value is not None:
            kept[key] = value
    return kept


def module_of(config):
    """The modeling module of a config's class, or None."""
    name = type(config).__module__.replace(".configuration_", ".modeling_")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def parts(config):
    """[(name, config)]: the text part, and a vision part where there is one."""
    text = config.get_text_config()
    found = [("vision" if "Vision" in type(text).__name__ else "text", text)]
    if getattr(config, "vision_config", None) is not None:
        found.append(("vision", config.vision_config))
    return found


def rotary_class(module, config, vision):
    """The rotary embedding class of a module for its text or its vision part, or None."""
    classes = [
        c
        for n, c in vars(module).items()
        if inspect.isclass(c) and n.endswith("RotaryEmbedding") and c.__module__ == module.__name__
    ]
    classes = [
        c for c in classes if ("Vision" in c.__name__) == vision and "Audio" not in c.__name__
    ]
    classes = [c for c in classes if "config" in inspect.signature(c.__init__).parameters]
    if len(classes) > 1:
        raise LookupError(f"{len(classes)} rotary embeddings for {type(config).__name__}")
    return classes[0] if classes else None


def pairing(module, embedding, layer_type, config, count):
    """Which two inputs the module's apply function turns together, as a layout name or None."""
    names = [
        n
        for n in (
            "apply_rotary_pos_emb_interleave",
            "apply_rotary_pos_emb",
            "apply_rotary_emb",
            "apply_rotary_pos_emb_vision",
        )
        if hasattr(module, n)
    ]
    if not getattr(config, "rope_interleave", True) and len(names) > 1:
        names = names[1:]
    if not names or count < 2:
        return None
    apply, width = getattr(module, names[0]), 2 * count
    eye = torch.eye(width).reshape(width, 1, 1, width)
    try:
        extra = {"layer_type": layer_type} if layer_type else {}
        turned = embedding(torch.zeros(1), torch.ones(1, 1, dtype=torch.long), **extra)
        given = list(inspect.signature(apply).parameters)
        rows = []
        for row in eye:
            q = row[None]
            if isinstance(turned, torch.Tensor):
                rows.append(apply(q, q, turned)[0])
            elif "k" in given:
                rows.append(apply(q, q, *turned)[0])
            else:
                rows.append(apply(q, *turned))
        reached = [tuple(r.flatten().nonzero().flatten().tolist()) for r in rows]
    except Exception:  # a call with other arguments than the usual ones
        return None
    mates = [j for j in range(1, width) if reached[j] == reached[0]]
    return {(1,): "interleaved", (count,): "half_split"}.get(tuple(mates))


def softmax_scale(module, config, cls):
    """The scale of the first attention layer, made without memory."""
    attention = getattr(module, cls.__name__.replace("RotaryEmbedding", "Attention"), None)
    if attention is None:
        return None
    try:
        with torch.device("meta"):
            return float(attention(config, layer_idx=0).scaling)
    except Exception:  # no such member, or a class with other arguments
        return None


def frequencies(tensor):
    values = golden_io.float32_list(tensor.float())
    pairs = golden_io.first_middle_last(len(values))
    return {"pair_count": len(values), "pairs": pairs, "inv_freq": [values[k] for k in pairs]}


def rotates(config):
    """Whether the model makes its rotary embedding at all: some families decide by another key."""
    family = config.model_type
    if family == "falcon":
        return not config.alibi
    if family in ("granitemoehybrid", "esm"):
        return config.position_embedding_type in ("rope", "rotary")
    return family != "zamba2" or config.use_mem_rope


def applied_factor(embedding, layer_type):
    """cos at position 0: what the forward pass really multiplies by, or None."""
    extra = {"layer_type": layer_type} if layer_type else {}
    try:
        made = embedding(torch.zeros(1), torch.zeros(1, 1, dtype=torch.long), **extra)
    except Exception:  # positions of another shape (vision)
        return None
    return float(made.real.max() if isinstance(made, torch.Tensor) else made[0].max())


def uses(config):
    """One entry per rotary embedding and layer type, or [] where the model has none."""
    found = []
    for name_of_part, part in parts(config):
        module = module_of(part)
        cls = module and rotary_class(module, part, name_of_part == "vision")
        if not cls or not rotates(part):
            continue
        embedding = cls(part)
        table = dict(embedding.named_buffers())
        if "embed_positions" in table:  # GPT-J and CodeGen keep a table of sin and cos instead
            sin, cos = table["embed_positions"][1].double().chunk(2)
            table = {"inv_freq": torch.atan2(sin, cos).float()}
        for name, tensor in sorted(table.items()):
            if not name.endswith("inv_freq") or "original" in name:
                continue
            layer_type = name.removesuffix("inv_freq").rstrip("_")
            entry = {"part": name_of_part, "class": cls.__name__}
            if layer_type:
                entry["layer_type"] = layer_type
            entry |= frequencies(tensor)
            label = f"{layer_type}_attention_scaling" if layer_type else "attention_scaling"
            entry["attention_factor"] = float(getattr(embedding, label, 1.0))
            entry["layout"] = pairing(module, embedding, layer_type, part, len(tensor))
            scale = softmax_scale(module, part, cls)
            if scale is not None:
                entry["softmax_scale"] = scale
            applied = applied_factor(embedding, layer_type)
            if (
                applied
                and abs(applied - entry["attention_factor"]) > 1e-6
                and "embed_positions" not in table
            ):
                entry["applied_factor"] = golden_io.Float32(applied)
            kind = getattr(embedding, "rope_type", None)
            if kind in ("longrope", "dynamic") and "inv_freq" in table:
                length = 2 * part.max_position_embeddings
                if kind == "longrope":
                    length = part.rope_parameters["original_max_position_embeddings"] + 1
                embedding(torch.zeros(1), torch.tensor([[length - 1]]))
                label = "beyond_original" if kind == "longrope" else "at_twice_maximum"
                if kind == "dynamic" or hasattr(
                    embedding, "long_inv_freq"
                ):  # PhiMoE never turns to long
                    entry[label] = frequencies(embedding.inv_freq)["inv_freq"]
            if hasattr(embedding, "mrope_section"):
                entry["mrope_section"] = list(embedding.mrope_section)
            if isinstance(getattr(part, "no_rope_layers", None), list):
                entry["no_rope_layers"] = part.no_rope_layers
            found.append({k: v for k, v in entry.items() if v is not None})
    return found


def entry(name, given):
    """One model: its config and what its classes make of it."""
    row = {"name": name, "config": given}
    try:
        config = CONFIG_MAPPING[given["model_type"]].from_dict(json.loads(json.dumps(given)))
        row["uses"] = uses(config)
        types = getattr(config.get_text_config(), "layer_types", None)
        if types and row["uses"]:
            row["layer_types"] = {
                t: [k for k, u in enumerate(types) if u == t] for t in sorted(set(types))
            }
    except Exception as error:  # recorded: a config Hugging Face cannot read is a result too
        row["error"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return row


def models():
    given = json.loads((golden_io.HERE / "model_configs.json").read_text())
    return [entry(name, config) for name, config in sorted(given.items())]


def saved_defaults():
    rows = []
    for model_type in sorted(CONFIG_MAPPING_NAMES):
        try:
            config = CONFIG_MAPPING[model_type]()
            if len(parts(config)) > 1 or config.get_text_config() is not config or not uses(config):
                continue
            given = {"model_type": model_type} | position_keys(config.to_dict())
            given = json.loads(json.dumps(given, allow_nan=False, sort_keys=True))
        except Exception:  # a composite config without defaults
            continue
        rows.append(entry(model_type, given))
    return rows


def main():
    golden_io.check_versions()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    transformers.logging.set_verbosity_error()
    golden_io.write(
        "hf_models.json", "make_model_golden.py", models=models(), saved_defaults=saved_defaults()
    )


if __name__ == "__main__":
    main()
