#include "link_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#define CERT_HINT "make it a PEM file that this user can read"

const char *tls_version(void)
{
	return OpenSSL_version(OPENSSL_FULL_VERSION_STRING);
}

static SSL *ssl_of(const struct link *l)
{
	return mosquitto_ssl_get(l->mosq);
}

bool tls_shakes_hands(const struct link *l)
{
	return ssl_of(l) && !SSL_is_init_finished(ssl_of(l));
}

bool tls_wants_write(const struct link *l)
{
	return ssl_of(l) && SSL_want_write(ssl_of(l));
}

bool tls_has_buffered(const struct link *l)
{
	return ssl_of(l) && SSL_pending(ssl_of(l)) > 0;
}

static struct link *link_of(const SSL *ssl)
{
	return SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
}

/* Keeps OpenSSL's verdict and the first reason for it. */
static int on_verify(int ok, X509_STORE_CTX *ctx)
{
	struct link *l = link_of(X509_STORE_CTX_get_ex_data(
		ctx, SSL_get_ex_data_X509_STORE_CTX_idx()));

	if (!ok && !l->tls.verify_error) {
		l->tls.verify_error = X509_STORE_CTX_get_error(ctx);
		l->tls.verify_depth = X509_STORE_CTX_get_error_depth(ctx);
	}
	return ok;
}

static bool is_literal(const char *host)
{
	ASN1_OCTET_STRING *ip = a2i_IPADDRESS(host);
	bool yes = ip;

	ASN1_OCTET_STRING_free(ip);
	ERR_clear_error();
	return yes;
}

/* OpenSSL 3.0 sends this one and has no word for it. */
static const char *alert_words(int alert)
{
	return (alert & 0xFF) == SSL_AD_CERTIFICATE_REQUIRED
		       ? "certificate required"
		       : SSL_alert_desc_string_long(alert);
}

/*
 * The library puts the number it was given into SNI; the name belongs there,
 * and nothing for a literal (RFC 6066, 3).  This runs before ClientHello.
 */
static void on_info(const SSL *ssl, int where, int ret)
{
	struct link *l = link_of(ssl);
	char name[TLSEXT_MAXLEN_host_name + 1];

	snprintf(name, sizeof(name), "%s", l->bc->host);
	if (where & SSL_CB_HANDSHAKE_START)
		(void)SSL_set_tlsext_host_name((SSL *)(uintptr_t)ssl,
					       is_literal(name) ? NULL : name);
	if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT &&
	    ret >> 8 == SSL3_AL_FATAL)
		words_copy(l->tls.alert, sizeof(l->tls.alert),
			   alert_words(ret));
}

/* "OpenSSL Error[0]: error:0A00010B:SSL routines::wrong version number" */
static void on_log(struct mosquitto *m UNUSED, void *arg, int level UNUSED,
		   const char *text)
{
	struct link *l = arg;
	const char *reason = strrchr(text, ':');

	if (strstr(text, "error:") && reason && !l->tls.library[0])
		words_copy(l->tls.library, sizeof(l->tls.library), reason + 1);
}

/* A key with a passphrase would ask on the terminal. */
static int no_passphrase(char *buf UNUSED, int size UNUSED, int rw UNUSED,
			 void *arg UNUSED)
{
	return -1;
}

static const char *openssl_reason(void)
{
	const char *s = ERR_reason_error_string(ERR_peek_last_error());

	ERR_clear_error();
	return s ? s : "not usable";
}

static enum err check_readable(const char *key, const char *file,
			       struct err_detail *why)
{
	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_say(why, ERR_CONFIG, "%s %s: %s: " CERT_HINT, key,
			       file, err_system(errno));
	return OK;
}

static enum err load_ca(SSL_CTX *ctx, const struct broker_config *bc,
			struct err_detail *why)
{
	enum err e = bc->ca ? check_readable("ca", bc->ca, why) : OK;

	if (e)
		return e;
	if (bc->ca && !SSL_CTX_load_verify_locations(ctx, bc->ca, NULL))
		return err_say(why, ERR_CONFIG,
			       "ca %s: no certificate in it (%s): " CERT_HINT,
			       bc->ca, openssl_reason());
	if (!bc->ca && !SSL_CTX_set_default_verify_paths(ctx))
		return err_say(why, ERR_CONFIG,
			       "no CA certificates on this system (%s): set ca",
			       openssl_reason());
	return OK;
}

static enum err load_own_cert(SSL_CTX *ctx, const struct broker_config *bc,
			      struct err_detail *why)
{
	const char *key = bc->key ? bc->key : bc->cert;
	enum err e;

	if (!bc->cert && !bc->key)
		return OK;
	if (!bc->cert)
		return err_say(why, ERR_CONFIG,
			       "key is set without cert: set cert");
	e = check_readable("cert", bc->cert, why);
	if (!e)
		e = check_readable("key", key, why);
	if (e)
		return e;
	if (SSL_CTX_use_certificate_chain_file(ctx, bc->cert) != 1)
		return err_say(why, ERR_CONFIG,
			       "cert %s: no certificate in it (%s): " CERT_HINT,
			       bc->cert, openssl_reason());
	if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
		return err_say(why, ERR_CONFIG,
			       "key %s: no key that fits cert %s (%s): it must "
			       "be a PEM file without passphrase",
			       key, bc->cert, openssl_reason());
	return OK;
}

/* Copied into each SSL object that the library makes of @ctx. */
static bool check_peer(SSL_CTX *ctx, const char *host)
{
	X509_VERIFY_PARAM *p = SSL_CTX_get0_param(ctx);

	X509_VERIFY_PARAM_set_hostflags(p,
					X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, on_verify);
	if (is_literal(host))
		return X509_VERIFY_PARAM_set1_ip_asc(p, host);
	return X509_VERIFY_PARAM_set1_host(p, host, 0);
}

static enum err fill(SSL_CTX *ctx, struct link *l, struct err_detail *why)
{
	enum err e;

	SSL_CTX_set_app_data(ctx, l);
	SSL_CTX_set_info_callback(ctx, on_info);
	SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	if (!SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) ||
	    !check_peer(ctx, l->bc->host))
		return err_say(why, ERR_CONFIG,
			       "TLS cannot check the name \"%s\": %s",
			       l->bc->host, openssl_reason());
	e = load_ca(ctx, l->bc, why);
	return e ? e : load_own_cert(ctx, l->bc, why);
}

/* Made anew for each link: rotated files count from the next connect on. */
enum err tls_attach(struct link *l, struct err_detail *why)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	enum err e;

	if (!ctx)
		return err_say(why, ERR_NOMEM, "TLS: %s", openssl_reason());
	e = fill(ctx, l, why);
	if (!e &&
	    (mosquitto_int_option(l->mosq, MOSQ_OPT_SSL_CTX_WITH_DEFAULTS, 0) ||
	     mosquitto_void_option(l->mosq, MOSQ_OPT_SSL_CTX, ctx)))
		e = err_say(why, ERR_CONFIG,
			    "this libmosquitto was built without TLS");
	if (!e)
		mosquitto_log_callback_set(l->mosq, on_log);
	SSL_CTX_free(ctx);
	return e;
}
