#!/usr/bin/env python3
"""Writes formats/: small files by the formats' own packages, and what they hold.

    python3 -m venv .venv && .venv/bin/pip install gguf==0.19.0 safetensors==0.8.0 numpy ml_dtypes
    .venv/bin/python tests/golden/make_file_formats.py

`small.gguf` has a key of every type, arrays of every type, and a tensor of every type that NumPy or
the package can write. `small.safetensors` has a tensor of every dtype that NumPy has, an empty one,
a scalar and metadata. `formats.json` says what is in them: keys with type and value, metadata, and
tensors with type, shape, offset and bytes as the packages' own readers report them; `blocks` has for
every packed type the bytes of random blocks and the numbers that gguf.quants makes of them; `npy` has small
.npy files with their version, type and shape.
"""

import importlib.metadata
import io
import json
import pathlib

import gguf
import numpy as np
import safetensors.numpy
from safetensors import safe_open

VERSIONS = {"gguf": "0.19.0", "safetensors": "0.8.0"}
HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE / "formats"
PACKED = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]
# Where the float16 scales of a block lie, in bytes: random bits there would be NaN or huge.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2],
          "Q5_K": [0, 2], "Q6_K": [208]}
KEYS = [("uint8", 255), ("int8", -128), ("uint16", 65535), ("int16", -32768),
        ("uint32", 4294967295), ("int32", -2147483648), ("float32", 0.1), ("bool", True),
        ("string", "naïve ⟨text⟩"), ("uint64", 2**63 + 1), ("int64", -(2**63)), ("float64", 0.1)]
ARRAYS = [("array_int32", [1, -2, 3]), ("array_float32", [0.5, -0.25]), ("array_bool", [True, False]),
          ("array_string", ["a", "", "longer text"])]


def random_blocks(name, count, rng):
    elements, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    for at in SCALES[name]:
        scales = rng.choice(np.array([0.25, -1.5, 2**-20, 3e-3], np.float16), count)
        blocks[:, at:at + 2] = scales.view(np.uint8).reshape(count, 2)
    return blocks


def write_gguf(path, rng):
    writer = gguf.GGUFWriter(path, "llama")
    adders = {"uint8": writer.add_uint8, "int8": writer.add_int8, "uint16": writer.add_uint16,
              "int16": writer.add_int16, "uint32": writer.add_uint32, "int32": writer.add_int32,
              "float32": writer.add_float32, "bool": writer.add_bool, "string": writer.add_string,
              "uint64": writer.add_uint64, "int64": writer.add_int64, "float64": writer.add_float64}
    for name, value in KEYS:
        adders[name](f"test.{name}", value)
    for name, value in ARRAYS:
        writer.add_array(f"test.{name}", value)
    for dtype in (np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64):
        writer.add_tensor(f"plain.{np.dtype(dtype).name}", np.arange(15, dtype=dtype).reshape(3, 5))
    for name in PACKED:
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        rows = random_blocks(name, 6, rng).reshape(3, 2 * size)
        writer.add_tensor(f"packed.{name}", rows, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def gguf_contents(path):
    reader = gguf.GGUFReader(path)
    keys = []
    for field in reader.fields.values():
        if field.name.startswith("GGUF."):
            continue
        # A float32 is itself as a double.
        value = field.contents()
        keys.append({"name": field.name, "type": gguf_type_name(field.types[0]),
                     "value": value if isinstance(value, (str, bool, list)) else str(value)
                     if isinstance(value, int) else float(value)})
    tensors = [{"name": t.name, "type": t.tensor_type.name, "shape": [int(n) for n in t.shape[::-1]],
                "offset": int(t.data_offset), "bytes": int(t.n_bytes)} for t in reader.tensors]
    return {"keys": keys, "tensors": tensors}


def gguf_type_name(kind):
    return {"BOOL": "bool"}.get(kind.name, kind.name.lower())


def write_safetensors(path):
    tensors = {}
    for name in ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32",
                 "uint16", "uint8", "bool", "complex64"):
        tensors[name] = np.arange(6).reshape(2, 3).astype(name)
    tensors["scalar"] = np.array(2.5, np.float32)
    tensors["empty"] = np.zeros((0, 4), np.float32)
    safetensors.numpy.save_file(tensors, path, metadata={"format": "np", "note": "naïve"})


def safetensors_contents(path):
    with safe_open(path, "np") as file:
        tensors = []
        for name in sorted(file.keys()):
            part = file.get_slice(name)
            tensors.append({"name": name, "type": part.get_dtype(), "shape": part.get_shape()})
            array = file.get_tensor(name)
            tensors[-1]["hex"] = array.tobytes().hex()
        return {"metadata": dict(sorted(file.metadata().items())), "tensors": tensors}


def npy_files():
    names = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32",
             "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16",
             "uint8": "U8", "bool": "BOOL"}
    arrays = [(name, (2, 3), 1) for name in names]
    arrays += [("float32", shape, 1) for shape in ((), (5,), (0, 4), (1, 2, 3, 4))]
    arrays += [("float32", (2, 3), version) for version in (2, 3)]
    files = []
    for name, shape, version in arrays:
        file = io.BytesIO()
        array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(name)
        np.lib.format.write_array(file, array, version=(version, 0))
        files.append({"type": names[name], "shape": shape, "version": version,
                      "hex": file.getvalue().hex()})
    return files


def main():
    for package, version in VERSIONS.items():
        found = importlib.metadata.version(package)
        if found != version:
            raise SystemExit(f"made with {package} {version} only, found {found}")
    FOLDER.mkdir(exist_ok=True)
    rng = np.random.default_rng(7)
    write_gguf(FOLDER / "small.gguf", rng)
    write_safetensors(FOLDER / "small.safetensors")
    blocks = []
    for name in PACKED:
        data = random_blocks(name, 2, rng)
        numbers = gguf.quants.dequantize(data, gguf.GGMLQuantizationType[name])
        blocks.append({"type": name, "hex": data.tobytes().hex(),
                       "numbers": [float(str(n)) for n in numbers.reshape(-1)]})
    sizes = {kind.name: [int(kind), elements, size]
             for kind, (elements, size) in gguf.GGML_QUANT_SIZES.items()}
    golden = {"made_by": "make_file_formats.py", **VERSIONS, "ggml_types": sizes,
              "gguf": gguf_contents(FOLDER / "small.gguf"),
              "safetensors": safetensors_contents(FOLDER / "small.safetensors"), "blocks": blocks,
              "npy": npy_files()}
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in golden.items())
    (FOLDER / "formats.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
