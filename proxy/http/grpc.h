/* SPDX-License-Identifier: MIT */
/*
 * What pushgate must know of gRPC (its "gRPC over HTTP2" and "HTTP to gRPC Status Code Mapping"): which requests
 * are calls, their deadline, and how a call is told that it has failed. Messages are not read.
 */
#ifndef PUSHGATE_HTTP_GRPC_H
#define PUSHGATE_HTTP_GRPC_H

#include "proxy/base/clock.h"
#include "proxy/http/head.h"

enum grpc_status {
	GRPC_OK = 0, /* of no answer of ours */
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_UNAUTHENTICATED = 16,
};

/* A POST with content-type application/grpc or application/grpc+proto, with or without parameters; not
 * application/grpc-web, which is made for HTTP/1.1 and has the status in the body. */
bool http_is_grpc_call(const struct http_head *request);

/* The time that grpc-timeout gives the call, at least 1; 0: there is none, or it is malformed. */
usec http_grpc_timeout(const struct http_head *request);

/* What a client makes of a response with this HTTP status that has no grpc-status. */
enum grpc_status http_grpc_status(uint16_t http_status);
/* What a client makes of a RST_STREAM with this code (RFC 9113 7). */
enum grpc_status http_grpc_status_of_reset(uint32_t code);

/* Adds the fields of a response that has no message: content-type, grpc-status and grpc-message. */
void http_grpc_add_status(struct http_head *head, enum grpc_status status, const char *message);

#endif
