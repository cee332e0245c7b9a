/* SPDX-License-Identifier: MIT */
/* Translates the configuration into the limits that the HTTP/1.1 codec enforces. */
#ifndef PUSHGATE_PROTOCOLS_HTTP1_OPTIONS_H
#define PUSHGATE_PROTOCOLS_HTTP1_OPTIONS_H

#include "proxy/h1/h1.h"
#include "proxy/protocols/protocols.h"

/* For struct session_protocol: struct h1_config. */
void *http1_options_for_clients(const struct conf_listen *conf);
void *http1_options_for_origin(const struct conf_origin *conf, bool push);

struct h1_limits http1_options_limits_for_client(const struct conf_listen *conf);
struct h1_limits http1_options_limits_for_origin(const struct conf_origin *conf);

#endif
