"""Writes hf_rope.json: inverse frequencies by transformers.modeling_rope_utils for every rope type.

A case holds the spec in Hodometer's text form, the context length handed to the schedule (null:
none), the float32 inverse frequencies and the attention factor. `pairs` lists the pairs kept when
there are more than 32; without it all are there. `note` says what is unusual.
"""

import warnings

import torch
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.glm.modeling_glm import GlmRotaryEmbedding
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

import golden_io

CASES = []


def hf(spec, context_length):
    """What Hugging Face's function returns for a spec of ours."""
    schedule = dict(spec.get("schedule", {"rope_type": "default"}))
    rope_type = schedule["rope_type"]
    maximum = schedule.pop("max_position_embeddings", None)
    if rope_type == "dynamic":
        maximum = schedule.pop("original_max_position_embeddings")
    if maximum is None:
        maximum = 16 * schedule.get("original_max_position_embeddings", 4096)
    if spec["rotary_dim"] != spec["head_dim"]:
        schedule["partial_rotary_factor"] = spec["rotary_dim"] / spec["head_dim"]
    config = transformers.LlamaConfig(
        hidden_size=spec["head_dim"] * 4,
        num_attention_heads=4,
        head_dim=spec["head_dim"],
        max_position_embeddings=maximum,
        rope_parameters={"rope_theta": spec["base"], **schedule},
    )
    if rope_type != "default":
        return ROPE_INIT_FUNCTIONS[rope_type](config, torch.device("cpu"), seq_len=context_length)
    # Llama's own function knows no partial factor; GLM's does.
    partial = spec["rotary_dim"] != spec["head_dim"]
    owner = GlmRotaryEmbedding if partial else LlamaRotaryEmbedding
    return owner.compute_default_rope_parameters(config)


def add(name, head_dim, base, schedule=None, rotary_dim=None, context_length=None, note=None):
    """Appends one case; the name is completed with the numbers that tell it apart."""
    rotary_dim = rotary_dim or head_dim
    spec = {"method": "rotary", "head_dim": head_dim, "rotary_dim": rotary_dim}
    spec |= {"layout": "half_split", "base": float(base)}
    if schedule:
        spec["schedule"] = schedule
    inv_freq, attention_factor = hf(spec, context_length)
    values = golden_io.float32_list(inv_freq)
    pairs = golden_io.few(len(values))
    label = f"{name} d={rotary_dim}" + ("" if rotary_dim == head_dim else f"/{head_dim}")
    label += f" b={base:g}" + ("" if context_length is None else f" length={context_length}")
    case = {"name": label, "spec": spec, "context_length": context_length}
    if note:
        case["note"] = note
    if len(pairs) < len(values):
        case |= {"pair_count": len(values), "pairs": pairs}
    case["inv_freq"] = [values[k] for k in pairs]
    case["attention_factor"] = float(attention_factor)
    CASES.append(case)


def plain():
    for head_dim in (2, 4, 8, 16, 32, 34, 64, 80, 96, 128, 192, 256):
        add("plain", head_dim, 10000)
    for base in (100, 1000, 25000, 50000, 150000, 500000, 1e6, 5e6, 1e7, 1e8, 1e11):
        add("plain", 128, base)
    for head_dim, rotary_dim, base in (
        (64, 16, 1e4),
        (80, 32, 1e4),
        (80, 20, 1e4),
        (96, 24, 1e4),
        (128, 64, 1e6),
        (256, 64, 1e4),
        (256, 64, 1e7),
        (64, 32, 25000),
        (192, 64, 5e6),
        (128, 96, 1e4),
        (128, 2, 1e4),
    ):
        add("partial", head_dim, base, rotary_dim=rotary_dim)


def linear():
    for factor in (1, 2, 3, 4, 8, 7.5, 16, 64):
        add(f"linear s={factor:g}", 128, 10000, {"rope_type": "linear", "factor": float(factor)})
    for head_dim, base, factor in (
        (64, 1e4, 2.5),
        (80, 1e4, 4),
        (256, 1e6, 8),
        (96, 5e5, 32),
        (2, 1e4, 4),
    ):
        add(
            f"linear s={factor:g}", head_dim, base, {"rope_type": "linear", "factor": float(factor)}
        )
    add("linear partial", 96, 10000, {"rope_type": "linear", "factor": 4.0}, rotary_dim=24)


def dynamic():
    def case(length, head_dim=128, base=10000, factor=2.0, original=4096, **more):
        schedule = {"rope_type": "dynamic", "factor": factor}
        schedule["original_max_position_embeddings"] = original
        add(
            f"dynamic s={factor:g} L0={original}",
            head_dim,
            base,
            schedule,
            context_length=length,
            **more,
        )

    for length in (None, 1, 4095, 4096, 4097, 5000, 8192, 16384, 131072):
        case(length)
    for factor in (1.0, 1.5, 4.0, 8.0):
        for length in (2048, 2049, 16384):
            case(length, factor=factor, original=2048)
    for head_dim, base in ((4, 1e4), (32, 1e4), (64, 5e5), (80, 1e4), (96, 1e6), (256, 1e7)):
        case(32768, head_dim, base, original=8192)
    case(32768, 128, 1e4, rotary_dim=32, original=8192)
    case(65536, 96, 1e6, factor=3.0, original=32768, rotary_dim=48)


