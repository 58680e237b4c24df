#!/usr/bin/env python3
"""Attention, decoding and rotation beside PyTorch and ONNX Runtime, in one run on one machine.

    benchmarks/peers.py                   everything, on one thread
    benchmarks/peers.py --threads 2 --filter prefill
    benchmarks/peers.py --json

Sets itself up: a virtual environment with the peers from PyPI and this library as a shared object,
both under build/peers. Every answer is compared with double precision before anything is timed;
peers whose answer is not that are marked WRONG. Times are medians of rounds in which all take turns.
"""

import argparse
import ctypes as c
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "peers"
PACKAGES = ["torch==2.13.0", "numpy", "onnxruntime", "onnx"]
HEADS, KV_HEADS, DIM = 32, 8, 128


def set_up():
    """Runs this script again inside its environment, where the library is built."""
    python = FOLDER / "venv" / "bin" / "python"
    if Path(sys.prefix) != FOLDER / "venv":
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", FOLDER / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        os.execv(python, [str(python), __file__, *sys.argv[1:]])
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DHODOMETER_CLI=OFF",
               "-DHODOMETER_DEVELOPER=OFF"]
    quiet = {"check": True, "stdout": sys.stderr}
    subprocess.run(["cmake", "-S", ROOT, "-B", FOLDER / "build", "-G", "Ninja", *options], **quiet)
    subprocess.run(["cmake", "--build", FOLDER / "build"], **quiet)
    return next((FOLDER / "build").glob("**/libhodometer.so"))


class Heads(c.Structure):
    _fields_ = [("data", c.c_void_p), ("dtype", c.c_int32)] + [
        (name, c.c_int64) for name in ("batch", "length", "heads", "head_dim", "batch_stride",
                                       "length_stride", "head_stride")]


class Positions(c.Structure):
    _fields_ = [("kind", c.c_int32), ("num_axes", c.c_int64), ("first", c.c_int64),
                ("ids", c.c_void_p), ("coordinates", c.c_void_p)] + [
        (name, c.c_int64) for name in ("batch", "length", "axis_stride", "batch_stride",
                                       "length_stride")]


class Hodometer:
    """The C interface, as far as it is needed here. Tensors are [length, heads, DIM] of torch."""

    def __init__(self, path, threads):
        self.lib = c.CDLL(str(path))
        self.lib.hodo_last_error.restype = c.c_char_p
        self.executor = c.c_void_p()
        self.check(self.lib.hodo_executor_create(c.c_int32(threads), c.byref(self.executor)))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.lib.hodo_last_error().decode())

    def plan(self, spec, context_length):
        plan = c.c_void_p()
        self.check(self.lib.hodo_plan_create(json.dumps(spec).encode(), c.c_int64(context_length),
                                             c.c_int32(0), c.byref(plan)))
        return plan

    @staticmethod
    def heads(x):
        import torch
        length, heads, dim = x.shape
        dtype = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2}[x.dtype]
        return Heads(x.data_ptr(), dtype, 1, length, heads, dim, x.numel(), x.stride(0),
                     x.stride(1))

    def attention(self, plan, q, k, v, out):
        tensors = (q, k, v, out)  # kept alive as long as what is returned
        views = [c.byref(self.heads(x)) for x in tensors]
        return lambda: tensors and self.check(
            self.lib.hodo_attention(plan, *views, None, self.executor))

    def rotate(self, plan, x, first):
        view = self.heads(x)
        positions = Positions(kind=0, num_axes=1, first=first)
        arguments = [plan, c.byref(view), c.c_size_t(1), c.byref(positions), c.c_int32(0),
                     c.c_int32(0), self.executor]
        keep = x
        return lambda: keep is not None and self.check(self.lib.hodo_rotate(*arguments))


def ort_session(node_type, attributes, inputs, outputs, threads):
    import onnx
    import onnxruntime as ort
    from onnx import TensorProto, helper

    types = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16,
             "int32": TensorProto.INT32, "int64": TensorProto.INT64}
    node = helper.make_node(node_type, [name for name, _, _ in inputs], outputs,
                            domain="com.microsoft", **attributes)
    kind = types[next(dtype for name, dtype, _ in inputs if name)]
    graph = helper.make_graph(
        [node], "attention",
        [helper.make_tensor_value_info(n, types[d], s) for n, d, s in inputs if n],
        [helper.make_tensor_value_info(n, kind, None) for n in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20),
                                                    helper.make_opsetid("com.microsoft", 1)],
                              ir_version=10)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return ort.InferenceSession(model.SerializeToString(), options,
                                providers=["CPUExecutionProvider"])


