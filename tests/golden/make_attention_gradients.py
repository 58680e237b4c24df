#!/usr/bin/env python3
"""Writes attention_gradients.json: gradients of attention by PyTorch's autograd, in float64.

    python3 -m venv .venv && .venv/bin/pip install torch==2.13.0 numpy
    .venv/bin/python tests/golden/make_attention_gradients.py

Attention is written here with matrices, from the papers' formulas and nothing of this project. A
case has `spec` in Hodometer's text form, `mask` (causal, bidirectional or window), `window`,
`scale`, `soft_cap`, the inputs q [length, heads, head_dim], k [length, kv_heads, head_dim], v
[length, kv_heads, value_dim], out_gradient like the output, and where they are used buckets,
key_rows, value_rows and sinks; `gradients` has a member for each input that has one. Inputs have
few digits and gradients are rounded to 9.
"""

import json
import math
import pathlib

import torch

TORCH = "2.13.0"
HERE = pathlib.Path(__file__).resolve().parent


class Numbers:
    """Numbers with few digits, the same on every machine: a small linear congruence."""

    def __init__(self, seed):
        self.state = seed

    def tensor(self, *shape):
        values = []
        for _ in range(math.prod(shape)):
            self.state = (1103515245 * self.state + 12345) % 2**31
            values.append(((self.state >> 16) % 257 - 128) / 64)
        return torch.tensor(values, dtype=torch.float64).reshape(shape).requires_grad_()


def turn(x, spec):
    """x [length, heads, head_dim] turned by its positions 0, 1, ..."""
    if spec["method"] != "rotary":
        return x
    dim = spec.get("rotary_dim", spec["head_dim"])
    inv_freq = spec["base"] ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    angle = torch.arange(len(x), dtype=torch.float64)[:, None, None] * inv_freq
    if spec["layout"] == "half_split":
        a, b = x[..., : dim // 2], x[..., dim // 2 : dim]
    else:
        a, b = x[..., 0:dim:2], x[..., 1:dim:2]
    turned = (a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin())
    if spec["layout"] == "half_split":
        return torch.cat([*turned, x[..., dim:]], -1)
    return torch.cat([torch.stack(turned, -1).flatten(-2), x[..., dim:]], -1)


def t5_bucket(distance, num_buckets=32, max_distance=128):
    """The bucket of keys at and left of the query, as in T5's decoder."""
    distance = max(distance, 0)
    exact = num_buckets // 2
    if distance < exact:
        return distance
    far = math.log(distance / exact) / math.log(max_distance / exact) * (num_buckets - exact)
    return min(exact + int(far), num_buckets - 1)


def attend(case, q, k, v, learned):
    """The output [length, heads, value_dim]."""
    spec, length, heads = case["spec"], q.shape[0], q.shape[1]
    group = heads // k.shape[1]
    q = turn(q, spec)
    k = turn(k, spec).repeat_interleave(group, 1)
    v = v.repeat_interleave(group, 1)
    scores = torch.einsum("ihd,nhd->hin", q, k)
    at = torch.arange(length)
    distance = at[:, None] - at[None]
    if spec["method"] == "shaw":
        clip = spec["max_distance"]
        row = (-distance).clamp(-clip, clip) + clip
        scores = scores + torch.einsum("ihd,ind->hin", q, learned["key_rows"][row])
    scores = scores * case["scale"]
    if case["soft_cap"] > 0:
        scores = case["soft_cap"] * torch.tanh(scores / case["soft_cap"])
    if spec["method"] == "alibi":
        slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1, dtype=torch.float64) / heads)
        scores = scores - slopes[:, None, None] * distance.abs()
    if spec["method"] == "t5_bias":
        bucket = torch.tensor([[t5_bucket(int(d)) for d in line] for line in distance])
        scores = scores + learned["buckets"][bucket].permute(2, 0, 1)
    seen = torch.ones_like(distance, dtype=torch.bool)
    if case["mask"] != "bidirectional":
        seen = distance >= 0
    if case["mask"] == "window":
        seen = seen & (distance < case["window"])
    scores = scores.masked_fill(~seen, -math.inf)
    if "sinks" in learned:
        sinks = learned["sinks"][:, None, None].expand(-1, length, 1)
        weights = torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]
    else:
        weights = scores.softmax(-1)
    out = torch.einsum("hin,nhd->ihd", weights, v)
    if spec.get("values"):
        out = out + torch.einsum("hin,ind->ihd", weights, learned["value_rows"][row])
    return out


def numbers(tensor):
    return [float(f"{value:.9g}") for value in tensor.detach().flatten().tolist()]


def make(name, spec, mask="causal", heads=4, kv_heads=2, soft_cap=0.0, sinks=False, length=11):
    head_dim, value_dim = spec.get("head_dim", 6), 5
    case = {"name": name, "spec": spec, "mask": mask, "window": 4, "scale": 0.375}
    case |= {"soft_cap": soft_cap, "length": length, "heads": heads, "kv_heads": kv_heads}
    case |= {"head_dim": head_dim, "value_dim": value_dim}
    source = Numbers(len(name))
    inputs = {
        "q": source.tensor(length, heads, head_dim),
        "k": source.tensor(length, kv_heads, head_dim),
        "v": source.tensor(length, kv_heads, value_dim),
    }
    out_gradient = source.tensor(length, heads, value_dim).detach()
    learned = {}
    if spec["method"] == "t5_bias":
        learned["buckets"] = source.tensor(32, heads)
    if spec["method"] == "shaw":
        learned["key_rows"] = source.tensor(2 * spec["max_distance"] + 1, head_dim)
        if spec["values"]:
            learned["value_rows"] = source.tensor(2 * spec["max_distance"] + 1, value_dim)
    if sinks:
        learned["sinks"] = source.tensor(heads)
    attend(case, **inputs, learned=learned).backward(out_gradient)
    inputs |= learned
    case |= {key: numbers(value) for key, value in inputs.items()}
    case["out_gradient"] = numbers(out_gradient)
    case["gradients"] = {key: numbers(value.grad) for key, value in inputs.items()}
    return case


def main():
    if torch.__version__.split("+")[0] != TORCH:
        raise SystemExit(f"made with torch {TORCH} only, found {torch.__version__}")
    rotary = {"method": "rotary", "head_dim": 8, "base": 10000.0, "layout": "half_split"}
    partial = rotary | {"layout": "interleaved", "rotary_dim": 6}
    t5 = {"method": "t5_bias", "bidirectional": False, "num_heads": 4}
    shaw = {"method": "shaw", "max_distance": 3, "values": False}
    cases = [
        make("nope", {"method": "nope"}),
        make("nope bidirectional", {"method": "nope"}, mask="bidirectional"),
        make("rotary", rotary),
        make("rotary, every head its own keys", rotary, kv_heads=4),
        make("rotary, one head of keys", rotary, kv_heads=1, mask="window"),
        make("partial rotary", partial),
        make("alibi", {"method": "alibi", "num_heads": 4}),
        make("t5", t5, length=37),
        make("shaw", shaw),
        make("shaw with values", shaw | {"values": True}, mask="bidirectional"),
        make("soft cap", rotary, soft_cap=1.5),
        make("sinks", rotary, mask="window", sinks=True),
        make("soft cap, alibi and sinks", {"method": "alibi", "num_heads": 4}, soft_cap=2.0, sinks=True),
    ]
    head = {"made_by": "make_attention_gradients.py", "torch": TORCH}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    rows = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    lines.append(f'"cases": [\n{rows}\n]')
    (HERE / "attention_gradients.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
