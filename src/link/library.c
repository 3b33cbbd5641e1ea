#include "link_internal.h"

#include <stdio.h>

/* The build knows better than the library: 2.1.2 takes itself for 2.1.0. */
#ifdef MQONCE_DEPS
#include <deps.h>
#endif
#ifndef DEPS_LIBMOSQUITTO
#define TEXT_(x) #x
#define TEXT(x)	 TEXT_(x)
#define DEPS_LIBMOSQUITTO                                                      \
	TEXT(LIBMOSQUITTO_MAJOR)                                               \
	"." TEXT(LIBMOSQUITTO_MINOR) "." TEXT(LIBMOSQUITTO_REVISION)
#define DEPS_LIBMOSQUITTO_OPTIONS "the distribution's"
#endif
#ifndef DEPS_OPENSSL_OPTIONS
#define DEPS_OPENSSL_OPTIONS "the distribution's"
#endif

enum err link_library_init(void)
{
	return mosquitto_lib_init() ? ERR_NOMEM : OK;
}

void link_library_fini(void)
{
	mosquitto_lib_cleanup();
}

void link_library(struct link_library *ret)
{
	*ret = (struct link_library){
		.mosquitto = DEPS_LIBMOSQUITTO,
		.mosquitto_options = DEPS_LIBMOSQUITTO_OPTIONS,
		.tls = tls_version() ? tls_version() : "none",
		.tls_options = tls_version() ? DEPS_OPENSSL_OPTIONS : "",
	};
}

const char *link_library_versions(void)
{
	static char text[80];

	if (tls_version())
		snprintf(text, sizeof(text), "libmosquitto %s, OpenSSL %s",
			 DEPS_LIBMOSQUITTO, tls_version());
	else
		snprintf(text, sizeof(text), "libmosquitto %s, no TLS",
			 DEPS_LIBMOSQUITTO);
	return text;
}
