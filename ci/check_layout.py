#!/usr/bin/env python3
"""Checks that the tree is laid out as CONTRIBUTING.md says. Prints file:line and the rule.

    ci/check_layout.py [ROOT]

Exit status 0: nothing found; 1: findings, one a line; 2: ROOT is not a checkout.
"""

import pathlib
import re
import sys

# The arrows: what a room may include directly. What those may include, it may include too.
ARROWS = {
    "base": [],
    "schedules": ["base"],
    "kernels": ["base"],
    "position": ["base"],
    "methods": ["schedules"],
    "plan": ["methods"],
    "formats": ["base"],
    "models": ["methods", "formats"],
    "ops": ["plan", "kernels", "position"],
    "tools": ["ops", "models", "plan"],
    "capi": ["tools"],
}
# Folders beside the library. They stand above every room.
FACES = ["cli", "python", "lab", "mpi", "wasm", "examples", "benchmarks", "fuzz", "tests"]

# Sources that have no test of their own, and why.
SOURCES_WITHOUT_TEST: dict[str, str] = {}

MAX_FILE_LINES = 600
MAX_SCHEDULE_LINES = 60
MAX_METHOD_LINES = 150
SIZED_SUFFIXES = {".h", ".cc", ".c", ".py", ".sh", ".cmake", ".ts", ".js"}
SKIPPED_FOLDERS = {"build", "node_modules", "golden", "corpus", "__pycache__"}

# What the methods and schedules share; not one of them.
SHARED_STEMS = {"action", "position_spec", "frequency_schedule"}

# The mathematics knows numbers only: no float, no SIMD, no file, no thread.
PURE_ROOMS = {"methods", "schedules"}
IMPURE_INCLUDE = re.compile(
    r"<(thread|mutex|atomic|future|fstream|filesystem|cstdio|iostream|immintrin\.h)>|[<\"](hwy|tbb|oneapi)/")
# Known to this library's build only, so never in a header that is installed.
PRIVATE_INCLUDE = re.compile(r"[<\"](fmt|nlohmann|hwy|tbb|oneapi|CLI)/")

INCLUDE = re.compile(r"^\s*#\s*include\s*([<\"][^>\"]+[>\"])")


