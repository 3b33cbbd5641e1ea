/*
 * Certificates for tests, made fresh in a temporary directory: a CA, another
 * CA that signed nothing, a certificate for a server and one for a client.
 */
#ifndef TESTS_CERTIFICATES_H
#define TESTS_CERTIFICATES_H

#include "../support/host.h"

#define CERT_PATH_SIZE 128

struct cert_spec {
	const char *names;	/* SAN; NULL: "DNS:localhost,IP:127.0.0.1" */
	int from_days, to_days; /* validity from now; both 0: -1 to 30 */
};

struct certificates {
	char dir[FOLDER_SIZE];
	char ca[CERT_PATH_SIZE], other_ca[CERT_PATH_SIZE];
	char cert[CERT_PATH_SIZE], key[CERT_PATH_SIZE];
	char client_cert[CERT_PATH_SIZE], client_key[CERT_PATH_SIZE];
};

/* Ends the program when it cannot; @spec may be NULL. */
void certificates_make(struct certificates *c, const struct cert_spec *spec);
void certificates_remove(struct certificates *c);

#endif
