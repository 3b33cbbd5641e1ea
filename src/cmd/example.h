/* The example of board/common/, embedded at build time, for `init`. */
#ifndef CMD_EXAMPLE_H
#define CMD_EXAMPLE_H

struct example_file {
	const char *name;	/* below the configuration's directory */
	const char *text;
};

extern const struct example_file example_files[];
extern const unsigned example_files_len;

#endif
