/* SPDX-License-Identifier: MIT */
/* Setters of the options that say how the names of servers are looked up. */
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include "proxy/limits.h"

enum { DNS_PORT = 53 };

/* ADDRESS, [ADDRESS], ADDRESS:PORT or [ADDRESS]:PORT. */
static bool read_resolver(struct slice word, struct net_address *a)
{
	struct slice bare = word;
	struct address ip;
	if (word.len > 2 && word.ptr[0] == '[' && word.ptr[word.len - 1] == ']')
		bare = slice_sub(word, 1, word.len - 2);
	if (address_parse(bare, &ip)) {
		net_address_set_ip(a, &ip, DNS_PORT);
		return true;
	}
	return !net_address_parse(word, a) && a->storage.ss_family != AF_UNIX &&
	       word.ptr[0] != '*' && net_address_port(a) > 0;
}

bool conf_set_resolver(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_server *server = &((struct conf *)object)->server;
	struct slice rest = value, word;
	bool is_good = true;

	while (conf_next_word(l, &rest, &word, &is_good)) {
		struct net_address a;
		if (!read_resolver(word, &a))
			return conf_bad_value(
			    l, word, "it is no IP address", "write ADDRESS or ADDRESS:PORT");
		if (server->resolver_count == LIMIT_RESOLVERS) {
			conf_mistake_here(
			    l, "there are more than %u resolvers; remove some", LIMIT_RESOLVERS);
			return false;
		}
		conf_append(l, server->resolvers, server->resolver_count, a);
	}
	return is_good;
}
