#!/usr/bin/env bash
# Builds kvlab beside this script and runs the benchmark: ./run-cluster.sh --help
set -euo pipefail

[ "$(uname -s)" = Linux ] || { echo "run-cluster.sh: kvlab runs on Linux, not on $(uname -s): use a virtual machine, a container or a node of the cluster" >&2; exit 2; }

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
oldest=1.21 # the first Go that fetches a newer one by itself

# Go keeps its caches below HOME. Without HOME, ~ is the home directory of the user.
if [ -z "${HOME:-}" ]; then
  unset HOME
  export HOME=~
fi

say() { printf 'run-cluster.sh: %s\n' "$*" >&2; }

needed() { awk '$1 == "go" { print $2; exit }' "$root/go.mod"; }

# at_least A B: whether version A is B or newer.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# own_version GO: the version of that Go itself, whatever go.mod asks for.
own_version() {
  (cd / && GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) | sed -n 's/^go\([0-9.]*\).*/\1/p'
}

# find_go prints the path of a Go that can build, or can fetch one that can.
find_go() {
  local go version least=$oldest
  if [ "${GOTOOLCHAIN:-auto}" = local ]; then least=$(needed); fi
  for go in "$(type -P go || true)" /usr/local/go/bin/go /usr/lib/go/bin/go /snap/bin/go "$HOME/go/bin/go"; do
    [ -x "$go" ] || continue
    version=$(own_version "$go")
    if [ -n "$version" ] && at_least "$version" "$least"; then
      echo "$go"
      return
    fi
  done
  return 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

# install_go takes the system's package, when it is new enough to be of use.
install_go() {
  local candidate
  type -P apt-get >/dev/null && as_root true 2>/dev/null || return 1
  say "no Go $oldest or newer here: asking apt-get"
  as_root apt-get -qq update >&2 || return 1
  candidate=$(apt-cache policy golang-go | awk '$1 == "Candidate:" { print $2 }')
  dpkg --compare-versions "${candidate:-0}" ge "2:$oldest" || return 1
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y install golang-go >&2
}

# explain_go gives the one command that helps where install_go cannot.
explain_go() {
  local arch
  case $(uname -m) in
    x86_64) arch=amd64 ;;
    aarch64) arch=arm64 ;;
    *) arch=$(uname -m) ;;
  esac
  say "needs Go $(needed); type"
  say "  curl -fsSL https://go.dev/dl/go$(needed).linux-$arch.tar.gz | sudo tar -C /usr/local -xz"
  exit 1
}

# build makes static programs, which run on every node of the same kind. They
# carry the git commit, unless git refuses (another user's checkout) or is missing.
build() {
  local go=$1 stamp=auto
  git -C "$root" rev-parse HEAD >/dev/null 2>&1 || stamp=false
  # Debian's Go stays at its own version unless it is told otherwise.
  if ! at_least "$(own_version "$go")" "$(needed)"; then export GOTOOLCHAIN="${GOTOOLCHAIN:-auto}"; fi
  cd -- "$root" && CGO_ENABLED=0 "$go" build -trimpath -buildvcs="$stamp" -o bin/ \
    ./cmd/kvsserver ./cmd/kvsclient ./cmd/kvscluster ./cmd/kvsplot >&2
}

main() {
  local go
  # A checkout that cannot be written to has its programs elsewhere.
  if [ -n "${KVLAB_BIN:-}" ]; then
    [ -x "$KVLAB_BIN/kvscluster" ] || { say "KVLAB_BIN: $KVLAB_BIN has no kvscluster; in a copy of the checkout, type ./run-cluster.sh --version, and name its bin folder"; exit 2; }
    KVLAB_ROOT=$root exec "$KVLAB_BIN/kvscluster" "$@"
  fi
  go=$(find_go) || { install_go && go=$(find_go); } || explain_go
  (build "$go") || { say "the build failed"; exit 1; }
  # --ab commit:REV builds other programs.
  KVLAB_GO=$go exec "$root/bin/kvscluster" "$@"
}

main "$@"
