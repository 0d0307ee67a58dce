#!/bin/bash
# Builds a release from a clean clone of what is committed: static binaries for every platform, their checksums, a bill of
# materials (CycloneDX), provenance (in-toto, SLSA v1), and, with docker buildx, an image for linux on amd64 and arm64.
#
#   deploy/release.sh VERSION [--output DIR] [--platforms "os/arch ..."] [--sign KEY] [--image NAME] [--push] [--no-image]
#
# --sign signs SHA256SUMS with an SSH key; `ssh-keygen -Y verify -n slkstream-release` checks it. The same commit and the
# same Go give the same binaries, byte for byte. It needs git, Go 1.26 and the Go module proxy.
set -euo pipefail

usage() {
	sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
version=${1:-}
[[ $version =~ ^v?[0-9]+\.[0-9]+\.[0-9]+([-+.].*)?$ ]] || usage
shift
output=dist platforms="linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64" image=slkstream push="" make_image=yes key=""
while [ $# -gt 0 ]; do
	case $1 in
	--output) output=$2 && shift 2 ;;
	--platforms) platforms=$2 && shift 2 ;;
	--sign) key=$(realpath "$2") && shift 2 ;;
	--image) image=$2 && shift 2 ;;
	--push) push=yes && shift ;;
	--no-image) make_image="" && shift ;;
	*) usage ;;
	esac
done
mkdir -p "$output"
output=$(cd "$output" && pwd)
root=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
if [ -n "$(git -C "$root" status --porcelain)" ]; then echo "not committed, and so not in the release:" >&2 && git -C "$root" status --short >&2; fi
clone=$(mktemp -d)
trap 'rm -rf "$clone"' EXIT
git clone -q "$root" "$clone"
cd "$clone"

names=()
for platform in $platforms; do
	os=${platform%/*} arch=${platform#*/}
	name=slkstream-$version-$os-$arch
	[ "$os" = windows ] && name=$name.exe
	CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -tags arrow_json_stdlib,otel,mcp -ldflags "-s -w -buildid= -X main.version=$version" -o "$output/$name" ./cmd/slkstream
	names+=("$name")
	echo "$name: $(wc -c <"$output/$name") bytes"
done

# Of the modules that are built in, not of all that go.mod names.
go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 bin -json -noserial -std -version "$version" \
	-output "$output/slkstream-$version.cdx.json" "$output/${names[0]}"
names+=("slkstream-$version.cdx.json")
sums() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }
commit=$(git rev-parse HEAD)
provenance=slkstream-$version.intoto.json
(
	cd "$output"
	subjects=$(sums "${names[@]}" | sed 's|^\([0-9a-f]*\) [ *]\(.*\)$|{"name": "\2", "digest": {"sha256": "\1"}},|')
	cat >"$provenance" <<EOF_STATEMENT
{"_type": "https://in-toto.io/Statement/v1",
 "subject": [${subjects%,}],
 "predicateType": "https://slsa.dev/provenance/v1",
 "predicate": {
  "buildDefinition": {
   "buildType": "https://github.com/slkstream/slkstream/blob/main/deploy/release.sh",
   "externalParameters": {"version": "$version", "platforms": "$platforms"},
   "internalParameters": {"go": "$(go env GOVERSION)"},
   "resolvedDependencies": [{"uri": "git+https://github.com/slkstream/slkstream", "digest": {"gitCommit": "$commit"}}]},
  "runDetails": {"builder": {"id": "https://github.com/slkstream/slkstream/blob/main/deploy/release.sh"}}}}
EOF_STATEMENT
	names+=("$provenance")
	sums "${names[@]}" >SHA256SUMS
	echo "SHA256SUMS: ${#names[@]} files"
	[ -z "$key" ] || ssh-keygen -q -Y sign -n slkstream-release -f "$key" SHA256SUMS
)

if [ -z "$make_image" ]; then exit; fi
if ! docker buildx version >/dev/null 2>&1; then
	echo "no image: docker buildx is not at hand (--no-image leaves it out)" >&2
	exit 1
fi
where=(--output "type=oci,dest=$output/slkstream-$version-image.tar")
[ -z "$push" ] || where=(--push)
docker buildx build --provenance=mode=max --sbom=true --platform linux/amd64,linux/arm64 --build-arg "VERSION=$version" --tag "$image:$version" "${where[@]}" .
