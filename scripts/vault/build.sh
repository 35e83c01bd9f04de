#!/usr/bin/env bash
# build.sh DIR: the Vault server that tests of the secret provider run, as DIR/vault (tag minimal: the engines kv,
# transit, pki and ssh; the methods approle, cert, jwt, oidc and userpass), and beside it as plugins of it the
# Kubernetes auth method and an engine of leased credentials. It is a test peer under BUSL 1.1: nothing of it is shipped.
set -euo pipefail
mkdir -p "$1"
out=$(readlink -f "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
mkdir -p "$out/.new" "$out/plugins"
export CGO_ENABLED=0 GOWORK=off
build() { go build -tags minimal -trimpath -buildvcs=false -ldflags '-s -w' -o "$out/.new/$1" "$2"; }
build vault github.com/hashicorp/vault
build kubernetes github.com/hashicorp/vault-plugin-auth-kubernetes/cmd/vault-plugin-auth-kubernetes
build leased ./leased
mv -f "$out/.new/kubernetes" "$out/.new/leased" "$out/plugins/"
mv -f "$out/.new/vault" "$out/vault" # the last one: it is what tells that all is there
rmdir "$out/.new"
