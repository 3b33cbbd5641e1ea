#include "link_internal.h"

#include <openssl/x509_vfy.h>

#include "base/clock.h"

static void explain_verify(const struct link *l, struct err_detail *why)
{
	const char *host = l->bc->host;
	const char *whose = l->tls.verify_depth ? "a CA certificate behind"
						: "certificate of";
	char now[CLOCK_ISO_SIZE];

	clock_iso(now, clock_wall_ms(), false);
	switch (l->tls.verify_error) {
	case X509_V_ERR_CERT_NOT_YET_VALID:
		err_say(why, ERR_LINK,
			"%s %s is not valid yet (this machine's clock says "
			"%s): set the clock",
			whose, host, now);
		return;
	case X509_V_ERR_CERT_HAS_EXPIRED:
		err_say(why, ERR_LINK,
			"%s %s has expired (this machine's clock says %s): "
			"renew it, or set the clock if that is wrong",
			whose, host, now);
		return;
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		err_say(why, ERR_LINK,
			"%s %s is made out to another name: use the name in "
			"it as host of url",
			whose, host);
		return;
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_CERT_SIGNATURE_FAILURE: /* of its name, another key */
		err_say(why, ERR_LINK,
			"certificate of %s is signed by an unknown CA: %s%s",
			host,
			l->bc->ca ? "put that CA's certificate into ca "
				  : "set ca to that CA's certificate",
			l->bc->ca ? l->bc->ca : "");
		return;
	}
	err_say(why, ERR_LINK, "%s %s: %s", whose, host,
		X509_verify_cert_error_string(l->tls.verify_error));
}

/* What the broker has against our certificate, or against none. */
static void explain_alert(const struct link *l, struct err_detail *why)
{
	const char *said = l->tls.alert;
	const char *advice = "";

	if (strstr(said, "certificate required") ||
	    (!l->bc->cert && strstr(said, "handshake")))
		advice = ": set cert and key to a certificate that it accepts";
	else if (strstr(said, "unknown CA"))
		advice = ": the CA that signed cert is not one of the broker's";
	else if (strstr(said, "expired"))
		advice = ": renew cert";
	else if (strstr(said, "certificate") || strstr(said, "handshake") ||
		 strstr(said, "decrypt"))
		advice = ": check cert and key";
	err_say(why, ERR_LINK, "TLS: the broker says '%s'%s", said, advice);
}

bool tls_explain(const struct link *l, struct err_detail *why)
{
	if (l->tls.verify_error)
		explain_verify(l, why);
	else if (l->tls.alert[0])
		explain_alert(l, why);
	else if (l->tls.library[0])
		err_say(why, ERR_LINK, "TLS: %s (is this a TLS port?)",
			l->tls.library);
	else
		return false;
	return true;
}
