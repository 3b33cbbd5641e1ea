#include "link_internal.h"

#include <stdio.h>

/* The build may know better: 2.1.2 takes itself for 2.1.0. */
#ifndef MQONCE_LIBMOSQUITTO
#define TEXT_(x) #x
#define TEXT(x)	 TEXT_(x)
#define MQONCE_LIBMOSQUITTO                                                    \
	TEXT(LIBMOSQUITTO_MAJOR)                                               \
	"." TEXT(LIBMOSQUITTO_MINOR) "." TEXT(LIBMOSQUITTO_REVISION)
#endif

enum err link_library_init(void)
{
	return mosquitto_lib_init() ? ERR_NOMEM : OK;
}

void link_library_fini(void)
{
	mosquitto_lib_cleanup();
}

const char *link_library_versions(void)
{
	static char text[80];

	snprintf(text, sizeof(text), "libmosquitto %s, OpenSSL %s",
		 MQONCE_LIBMOSQUITTO,
		 OpenSSL_version(OPENSSL_FULL_VERSION_STRING));
	return text;
}