def ort_attention(q, k, v, threads, caches=None):
    """GroupQueryAttention; with a cache that is shared between past and present when decoding."""
    import numpy as np
    import onnxruntime as ort

    dtype = str(q.numpy().dtype)
    length, total = q.shape[0], k.shape[0]
    decoding = length < total
    past = total if decoding else 0
    past_shape = [1, KV_HEADS, past, DIM]
    inputs = [("q", dtype, [1, length, HEADS * DIM]), ("k", dtype, [1, length, KV_HEADS * DIM]),
              ("v", dtype, [1, length, KV_HEADS * DIM]), ("past_k", dtype, past_shape),
              ("past_v", dtype, past_shape), ("seqlens_k", "int32", [1]),
              ("total", "int32", [1])]
    attributes = {"num_heads": HEADS, "kv_num_heads": KV_HEADS}
    if caches is not None:
        attributes.update(do_rotary=1, rotary_interleaved=0)
        inputs += [("cos", dtype, list(caches[0].shape)), ("sin", dtype, list(caches[1].shape))]
    session = ort_session("GroupQueryAttention", attributes, inputs,
                          ["out", "present_k", "present_v"], threads)
    flat = lambda x: x.reshape(1, x.shape[0], -1).numpy()
    arrays = {"q": flat(q), "k": flat(k[total - length:]), "v": flat(v[total - length:]),
              "seqlens_k": np.array([total - 1], np.int32), "total": np.array([total], np.int32)}
    if caches is not None:
        arrays.update(cos=caches[0], sin=caches[1])
    binding = session.io_binding()
    values = {name: ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
              for name, array in arrays.items()}
    by_head = lambda x: np.ascontiguousarray(x.permute(1, 0, 2)[None].numpy())
    empty = np.zeros(past_shape, dtype)
    values["past_k"] = ort.OrtValue.ortvalue_from_numpy(by_head(k) if decoding else empty)
    values["past_v"] = ort.OrtValue.ortvalue_from_numpy(by_head(v) if decoding else empty)
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    present = {name: values["past_" + name[-1]] if decoding else
               ort.OrtValue.ortvalue_from_numpy(np.zeros([1, KV_HEADS, total, DIM], dtype))
               for name in ("present_k", "present_v")}
    out = ort.OrtValue.ortvalue_from_numpy(np.zeros([1, length, HEADS * DIM], dtype))
    binding.bind_ortvalue_output("out", out)
    for name, value in present.items():
        binding.bind_ortvalue_output(name, value)
    keep = (values, present)
    run = lambda: keep and session.run_with_iobinding(binding)
    return run, lambda: out.numpy().reshape(length, HEADS, DIM)


def ort_rotary(x, caches, first, threads):
    import numpy as np

    length = x.shape[0]
    session = ort_session("RotaryEmbedding", {"interleaved": 0, "num_heads": HEADS},
                          [("x", "float32", [1, length, HEADS * DIM]),
                           ("ids", "int64", [1, length]),
                           ("cos", "float32", list(caches[0].shape)),
                           ("sin", "float32", list(caches[1].shape))], ["out"], threads)
    feed = {"x": x.reshape(1, length, -1).numpy(), "ids": first + np.arange(length)[None],
            "cos": caches[0], "sin": caches[1]}
    result = []

    def run():
        result[:] = session.run(None, feed)
    return run, lambda: result[0].reshape(length, HEADS, DIM)


def tables(base, length):
    """cos and sin in double, [length, DIM / 2]."""
    import numpy as np
    angles = np.arange(length)[:, None] * base ** (-np.arange(0, DIM, 2) / DIM)
    return np.cos(angles), np.sin(angles)


