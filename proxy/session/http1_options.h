/* SPDX-License-Identifier: MIT */
/* Translates the configuration into the limits that the HTTP/1.1 codec enforces. */
#ifndef PUSHGATE_SESSION_HTTP1_OPTIONS_H
#define PUSHGATE_SESSION_HTTP1_OPTIONS_H

#include "proxy/conf/conf.h"
#include "proxy/h1/h1.h"

struct h1_limits http1_options_for_client(const struct conf_listen *conf);
struct h1_limits http1_options_for_origin(const struct conf_origin *conf);

#endif
