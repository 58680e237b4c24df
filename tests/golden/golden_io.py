"""What the golden scripts share: version check, float32 as text, one case per line."""

import json
import pathlib

import numpy
import torch
import transformers

TRANSFORMERS = "5.24.0"
TORCH = "2.13.0"
HERE = pathlib.Path(__file__).resolve().parent


class Float32(float):
    """A float that was a float32: written as the shortest decimal that reads back to it."""


def float32_list(tensor):
    """Nested lists of Float32 from a float32 tensor or array."""
    array = numpy.asarray(tensor.detach() if isinstance(tensor, torch.Tensor) else tensor)
    if array.dtype != numpy.float32:
        raise TypeError(f"expected float32, got {array.dtype}")
    return _wrap(array.tolist())


def _wrap(value):
    return [_wrap(v) for v in value] if isinstance(value, list) else Float32(value)


def few(count, limit=32):
    """At most `limit` indices of range(count), the first and the last among them."""
    if count <= limit:
        return list(range(count))
    return sorted({round(k * (count - 1) / (limit - 1)) for k in range(limit)})


def first_middle_last(count):
    """The indices kept where a whole list would be too long: three at each end and the middle."""
    return sorted({k for k in (0, 1, 2, count // 2, count - 2, count - 1) if 0 <= k < count})


def check_versions():
    """Numbers are only golden for the versions named in them."""
    found = (transformers.__version__, torch.__version__.split("+")[0])
    if found != (TRANSFORMERS, TORCH):
        raise SystemExit(
            f"made with transformers {TRANSFORMERS} and torch {TORCH} only, found {found}"
        )


def write(name, script, **sections):
    """Writes NAME beside this file: a header, then each section, lists with one entry per line."""
    check_versions()
    transformers.logging.set_verbosity_error()
    head = {"made_by": script, "transformers": TRANSFORMERS, "torch": TORCH}
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in head.items()]
    for key, value in sections.items():
        if isinstance(value, list):
            rows = ",\n".join(_dump(v) for v in value)
            lines.append(f"{json.dumps(key)}: [\n{rows}\n]")
        else:
            lines.append(f"{json.dumps(key)}: {_dump(value)}")
    path = HERE / name
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    counts = ", ".join(f"{len(v)} {k}" for k, v in sections.items() if isinstance(v, list))
    print(f"{path.name}: {path.stat().st_size // 1024} KiB, {counts}")


def _dump(value):
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{_dump(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_dump(v) for v in value) + "]"
    if isinstance(value, Float32):
        return str(numpy.float32(value))
    return json.dumps(value, allow_nan=False)
