# Brings a page of the manual in line with the program: awk -f manual.awk KNOWN
# PAGE prints the page as it should be.  KNOWN has lines "name<TAB>NAME" of what
# there is, and of `mqonce help conf`.  What is known loses its "not built"
# lines; the line behind a key's item is what the tables say of it; a key that
# is missing comes last in its section, with its help.
BEGIN { FS = "\t" }
NR == FNR && $1 == "name" { known[$2] = 1; next }
NR == FNR && $3 ~ /^not in/ { next }
NR == FNR { facts[$1, $2] = $3; help[$1, $2] = $4; order[++keys] = $1 SUBSEP $2
	    known[$2] = 1; next }

/^\.\\" not built: / { if (substr($0, 16) in known) next; hidden = 1 }
/^\.\\" end of /    { if (substr($0, 12) in known) next; hidden = 0 }

/^\.\\" keys of / { section = substr($0, 13) }
section != "" && /^\.El$/ {
	for (i = 1; i <= keys; i++) {
		split(order[i], k, SUBSEP)
		if (k[1] == section && !seen[order[i]])
			printf ".It Ic %s\n.Pq %s\n%s.\n", k[2],
				facts[order[i]], help[order[i]]
	}
}
/^\.\\" keys end$/ { section = "" }
section != "" && /^\.It Ic / {
	key = substr($0, 8); print
	if ((section, key) in facts) {
		seen[section, key] = 1
		print ".Pq " facts[section, key]
		getline
		if ($0 !~ /^\.Pq /)
			print
	} else if (!hidden) {
		print FILENAME ": there is no key " key > "/dev/stderr"
		failed = 1
	}
	next
}
{ print }
END { exit failed }
