/* SPDX-License-Identifier: MIT */
/* Predicates of idle_options.c: what forward mode makes idle, or its absence. */
#include "proxy/conf/load.h"

bool conf_is_gateway(const struct conf *c, const void *object)
{
	(void)c;
	return !conf_listen_is_forward(object);
}

bool conf_is_forward_only(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct conf_route *)object)->is_forward;
}

bool conf_nobody_shares(const struct conf *c, const void *object)
{
	(void)object;
	for (size_t i = 0; i < c->listen_count; i++)
		if (conf_listen_shares(&c->listens[i]))
			return false;
	return true;
}
