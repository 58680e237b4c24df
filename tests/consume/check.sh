#!/usr/bin/env bash
# Installs Hodometer into an empty prefix and builds a separate project against it, once through
# find_package and once through pkg-config, in C++ and in C.
#
#   check.sh static BUILD_DIR    installs the library that BUILD_DIR holds
#   check.sh shared BUILD_DIR    builds a shared one as part of the separate project
#                                (add_subdirectory) and installs that, with hodo
set -euo pipefail

kind=$1
build_dir=$2
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

# Runs every program built from use.* in a folder.
run_programs() {
  local source
  for source in "$here"/use.*; do "$1/use_${source##*.}"; done
}
fail() { echo "consume/$kind: $*" >&2; exit 1; }

if [[ $kind == static ]]; then
  cmake --install "$build_dir" --prefix "$prefix" >"$work/install.log"
  pkg_config_flags=--static
else
  # Kept between runs, so that only the first one compiles the library; what it is optimised for
  # does not matter here.
  tree=$build_dir/consume-shared
  configure=(cmake -G Ninja -S "$here" -B "$tree" -DHODOMETER_SOURCE="$source_dir"
    -DHODOMETER_INSTALL=ON -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_TYPE=Debug
    -DCMAKE_CXX_FLAGS_DEBUG=-O0)
  "${configure[@]}" -UHODOMETER_CLI # nothing but the library
  "${configure[@]}" -DHODOMETER_CLI=ON
  cmake --build "$tree"
  run_programs "$tree"
  if (cd "$tree" && ctest -N) | grep -E 'Total Tests: [1-9]'; then
    fail "add_subdirectory registered tests in the user's project"
  fi
  cmake --install "$tree" --prefix "$prefix" >"$work/install.log"
  pkg_config_flags=
  libdir=$(dirname "$(find "$prefix" -name 'libhodometer.so')")
  if command -v readelf >/dev/null; then
    readelf -d "$libdir/libhodometer.so" | grep -q 'SONAME.*libhodometer\.so\.[0-9]' ||
      fail "libhodometer.so carries no versioned SONAME"
  fi
fi

# What must and must not be in the package.
[[ -f $prefix/include/hodometer/base/result.h ]] || fail "base/result.h is not installed"
stray=$(find "$prefix/include" -name '*-inl.h' -o -name '*_test*' -o -name '*.cc')
[[ -z $stray ]] || fail "installed and should not be: $stray"
private=$(grep -rnE '#include [<"](fmt|nlohmann|hwy|tbb|CLI)/' "$prefix/include" || true)
[[ -z $private ]] || fail "an installed header includes a private dependency: $private"

# The program finds its library wherever both were installed.
if [[ -x $prefix/bin/hodo ]]; then
  "$prefix/bin/hodo" --version | grep '^hodo [0-9]' || fail "the installed hodo does not start"
elif [[ $kind == shared ]]; then
  fail "hodo is not installed"
fi

# A program of one's own needs the loader's path, as with any library outside the system's folders.
[[ $kind == static ]] || export LD_LIBRARY_PATH=$libdir

# find_package, from a place that knows nothing of the source tree.
mkdir "$work/project"
cp "$here/CMakeLists.txt" "$here"/use.c* "$work/project"
cmake -G Ninja -S "$work/project" -B "$work/find_package" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_BUILD_TYPE=Release
cmake --build "$work/find_package"
run_programs "$work/find_package"

# pkg-config, with nothing but compiler command lines.
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name hodometer.pc)")
export PKG_CONFIG_PATH
mkdir "$work/pkg-config"
for source in "$work/project"/use.*; do
  compiler=("${CC:-cc}")
  [[ $source != *.cc ]] || compiler=("${CXX:-c++}" -std=c++20)
  # shellcheck disable=SC2046,SC2086  # the flags are words
  "${compiler[@]}" "$source" -o "$work/pkg-config/use_${source##*.}" \
    $(pkg-config --cflags --libs $pkg_config_flags hodometer)
done
run_programs "$work/pkg-config"
echo "consume/$kind: ok"
