#include "certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#define DAY_S 86400

#define DEFAULT_NAMES "DNS:localhost,IP:127.0.0.1"

static void extend(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *x;
	X509V3_CTX ctx;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	x = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	must(x && X509_add_ext(cert, x, -1), "no extension %s", value);
	X509_EXTENSION_free(x);
}

/* Without @issuer it signs itself and is a CA. */
static X509 *make(const char *name, EVP_PKEY *key, X509 *issuer,
		  EVP_PKEY *issuer_key, const struct cert_spec *spec)
{
	static long serial = 1;
	X509 *cert = X509_new();
	X509_NAME *n = X509_get_subject_name(cert);

	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), serial++);
	X509_gmtime_adj(X509_getm_notBefore(cert),
			(long)spec->from_days * DAY_S);
	X509_gmtime_adj(X509_getm_notAfter(cert), (long)spec->to_days * DAY_S);
	X509_set_pubkey(cert, key);
	must(X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC,
					(const unsigned char *)name, -1, -1, 0),
	     "no name %s", name);
	X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : n);
	if (issuer)
		extend(cert, issuer, NID_subject_alt_name, spec->names);
	else
		extend(cert, cert, NID_basic_constraints, "critical,CA:TRUE");
	must(X509_sign(cert, issuer ? issuer_key : key, EVP_sha256()),
	     "%s cannot sign", name);
	return cert;
}

static void save(const char *path, X509 *cert, EVP_PKEY *key)
{
	FILE *f = fopen(path, "w");

	must(f, "%s", path);
	if (cert)
		must(PEM_write_X509(f, cert), "%s", path);
	if (key)
		must(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL),
		     "%s", path);
	fclose(f);
}

static void path(char buf[CERT_PATH_SIZE], const char *dir, const char *name)
{
	snprintf(buf, CERT_PATH_SIZE, "%s/%s", dir, name);
}

static void name_files(struct certificates *c)
{
	folder_temp(c->dir);
	path(c->ca, c->dir, "ca.pem");
	path(c->other_ca, c->dir, "other-ca.pem");
	path(c->cert, c->dir, "cert.pem");
	path(c->key, c->dir, "key.pem");
	path(c->client_cert, c->dir, "client-cert.pem");
	path(c->client_key, c->dir, "client-key.pem");
}

void certificates_make(struct certificates *c, const struct cert_spec *spec)
{
	static const struct cert_spec ca = { .from_days = -400,
					     .to_days = 400 };
	struct cert_spec s = spec ? *spec : (struct cert_spec){ 0 };
	EVP_PKEY *ca_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
	X509 *root, *other, *server, *client;

	if (!s.names)
		s.names = DEFAULT_NAMES;
	if (!s.from_days && !s.to_days)
		s.from_days = -1, s.to_days = 30;
	name_files(c);
	root = make("mqonce test CA", ca_key, NULL, NULL, &ca);
	other = make("another CA", key, NULL, NULL, &ca);
	server = make("broker", key, root, ca_key, &s);
	client = make("client", key, root, ca_key, &s);
	save(c->ca, root, NULL);
	save(c->other_ca, other, NULL);
	save(c->cert, server, NULL);
	save(c->key, NULL, key);
	save(c->client_cert, client, NULL);
	save(c->client_key, NULL, key);
	X509_free(root);
	X509_free(other);
	X509_free(server);
	X509_free(client);
	EVP_PKEY_free(ca_key);
	EVP_PKEY_free(key);
}

void certificates_remove(struct certificates *c)
{
	folder_remove(c->dir);
}
