#!/usr/bin/env python3
"""Each rule of check_layout.py finds its fault in a small tree, and a right tree has none."""

import pathlib
import tempfile
import unittest

import check_layout

RIGHT_TREE = {
    "hodometer/base/result.h": "#pragma once\n",
    "hodometer/schedules/linear.h": '#pragma once\n#include "hodometer/base/result.h"\n',
    "hodometer/schedules/linear.cc": "// a float in a comment\nauto s = \"float\"; // more\n",
    "hodometer/schedules/linear_test.cc": "float x;\n",
    "hodometer/methods/alibi.h": "#pragma once\nstruct Alibi {\n};\n",
    "hodometer/methods/nope.h": "#pragma once\nstruct Nope {};\n",
    "hodometer/methods/position_spec.h": '#pragma once\n#include "hodometer/methods/alibi.h"\n'
                                         "using PositionSpec = std::variant<\n    Nope, Alibi>;\n",
    "hodometer/kernels/add.h": "#pragma once\n",
    "hodometer/kernels/add-inl.h": "#include <hwy/highway.h>\n",
    "hodometer/kernels/add.cc": '#include "hwy/foreach_target.h"\n#include "hodometer/kernels/add-inl.h"\n',
    "hodometer/kernels/add_test.cc": "",
    "hodometer/kernels/add_strided_test.cc": "",
    "docs/methods/alibi.md": "",
    "docs/methods/nope.md": "",
    "examples/one.c": '#include "hodometer/base/result.h"\n',
}


def findings(changes):
    """What the checker says of the right tree with some files changed (None: taken away)."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (RIGHT_TREE | changes).items():
            if text is not None:
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        return check_layout.Checker(folder).run()


class CheckLayoutTest(unittest.TestCase):
    def assert_finds(self, changes, *expected):
        found = findings(changes)
        self.assertEqual(len(found), 1, found)
        for text in expected:
            self.assertIn(text, found[0])

    def test_a_right_tree_has_no_findings(self):
        self.assertEqual(findings({}), [])

    def test_an_arrow_never_goes_up(self):
        self.assert_finds(
            {"hodometer/base/result.h": '#pragma once\n\n#include "hodometer/schedules/linear.h"\n'},
            "hodometer/base/result.h:3:", "base/ must not include schedules/")

    def test_kernels_see_no_method(self):
        self.assert_finds({"hodometer/kernels/add_test.cc": '#include "hodometer/methods/alibi.h"\n'},
                          "add_test.cc:1:", "kernels/ must not include methods/")

    def test_floors_below_are_reached_through_others(self):
        self.assertEqual(findings({
            "hodometer/tools/inspect.h": '#pragma once\n#include "hodometer/base/result.h"\n'
                                         '#include "hodometer/methods/alibi.h"\n'}), [])

    def test_models_see_no_plan(self):
        self.assert_finds({"hodometer/plan/plan.h": "#pragma once\n",
                           "hodometer/models/m.h": '#pragma once\n#include "hodometer/plan/plan.h"\n'},
                          "models/ must not include plan/")

    def test_a_room_needs_a_floor(self):
        self.assert_finds({"hodometer/attic/x.h": "#pragma once\n"}, "room 'attic' has no floor")

    def test_an_include_is_spelled_from_the_root(self):
        self.assert_finds({"hodometer/methods/nope.h": '#pragma once\n#include "alibi.h"\n'
                                                       "struct Nope {};\n"}, "spelled from the root")

    def test_inl_headers_stay_inside(self):
        self.assert_finds({"hodometer/ops/x.h": '#pragma once\n#include "hodometer/kernels/add-inl.h"\n'},
                          "x.h:2:", "must not include hodometer/kernels/add-inl.h")

    def test_an_installed_header_has_no_private_dependency(self):
        self.assert_finds({"hodometer/base/result.h": "#pragma once\n#include <fmt/core.h>\n"},
                          "result.h:2:", "must not include <fmt/core.h>")

    def test_a_commented_include_is_none(self):
        self.assertEqual(findings({"hodometer/base/result.h":
                                   "#pragma once\n/*\n#include <fmt/core.h>\n*/\n"}), [])

    def test_a_source_has_its_test(self):
        self.assert_finds({"hodometer/schedules/linear_test.cc": None}, "linear.cc:1:", "linear_test.cc")

    def test_a_test_has_its_source(self):
        self.assert_finds({"hodometer/base/gone_test.cc": ""}, "there is no gone.cc or gone.h")

    def test_a_method_has_its_page(self):
        self.assert_finds({"docs/methods/alibi.md": None}, "position_spec.h:3:", "docs/methods/alibi.md")

    def test_the_mathematics_is_in_double(self):
        self.assert_finds({"hodometer/schedules/linear.cc": "int a;\n/* x\n */ float b;\n"},
                          "linear.cc:3:", "float in schedules/")
        self.assertEqual(findings({"hodometer/schedules/linear.cc": "int float32_angles;\n"}), [])

    def test_the_mathematics_has_no_threads(self):
        self.assert_finds({"hodometer/schedules/linear.cc": "#include <thread>\n"}, "<thread>")

    def test_sizes(self):
        self.assert_finds({"hodometer/schedules/linear.cc": "x;\n" * 60}, "a schedule has under 60")
        self.assertEqual(findings({"hodometer/schedules/linear.cc": "x;\n// y\n\n" * 59}), [])
        self.assert_finds({"hodometer/methods/alibi.h": "#pragma once\nstruct Alibi {};\n" + "x;\n" * 148},
                          "a file of a method has under 150")
        self.assert_finds({"ci/long.py": "x\n" * 601}, "ci/long.py:601:", "at most 600")
        self.assertEqual(findings({"tests/golden/long.py": "x\n" * 601}), [])

    def test_examples_use_installed_headers(self):
        self.assert_finds({"examples/one.c": "#include <nlohmann/json.hpp>\n"}, "installed headers only")


if __name__ == "__main__":
    unittest.main()
