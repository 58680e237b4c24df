"""Writes hf_rotate.json: small float32 tensors rotated by Hugging Face's own apply functions.

Every case: `spec` in Hodometer's text form, `positions` (one list, or one list per axis), `x`
[tokens, heads, head_dim] and `y` of the same shape. Angles are Hugging Face's float32 ones, so an
exact angle differs by up to position * 6e-8 rad per pair. `y_layout` is written where the output is
not in the layout of the input.
"""

import warnings

import torch
import transformers
from transformers.models.codegen import modeling_codegen as codegen
from transformers.models.cohere import modeling_cohere as cohere
from transformers.models.deepseek_v2 import modeling_deepseek_v2 as deepseek_v2
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek_v3
from transformers.models.glm import modeling_glm as glm
from transformers.models.gpt_neox import modeling_gpt_neox as gpt_neox
from transformers.models.gptj import modeling_gptj as gptj
from transformers.models.llama import modeling_llama as llama
from transformers.models.pixtral import modeling_pixtral as pixtral
from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen2_vl
from transformers.models.qwen3_vl import modeling_qwen3_vl as qwen3_vl

import golden_io

CASES = []
POSITIONS = [0, 1, 7, 257, 4097]
GRID = [[3, 4, 9, 300, 4097], [3, 5, 2, 17, 4097], [3, 6, 11, 40, 4097]]
PLANE = [[0, 1, 5, 0, 31], [0, 0, 2, 7, 63]]


def tensor(tokens, heads, head_dim, seed):
    """Numbers with few digits, the same on every machine: a small linear congruence."""
    state, values = seed, []
    for _ in range(tokens * heads * head_dim):
        state = (1103515245 * state + 12345) % 2**31
        values.append(((state >> 16) % 4001 - 2000) / 1000)
    return torch.tensor(values, dtype=torch.float32).reshape(tokens, heads, head_dim)


def add(name, spec, positions, rotate, heads=2, note=None, y_layout=None):
    """One case. `rotate` maps [1, heads, tokens, head_dim] to the same shape."""
    x = tensor(
        len(positions[0]) if isinstance(positions[0], list) else len(positions),
        heads,
        spec["head_dim"],
        1 + len(CASES),
    )
    y = rotate(x.transpose(0, 1)[None])[0].transpose(0, 1)
    assert y.shape == x.shape, name
    case = {"name": name, "spec": spec, "positions": positions}
    if note:
        case["note"] = note
    if y_layout:
        case["y_layout"] = y_layout
    CASES.append(
        case | {"x": golden_io.float32_list(x), "y": golden_io.float32_list(y.contiguous())}
    )


def rotary(head_dim, layout, base=10000.0, rotary_dim=None, schedule=None):
    """A rotary spec in Hodometer's text form."""
    spec = {"method": "rotary", "head_dim": head_dim, "rotary_dim": rotary_dim or head_dim}
    spec |= {"layout": layout, "base": base}
    return spec | ({"schedule": schedule} if schedule else {})


def config_of(cls, spec, **more):
    """A text config of class cls for a rotary or mrope spec."""
    parameters = {"rope_type": "default", "rope_theta": spec["base"], **spec.get("schedule", {})}
    part = spec.get("rotary_dim", spec["head_dim"]) / spec["head_dim"]
    parameters |= {"partial_rotary_factor": part} if part != 1 else {}
    parameters |= {k: spec[k] for k in ("mrope_section",) if k in spec}
    heads = 4
    return cls(
        hidden_size=heads * spec["head_dim"],
        num_attention_heads=heads,
        head_dim=spec["head_dim"],
        max_position_embeddings=16384,
        rope_parameters=parameters,
        **more,
    )


def ids(positions):
    """[1, tokens], or [axes, 1, tokens] for several axes."""
    data = torch.tensor(positions)
    return data[:, None] if data.ndim == 2 else data[None]


