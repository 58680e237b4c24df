#!/usr/bin/env python3
"""Prints "N passed, N failed, N skipped" of a report that ctest --output-junit wrote.

    ci/count_tests.py REPORT.xml

Exit status 0 only if at least one test passed and none failed. A test that ctest could not start
counts as failed.
"""

import sys
import xml.etree.ElementTree

# What ctest writes for a test that chose not to run; any other reason for not running is a failure.
SKIPPED = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION_MATCHED", "Disabled")


def count(report):
    passed = failed = skipped = 0
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        reason = case.find("skipped")
        if case.get("status") == "run":
            passed += 1
        elif case.get("status") == "disabled" or (
                reason is not None and reason.get("message", "").startswith(SKIPPED)):
            skipped += 1
        else:
            failed += 1
    return passed, failed, skipped


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        passed, failed, skipped = count(arguments[0])
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        print(f"no test report: {error}", file=sys.stderr)
        passed = failed = skipped = 0
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
