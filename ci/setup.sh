# Sourced by ./run, ./test and .ci/run: which packages each needs, and how they get here.
# shellcheck shell=bash

# Debian's names, from bookworm on.
packages_run=(g++ cmake ninja-build libhwy-dev libtbb-dev libfmt-dev nlohmann-json3-dev
  libcli11-dev)
packages_test=("${packages_run[@]}" libgtest-dev librapidcheck-dev libmpfr-dev libgmp-dev
  pkgconf python3)

# The oldest clang we take is 16. Debian 12 has it beside an older plain clang; later releases have a
# newer plain one.
if grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
  packages_clang=(clang-16 libclang-rt-16-dev)
else
  packages_clang=(clang libclang-rt-dev)
fi

# need NAME...: installs those packages that are missing, when that is allowed; says what to type
# when it is not.
need() {
  local missing=() name
  command -v dpkg-query >/dev/null || return 0 # another distribution: CMake names what it misses
  for name in "$@"; do
    dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed ||
      missing+=("$name")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0

  local sudo=()
  if [[ $(id -u) -ne 0 ]]; then
    if ! sudo -n true 2>/dev/null; then
      echo "Some packages are missing. Please type:" >&2
      echo "  sudo apt-get update && sudo apt-get install -y ${missing[*]}" >&2
      exit 1
    fi
    sudo=(sudo -n)
  fi
  echo "Installing ${missing[*]}" >&2
  local log
  log=$(mktemp)
  if ! { "${sudo[@]}" apt-get update && "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"; } </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    echo "apt-get could not install: ${missing[*]}" >&2
    exit 1
  fi
  rm -f "$log"
}

# configure PRESET [CACHE_ARGUMENT...]: quiet unless it fails.
configure() {
  local preset=$1 log
  log=build/configure-$preset.log
  mkdir -p build
  if ! cmake --preset "$@" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
  fi
}

# build_target PRESET TARGET: one line of progress on a terminal, silence otherwise; the compiler's
# words only when it fails.
build_target() {
  local log=build/build-$1.log line
  if cmake --build --preset "$1" --target "$2" 2>&1 | tee "$log" | while IFS= read -r line; do
    [[ ! -t 2 || $line != '['* ]] || printf '\r\033[K%.*s' "$((${COLUMNS:-80} - 1))" "$line" >&2
  done; then
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
  else
    echo >&2
    cat "$log" >&2
    exit 1
  fi
}
