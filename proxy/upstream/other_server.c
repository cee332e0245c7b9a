/* SPDX-License-Identifier: MIT */
/* Whether a request that one server has failed can be given to another. */
#include "proxy/upstream/destination.h"

bool upstream_was_tried(const struct exchange *x, const struct server *s)
{
	for (unsigned i = 0; i < attempt_of(x)->tried_count; i++)
		if (attempt_of(x)->tried[i] == s->member.id)
			return true;
	return s == given_server(x);
}

/* except: those that x was given to do not count; NULL: all count. At most `most` are counted. */
static unsigned count_servers(
    const struct destination *d, const struct exchange *except, unsigned most)
{
	unsigned n = 0;
	list_for_each(&d->servers, s, struct server, link)
	{
		bool is_tried = except && upstream_was_tried(except, s);
		n += !s->at.is_leaving && !s->at.conf->is_down && !is_tried;
		if (n == most)
			break;
	}
	return n;
}

bool upstream_has_other_server(const struct exchange *x)
{
	const struct server *last = given_server(x);
	return last && attempt_of(x)->tried_count + 1u < EXCHANGE_SERVERS_MOST &&
	       count_servers(last->destination, x, 1) > 0;
}

bool upstream_may_try_again(const struct exchange *x)
{
	const struct server *last = given_server(x);
	return last &&
	       (upstream_has_other_server(x) || count_servers(last->destination, NULL, 2) < 2);
}
