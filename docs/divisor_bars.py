"""Draws what a schedule divides each pair's frequency by.

    hodo table --json --spec SPEC | python3 docs/divisor_bars.py BASE [STEP]

Every STEP-th pair (8) and the last. A bar has four columns for each doubling.
"""

import json
import math
import sys


def main(base, step="8"):
    inv_freq = json.load(sys.stdin)["uses"][0]["inv_freq"]
    count = len(inv_freq)
    print("pair  wavelength  divided by")
    for i in sorted({*range(0, count, int(step)), count - 1}):
        if inv_freq[i] == 0:
            print(f"{i:4}       never  does not turn")
            continue
        divisor = float(base) ** (-i / count) / inv_freq[i]
        bar = "#" * round(4 * math.log2(divisor))
        print(f"{i:4}  {2 * math.pi / inv_freq[i]:10.4g}  {divisor:7.4f}  {bar}".rstrip())


main(*sys.argv[1:])
