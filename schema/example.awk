# Turns the example files into one C table: { path below the config's folder, text }.
BEGIN { print "/* Generated from board/common/ by schema/example.awk: do not edit. */"
        print "#include \"example.h\"\n\nconst struct example_file example_files[] = {" }
FNR == 1 { if (NR > 1) print "\t},"
           n = FILENAME; sub(/^(board\/common|build\/.*\/gen)\//, "", n)
           printf "\t{\n\t\t.name = \"%s\",\n\t\t.text =\n", n }
{ gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); printf "\t\t\"%s\\n\"\n", $0 }
END { print "\t},\n};\n\nconst unsigned example_files_len = sizeof(example_files) / sizeof(example_files[0]);" }
