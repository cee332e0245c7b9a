/* SPDX-License-Identifier: MIT */
/* Translates the configuration into the settings that the HTTP/2 engine announces and the limits
 * that it enforces. */
#ifndef PUSHGATE_SESSION_H2_OPTIONS_H
#define PUSHGATE_SESSION_H2_OPTIONS_H

#include "proxy/h2/h2.h"
#include "proxy/session/session.h"

struct session_config {
	enum h2_role role;
	struct h2_settings settings;
	struct h2_limits limits;
};

/* For struct session_protocol. */
struct session_config *h2_options_for_clients(const struct conf_listen *conf);
struct session_config *h2_options_for_origin(const struct conf_origin *conf, bool push);

/* Whether a request's fields are at most so large (RFC 9113 6.5.2). */
bool h2_options_list_fits(const struct http_head *head, uint32_t most);

struct h2_settings h2_options_settings_for_client(const struct conf_listen *conf);
struct h2_limits h2_options_limits_for_client(const struct conf_listen *conf);
struct h2_settings h2_options_settings_for_origin(const struct conf_origin *conf, bool push);
struct h2_limits h2_options_limits_for_origin(const struct conf_origin *conf);

#endif
