#!/usr/bin/env python3
"""The runner of the documents' examples finds what differs, and writes only that."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import run_examples

# Prints its arguments, and what it reads when the last one is "-".
HODO = """#!/bin/sh
echo "hodo: $*"
[ "$1" != lines ] || { echo one; echo two; echo three; }
[ "$1" != fail ] || { echo "no such thing" >&2; exit 3; }
[ "$1" != read ] || cat
"""


class RunExamplesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        hodo = self.folder / "hodo"
        hodo.write_text(HODO, encoding="utf-8")
        hodo.chmod(0o755)

    def run_on(self, text, *options):
        """(exit status, what was reported, the document afterwards)"""
        page = self.folder / "page.md"
        page.write_text(text, encoding="utf-8")
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = run_examples.main([str(self.folder), str(page), *options])
        return status, output.getvalue(), page.read_text(encoding="utf-8")

    def console(self, *lines):
        return "\n".join(["before", "```console", *lines, "```", "after", ""])

    def test_equal_output_passes(self):
        status, report, _ = self.run_on(self.console("$ hodo lines", "hodo: lines", "one", "two",
                                                     "three"))
        self.assertEqual(status, 0, report)
        self.assertIn("1 commands run", report)

    def test_one_digit_is_a_difference(self):
        text = self.console("$ hodo 0.84147", "hodo: 0.84148")
        status, report, after = self.run_on(text)
        self.assertEqual(status, 1)
        self.assertIn("-hodo: 0.84148\n+hodo: 0.84147", report)
        self.assertIn("page.md:3:", report)
        self.assertEqual(after, text)

    def test_a_missing_last_line_is_a_difference(self):
        self.assertEqual(self.run_on(self.console("$ hodo lines", "hodo: lines", "one"))[0], 1)

    def test_elision_stands_for_lines_in_order(self):
        def status(*written):
            return self.run_on(self.console("$ hodo lines", *written))[0]
        self.assertEqual(status("hodo: lines", "...", "three"), 0)
        self.assertEqual(status("..."), 0)
        self.assertEqual(status("...", "two", "..."), 0)
        self.assertEqual(status("...", "one", "...", "two", "three"), 0)
        self.assertEqual(status("...", "two", "...", "one", "..."), 1)
        self.assertEqual(status("...", "two"), 1)
        self.assertEqual(status("one", "..."), 1)
        self.assertEqual(status("hodo: lines", "one", "...", "one", "two", "three"), 1)

    def test_update_writes_every_block_that_differs(self):
        text = self.console("$ hodo a", "$ hodo lines", "...", "three", "$ hodo b", "old", "older")
        status, report, after = self.run_on(text + self.console("$ hodo c"), "--update")
        self.assertEqual(status, 0, report)
        self.assertEqual(after, self.console("$ hodo a", "hodo: a", "$ hodo lines", "...", "three",
                                             "$ hodo b", "hodo: b")
                         + self.console("$ hodo c", "hodo: c"))

    def test_pipes_continued_lines_and_errors(self):
        status, report, _ = self.run_on(self.console(
            "$ echo '[1,2]' | hodo read \\", "    --all", "hodo: read --all", "[1,2]",
            "$ hodo fail", "hodo: fail", "no such thing"))
        self.assertEqual(status, 0, report)

    def test_a_pipe_may_be_broken_before_hodo(self):
        text = self.console("$ echo a | \\", "    hodo read", "hodo: read", "a",
                            "$ echo b; \\", "hodo c", "wrong")
        status, report, _ = self.run_on(text)
        self.assertEqual(status, 1)
        self.assertIn("2 commands run", report)
        self.assertIn("1 problems", report)

    def test_what_does_not_call_hodo_is_not_run(self):
        status, report, _ = self.run_on(self.console("$ ./run", "anything", "$ rm hodo", "gone"))
        self.assertEqual(status, 0)
        self.assertIn("0 commands run", report)
        self.assertTrue((self.folder / "hodo").exists())

    def test_output_before_a_command_and_open_blocks_are_errors(self):
        self.assertIn("without a command", self.run_on(self.console("text"))[1])
        self.assertIn("does not end", self.run_on("```console\n$ hodo a\n")[1])

    def test_sources_must_stand_in_the_file(self):
        def report_of(block):
            return self.run_on(f"```c\n{block}\n```\n")[1]
        run_examples.ROOT, kept = self.folder, run_examples.ROOT
        self.addCleanup(setattr, run_examples, "ROOT", kept)
        (self.folder / "examples").mkdir()
        (self.folder / "examples" / "a.c").write_text("int x;\nint y;\nint z;\n", encoding="utf-8")
        self.assertIn("1 sources compared, 0 problems",
                      report_of("// examples/a.c\nint y;\nint z;"))
        self.assertIn("do not stand", report_of("// examples/a.c\nint x;\nint z;"))
        self.assertIn("does not exist", report_of("/* examples/b.c */\nint x;"))
        self.assertIn("0 sources compared", report_of("int any;"))

    def test_links_lead_somewhere(self):
        self.assertEqual(self.run_on("[a](page.md#x) [b](https://x.org) [c](#here) `[d](e)`\n")[0], 0)
        self.assertIn("page.md:2: the link to no.md", self.run_on("\n[a](no.md)\n")[1])

    def test_a_folder_without_the_program_is_refused(self):
        (self.folder / "hodo").unlink()
        self.assertEqual(self.run_on("text\n")[0], 2)


if __name__ == "__main__":
    unittest.main()