class Checker:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.library = self.root / "hodometer"
        self.findings = []

    def report(self, path, line, text):
        self.findings.append(f"{path.relative_to(self.root)}:{line}: {text}")

    def run(self):
        for path in self.files(self.root):
            self.check_size(path)
        for path in self.files(self.library):
            if path.suffix in {".h", ".cc", ".c"}:
                self.check_source(path)
        for face in FACES:
            for path in self.files(self.root / face):
                if path.suffix in {".h", ".cc", ".c"}:
                    self.check_face(path, face)
        for room in sorted(self.rooms()):
            self.check_pairs(room)
        self.check_methods()
        return sorted(self.findings)

    def files(self, folder):
        if not folder.is_dir():
            return
        for path in sorted(folder.iterdir()):
            if path.name in SKIPPED_FOLDERS or path.name.startswith("."):
                continue
            if path.is_dir():
                yield from self.files(path)
            else:
                yield path

    def rooms(self):
        return {path.name for path in self.library.iterdir() if path.is_dir()}

    def check_size(self, path):
        if path.suffix not in SIZED_SUFFIXES and path.name != "CMakeLists.txt":
            return
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_FILE_LINES:
            self.report(path, lines, f"{lines} lines; a file has at most {MAX_FILE_LINES}")

    def check_source(self, path):
        """The rules of one file of the library."""
        parts = path.relative_to(self.library).parts
        if len(parts) == 1:
            if path.name != "hodometer.h":
                self.report(path, 1, "only hodometer.h lies beside the rooms")
            return
        room = parts[0]
        if room not in ARROWS:
            self.report(path, 1, f"room '{room}' has no floor; add it to ARROWS in ci/check_layout.py "
                                 "and to CONTRIBUTING.md")
            return
        if len(parts) != 2:
            self.report(path, 1, "a room has no folders inside")
        text = path.read_text(encoding="utf-8")
        code = strip_comments(text)
        is_test = "_test" in path.stem
        if path.suffix == ".h" and "#pragma once" not in code:
            if not path.name.endswith("-inl.h"):
                self.report(path, 1, "a header starts with #pragma once")
        allowed = reachable(room)
        for number, include in includes(text):
            self.check_room_include(path, number, include, room, allowed)
            if is_installed(path) and PRIVATE_INCLUDE.match(include):
                self.report(path, number, f"an installed header must not include {include}: users "
                                          "compile without it")
            if room in PURE_ROOMS and not is_test and IMPURE_INCLUDE.match(include):
                self.report(path, number, f"{room}/ is mathematics in double and must not include {include}")
        if room in PURE_ROOMS and not is_test:
            for number, line in enumerate(strip_strings(code).splitlines(), 1):
                if re.search(r"\bfloat\b", line):
                    self.report(path, number, f"float in {room}/: the mathematics is in double, "
                                              "plan/ rounds it")
            self.check_code_lines(path, room, code)

    def check_room_include(self, path, number, include, room, allowed):
        target = include[1:-1]
        if not target.startswith("hodometer/"):
            if include[0] == '"' and not target.startswith("hwy/"):
                self.report(path, number, f"{include} is spelled from the root: \"hodometer/ROOM/NAME.h\"")
            return
        if include[0] == "<":
            self.report(path, number, f"{include} is ours: write it with quotes")
        if not (self.root / target).is_file():
            return  # the compiler says it better
        parts = target.split("/")
        if len(parts) == 2:
            self.report(path, number, f"rooms include what they need, not the spine {target}")
            return
        if parts[1] != room and parts[1] not in allowed:
            names = ", ".join(sorted(allowed)) or "nothing"
            self.report(path, number, f"{room}/ must not include {parts[1]}/; it may include {names}")
        elif is_installed(path) and target.endswith("-inl.h"):
            self.report(path, number, f"an installed header must not include {target}, which is not")

    def check_face(self, path, face):
        """The rules of a file outside the library."""
        for number, include in includes(path.read_text(encoding="utf-8")):
            target = include[1:-1]
            other = target.split("/")[0]
            runs_program = face == "tests" and target == "cli/run_hodo_test.h"
            if other != face and other in FACES and (self.root / target).is_file() and not runs_program:
                self.report(path, number, f"{face}/ must not include {other}/")
            if face == "examples" and (PRIVATE_INCLUDE.match(include) or target.endswith("-inl.h")):
                self.report(path, number, f"an example uses installed headers only, not {include}")

    def check_code_lines(self, path, room, code):
        if path.stem in SHARED_STEMS:
            return
        lines = sum(1 for line in code.splitlines() if line.strip())
        if room == "schedules":
            if lines >= MAX_SCHEDULE_LINES:
                self.report(path, lines, f"{lines} lines of code; a schedule has under "
                                         f"{MAX_SCHEDULE_LINES}")
        if room == "methods" and lines >= MAX_METHOD_LINES:
            self.report(path, lines, f"{lines} lines of code; a file of a method has under "
                                     f"{MAX_METHOD_LINES}")

    def check_pairs(self, room):
        """X.cc has X_test.cc; X_test.cc and X_more_test.cc belong to an X.cc or X.h."""
        folder = self.library / room
        names = {path.name for path in folder.iterdir() if path.is_file()}
        for name in sorted(names):
            if not name.endswith(".cc"):
                continue
            path = folder / name
            relative = str(path.relative_to(self.root))
            if name.endswith("_test.cc"):
                words = name.removesuffix("_test.cc").split("_")
                stems = ["_".join(words[:i]) for i in range(1, len(words) + 1)]
                if not any(f"{s}{end}" in names for s in stems for end in (".cc", ".h", "-inl.h")):
                    self.report(path, 1, "a test stands beside what it tests: there is no "
                                         f"{stems[-1]}.cc or {stems[-1]}.h")
            elif "_test" not in name and relative not in SOURCES_WITHOUT_TEST:
                test = f"{path.stem}_test.cc"
                if test not in names:
                    self.report(path, 1, f"a source has its test beside it: {test} is missing")

    def check_methods(self):
        """Every member of the variant in position_spec.h has its page."""
        spec = self.library / "methods" / "position_spec.h"
        if not spec.is_file():
            return
        text = strip_comments(spec.read_text(encoding="utf-8"))
        headers = {}
        for header in sorted((self.library / "methods").glob("*.h")):
            for name in re.findall(r"\bstruct\s+(\w+)\s*(?:final\s*)?(?::[^;{]*)?\{",
                                   strip_comments(header.read_text(encoding="utf-8"))):
                headers.setdefault(name, header)
        for match in re.finditer(r"std::variant<([^;{}]*)>", text):
            line = text.count("\n", 0, match.start()) + 1
            for name in re.findall(r"[\w:]+", match.group(1)):
                name = name.split("::")[-1]
                if name == "monostate":
                    continue
                if name not in headers:
                    self.report(spec, line, f"{name}: no header of methods/ defines this struct")
                    continue
                page = f"docs/methods/{headers[name].stem}.md"
                if not (self.root / page).is_file():
                    self.report(spec, line, f"{name}: a method has its page, {page} is missing")


def is_installed(path):
    return path.suffix == ".h" and not path.name.endswith("-inl.h") and "_test" not in path.stem


def reachable(room):
    rooms = set()
    todo = list(ARROWS[room])
    while todo:
        name = todo.pop()
        if name not in rooms:
            rooms.add(name)
            todo += ARROWS[name]
    return rooms


def includes(text):
    """(line, '"name"' or '<name>') of every include that is not commented out."""
    for number, line in enumerate(strip_comments(text).splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1)


# A comment, or a string or character that may look like it holds one. Raw strings come first.
TOKEN = re.compile(
    r'R"(?P<d>[^\s()\\]{0,16})\((?:.|\n)*?\)(?P=d)"'
    r'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    r"|(?P<comment>//[^\n]*|/\*(?:.|\n)*?\*/)")


def strip_comments(text):
    """Text without comments, every line where it was."""
    return TOKEN.sub(lambda m: blank(m) if m.group("comment") else m.group(), text)


def strip_strings(text):
    return TOKEN.sub(blank, text)


def blank(match):
    return " " + "\n" * match.group().count("\n")


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).resolve().parent.parent)
    if not (root / "hodometer").is_dir():
        print(f"{root} has no hodometer/ folder", file=sys.stderr)
        return 2
    findings = Checker(root).run()
    for finding in findings:
        print(finding)
    print(f"layout: {len(findings)} findings" if findings else "layout: ok", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
