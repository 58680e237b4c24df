#!/usr/bin/env python3
"""Every member that hodo writes stands in docs/json.md, in the section of its command.

    tests/docs/check_json.py BIN_DIR

Exit status 0: all there; 1: some are missing, one a line; 2: usage.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

ROTARY = {"head_dim": 8, "layout": "half_split", "base": 10000}
DYNAMIC = {"rope_type": "dynamic", "factor": 2, "original_max_position_embeddings": 4}
TEMPERATURE = {"rule": "temperature", "beta": 0.1, "floor_scale": 4, "offset": 1}
SPECS = [
    {"method": "rotary", **ROTARY, "schedule": DYNAMIC, "logit_scale": [TEMPERATURE]},
    {"method": "axial_rotary", **ROTARY, "axis_layout": "blocks"},
    {"method": "sinusoidal", "dim": 4, "layout": "halves"},
    {"method": "learned", "max_position_embeddings": 16, "dim": 4},
    {"method": "alibi", "num_heads": 2},
    {"method": "t5_bias", "num_heads": 2, "bidirectional": True},
    {"method": "shaw", "max_distance": 2},
]
WIDTHS = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
CONFIGS = [
    {"model_type": "llama", **WIDTHS, "max_position_embeddings": 64, "rope_theta": 10000.0,
     "rope_scaling": {"type": "dynamic", "factor": 2.0}},
    {"model_type": "bert", **WIDTHS, "max_position_embeddings": 64},
    {"model_type": "bloom", "hidden_size": 64, "n_head": 4, "n_layer": 2},
    {"model_type": "t5", "d_model": 64, "d_kv": 16, "num_heads": 4, "num_layers": 2,
     "relative_attention_num_buckets": 32},
    {"model_type": "no such family"},
]


def run(hodo, arguments, text=""):
    done = subprocess.run([hodo, *arguments], input=text, capture_output=True, text=True,
                          check=False, timeout=300)
    return json.loads(done.stdout or "{}")


def outputs(hodo):
    """[(command, what it writes)]"""
    for spec in SPECS:
        yield "table", run(hodo, ["table", "--json", "--positions", "0,5", "--spec",
                                  json.dumps(spec)])
    yield "apply", run(hodo, ["apply", "--positions", "5", "--spec", json.dumps(SPECS[0])],
                       json.dumps({"x": [1] * 8}))
    yield "attend", run(hodo, ["attend", "--json", "--spec", json.dumps(SPECS[4])],
                        json.dumps({name: [[[1], [2]]] for name in "qkv"}))
    yield "demo", run(hodo, ["demo", "--json", "order", "dog bites man", "man bites dog"])
    for config in CONFIGS:
        yield "inspect", run(hodo, ["inspect", "--json", "-"], json.dumps(config))


def members(value):
    """Names of members at any depth. A spec has pages of its own."""
    if isinstance(value, list):
        for element in value:
            yield from members(element)
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name
            if name != "spec":
                yield from members(member)


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    page = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    sections = {}
    for section in page.split("\n## hodo ")[1:]:
        sections[section.split()[0]] = set(re.findall(r"`(\w+)`", section))
    missing, seen = set(), 0
    for command, written in outputs(pathlib.Path(arguments[0]).resolve() / "hodo"):
        names = set(members(written))
        if "schema" not in names:
            missing.add(f"hodo {command} wrote no JSON")
        seen += len(names)
        missing |= {f"docs/json.md, hodo {command}: `{name}` is missing"
                    for name in names - sections[command]}
    print("\n".join(sorted(missing) + [f"{seen} members, {len(missing)} problems"]))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
