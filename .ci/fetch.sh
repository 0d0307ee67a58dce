#!/bin/bash
# Fetches what the steps need and the clone does not hold: Debian's packages, Go modules and tools, Kafka's jars, packages
# of Python and Node. Everything that depends on a package mirror is here, so that .ci/run may try this again and the steps only once.
set -euo pipefail
cd "$(dirname "$0")/.."

# The first command of each pair shows whether the packages behind it are there.
missing=""
while read -r command packages; do
	command -v "$command" >/dev/null || missing+=" $packages"
done <<-'END'
	cc gcc libc6-dev
	qemu-aarch64-static qemu-user-static
	chromium chromium
	promtool prometheus
	npm npm
END
python3 -c 'import ensurepip' 2>/dev/null || missing+=" python3-venv"
export DEBIAN_FRONTEND=noninteractive
sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo
if [ -n "$missing" ] || [ -z "$(ls /var/lib/apt/lists 2>/dev/null)" ]; then $sudo apt-get update -qq; fi
# shellcheck disable=SC2086
[ -z "$missing" ] || $sudo apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $missing

git ls-files 'go.mod' '*/go.mod' | while read -r module; do go mod download -C "$(dirname "$module")"; done
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
sed -n 's/.*go run \([a-z.]*\/[^ ]*@[^ ]*\).*/\1/p' .ci/steps/*.sh | while read -r tool; do GOBIN=$tools go install "$tool"; done

go run ./test/kafka/with true # Kafka's jars

# shellcheck source=.ci/kept.sh
. .ci/kept.sh
python_with() { # name, what pip installs...
	[ -x "$kept/$1/bin/pip" ] || python3 -m venv "$kept/$1"
	"$kept/$1/bin/pip" install -q --disable-pip-version-check "${@:2}"
}
python_with street -r examples/street/requirements.txt
python_with page confluent-kafka==2.16.1 numpy==2.4.6 pandas==3.1.1
rm -rf "$kept/media" && cp -r examples/street "$kept/media" && "$kept/street/bin/python" "$kept/media/fetch.py"

# axe-core, which looks for what keeps people from using the page.
axe=$(cd "$tools" && npm pack --silent axe-core@4.14.1)
tar -xzf "$tools/$axe" -C "$kept" --strip-components=1 package/axe.min.js
