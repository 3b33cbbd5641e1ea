#!/bin/sh
# The main job, told as a story: a private broker, the seats example, events
# that come twice, a daemon that is killed in the middle, and the numbers at
# the end.  Ends only what it started; fails if the numbers are wrong.
set -eu

prog=$(realpath "${1:?usage: demo.sh PROGRAM}")
students=300
work=$(mktemp -d "${TMPDIR:-/tmp}/mqonce-demo-XXXXXX")
conf=$work/etc/mqonce.conf
broker= daemon= feeder=

finish() {
	for pid in $feeder $daemon $broker; do
		kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || :
	done
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

say() { printf '\n%s\n' "$*"; }
die() { printf 'demo: %s\n' "$*" >&2; exit 1; }

start_broker() {
	for try in 1 2 3 4 5 6 7 8; do
		port=$(( 20000 + ($$ + try * 997) % 30000 ))
		printf '%s\n' "listener $port 127.0.0.1" \
			'allow_anonymous true' 'max_queued_messages 10000' \
			'user root' >"$work/broker.conf"
		mosquitto -c "$work/broker.conf" >"$work/broker.log" 2>&1 &
		broker=$!
		sleep 0.3
		kill -0 "$broker" 2>/dev/null && return
		wait "$broker" || :	# the port was taken
	done
	cat "$work/broker.log" >&2
	die "the broker does not start"
}

start_daemon() {
	"$prog" run -c "$conf" 2>>"$work/daemon.log" &
	daemon=$!
}

sql() { sqlite3 -readonly "$work/lib/store.db" "$1" 2>/dev/null || echo 0; }
publish() { mosquitto_pub -p "$port" -q 1 -t "$1" -m "$2"; }

# wait_for WHAT SQL WANT: at most 20 seconds.
wait_for() {
	for _ in $(seq 200); do
		[ "$(sql "$2")" -ge "$3" ] && return
		kill -0 "$daemon" 2>/dev/null || {
			tail -3 "$work/daemon.log" >&2
			die "the daemon ended"
		}
		sleep 0.1
	done
	die "waited in vain for $1"
}

# Every third enrolment is sent twice, as a producer does that saw no PUBACK.
enrolments() {
	i=1
	while [ $i -le $students ]; do
		line="{\"id\":\"e$i\",\"course\":\"algebra\",\"student\":\"s$i\"}"
		echo "$line"
		[ $(( i % 3 )) = 0 ] && echo "$line"
		[ $(( i % 20 )) = 0 ] && sleep 0.1
		i=$(( i + 1 ))
	done
}

say "A broker of our own, a configuration, a course with $students seats."
mkdir "$work/lib" && chmod 700 "$work/lib"
start_broker
"$prog" init "$work/etc" >/dev/null
sed -i -e "s|^path = .*|path = $work/lib/store.db|" \
	-e "s|^url = .*|url = mqtt://127.0.0.1:$port|" "$conf"
echo "INSERT INTO course (id, seats) VALUES ('algebra', $students);" \
	>"$work/etc/schema/seats_demo.sql"
"$prog" check -c "$conf" | grep '^ok'
start_daemon
wait_for "the subscription" 'SELECT count(*) FROM once_filter' 1
sleep 0.3

say "$students students enrol; every third enrolment is published twice (QoS 1)."
enrolments | mosquitto_pub -p "$port" -q 1 -t courses/algebra/enrolled -l &
feeder=$!
wait_for "the first hundred" 'SELECT count(*) FROM roster' 100

say "In the middle of it: kill -9."
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || :
printf '  seats taken when it died: %s\n' "$(sql 'SELECT seats_taken FROM course')"
sleep 0.5

say "Started again; the broker delivers what was not acknowledged."
start_daemon
wait "$feeder" || die "publishing failed"
feeder=
wait_for "all students" 'SELECT count(*) FROM roster' $students

say "A malformed event, and the id of student s1's enrolment reissued for s2."
publish courses/algebra/enrolled '{"id":"e301","course":'
publish courses/algebra/enrolled '{"id":"e1","course":"algebra","student":"s2"}'
wait_for "two dead letters" 'SELECT count(*) FROM once_dead_letter' 2

kill "$daemon"
wait "$daemon" || die "the daemon did not stop in order"
daemon=

say "What the operator sees:"
"$prog" status -c "$conf" | sed 's/^/  /'
echo
"$prog" dead list -c "$conf" | sed 's/^/  /'

once=$(sql 'SELECT count(*) FROM (SELECT student FROM roster GROUP BY student HAVING count(*) = 1)')
seats=$(sql "SELECT seats_taken FROM course WHERE id = 'algebra'")
done=$(sql 'SELECT sum(done) FROM once_counter')
copies=$(sql 'SELECT sum(suppressed_done + suppressed_pending) FROM once_counter')
dead=$(sql "SELECT group_concat(kind || ': ' || last_type, ', ') FROM once_dead_letter")

say "The numbers:"
printf '  %-34s %s\n' "students on the roster, each once" "$once of $students" \
	"seats taken" "$seats of $students" \
	"effects committed" "$done" \
	"copies suppressed (100 were sent)" "$copies" \
	"dead, and why" "$dead"

[ "$once" = $students ] || die "not every student is on the roster once"
[ "$seats" = $students ] || die "the seats are not exact"
[ "$done" = $students ] || die "not every event had one effect"
# What the kill left unacknowledged came again: 100 copies at least, unless
# the count of the last duplicates died with the daemon; never an effect.
[ "$copies" -ge 80 ] || die "copies were not suppressed"
[ "$dead" = "poison: json.malformed, conflict: identity.conflict" ] ||
	die "the dead letters are not what they should be"
say "Each student once, seats exact. That is the whole promise."
