#!/usr/bin/env bash
# Puts the OpenID provider that tests of single sign-on run, and what drives a browser for them, into a folder, unless they
# are there. Needs node 20 and npm.
# Usage: install.sh FOLDER
set -euo pipefail
folder=$1 provider=9.13.3 driver=1.65.1
version() { node -p "JSON.parse(fs.readFileSync('$folder/node_modules/$1/package.json')).version" 2>/dev/null || true; }
[ "$(version oidc-provider)" = "$provider" ] && [ "$(version playwright-core)" = "$driver" ] && exit 0
mkdir -p "$folder"
npm install --no-audit --no-fund --silent --prefix "$folder" "oidc-provider@$provider" "playwright-core@$driver"
