# The example with a board's lines in the place of its own:
#   awk -f conf.awk board/NAME/mqonce.conf board/common/mqonce.conf
# A line takes the comments right above it along.
FNR == 1 { file++; notes = section = "" }
/^\[/ { section = $0 }
file == 1 && /^;/ { notes = notes $0 "\n"; next }
file == 1 && /^[a-z]/ { own[section, $1] = notes $0 }
file == 1 { notes = ""; next }
{
	key = $0
	sub(/^; /, "", key)
	sub(/ =.*/, "", key)
	if ((section, key) in own) {
		print own[section, key]
		delete own[section, key]
	} else {
		print
	}
}
END {
	for (k in own) {
		print "no line in the example for: " own[k] > "/dev/stderr"
		exit 1
	}
}
