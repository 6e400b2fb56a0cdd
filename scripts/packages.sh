# shellcheck shell=bash
# Which Debian packages the project needs, and how they come in. Sourced by the
# other scripts.

# Building and running. lit and FileCheck are in llvm-19-tools.
KR_PACKAGES=(
  gcc libc6-dev cmake ninja-build pkg-config git ca-certificates
  libclang-19-dev llvm-19-dev clang-19 lld-19 llvm-19-tools
  libcurl4-openssl-dev libcjson-dev libsqlite3-dev nettle-dev zlib1g-dev
  python3
)
# For tests and checks alone.
KR_TEST_PACKAGES=(strace clang-format-19 clang-tidy-19 cppcheck libclang-rt-19-dev mandoc openssl
  patch)

missing_packages()
{
  local p
  for p in "$@"; do
    [ "$(dpkg-query -W -f '${Status}' "$p" 2>/dev/null)" = "install ok installed" ] || echo "$p"
  done
}

# Installs what is missing of the packages named, and says so by name.
install_packages()
{
  local missing sudo=()
  command -v dpkg-query >/dev/null || {
    echo "scripts: this is no Debian or Ubuntu; install by hand what stands for: $*" >&2
    return 1
  }
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "installing: ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || {
      echo "scripts: not root and no sudo; as root: apt-get install ${missing[*]}" >&2
      return 1
    }
    sudo=(sudo)
  fi
  local log
  log=$(mktemp)
  "${sudo[@]}" apt-get update -q >/dev/null || return 1
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${missing[@]}" >"$log" 2>&1 ||
    { cat "$log" >&2; rm -f "$log"; return 1; }
  rm -f "$log"
}