def with_module(module, embedding, config_class, apply="apply_rotary_pos_emb"):
    """The usual shape of a model: an embedding class makes cos and sin, a function applies them."""

    def make(name, spec, positions=None, **more):
        positions = positions or POSITIONS
        cos, sin = getattr(module, embedding)(config_of(config_class, spec))(
            torch.zeros(1), ids(positions)
        )
        add(name, spec, positions, lambda x: getattr(module, apply)(x, x, cos, sin)[0], **more)

    return make


def half_split():
    make = with_module(llama, "LlamaRotaryEmbedding", transformers.LlamaConfig)
    make("llama", rotary(8, "half_split"))
    make("llama odd number of pairs", rotary(34, "half_split", 5e5))
    make("llama 64", rotary(64, "half_split", 1e6), heads=1)
    make("llama large positions", rotary(8, "half_split"), [131071, 1048575])
    make(
        "llama yarn",
        rotary(
            16,
            "half_split",
            1e4,
            schedule={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096},
        ),
    )
    partial = with_module(gpt_neox, "GPTNeoXRotaryEmbedding", transformers.GPTNeoXConfig)
    partial("gpt_neox first quarter", rotary(32, "half_split", rotary_dim=8))
    partial("gpt_neox first 10 of 20", rotary(20, "half_split", rotary_dim=10))


def interleaved():
    make = with_module(cohere, "CohereRotaryEmbedding", transformers.CohereConfig)
    make("cohere", rotary(8, "interleaved", 5e5))
    make("cohere odd number of pairs", rotary(34, "interleaved", 5e5))
    make = with_module(glm, "GlmRotaryEmbedding", transformers.GlmConfig)
    make("glm first half", rotary(16, "interleaved", rotary_dim=8))
    for module, cls, name in (
        (gptj, transformers.GPTJConfig, "gptj"),
        (codegen, transformers.CodeGenConfig, "codegen"),
    ):
        spec = rotary(16, "interleaved", rotary_dim=8)
        embedding = [v for k, v in vars(module).items() if k.endswith("RotaryEmbedding")][0]
        sin, cos = embedding(cls(n_positions=4098, rotary_dim=8))(torch.zeros(1), ids(POSITIONS))

        def rotate(x, module=module, sin=sin, cos=cos):
            x = x.transpose(1, 2)
            turned = module.apply_rotary_pos_emb(x[..., :8], sin, cos)
            return torch.cat([turned, x[..., 8:]], dim=-1).transpose(1, 2)

        add(f"{name} first half", spec, POSITIONS, rotate)


def latent_attention():
    """The rotary slice of multi-head latent attention: head_dim here is the slice."""
    note = "the rotary slice alone: the last qk_rope_head_dim of a head"
    spec = rotary(16, "interleaved")
    shape = dict(
        hidden_size=64,
        num_attention_heads=4,
        qk_rope_head_dim=16,
        max_position_embeddings=16384,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    )
    config = transformers.DeepseekV3Config(**shape)
    cos, sin = deepseek_v3.DeepseekV3RotaryEmbedding(config)(torch.zeros(1), ids(POSITIONS))
    add(
        "deepseek_v3 interleave",
        spec,
        POSITIONS,
        lambda x: deepseek_v3.apply_rotary_pos_emb_interleave(x, x, cos, sin)[0],
        note=note,
        y_layout="half_split",
    )
    add(
        "deepseek_v3 rope_interleave false",
        rotary(16, "half_split"),
        POSITIONS,
        lambda x: deepseek_v3.apply_rotary_pos_emb(x, x, cos, sin)[0],
        note=note,
    )
    turns = deepseek_v2.DeepseekV2RotaryEmbedding(transformers.DeepseekV2Config(**shape))(
        torch.zeros(1), ids(POSITIONS)
    )
    add(
        "deepseek_v2 complex",
        spec,
        POSITIONS,
        lambda x: deepseek_v2.apply_rotary_emb(x, x, turns)[0],
        note=note,
    )


