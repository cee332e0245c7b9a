/* SPDX-License-Identifier: MIT */
/*
 * The sessions that a TLS client may resume, some for each server, so that connections which begin at the same time
 * resume one each. A session is offered only to the address and the name that it came from: another server may have no
 * key for it, and resumption skips the verification of the name.
 */
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/net/tls.h"

struct session {
	struct list link;
	SSL_SESSION *ssl; /* a reference is ours */
	struct net_address server;
	char name[];
};

static void forget(struct tls_sessions *all, struct session *s)
{
	list_remove(&s->link);
	all->count--;
	SSL_SESSION_free(s->ssl);
	free(s);
}

static bool is_of(const struct session *s, const struct net_address *server, const char *name)
{
	return strcmp(s->name, name) == 0 && net_address_equal(&s->server, server);
}

/* Makes room for one more. A session that may be used again takes the place of all others of its server. */
static void make_room(struct tls_sessions *all, const struct net_address *server, const char *name,
    bool is_for_one_use)
{
	unsigned count = 0;
	list_for_each(&all->newest, s, struct session, link)
	{
		if (is_of(s, server, name) &&
		    (!is_for_one_use || ++count == LIMIT_SESSIONS_OF_SERVER))
			forget(all, s);
	}
	if (all->count == LIMIT_SESSIONS)
		forget(all, container_of(all->newest.prev, struct session, link));
}

void tls_sessions_put(struct tls_sessions *all, const struct net_address *server, const char *name,
    SSL_SESSION *session)
{
	size_t length = strlen(name) + 1;
	make_room(all, server, name, SSL_SESSION_should_be_single_use(session));
	struct session *s = memory_alloc(sizeof(*s) + length);
	s->ssl = session;
	s->server = *server;
	memcpy(s->name, name, length);
	list_prepend(&all->newest, &s->link);
	all->count++;
}

void tls_sessions_offer(
    struct tls_sessions *all, const struct net_address *server, const char *name, SSL *ssl)
{
	list_for_each(&all->newest, s, struct session, link)
	{
		if (!is_of(s, server, name))
			continue;
		SSL_set_session(ssl, s->ssl);
		/* RFC 8446 appendix C.4: an observer could tell that two connections are of one client. */
		if (SSL_SESSION_should_be_single_use(s->ssl))
			forget(all, s);
		return;
	}
}

void tls_sessions_clear(struct tls_sessions *all)
{
	list_for_each(&all->newest, s, struct session, link) forget(all, s);
}
