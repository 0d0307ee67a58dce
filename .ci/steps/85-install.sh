#!/bin/bash
# What a stranger does first: go install of the command by a version, through a module proxy made from this tree, and a
# module of its own that imports the packages.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
module=github.com/slkstream/slkstream
version=v0.0.0-ci
at="$work/proxy/$module/@v"
mkdir -p "$at"
mapfile -t nested < <(git ls-files '*/go.mod' | sed 's|^\(.*\)/go.mod$|:!\1|') # modules of their own are no part of this one
git archive --format=zip --prefix="$module@$version/" -o "$at/$version.zip" HEAD -- . "${nested[@]}"
git show HEAD:go.mod >"$at/$version.mod"
echo "{\"Version\":\"$version\"}" >"$at/$version.info"
echo "$version" >"$at/list"
# Dependencies come from this machine's module cache where it has them.
GOPROXY="file://$work/proxy,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)"
export GOPROXY GOSUMDB=off GOMODCACHE="$work/modules" GOBIN="$work/bin" GOFLAGS=-modcacherw
(cd "$work" && go install "$module/cmd/slkstream@$version")
"$work/bin/slkstream" version
unset GOMODCACHE
go test ./test/importable