def turned(x, base, first=0):
    """Half-split rotation in double, positions from `first` on."""
    import numpy as np
    cos, sin = (t[first:, None] for t in tables(base, first + x.shape[0]))
    a, b = x[..., :DIM // 2], x[..., DIM // 2:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def reference_rows(q, k, v, rows, slopes=None, base=None):
    """Some rows of causal attention in double, for heads 0 and HEADS - 1."""
    import numpy as np
    q, k, v = (x.double().numpy() for x in (q, k, v))
    offset = k.shape[0] - q.shape[0]
    if base:
        q, k = turned(q, base), turned(k, base)
    result = {}
    for row in rows:
        for head in (0, HEADS - 1):
            keys = offset + row + 1
            kv_head = head // (HEADS // KV_HEADS)
            scores = k[:keys, kv_head] @ q[row, head] / math.sqrt(DIM)
            if slopes is not None:
                scores -= slopes[head] * (keys - 1 - np.arange(keys))
            weights = np.exp(scores - scores.max())
            result[row, head] = weights / weights.sum() @ v[:keys, kv_head]
    return result


class Peer:
    def __init__(self, name, run, answer):
        self.name, self.run, self.answer = name, run, answer
        self.times = []


def error_of(peer, reference):
    import numpy as np
    peer.run()
    answer = np.asarray(peer.answer(), dtype=np.float64)
    return max(float(np.abs(answer[row, head] - want).max())
               for (row, head), want in reference.items())


def hf_rotary(x, base, first=0):
    """What Hugging Face computes: float32 angles, a copy with the halves exchanged."""
    import torch
    inv_freq = 1.0 / (base ** (torch.arange(0, DIM, 2, dtype=torch.float32) / DIM))
    angles = torch.outer(torch.arange(x.shape[0], dtype=torch.float32) + first, inv_freq)
    full = torch.cat((angles, angles), dim=-1)[:, None]
    half = torch.cat((-x[..., DIM // 2:], x[..., :DIM // 2]), dim=-1)
    return x * full.cos() + half * full.sin()


def attention_case(name, ours, threads, length, total, dtype="float32", method="nope"):
    """The peers of one case, and rows of the right answer."""
    import torch
    import torch.nn.functional as F

    torch.manual_seed(1)
    kind = getattr(torch, dtype)
    q = torch.randn(length, HEADS, DIM)
    k = torch.randn(total, KV_HEADS, DIM).to(kind)
    v = torch.randn(total, KV_HEADS, DIM).to(kind)
    base = 10000.0
    slopes = [2.0 ** (-8 * (h + 1) / HEADS) for h in range(HEADS)] if method == "alibi" else None
    spec = {"nope": {"method": "nope"}, "alibi": {"method": "alibi", "num_heads": HEADS},
            "rotary": {"method": "rotary", "head_dim": DIM, "layout": "half_split",
                       "base": base}}[method]
    out = torch.empty_like(q)
    peers = [Peer("hodometer", ours.attention(ours.plan(spec, total), q, k, v, out),
                  out.numpy)]
    by_head = lambda x: x.permute(1, 0, 2)[None]
    same = q.to(kind)
    box = []
    causal = length == total

    def torch_peer(peer_name, body):
        def run():
            box[:] = [body()]
        peers.append(Peer(peer_name, run, lambda: box[0][0].permute(1, 0, 2).float().numpy()))

    if method == "nope":
        torch_peer("PyTorch SDPA", lambda: F.scaled_dot_product_attention(
            by_head(same), by_head(k), by_head(v), is_causal=causal, enable_gqa=True))
    if method == "rotary":
        torch_peer("PyTorch HF formula + SDPA", lambda: F.scaled_dot_product_attention(
            by_head(hf_rotary(q, base)), by_head(hf_rotary(k, base)), by_head(v), is_causal=True,
            enable_gqa=True))
    if method == "alibi":
        at = torch.arange(total)
        distance = at[:, None] - at[None, :]
        bias = -torch.tensor(slopes)[:, None, None] * distance.float()
        bias.masked_fill_(distance < 0, -math.inf)
        torch_peer("PyTorch SDPA + bias", lambda: F.scaled_dot_product_attention(
            by_head(q), by_head(k), by_head(v), attn_mask=bias[None], enable_gqa=True))
        try:
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention
            by_distance = torch.tensor(slopes)
            mask = create_block_mask(lambda b, h, i, j: i >= j, 1, 1, total, total, device="cpu")
            compiled = torch.compile(flex_attention)
            flex = lambda: compiled(
                by_head(q), by_head(k), by_head(v), block_mask=mask, enable_gqa=True,
                score_mod=lambda s, b, h, i, j: s - by_distance[h] * (i - j))
            with torch.no_grad():
                flex()
            torch_peer("PyTorch FlexAttention", flex)
        except Exception as failure:  # it needs a C++ compiler and supports few types
            print(f"{name}: FlexAttention left out: {str(failure).splitlines()[0]}",
                  file=sys.stderr)
    if method != "alibi" and dtype in ("float32", "float16"):
        caches = None
        if method == "rotary":
            caches = [t.astype("float32") for t in tables(base, total)]
        try:
            peers.append(Peer("ONNX Runtime GQA", *ort_attention(same, k, v, threads, caches)))
        except Exception as failure:
            print(f"{name}: ONNX Runtime left out: {str(failure).splitlines()[0]}",
                  file=sys.stderr)
    rows = sorted({0, length // 2, length - 1})
    return peers, reference_rows(q, k, v, rows, slopes, base if method == "rotary" else None)


def rotation_case(name, ours, threads, length):
    import torch
    torch.manual_seed(1)
    base, first = 10000.0, 1000
    x = torch.randn(length, HEADS, DIM)
    want = turned(x.double().numpy(), base, first)
    spec = {"method": "rotary", "head_dim": DIM, "layout": "half_split", "base": base}
    mine = x.clone()
    rotate = ours.rotate(ours.plan(spec, first + length), mine, first)
    once = []

    def run():
        rotate()
        once or once.append(mine.clone())
    box = []

    def formula():
        box[:] = [hf_rotary(x, base, first)]
    caches = [t.astype("float32") for t in tables(base, first + length)]
    peers = [Peer("hodometer", run, lambda: once[0].numpy()),
             Peer("PyTorch HF formula", formula, lambda: box[0].numpy()),
             Peer("ONNX Runtime RotaryEmbedding", *ort_rotary(x, caches, first, threads))]
    return peers, {(row, head): want[row, head] for row in (0, length // 2, length - 1)
                   for head in (0, HEADS - 1)}


CASES = {
    "prefill 1024 float32": (attention_case, dict(length=1024, total=1024)),
    "prefill 4096 float32": (attention_case, dict(length=4096, total=4096)),
    "prefill 2048 float32 rotary": (attention_case,
                                    dict(length=2048, total=2048, method="rotary")),
    "prefill 2048 float32 ALiBi": (attention_case, dict(length=2048, total=2048, method="alibi")),
    "decode 1 of 32768 float32": (attention_case, dict(length=1, total=32768)),
    "decode 1 of 32768 float16": (attention_case, dict(length=1, total=32768, dtype="float16")),
    "decode 1 of 32768 bfloat16": (attention_case, dict(length=1, total=32768, dtype="bfloat16")),
    "rotate 4096 x 32 heads": (rotation_case, dict(length=4096)),
    "rotate 1 x 32 heads": (rotation_case, dict(length=1)),
}


def measure(peers, seconds):
    """Rounds in which all take turns."""
    calls = {}
    for peer in peers:
        start = time.perf_counter()
        peer.run()
        calls[peer] = max(1, int(0.02 / max(time.perf_counter() - start, 1e-7)))
    end = time.perf_counter() + seconds * len(peers)
    rounds = 0
    while rounds < 3 or (time.perf_counter() < end and rounds < 50):
        for peer in peers:
            start = time.perf_counter()
            for _ in range(calls[peer]):
                peer.run()
            peer.times.append((time.perf_counter() - start) / calls[peer])
        rounds += 1


def allowed_error(name):
    if "rotate" in name:
        return 4096 * 2**-24  # what rounding the angles to float32 costs the usual formula
    # 16-bit queries and outputs of peers cost them a rounding that ours do not have.
    return 1e-4 if "float32" in name else 2e-2


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2, help="for each peer of a case")
    parser.add_argument("--filter", default="", help="only cases whose name has this in it")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    library = set_up()
    import onnxruntime
    import torch
    torch.set_num_threads(arguments.threads)
    torch.set_grad_enabled(False)
    ours = Hodometer(library, arguments.threads)
    results = []
    for name, (make, options) in CASES.items():
        if arguments.filter not in name:
            continue
        print(f"{name} ...", file=sys.stderr)
        peers, reference = make(name, ours, arguments.threads, **options)
        bound = allowed_error(name)
        errors = {peer: error_of(peer, reference) for peer in peers}
        measure([peer for peer in peers if errors[peer] <= bound], arguments.seconds)
        for peer in peers:
            right = errors[peer] <= bound
            results.append({"case": name, "peer": peer.name, "error": errors[peer],
                            "correct": right,
                            "ms": 1e3 * statistics.median(peer.times) if right else None})
    machine = {"torch": torch.__version__, "onnxruntime": onnxruntime.__version__,
               "threads": arguments.threads}
    if arguments.json:
        print(json.dumps({"schema": 1, "machine": machine, "results": results}, indent=2))
        return
    print(f"{arguments.threads} thread(s), PyTorch {torch.__version__}, "
          f"ONNX Runtime {onnxruntime.__version__}")
    print(f"{'case':<30} {'':<28} {'ms':>10} {'times ours':>10} {'error':>9}")
    for result in results:
        mine = next(r["ms"] for r in results
                    if r["case"] == result["case"] and r["peer"] == "hodometer")
        time_text = f"{result['ms']:>10.4g}" if result["correct"] else f"{'WRONG':>10}"
        time_text += f" {result['ms'] / mine:>10.2f}" if result["correct"] and mine else 11 * " "
        print(f"{result['case']:<30} {result['peer']:<28} {time_text} {result['error']:>9.1e}")


if __name__ == "__main__":
    main()
