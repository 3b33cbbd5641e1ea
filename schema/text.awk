# Turns a file of SQL into one C string, name given with -v name=.
BEGIN { print "/* Generated from schema/ by schema/text.awk: do not edit. */"
        printf "#include \"migrations.h\"\n\nconst char %s[] =\n", name }
{ gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); printf "\t\"%s\\n\"\n", $0 }
END { print "\t;" }