def mrope():
    def spec(head_dim, base, section, layout):
        return {
            "method": "mrope",
            "head_dim": head_dim,
            "layout": "half_split",
            "base": base,
            "mrope_section": section,
            "section_layout": layout,
        }

    chunked = with_module(qwen2_vl, "Qwen2VLRotaryEmbedding", transformers.Qwen2VLTextConfig)
    mixed = with_module(qwen3_vl, "Qwen3VLTextRotaryEmbedding", transformers.Qwen3VLTextConfig)
    text = [POSITIONS] * 3
    chunked("qwen2_vl 16 24 24", spec(128, 1e6, [16, 24, 24], "chunked"), GRID, heads=1)
    chunked("qwen2_vl 2 3 3", spec(16, 1e4, [2, 3, 3], "chunked"), GRID)
    chunked("qwen2_vl 1 5 2", spec(16, 1e4, [1, 5, 2], "chunked"), GRID)
    chunked("qwen2_vl text", spec(16, 1e4, [2, 3, 3], "chunked"), text)
    mixed("qwen3_vl 24 20 20", spec(128, 5e6, [24, 20, 20], "interleaved"), GRID, heads=1)
    mixed("qwen3_vl 11 11 10", spec(64, 1e7, [11, 11, 10], "interleaved"), GRID, heads=1)
    mixed("qwen3_vl 4 2 2", spec(16, 1e4, [4, 2, 2], "interleaved"), GRID)
    mixed("qwen3_vl text", spec(16, 1e4, [4, 2, 2], "interleaved"), text)


def axial():
    def spec(head_dim, layout):
        return {
            "method": "axial_rotary",
            "head_dim": head_dim,
            "layout": "half_split",
            "base": 10000.0,
            "axis_layout": layout,
        }

    position_ids = torch.tensor(PLANE).T  # [tokens, (height, width)]
    for head_dim, heads in ((16, 2), (80, 1)):
        for module, embedding, cls, width in (
            (
                qwen2_vl,
                "Qwen2VLVisionRotaryEmbedding",
                transformers.models.qwen2_vl.Qwen2VLVisionConfig,
                "embed_dim",
            ),
            (
                qwen3_vl,
                "Qwen3VLVisionRotaryEmbedding",
                transformers.models.qwen3_vl.Qwen3VLVisionConfig,
                "hidden_size",
            ),
        ):
            config = cls(num_heads=4, num_attention_heads=4, **{width: 4 * head_dim})
            cos, sin = getattr(module, embedding)(config)(torch.zeros(1), position_ids)
            name = module.__name__.rpartition("modeling_")[2]

            def rotate(x, module=module, cos=cos, sin=sin):
                return module.apply_rotary_pos_emb_vision(
                    x[0].transpose(0, 1), x[0].transpose(0, 1), cos, sin
                )[0].transpose(0, 1)[None]

            add(f"{name} vision {head_dim}", spec(head_dim, "blocks"), PLANE, rotate, heads=heads)
    for head_dim in (16, 64):
        config = transformers.PixtralVisionConfig(
            hidden_size=4 * head_dim, num_attention_heads=4, head_dim=head_dim
        )
        cos, sin = pixtral.PixtralVisionRotaryEmbedding(config)(torch.zeros(1), position_ids)
        cos, sin = cos.reshape(1, -1, head_dim), sin.reshape(1, -1, head_dim)
        add(
            f"pixtral {head_dim}",
            spec(head_dim, "alternating"),
            PLANE,
            lambda x, cos=cos, sin=sin: pixtral.apply_rotary_pos_emb(x, x, cos, sin)[0],
            heads=16 // (head_dim // 4),
        )


def main():
    golden_io.check_versions()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    for make in (half_split, interleaved, latent_attention, mrope, axial):
        make()
    golden_io.write("hf_rotate.json", "make_hf_rotate.py", cases=CASES)


if __name__ == "__main__":
    main()
