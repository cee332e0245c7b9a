/* SPDX-License-Identifier: MIT */
/* Translates the configuration into the limits that the HTTP/1.1 codec enforces. */
#ifndef PUSHGATE_SESSION_HTTP1_OPTIONS_H
#define PUSHGATE_SESSION_HTTP1_OPTIONS_H

#include "proxy/h1/h1.h"
#include "proxy/session/session.h"

struct session_config {
	enum h1_role role;
	bool is_proxy; /* h1_env */
	struct h1_limits limits;
};

/* For struct session_protocol. */
struct session_config *http1_options_for_clients(const struct conf_listen *conf);
struct session_config *http1_options_for_origin(const struct conf_origin *conf, bool push);

struct h1_limits http1_options_limits_for_client(const struct conf_listen *conf);
struct h1_limits http1_options_limits_for_origin(const struct conf_origin *conf);

#endif
