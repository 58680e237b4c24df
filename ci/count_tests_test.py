#!/usr/bin/env python3
"""What ctest writes for each fate of a test is counted as what it was."""

import pathlib
import tempfile
import unittest

import count_tests

REPORT = """<testsuite>
<testcase name="ok" status="run"/>
<testcase name="ok too" status="run"/>
<testcase name="bad" status="fail"><failure message=""/></testcase>
<testcase name="gone" status="notrun"><skipped message="Unable to find executable"/></testcase>
<testcase name="needs" status="notrun"><skipped message="Fixture dependency failed"/></testcase>
<testcase name="off" status="disabled"/>
<testcase name="code" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
<testcase name="text" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>
</testsuite>"""


class CountTestsTest(unittest.TestCase):
    def write(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, "report.xml")
        path.write_text(text, encoding="utf-8")
        return str(path)

    def test_every_fate(self):
        self.assertEqual(count_tests.count(self.write(REPORT)), (2, 3, 3))

    def test_status_follows_the_counts(self):
        self.assertEqual(count_tests.main([self.write(REPORT)]), 1)
        self.assertEqual(count_tests.main([self.write('<t><testcase status="run"/></t>')]), 0)
        self.assertEqual(count_tests.main([self.write("<t/>")]), 1)
        self.assertEqual(count_tests.main(["/no/such/report"]), 1)


if __name__ == "__main__":
    unittest.main()
