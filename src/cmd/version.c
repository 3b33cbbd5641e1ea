#include <stdio.h>

#include "cmd.h"
#include "link/link.h"
#include "store/store.h"

enum err cmd_version(const struct command_args *a, struct err_detail *why)
{
	unsigned n;
	enum err e = cmd_options(a, NULL, 0, NULL, 0, &n, why);

	if (!e)
		printf("mqonce %s\nSQLite %s\n%s\n", MQONCE_VERSION,
		       store_library_version(), link_library_versions());
	return e;
}
