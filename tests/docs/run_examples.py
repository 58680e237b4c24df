#!/usr/bin/env python3
"""Runs the examples of README.md and docs/ and compares what they print with what is written there.

    tests/docs/run_examples.py BIN_DIR             compare; BIN_DIR holds the built hodo
    tests/docs/run_examples.py BIN_DIR --update    write what was printed into the documents
    tests/docs/run_examples.py BIN_DIR docs/a.md   these documents only

In a block fenced as ```console, every line `$ COMMAND` that calls hodo is run in the root of the
checkout (a line that ends in a backslash goes on in the next), and its standard output and error
must equal the lines up to the next `$`. A line `...` stands for any number of lines. Commands that
do not call hodo are not run. The last bits of float32 results are those of a machine that has a
fused multiply-add.

In a block fenced as ```c or ```cpp whose first line is `// examples/NAME`, the other lines must
stand in that file, next to each other. A link to a file must lead to one.

Exit status 0: all as written; 1: differences, one a paragraph; 2: usage.
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 120

FENCE = re.compile(r"^```(\w*)\s*$")
CALLS_HODO = re.compile(r"(^|[|;&(])\s*hodo\b")
SOURCE_NAME = re.compile(r"^(?://|/\*)\s*(examples/\S+?)\s*(?:\*/)?$")
LINK = re.compile(r"\]\(([^)\s]+)\)")
WEB = re.compile(r"^[a-z]+:")


class Block:
    """The lines between two fences. `first` is the index of the first of them."""

    def __init__(self, language, first):
        self.language = language
        self.first = first
        self.lines = []


def split_blocks(lines):
    """The fenced blocks of a document, and the lines outside them with their numbers from 1."""
    blocks, prose, block = [], [], None
    for index, line in enumerate(lines):
        fence = FENCE.match(line)
        if block is None and fence:
            block = Block(fence.group(1), index + 1)
        elif block is not None and line.rstrip() == "```":
            blocks.append(block)
            block = None
        elif block is not None:
            block.lines.append(line)
        else:
            prose.append((index + 1, line))
    if block is not None:
        raise ValueError(f"line {block.first}: the block does not end")
    return blocks, prose


def split_commands(block):
    """[(command, index of its output, output lines)], the index counted from the first line."""
    commands, index = [], 0
    while index < len(block.lines):
        if not block.lines[index].startswith("$ "):
            raise ValueError(f"line {block.first + index + 1}: output without a command before it")
        command = [block.lines[index][2:]]
        index += 1
        while command[-1].endswith("\\") and index < len(block.lines):
            command.append(block.lines[index])
            index += 1
        start = index
        while index < len(block.lines) and not block.lines[index].startswith("$ "):
            index += 1
        commands.append(("\n".join(command), start, block.lines[start:index]))
    return commands


def matches(written, printed):
    """Whether the printed lines are the written ones, with `...` for any number of lines."""
    if "..." not in written:
        return written == printed
    parts, part = [], []
    for line in written:
        if line == "...":
            parts.append(part)
            part = []
        else:
            part.append(line)
    first, *middle, last = parts + [part]
    if len(printed) < len(first) + len(last) or printed[:len(first)] != first:
        return False
    if last and printed[-len(last):] != last:
        return False
    at, end = len(first), len(printed) - len(last)
    for wanted in middle:
        while at + len(wanted) <= end and printed[at:at + len(wanted)] != wanted:
            at += 1
        if at + len(wanted) > end:
            return False
        at += len(wanted)
    return True


def run(command, bin_dir):
    """The lines that a command prints."""
    environment = dict(os.environ, NO_COLOR="1", LC_ALL="C.UTF-8",
                       PATH=f"{bin_dir}{os.pathsep}{os.environ.get('PATH', '')}")
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=TIMEOUT_SECONDS, check=False)
    return done.stdout.splitlines()


class Document:
    """One Markdown file. check() fills `problems`; update() also changes `lines`."""

    def __init__(self, path):
        self.path = path
        self.lines = path.read_text(encoding="utf-8").splitlines()
        self.problems = []
        self.commands_run = 0
        self.sources_compared = 0

    def report(self, line, text):
        self.problems.append(f"{self.path}:{line}: {text}")

    def check(self, bin_dir, update=False):
        try:
            blocks, prose = split_blocks(self.lines)
            for number, line in prose:
                self.check_links(number, line)
            for block in reversed(blocks):  # from the end, so that lines written move no other block
                if block.language == "console":
                    self.check_console(block, bin_dir, update)
                elif block.language in ("c", "cpp") and block.lines:
                    self.check_source(block)
        except ValueError as error:
            self.problems.append(f"{self.path}: {error}")

    def check_console(self, block, bin_dir, update):
        for command, start, written in reversed(split_commands(block)):
            if not CALLS_HODO.search(command.replace("\\\n", " ")):
                continue
            try:
                printed = run(command, bin_dir)
            except subprocess.TimeoutExpired:
                self.report(block.first + start, f"`{command}` did not end within "
                                                 f"{TIMEOUT_SECONDS} s")
                continue
            self.commands_run += 1
            if matches(written, printed):
                continue
            if update:
                at = block.first + start
                self.lines[at:at + len(written)] = printed
            else:
                difference = "\n".join(difflib.unified_diff(written, printed, "written", "printed",
                                                            lineterm="", n=1))
                self.report(block.first + start, f"`{command}` prints something else:\n{difference}")

    def check_source(self, block):
        name = SOURCE_NAME.match(block.lines[0])
        if not name:
            return
        self.sources_compared += 1
        path = ROOT / name.group(1)
        if not path.is_file():
            self.report(block.first + 1, f"{name.group(1)} does not exist")
            return
        wanted = block.lines[1:]
        source = path.read_text(encoding="utf-8").splitlines()
        if not any(source[at:at + len(wanted)] == wanted for at in range(len(source))):
            self.report(block.first + 1, f"these lines do not stand in {name.group(1)}")

    def check_links(self, number, line):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            file = target.split("#")[0]
            if file and not WEB.match(file) and not (self.path.parent / file).exists():
                self.report(number, f"the link to {file} leads nowhere")

    def write(self):
        self.path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")


def documents():
    readme = ROOT / "README.md"
    return [readme] * readme.is_file() + sorted((ROOT / "docs").rglob("*.md"))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin_dir", type=pathlib.Path)
    parser.add_argument("document", nargs="*", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args(arguments)
    if not (options.bin_dir / "hodo").is_file():
        print(f"{options.bin_dir} holds no hodo", file=sys.stderr)
        return 2

    checked = [Document(path) for path in options.document or documents()]
    for document in checked:
        before = list(document.lines)
        document.check(options.bin_dir.resolve(), options.update)
        if document.lines != before:
            document.write()
            print(f"{document.path}: updated")
    problems = [problem for document in checked for problem in document.problems]
    for problem in problems:
        print(problem)
    print(f"{len(checked)} documents, {sum(d.commands_run for d in checked)} commands run, "
          f"{sum(d.sources_compared for d in checked)} sources compared, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