def yarn():
    def case(name, head_dim, base, factor, original, rotary_dim=None, note=None, **more):
        schedule = {"rope_type": "yarn", "factor": float(factor)}
        schedule |= {"original_max_position_embeddings": original, **more}
        add(f"yarn {name}", head_dim, base, schedule, rotary_dim=rotary_dim, note=note)

    for factor in (1, 1.5, 2, 4, 10, 16, 32, 40, 64):
        case(f"s={factor:g} L0=4096", 128, 10000, factor, 4096)
    case("qwen2.5", 128, 1e6, 4, 32768)
    case("qwen3-next", 256, 1e7, 4, 262144, rotary_dim=64)
    case(
        "deepseek-v3",
        64,
        1e4,
        40,
        4096,
        beta_fast=32.0,
        beta_slow=1.0,
        mscale=1.0,
        mscale_all_dim=1.0,
    )
    case("deepseek-v2-lite", 64, 1e4, 40, 4096, mscale=0.707, mscale_all_dim=0.707)
    case("kimi-k2", 64, 5e4, 32, 4096, beta_fast=1.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0)
    case("gpt-oss", 64, 150000, 32, 4096, beta_fast=32.0, beta_slow=1.0, truncate=False)
    case("gpt-oss truncated", 64, 150000, 32, 4096, beta_fast=32.0, beta_slow=1.0, truncate=True)
    case(
        "devstral-2",
        128,
        1e6,
        64,
        4096,
        beta_fast=4.0,
        beta_slow=1.0,
        mscale=1.0,
        mscale_all_dim=0.0,
    )
    case(
        "ministral-3",
        128,
        1e6,
        16,
        16384,
        beta_fast=32.0,
        beta_slow=1.0,
        mscale=1.0,
        mscale_all_dim=1.0,
    )
    case(
        "olmo3",
        128,
        5e5,
        8,
        8192,
        beta_fast=32.0,
        beta_slow=1.0,
        attention_factor=1.2079441541679836,
    )
    for truncate in (True, False):
        for head_dim, base, original in (
            (32, 1e4, 2048),
            (80, 1e4, 8192),
            (96, 5e5, 32768),
            (128, 1e6, 131072),
            (256, 1e7, 4096),
        ):
            case(
                f"truncate={truncate} L0={original}", head_dim, base, 8, original, truncate=truncate
            )
        for fast, slow in (
            (64.0, 1.0),
            (32.0, 2.0),
            (4.0, 1.0),
            (16.0, 0.5),
            (1.0, 1.0),
            (8.0, 8.0),
        ):
            case(
                f"betas {fast:g} {slow:g} truncate={truncate}",
                128,
                1e4,
                4,
                4096,
                beta_fast=fast,
                beta_slow=slow,
                truncate=truncate,
            )
    for mscale, all_dim in (
        (1.0, 1.0),
        (0.707, 0.707),
        (0.707, 0.0),
        (0.0, 0.707),
        (1.0, 0.5),
        (0.5, 2.0),
        (2.0, 1.0),
    ):
        case(
            f"mscale={mscale:g} mscale_all_dim={all_dim:g}",
            64,
            1e4,
            40,
            4096,
            mscale=mscale,
            mscale_all_dim=all_dim,
        )
    case("mscale only", 64, 1e4, 40, 4096, mscale=0.707)
    case("mscale_all_dim only", 64, 1e4, 40, 4096, mscale_all_dim=1.0)
    for given in (1.0, 0.5, 0.0, 1.5):
        case(f"attention_factor={given:g}", 64, 1e4, 4, 4096, attention_factor=given)
    case(
        "attention_factor beats mscale",
        64,
        1e4,
        4,
        4096,
        attention_factor=0.9,
        mscale=1.0,
        mscale_all_dim=0.5,
    )
    case("factor below one", 64, 1e4, 0.5, 4096, note="the factor stretches; the magnitude stays 1")
    for rotary_dim, head_dim in ((32, 64), (48, 96), (64, 256), (2, 8)):
        case("partial", head_dim, 1e4, 4, 8192, rotary_dim=rotary_dim)
    case("low clamps at 0", 64, 1e4, 4, 64)
    case(
        "high clamps at d-1",
        16,
        100,
        4,
        1 << 20,
        note="the bound is rotary_dim - 1, not the last pair",
    )
    case(
        "whole range below 0",
        64,
        1e4,
        4,
        4,
        note="low = 0 and high < 0: the ramp turns over and nothing is interpolated",
    )
    case(
        "slow above fast",
        64,
        1e4,
        4,
        4096,
        beta_fast=1.0,
        beta_slow=32.0,
        note="low > high: the ramp is a falling one; Hugging Face only warns",
    )


