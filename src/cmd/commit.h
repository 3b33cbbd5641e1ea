/* Which commit this was built from; the file is made by the build. */
#ifndef CMD_COMMIT_H
#define CMD_COMMIT_H

/* "4f2a...", with a "+" behind it when files differed; "unknown". */
extern const char mqonce_commit[];

#endif
