#!/bin/sh
# run.sh PROGRAM: the program against each broker, in each version it speaks.
set -u

# RabbitMQ's port mapper would outlive it: it gets one of ours.
export ERL_EPMD_PORT=${ERL_EPMD_PORT:-4399}
epmd -port "$ERL_EPMD_PORT" -address 127.0.0.1 >/dev/null 2>&1 &
epmd=$!
trap 'kill $epmd 2>/dev/null' EXIT

fail=0
while read -r name protocol user; do
	echo "== $name, MQTT $protocol"
	case $name in
	mosquitto) unset BROKER;;
	*) export BROKER="tests/brokers/$name.sh";;
	esac
	unset BROKER_USER
	[ -z "$user" ] || export BROKER_USER="$user"
	PROTOCOL=$protocol "$1" </dev/null || fail=1
done <<EOF
mosquitto 5
mosquitto 3.1.1
ejabberd 5 gw@localhost
ejabberd 3.1.1 gw@localhost
rabbitmq 3.1.1
nats 3.1.1
aedes 3.1.1
EOF
exit $fail