def llama3():
    def case(name, head_dim, base, factor, low, high, original, rotary_dim=None, note=None):
        schedule = {"rope_type": "llama3", "factor": float(factor), "low_freq_factor": float(low)}
        schedule |= {"high_freq_factor": float(high), "original_max_position_embeddings": original}
        add(f"llama3 {name}", head_dim, base, schedule, rotary_dim=rotary_dim, note=note)

    case("3.1", 128, 5e5, 8, 1, 4, 8192)
    case("3.2-1b", 64, 5e5, 32, 1, 4, 8192)
    case("3.2-3b", 128, 5e5, 32, 1, 4, 8192)
    case("scout low=high", 128, 5e5, 16, 1, 1, 8192)
    case("exaone4", 128, 1e6, 16, 1, 4, 8192)
    for factor in (1, 2, 4.5, 64):
        case(f"s={factor:g}", 128, 5e5, factor, 1, 4, 8192)
    for low, high in ((0.5, 2), (1, 8), (2, 4), (4, 32), (1, 1.5), (4, 4), (2, 2)):
        case(f"low={low:g} high={high:g}", 128, 5e5, 8, low, high, 8192)
    for head_dim in (2, 16, 80, 96, 256):
        case("L0=4096", head_dim, 1e4, 8, 1, 4, 4096)
    for original in (256, 2048, 32768, 131072):
        case(f"L0={original}", 128, 1e6, 8, 1, 4, original)
    case("partial", 128, 5e5, 8, 1, 4, 8192, rotary_dim=64)
    case(
        "high below low",
        64,
        5e5,
        8,
        4,
        1,
        8192,
        note="Hugging Face only warns; the two bands overlap and no pair is smoothed",
    )


def longrope():
    def factors(count, first, step, power):
        return [round(first + step * k**power, 3) for k in range(count)]

    def case(name, head_dim, base, original, length, rotary_dim=None, **more):
        count = (rotary_dim or head_dim) // 2
        schedule = {"rope_type": "longrope", "short_factor": factors(count, 1.0, 0.05, 1.0)}
        schedule["long_factor"] = factors(count, 1.05, 0.08, 1.7)
        schedule |= {"original_max_position_embeddings": original, **more}
        add(
            f"longrope {name}",
            head_dim,
            base,
            schedule,
            rotary_dim=rotary_dim,
            context_length=length,
        )

    for length in (None, 1, 4095, 4096, 4097, 131072):
        case("phi-3", 96, 10000, 4096, length, max_position_embeddings=131072)
    for length in (4096, 4097):
        case("phi-4-mini", 128, 10000, 4096, length, rotary_dim=96, max_position_embeddings=131072)
    for length in (8192, 8193):
        case("minicpm4", 64, 10000, 8192, length, max_position_embeddings=32768)
    for factor in (1.0, 2.0, 8.0, 32.0, 64.0):
        case(f"factor={factor:g}", 32, 10000, 4096, 8192, factor=factor)
    case("factor beats the ratio", 32, 1e6, 4096, 100, factor=4.0, max_position_embeddings=131072)
    for given in (1.0, 1.25):
        case(f"attention_factor={given:g}", 32, 5e5, 4096, 5000, factor=8.0, attention_factor=given)
    case("maximum = original", 32, 1e4, 4096, 4097, max_position_embeddings=4096)
    case("maximum below original", 32, 1e4, 4096, 4097, max_position_embeddings=2048)
    case("partial", 64, 1e6, 2048, 2049, rotary_dim=16, max_position_embeddings=65536)


def proportional():
    for head_dim, base, part, factor in (
        (512, 1e6, 0.25, 1.0),
        (256, 1e6, 0.25, 1.0),
        (256, 1e4, 0.5, 1.0),
        (128, 1e4, 0.75, 1.0),
        (128, 1e4, 1.0, 1.0),
        (64, 1e6, 0.25, 8.0),
        (80, 1e4, 0.3, 1.0),
        (96, 1e4, 0.34, 2.0),
        (16, 1e4, 0.125, 1.0),
        (64, 1e4, 0.0, 1.0),
        (34, 1e4, 0.5, 4.0),
    ):
        schedule = {"rope_type": "proportional", "partial_rotary_factor": part, "factor": factor}
        add(f"proportional r={part:g} s={factor:g}", head_dim, base, schedule)


def main():
    golden_io.check_versions()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    for make in (plain, linear, dynamic, yarn, llama3, longrope, proportional):
        make()
    names = [case["name"] for case in CASES]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise SystemExit(f"two cases have one name: {sorted(twice)}")
    golden_io.write("hf_rope.json", "make_hf_rope.py", cases=CASES)


if __name__ == "__main__":
    main()
