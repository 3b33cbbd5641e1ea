#!/bin/sh
# ejabberd.sh PORT FOLDER: ejabberd's mod_mqtt.
set -eu
mkdir -p "$2/ejabberd/log" "$2/ejabberd/spool"
cat >"$2/ejabberd/ejabberd.yml" <<EOF
hosts: [localhost]
loglevel: warning
auth_method: [anonymous]
allow_multiple_connections: true
anonymous_protocol: both
listen:
  - { port: $1, ip: "127.0.0.1", module: mod_mqtt }
modules:
  mod_mqtt:
    max_queue: 100000
    session_expiry: 1 hour
    access_publish: { "#": [{ allow: all }] }
    access_subscribe: { "#": [{ allow: all }] }
EOF
export HOME="$2/ejabberd" ERL_CRASH_DUMP=/dev/null
cd "$2/ejabberd"	# what it dumps, it dumps here
exec erl -noinput -pa /usr/lib/*/ejabberd-*/ebin \
	-ejabberd config "\"$2/ejabberd/ejabberd.yml\"" \
	-ejabberd log_path "\"$2/ejabberd/log/ejabberd.log\"" \
	-mnesia dir "\"$2/ejabberd/spool\"" -s ejabberd
