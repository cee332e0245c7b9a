/* SPDX-License-Identifier: MIT */
/* Clients that speak HTTP/1 with the gateway of a world: the test writes their bytes and reads what came. */
#ifndef PUSHGATE_TESTS_HTTP1_CLIENT_H
#define PUSHGATE_TESTS_HTTP1_CLIENT_H

#include "tests/support/script_peer.h"
#include "tests/unit/conf/pem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HTTP1 static __attribute__((unused))

#define GET(path) "GET " path " HTTP/1.1\r\nHost: example.com\r\n\r\n"

/* Sends the bytes of a string as they are. */
HTTP1 void put(struct script_peer *c, const char *text)
{
	script_put(c, text, strlen(text));
}

HTTP1 struct script_peer *http1_client(struct gate_world *w, const char *text)
{
	struct script_peer *c = script_client_mute(w, NULL, NULL);
	put(c, text);
	return c;
}

/* The gateway's only client connection. */
HTTP1 struct client_conn *client_of(struct gate_world *w)
{
	return list_first(&w->gateway->clients.conns, struct client_conn, link);
}

/* Waits for the request at the origin and answers it. */
HTTP1 void answer(struct gate_world *w, const char *path, unsigned status, size_t body)
{
	UNTIL(w, gate_find(w, path));
	gate_answer(gate_find(w, path), status, body, true);
}

/* ---- TLS ---- */

struct tls_world {
	struct gate_world *w;
	struct net_tls *tls; /* the client's context */
	char chain[64], key[64];
};

HTTP1 void write_pem(char *name, size_t size, const char *text)
{
	snprintf(name, size, "/tmp/pushgate-http1-XXXXXX");
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* The certificate is for test1.invalid. alpn: the client's; NULL: it offers none. */
HTTP1 void tls_world(struct tls_world *t, const char *alpn, const char *listen)
{
	char lines[512], error[128];
	write_pem(t->chain, sizeof(t->chain), PEM_CERTIFICATE_1);
	write_pem(t->key, sizeof(t->key), PEM_KEY_1);
	snprintf(lines, sizeof(lines), "certificate = %s\nkey = %s\n%s", t->chain, t->key, listen ? listen : "");
	t->w = gate_world_new(NULL, lines, NULL, NULL);
	const struct net_tls_client_options o = {.verify = false, .alpn = alpn};
	t->tls = net_tls_client_new(&o, error, sizeof(error));
	assert_non_null(t->tls);
}

HTTP1 struct script_peer *tls_client(struct tls_world *t)
{
	return script_client_mute(t->w, t->tls, "test1.invalid");
}

HTTP1 void tls_world_free(struct tls_world *t)
{
	gate_world_free(t->w);
	net_tls_free(t->tls);
	unlink(t->chain);
	unlink(t->key);
}

#endif
