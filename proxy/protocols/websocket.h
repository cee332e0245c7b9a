/* SPDX-License-Identifier: MIT */
/* The keys of WebSocket's opening handshake in HTTP/1.1 (RFC 6455 1.3), for the codec. */
#ifndef PUSHGATE_PROTOCOLS_WEBSOCKET_H
#define PUSHGATE_PROTOCOLS_WEBSOCKET_H

#include "proxy/h1/h1.h"

extern const struct h1_websocket session_websocket;

#endif
