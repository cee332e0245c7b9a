/* SPDX-License-Identifier: MIT */
/*
 * The certificate of a client, and the line client-ca by which its handshake was. Both are of the connection: requests
 * share them. A response that is held for a client with a certificate answers no other connection.
 */
#include "proxy/client/client_private.h"

static bool fail(struct client_conn *c, const char *why)
{
	WORKER_COUNT(c->clients->env, tls_failed, 1);
	client_log_fault(c, "TLS handshake failed", why);
	client_conn_abort(c, NULL);
	return false;
}

bool client_auth_open(struct client_conn *c)
{
	const struct conf_client_auth *auth = c->listener->conf->client_auth;
	const char *wrong;
	struct client_certificate *certificate = net_conn_client_certificate(c->net, &wrong);
	if (wrong)
		return fail(c, wrong);
	c->client_ca = conf_client_ca_of_name(auth, net_conn_sni(c->net));
	if (!certificate)
		return true;
	if (!budget_take(&c->budget, client_certificate_bytes(certificate))) {
		client_certificate_release(certificate);
		WORKER_COUNT(c->clients->env, connections_refused_memory, 1);
		return fail(c, "no memory for the client's certificate");
	}
	c->certificate = certificate;
	c->held.is_secluded = true;
	return true;
}

void client_auth_close(struct client_conn *c)
{
	if (!c->certificate)
		return;
	budget_give(&c->budget, client_certificate_bytes(c->certificate));
	client_certificate_release(c->certificate);
}
