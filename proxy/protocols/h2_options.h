/* SPDX-License-Identifier: MIT */
/* Translates the configuration into the settings that the HTTP/2 engine announces and the limits
 * that it enforces. */
#ifndef PUSHGATE_PROTOCOLS_H2_OPTIONS_H
#define PUSHGATE_PROTOCOLS_H2_OPTIONS_H

#include "proxy/h2/h2.h"
#include "proxy/protocols/protocols.h"

/* For struct session_protocol: struct h2_config. */
void *h2_options_for_clients(const struct conf_listen *conf);
void *h2_options_for_origin(const struct conf_origin *conf, bool push);

struct h2_settings h2_options_settings_for_client(const struct conf_listen *conf);
struct h2_limits h2_options_limits_for_client(const struct conf_listen *conf);
struct h2_settings h2_options_settings_for_origin(const struct conf_origin *conf, bool push);
struct h2_limits h2_options_limits_for_origin(const struct conf_origin *conf);

#endif
