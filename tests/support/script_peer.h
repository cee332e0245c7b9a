/* SPDX-License-Identifier: MIT */
/*
 * A client or an origin of the gateway that speaks the text of scripted_session.h: the test says its lines and looks
 * for those that came.
 */
#ifndef PUSHGATE_TESTS_SCRIPT_PEER_H
#define PUSHGATE_TESTS_SCRIPT_PEER_H

#include "tests/support/gateway_world.h"
#include "tests/support/scripted_session.h"

#define SCRIPT_BYTES (1u << 18)

struct script_peer {
	struct gate_world *world;
	struct net_conn *net; /* NULL: over */
	char in[SCRIPT_BYTES]; /* all that came, NUL-terminated */
	size_t in_bytes;
	size_t came; /* bytes, those that were forgotten included */
	bool forgets; /* only counts what comes */
	char *out; /* what it says: so many bytes, those sent at the front included */
	size_t out_bytes, out_sent, out_room;
	bool ended;
	enum net_end end; /* how, when the gateway ended it */
};

/* A client that has said its first line and "ready 100 65535 1". */
struct script_peer *script_client(struct gate_world *w);
/* A client that has said nothing yet; tls NULL: cleartext. */
struct script_peer *script_client_mute(struct gate_world *w, struct net_tls *tls, const char *server_name);
/* The connections to this site are scripted origins from now on. */
void script_site(struct gate_site *site);
/* The n-th connection to the site, once it is there; it has not said "ready" yet. */
struct script_peer *script_origin(struct gate_site *site, size_t n);
size_t script_origins(const struct gate_site *site);

/* Sends a line; the newline is added. */
void script_say(struct script_peer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sends these bytes alone. */
void script_put(struct script_peer *p, const char *bytes, size_t n);
bool script_saw(const struct script_peer *p, const char *text);
size_t script_times(const struct script_peer *p, const char *text);
/* Bytes of DATA that came on the stream. */
size_t script_body(const struct script_peer *p, unsigned id);
void script_abort(struct script_peer *p);

#define SCRIPT_SEES(p, text) UNTIL((p)->world, script_saw((p), (text)))

#endif
