"""Derives the polynomials of hodometer/kernels/angle_rows-inl.h.

With t an angle in quarter turns, |t| <= 1/2, and z = t * t:
    sin(pi/2 * t) = t * S + t * (s0 + z * (s1 + z * (s2 + z * s3)))    least relative error
    cos(pi/2 * t) = 1 - z + z * (c0 + z * (c1 + z * (c2 + z * c3)))    least absolute error
S is pi/2 rounded to float32, s0 its rest. What stands in front is computed without rounding, so
that the roundings of the polynomials are of small numbers.

Coefficients are rounded to float32 lowest degree first; after each rounding the rest are fitted
again. Prints them with the worst error that remains in exact arithmetic.
"""

from mpmath import mp, mpf, cos, sin, pi, matrix, lu_solve, nstr
import numpy as np

mp.dps = 40
DEGREE = 3


def fit(target, weight, fixed):
    """Remez exchange for the coefficients above those in `fixed`, on z in (0, 1/4]."""
    free = DEGREE + 1 - len(fixed)
    if free == 0:
        return []
    rest = lambda z: target(z) - sum(c * z**k for k, c in enumerate(fixed))
    grid = [mpf(1) / 8 * (1 - cos(pi * (i + mpf(1) / 2) / 1500)) for i in range(1500)]
    nodes = [mpf(1) / 8 * (1 - cos(pi * (i + mpf(1) / 2) / (free + 1))) for i in range(free + 1)]
    for _ in range(30):
        a = matrix(free + 1, free + 1)
        b = matrix(free + 1, 1)
        for i, z in enumerate(nodes):
            for k in range(free):
                a[i, k] = z ** (len(fixed) + k)
            a[i, free] = (-1) ** i / weight(z)
            b[i] = rest(z)
        solution = lu_solve(a, b)
        coefficients = [solution[k] for k in range(free)]
        error = lambda z: weight(z) * (
            sum(c * z ** (len(fixed) + k) for k, c in enumerate(coefficients)) - rest(z))
        values = [error(z) for z in grid]
        runs, start = [], 0  # one extremum of each run of equal sign
        for i in range(1, len(grid) + 1):
            if i == len(grid) or (values[i] > 0) != (values[start] > 0):
                runs.append(max(range(start, i), key=lambda k: abs(values[k])))
                start = i
        if len(runs) < free + 1:
            break
        while len(runs) > free + 1:
            runs.pop(0 if abs(values[runs[0]]) < abs(values[runs[-1]]) else -1)
        moved = [grid[i] for i in runs]
        if moved == nodes:
            break
        nodes = moved
    return coefficients


def derive(name, target, weight):
    fixed = []
    while len(fixed) <= DEGREE:
        fixed.append(mpf(float(np.float32(float(fit(target, weight, fixed)[0])))))
    grid = [mpf(i) / 4000 for i in range(1, 1001)]
    worst = max(abs(weight(z) * (sum(c * z**k for k, c in enumerate(fixed)) - target(z)))
                for z in grid)
    for k, c in enumerate(fixed):
        print(f"{name}{k} = {np.format_float_scientific(np.float32(float(c)), unique=True)}")
    print(f"  worst error {nstr(worst, 3)} = 2^{nstr(mp.log(worst, 2), 4)}")


quarter_turn = pi / 2
lead = mpf(float(np.float32(float(quarter_turn))))
print(f"S = {np.format_float_scientific(np.float32(float(lead)), unique=True)}")
derive("s", lambda z: sin(quarter_turn * mp.sqrt(z)) / mp.sqrt(z) - lead,
       lambda z: mp.sqrt(z) / sin(quarter_turn * mp.sqrt(z)))
derive("c", lambda z: (cos(quarter_turn * mp.sqrt(z)) - 1) / z + 1, lambda z: z)
