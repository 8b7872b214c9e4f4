#!/bin/sh
# Packages the extension: trefoil-VERSION.vsix beside this file. Needs Node and npm, and the network for what it fetches.
set -eu
cd "$(dirname "$0")"

npm install --omit=dev --no-audit --no-fund --no-package-lock
cp ../../LICENSE-MIT LICENSE.txt
npm exec --yes --package @vscode/vsce@4.1.0 -- vsce package
