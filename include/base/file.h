/* Small files, read whole. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/defs.h"
#include "base/err.h"
#include "base/span.h"

/*
 * *ret_text lies in *ret_memory, which is given: free(); a NUL stands behind
 * the text.  ERR_INPUT: not there, not a plain file, or larger than @max bytes;
 * ERR_PERM: not ours to read; ERR_NOMEM.  @why says which.
 */
MUST_CHECK enum err file_read(const char *path, size_t max, char **ret_memory,
			      struct span *ret_text, struct err_detail *why);

#endif
