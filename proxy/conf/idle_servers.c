/* SPDX-License-Identifier: MIT */
/* Predicates of idle_options.c: when the options about the servers of an origin are idle. The object is an origin. */
#include "proxy/conf/load.h"

bool conf_has_one_server(const struct conf *c, const void *object)
{
	(void)c;
	return !conf_origin_is_fleet(object);
}

bool conf_never_ejects(const struct conf *c, const void *object)
{
	const struct conf_eject *e = &((const struct conf_origin *)object)->eject;
	(void)c;
	return e->failures == 0 && e->percent == 0;
}

bool conf_ejects_longer(const struct conf *c, const void *object)
{
	const struct conf_eject *e = &((const struct conf_origin *)object)->eject;
	(void)c;
	return e->time_max < e->time;
}

bool conf_checks_nothing(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct conf_origin *)object)->check.kind == CONF_CHECK_OFF;
}

bool conf_asks_nothing(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct conf_origin *)object)->check.kind == CONF_CHECK_CONNECT;
}

bool conf_is_demo(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct conf_origin *)object)->kind == CONF_ORIGIN_DEMO;
}

bool conf_is_not_forward(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct conf_origin *)object)->kind != CONF_ORIGIN_FORWARD;
}

bool conf_has_no_proxy(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct conf_origin *)object)->chain.proxy_count == 0;
}
