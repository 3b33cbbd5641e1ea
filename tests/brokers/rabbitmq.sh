#!/bin/sh
# rabbitmq.sh PORT FOLDER: RabbitMQ with its MQTT plugin.
set -eu
mkdir -p "$2/rabbit"
echo '[rabbitmq_mqtt].' >"$2/rabbit/plugins"
cat >"$2/rabbit/rabbitmq.conf" <<EOF
listeners.tcp = none
mqtt.listeners.tcp.default = 127.0.0.1:$1
mqtt.allow_anonymous = true
mqtt.default_user = guest
mqtt.default_pass = guest
mqtt.subscription_ttl = 3600000
EOF
export HOME="$2/rabbit" ERL_CRASH_DUMP=/dev/null RABBITMQ_NODENAME="r$1@localhost" \
	RABBITMQ_DIST_PORT=$(($1 + 1)) \
	RABBITMQ_MNESIA_BASE="$2/rabbit/db" RABBITMQ_LOG_BASE="$2/rabbit/log" \
	RABBITMQ_LOGS=- RABBITMQ_CONFIG_FILE="$2/rabbit/rabbitmq.conf" \
	RABBITMQ_ENABLED_PLUGINS_FILE="$2/rabbit/plugins" \
	RABBITMQ_PID_FILE="$2/rabbit/pid" RUNNING_UNDER_SYSTEMD=true
exec /usr/lib/rabbitmq/bin/rabbitmq-server
