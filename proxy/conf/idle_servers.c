/* SPDX-License-Identifier: MIT */
/* Predicates of idle_options.c: when the options of an origin are idle. The object is an origin. */
#include "proxy/conf/load.h"

bool conf_has_one_server(const struct conf *c, const void *object)
{
	/* Names that requests name may have several addresses. */
	return !conf_is_forward(c, object) && !conf_origin_is_fleet(object);
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

bool conf_has_no_proxy(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct conf_origin *)object)->chain.proxy_count == 0;
}

bool conf_is_forward(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct conf_origin *)object)->kind == CONF_ORIGIN_FORWARD;
}

bool conf_is_not_forward(const struct conf *c, const void *object)
{
	return !conf_is_forward(c, object);
}

bool conf_speaks_http1(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct conf_origin *)object)->protocols == CONF_HTTP1;
}

bool conf_speaks_http2(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct conf_origin *)object)->protocols == CONF_HTTP2;
}

bool conf_is_not_tls(const struct conf *c, const void *object)
{
	return ((const struct conf_origin *)object)->kind != CONF_ORIGIN_TLS &&
	       !conf_is_forward(c, object);
}

bool conf_is_not_verified(const struct conf *c, const void *object)
{
	(void)c;
	return !((const struct conf_origin *)object)->tls_verify;
}

bool conf_refuses_pushes(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct conf_origin *)object)->push == CONF_PUSH_REFUSE;
}

bool conf_has_no_subscription(const struct conf *c, const void *object)
{
	for (size_t i = 0; i < c->route_count; i++)
		if (c->routes[i].subscription && conf_route_uses(&c->routes[i], object))
			return false;
	return true;
}

bool conf_has_no_tunnels(const struct conf *c, const void *object)
{
	if (conf_is_forward(c, object)) /* CONNECT */
		return false;
	for (size_t i = 0; i < c->route_count; i++)
		if (c->routes[i].upgrade_count > 0 && conf_route_uses(&c->routes[i], object))
			return false;
	return true;
}
