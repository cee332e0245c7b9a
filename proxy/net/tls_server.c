/* SPDX-License-Identifier: MIT */
/*
 * The TLS server: chooses the ALPN protocol, and sets up tickets. tls_loading.c loads its certificates, tls_choice.c
 * chooses one.
 */
#include "proxy/base/ensure.h"
#include "proxy/net/tls.h"

static int on_alpn(SSL *ssl, const uint8_t **out, uint8_t *out_length, const uint8_t *offered,
    unsigned offered_length, void *arg)
{
	(void)ssl;
	const struct net_tls *t = arg;
	for (size_t i = 0; i < t->alpn_length; i += 1u + t->alpn[i]) {
		for (size_t j = 0; j < offered_length; j += 1u + offered[j]) {
			if (offered[j] != t->alpn[i] ||
			    memcmp(offered + j + 1, t->alpn + i + 1, offered[j]) != 0)
				continue;
			*out = t->alpn + i + 1;
			*out_length = t->alpn[i];
			return SSL_TLSEXT_ERR_OK;
		}
	}
	return SSL_TLSEXT_ERR_ALERT_FATAL; /* no_application_protocol, RFC 7301 3.2 */
}

void tls_server_set(struct net_tls *t, SSL_CTX *x)
{
	static const uint8_t id[] = "pushgate";
	ensure(SSL_CTX_set_session_id_context(x, id, sizeof(id) - 1));
	/* Resumption by tickets only: a session cache would grow, and other workers could not use
	 * it. */
	SSL_CTX_set_session_cache_mode(x, SSL_SESS_CACHE_OFF);
	tls_tickets_set(x);
	tls_choice_set(x, t);
	if (t->alpn_length)
		SSL_CTX_set_alpn_select_cb(x, on_alpn, t);
}

struct net_tls *net_tls_server_new(
    const struct net_tls_server_options *o, char *error, size_t error_size)
{
	struct net_tls *t = tls_new(true, o->alpn, o->parameters);
	t->sources = o->certificates;
	t->source_count = o->certificate_count;
	t->ticket_file.path = o->ticket_file;
	t->key_log = o->key_log;
	tls_loading_begin(t, o->files);
	if (tls_loading_step(t, USEC_NEVER, error, error_size) != TLS_LOADING_DONE) {
		net_tls_free(t);
		return NULL;
	}
	t->challenge = o->challenge;
	if (o->tickets)
		t->tickets = *o->tickets;
	else
		net_tickets_init(&t->tickets, t->wall());
	return t;
}

size_t net_tls_certificate_count(const struct net_tls *t)
{
	return t->certificate_count;
}

bool net_tls_covers(const struct net_tls *t, struct slice host)
{
	return tls_certificates_cover(t->certificates, t->certificate_count, host);
}

bool net_tls_certificate_covers(const struct net_tls *t, size_t i, struct slice host)
{
	const struct tls_names *names = &t->certificates[i].names;
	struct slice below = slice_from(host, 1);
	if (!slice_starts_with(host, SLICE("*.")))
		return tls_names_cover(names, host);
	for (size_t k = 0; k < names->dns_count; k++) {
		struct slice name = slice_of_string(names->dns[k]);
		if (name.len >= below.len &&
		    slice_equal_nocase(slice_from(name, name.len - below.len), below))
			return true;
	}
	return false;
}
