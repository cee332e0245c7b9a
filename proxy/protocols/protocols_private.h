/* SPDX-License-Identifier: MIT */
/* Private to protocols/: the configurations of engine and codec, made from the program's (struct session_protocol). */
#ifndef PUSHGATE_PROTOCOLS_PROTOCOLS_PRIVATE_H
#define PUSHGATE_PROTOCOLS_PROTOCOLS_PRIVATE_H

#include "proxy/h1/h1.h"
#include "proxy/h2/h2.h"
#include "proxy/protocols/protocols.h"

/* struct h2_config: the settings that the engine announces, and the limits that it enforces. */
void *h2_options_for_clients(const struct conf_listen *conf);
void *h2_options_for_origin(const struct conf_origin *conf, bool push);

/* struct h1_config: the limits that the codec enforces. */
void *http1_options_for_clients(const struct conf_listen *conf);
void *http1_options_for_origin(const struct conf_origin *conf, bool push);

/* The keys of WebSocket's opening handshake in HTTP/1.1 (RFC 6455 1.3), for the codec. */
extern const struct h1_websocket protocols_websocket;

#endif
