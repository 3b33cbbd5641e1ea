#!/bin/sh
# certificates.sh PROGRAM [QEMU]: the program takes a broker whose certificate,
# and its CA's, end in 2060, and refuses one that begins in 2039: the first is
# no past and the second no future to a time_t of 32 bits.
set -eu

program=$1 qemu=${2:-}
mqonce() {
	${qemu:+"$qemu"} "$program" "$@"
}
if mqonce version | grep -q "no TLS"; then
	echo "certificates.sh: skipped, no TLS"
	exit 0
fi

dir=$(mktemp -d)
pids=
trap 'kill $pids 2>/dev/null || true; wait; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

# openssl-req(1) of Debian 12 cannot set a date; openssl-ca(1) can.
cat >"$dir/ca.conf" <<END
[ca]
default_ca = here
[here]
new_certs_dir = $dir
database = $dir/index
serial = $dir/serial
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
[ca_extensions]
basicConstraints = critical, CA:true
[req]
distinguished_name = name
[name]
END
: >"$dir/index"
echo 01 >"$dir/serial"

# certificate NAME FROM TO OPTION...: dates as YYYYMMDD.
certificate() {
	name=$1 from=$2 to=$3
	shift 3
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
		-nodes -config "$dir/ca.conf" -subj "/CN=$name" \
		-addext "subjectAltName = IP:127.0.0.1" \
		-keyout "$dir/$name.key" -out "$dir/$name.csr"
	openssl ca -config "$dir/ca.conf" -batch -notext \
		-startdate "${from}000000Z" -enddate "${to}000000Z" \
		-keyfile "$dir/ca.key" -in "$dir/$name.csr" \
		-out "$dir/$name.pem" "$@"
}
{
	certificate ca 20200101 20600101 -selfsign -extensions ca_extensions
	certificate long 20200101 20600101 -cert "$dir/ca.pem"
	certificate later 20390101 20600101 -cert "$dir/ca.pem"
} >"$dir/openssl.log" 2>&1 || { cat "$dir/openssl.log"; exit 1; }

# says CERTIFICATE PORT PATTERN: what the program logs of a broker with it.
says() {
	cat >"$dir/$1.conf" <<-END
	user root
	listener $2 127.0.0.1
	allow_anonymous true
	certfile $dir/$1.pem
	keyfile $dir/$1.key
	END
	mosquitto -c "$dir/$1.conf" >"$dir/$1.broker" 2>&1 &
	pids="$pids $!"
	mqonce init "$dir/$1.etc" >/dev/null
	sed -i "s|^url = .*|url = mqtts://127.0.0.1:$2\nca = $dir/ca.pem|
		s|^path = .*|path = $dir/$1.store/store.db|" \
		"$dir/$1.etc/mqonce.conf"
	mqonce check -c "$dir/$1.etc/mqonce.conf" >/dev/null
	${qemu:+"$qemu"} "$program" run -c "$dir/$1.etc/mqonce.conf" \
		>"$dir/$1.log" 2>&1 &
	pids="$pids $!"
	for _ in $(seq 300); do
		! grep -q "$3" "$dir/$1.log" || return 0
		sleep 0.1
	done
	echo "certificates.sh: $1: in vain: $3"
	cat "$dir/$1.log" "$dir/$1.broker"
	exit 1
}
port=$((20000 + $$ % 10000))
says long $port "link.up"
says later $((port + 1)) "is not valid yet"
echo "certificates.sh: $program takes 2060 and refuses 2039"
