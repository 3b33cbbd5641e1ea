#!/bin/sh
# nats.sh PORT FOLDER: the NATS server; MQTT needs its JetStream.
set -eu
cat >"$2/nats.conf" <<EOF
server_name: one
host: 127.0.0.1
port: -1
jetstream { store_dir: "$2/jetstream" }
mqtt { host: 127.0.0.1, port: $1, ack_wait: "5s" }
EOF
exec nats-server -c "$2/nats.conf"
