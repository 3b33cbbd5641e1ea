#!/bin/sh
# aedes.sh PORT FOLDER: aedes, from the npm registry.
set -eu
at=$(cd "$(dirname "$0")/../.." && pwd)/build/brokers/aedes
[ -d "$at/node_modules/aedes" ] || npm install --silent --no-fund --no-audit \
	--prefix "$at" aedes >&2
cat >"$2/aedes.mjs" <<EOF
import { createRequire } from 'node:module'
import net from 'node:net'
const need = createRequire('$at/')
const { Aedes } = need('aedes')
const broker = Aedes.createBroker ? await Aedes.createBroker() : new Aedes()
net.createServer(broker.handle).listen($1, '127.0.0.1')
EOF
exec node "$2/aedes.mjs"
