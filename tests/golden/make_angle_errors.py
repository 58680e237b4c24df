"""What the angle modes cost, by position: the table of docs/accuracy.md.

    python3 make_angle_errors.py [HODO]

Needs torch and mpmath. The truth is mpmath with 60 digits. "customary" is the arithmetic of Hugging
Face: float32 base ** (2i/d), its reciprocal, a float32 product with the position, float32 cos and
sin. "product" has the nearest float32 to the true frequency in its place. With the path of the hodo
program, the columns "float32" and "exact" are what its kernels turn by in the two modes.
"""

import json
import subprocess
import sys

import mpmath
import torch

mpmath.mp.dps = 60
LANES = 128
BASES = (10000, 500000)
STARTS = (100, 1000, 4095, 10000, 32767, 100000, 131071, 1000000, 1048575, 10000000, 2147483640)
RUN = 8  # positions from each start on


def true_frequencies(base):
    return [mpmath.mpf(base) ** (-mpmath.mpf(2 * i) / LANES) for i in range(LANES // 2)]


def true_rows(base, positions):
    return [([mpmath.cos(p * w) for w in true_frequencies(base)],
             [mpmath.sin(p * w) for w in true_frequencies(base)]) for p in positions]


def float32_rows(inv_freq, positions):
    angle = torch.tensor(positions, dtype=torch.int64).float()[:, None] * inv_freq[None, :]
    return list(zip(angle.cos().tolist(), angle.sin().tolist()))


def customary(base, positions):
    exponent = torch.arange(0, LANES, 2, dtype=torch.int64).float() / LANES
    return float32_rows(1.0 / (base ** exponent), positions)


def product(base, positions):
    nearest = torch.tensor([float(w) for w in true_frequencies(base)], dtype=torch.float64).float()
    return float32_rows(nearest, positions)


def hodo_rows(hodo, mode, base, positions):
    """What the kernels turn by: pairs (1, 0) become (cos, sin)."""
    spec = {"method": "rotary", "head_dim": LANES, "layout": "half_split", "base": base}
    ones = [1.0] * (LANES // 2) + [0.0] * (LANES // 2)
    text = subprocess.run([hodo, "apply", "--spec", json.dumps(spec), "--angles", mode,
                           "--positions", ",".join(map(str, positions))],
                          input=json.dumps({"x": [ones] * len(positions)}),
                          check=True, capture_output=True, text=True).stdout
    # Decimals that read back to the same float32 are not yet that float32.
    turned = torch.tensor(json.loads(text)["y"], dtype=torch.float32).tolist()
    return [(row[:LANES // 2], row[LANES // 2:]) for row in turned]


def largest_error(rows, truth):
    return max(abs(mpmath.mpf(got) - true) for row, wanted in zip(rows, truth)
               for values, trues in zip(row, wanted) for got, true in zip(values, trues))


def main(hodo=None):
    columns = {"customary": customary, "product": product}
    if hodo:
        for mode in ("float32", "exact"):
            columns[mode] = lambda base, p, mode=mode: hodo_rows(hodo, mode, base, p)
    print("| position | base | " + " | ".join(columns) + " |")
    print("|---|---|" + "---|" * len(columns))
    for start in STARTS:
        positions = list(range(start, start + RUN))
        for base in BASES:
            truth = true_rows(base, positions)
            errors = [largest_error(rows(base, positions), truth) for rows in columns.values()]
            cells = " | ".join(f"{float(error):.1e}" for error in errors)
            print(f"| {start} | {base} | {cells} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
