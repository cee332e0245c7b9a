/* SPDX-License-Identifier: MIT */
/*
 * The outcome table: one row for each cause that ends an exchange, with what the client and the origin
 * then see. Codes are HTTP/2 error codes (RFC 9113 7), as numbers, so that relay/ includes no engine;
 * errors are Proxy-Status error types (RFC 9209 2.3).
 *
 * If the cause says that the request may be sent again, and no byte of its body was sent, it is dispatched
 * again (retry.c). Else, if the client got no response head, it gets a response of pushgate's own with `status` and
 * `error`. If it did, or status is 0, its stream is reset with down_code; so is a promised stream, in any
 * case. The origin's stream, if it is still open, is reset with up_code, that of a push with push_up_code.
 */
#ifndef PUSHGATE_RELAY_CAUSE_H
#define PUSHGATE_RELAY_CAUSE_H

#include "policy/reasons.h"
#include "proxy/http/grpc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum relay_side { RELAY_CLIENT, RELAY_ORIGIN, RELAY_SELF };

/* HTTP/2 error codes, and two rules for a code that came from the other side. */
enum relay_code {
	RELAY_NO_ERROR = 0x0,
	RELAY_PROTOCOL_ERROR = 0x1,
	RELAY_INTERNAL_ERROR = 0x2,
	RELAY_REFUSED_STREAM = 0x7,
	RELAY_CANCEL = 0x8,
	RELAY_CONNECT_ERROR = 0xa,
	/* The received code if it is CANCEL or REFUSED_STREAM, else INTERNAL_ERROR. NO_ERROR is not
	 * passed on: clients take a response that ends with it for complete. */
	RELAY_PASS = 0x100,
	RELAY_SAME = 0x101, /* the received code */
};

enum relay_timeout {
	RELAY_TIMEOUT_QUEUE,      /* request arrived → stream of an origin connection */
	RELAY_TIMEOUT_RESPONSE,   /* request sent → final response head */
	RELAY_TIMEOUT_BODY_DOWN,  /* between bytes of the response */
	RELAY_TIMEOUT_BODY_UP,    /* between bytes of the request's body */
	RELAY_TIMEOUT_TAKE_DOWN,  /* bytes wait for the client, which reads none */
	RELAY_TIMEOUT_TAKE_UP,    /* bytes wait for the origin, which reads none */
	RELAY_TIMEOUT_PUSH_START, /* promise → beginning of its response */
	RELAY_TIMEOUT_LINGER,     /* response done → end of the request body */
	RELAY_TIMEOUT_IDLE,       /* nothing moves in either direction, and no body is owed */
	RELAY_TIMEOUT_CALL, /* request arrived → end of the response, as the client asked for it */
	RELAY_TIMEOUT_REQUEST,      /* the same, as the route says */
	RELAY_TIMEOUT_TUNNEL_AGE,   /* since the tunnel opened */
	RELAY_TIMEOUT_TUNNEL_HELLO, /* the tunnel opened → its first bytes may pass */
	RELAY_TIMEOUT_TUNNEL_HALF, /* one direction of a tunnel has ended, and nothing moves in the other */
};

/* Whether a request that failed is sent again, unless bytes of its body were sent. */
enum relay_retry {
	RELAY_NEVER,
	RELAY_AGAIN, /* no server has processed it: whatever its method, with one server too */
	/* A server may have processed it: if it is idempotent and its route wants that, to another server.
	 * The connection was lost; the response came too late; it was an error status. */
	RELAY_IF_LOST,
	RELAY_IF_LATE,
	RELAY_IF_STATUS,
	RELAY_RETRY_COUNT
};

struct relay_cause {
	const char *name;     /* "origin-lost" */
	enum relay_side side; /* the side that failed; RELAY_SELF: pushgate ended the exchange */
	enum relay_retry retry;
	/* status of pushgate's own response, if the client got no head yet; 0 = reset instead */
	uint16_t status;
	const char *error; /* Proxy-Status error; NULL = none */
	/* RST_STREAM to the client if the response has begun, and for pushes */
	uint32_t down_code;
	uint32_t up_code;      /* RST_STREAM to the origin, if its stream is open: for requests */
	uint32_t push_up_code; /* the same for pushes */
	const struct policy_reason *push_reason; /* why a push ended, for the log */
	bool is_timeout, is_malformed;
	bool passes_soon;       /* by itself: clients are told to come back after a second */
	bool was_reached;       /* the server was connected to, and cannot be spoken to */
	bool is_server_failure; /* of a request that its server has had: the server does not work */
	/* Of a call of gRPC: more than the HTTP status says. GRPC_OK: the answer is one of HTTP, since a request that
	 * cannot be read is no call (RFC 9112 3, 3.2, 5.1, 6.3). RELAY_GRPC_BY_STATUS: http_grpc_status. If the origin may
	 * have processed the call, it is not UNAVAILABLE, which would invite the client to send the call again. */
	uint8_t grpc_status;
};
#define RELAY_GRPC_BY_STATUS UINT8_MAX

/*
 * X(SYMBOL, name, side, status, error, down, push reason, the rest). The rest are members that have
 * another value than most rows: retry RELAY_NEVER, up_code and push_up_code RELAY_CANCEL, neither a
 * timeout nor malformed nor passing soon, grpc_status RELAY_GRPC_BY_STATUS.
 */
// clang-format off
#define RELAY_CAUSES(X) \
	X(UP_UNPROCESSED,       "origin-unprocessed",           RELAY_ORIGIN, 503, "connection_terminated",               RELAY_REFUSED_STREAM, ORIGIN_RESET,       .retry = RELAY_AGAIN, .passes_soon = true) \
	X(UP_UNREACHABLE,       "origin-unreachable",           RELAY_ORIGIN, 503, "connection_refused",                  RELAY_REFUSED_STREAM, ORIGIN_LOST,        .retry = RELAY_AGAIN, .passes_soon = true) \
	X(UP_UNROUTABLE,        "origin-unroutable",            RELAY_ORIGIN, 503, "destination_ip_unroutable",           RELAY_REFUSED_STREAM, ORIGIN_LOST,        .retry = RELAY_AGAIN, .passes_soon = true) \
	X(UP_NAME,              "origin-name",                  RELAY_ORIGIN, 503, "dns_error",                           RELAY_REFUSED_STREAM, ORIGIN_LOST) \
	X(UP_NAME_LATE,         "origin-name-late",             RELAY_ORIGIN, 504, "dns_timeout",                         RELAY_REFUSED_STREAM, ORIGIN_LOST,        .is_timeout = true) \
	X(UP_PROXY_REFUSED,     "upstream-proxy-refused",       RELAY_ORIGIN, 502, "destination_unavailable",             RELAY_REFUSED_STREAM, ORIGIN_LOST,        .was_reached = true) \
	X(UP_PROXY_USER,        "upstream-proxy-user",          RELAY_ORIGIN, 502, "proxy_configuration_error",           RELAY_REFUSED_STREAM, ORIGIN_LOST,        .was_reached = true) \
	X(UP_PROXY_ANSWER,      "upstream-proxy-answer",        RELAY_ORIGIN, 502, "http_protocol_error",                 RELAY_REFUSED_STREAM, ORIGIN_LOST,        .was_reached = true) \
	X(UP_TLS,               "origin-tls",                   RELAY_ORIGIN, 503, "tls_protocol_error",                  RELAY_REFUSED_STREAM, ORIGIN_LOST,        .was_reached = true) \
	X(UP_CERTIFICATE,       "origin-certificate",           RELAY_ORIGIN, 503, "tls_certificate_error",               RELAY_REFUSED_STREAM, ORIGIN_LOST,        .was_reached = true) \
	X(UP_ALERT,             "origin-alert",                 RELAY_ORIGIN, 503, "tls_alert_received",                  RELAY_REFUSED_STREAM, ORIGIN_LOST,        .was_reached = true) \
	X(UP_RESET,             "origin-reset",                 RELAY_ORIGIN, 502, "http_response_incomplete",            RELAY_PASS,           ORIGIN_RESET,       .retry = RELAY_IF_LOST, .is_server_failure = true) \
	X(UP_NOT_HTTP2,         "origin-not-http2",             RELAY_ORIGIN, 502, "http_protocol_error",                 RELAY_REFUSED_STREAM, ORIGIN_LOST,        .was_reached = true) \
	X(UP_NO_ALPN,           "origin-no-alpn",               RELAY_ORIGIN, 503, "tls_protocol_error",                  RELAY_REFUSED_STREAM, ORIGIN_LOST,        .was_reached = true) \
	X(UP_NEEDS_HTTP1,       "origin-needs-http1",           RELAY_ORIGIN, 502, "http_protocol_error",                 RELAY_INTERNAL_ERROR, ORIGIN_RESET,       .retry = RELAY_AGAIN) \
	X(UP_LOST,              "origin-lost",                  RELAY_ORIGIN, 502, "connection_terminated",               RELAY_INTERNAL_ERROR, ORIGIN_LOST,        .retry = RELAY_IF_LOST, .is_server_failure = true) \
	X(UP_ERROR,             "origin-ended-by-request",      RELAY_ORIGIN, 502, "connection_terminated",               RELAY_INTERNAL_ERROR, ORIGIN_LOST,        .grpc_status = GRPC_INTERNAL) \
	X(UP_FAULT,             "origin-fault",                 RELAY_ORIGIN, 502, "http_protocol_error",                 RELAY_INTERNAL_ERROR, ORIGIN_LOST,        .grpc_status = GRPC_INTERNAL, .was_reached = true, .is_server_failure = true) \
	X(UP_MALFORMED,         "response-malformed",           RELAY_ORIGIN, 502, "http_protocol_error",                 RELAY_PROTOCOL_ERROR, RESPONSE_MALFORMED, .up_code = RELAY_PROTOCOL_ERROR, .push_up_code = RELAY_PROTOCOL_ERROR, .is_malformed = true, .grpc_status = GRPC_INTERNAL, .is_server_failure = true) \
	X(UP_FIELDS_LARGE,      "response-fields-large",        RELAY_ORIGIN, 502, "http_response_header_section_size",   RELAY_INTERNAL_ERROR, RESPONSE_MALFORMED, .grpc_status = GRPC_RESOURCE_EXHAUSTED) \
	X(CONNECT_LATE,         "connect-late",                 RELAY_ORIGIN, 504, "connection_timeout",                  RELAY_REFUSED_STREAM, ORIGIN_LOST,        .is_timeout = true) \
	X(QUEUE_LATE,           "queue-late",                   RELAY_SELF,   504, "connection_timeout",                  RELAY_REFUSED_STREAM, ORIGIN_LOST,        .is_timeout = true) \
	X(QUEUE_FULL,           "queue-full",                   RELAY_SELF,   503, "connection_limit_reached",            RELAY_REFUSED_STREAM, ORIGIN_LOST,        .passes_soon = true) \
	X(SPECULATION_NO_ROOM,  "speculation-no-room",          RELAY_SELF,   503, "connection_limit_reached",            RELAY_REFUSED_STREAM, ORIGIN_LOST,        .passes_soon = true) \
	X(SUBSCRIPTIONS_FULL,   "subscriptions-full",           RELAY_SELF,   503, "connection_limit_reached",            RELAY_REFUSED_STREAM, ORIGIN_LOST,        .passes_soon = true) \
	X(UP_STALLED,           "origin-stalled",               RELAY_ORIGIN, 504, "connection_write_timeout",            RELAY_INTERNAL_ERROR, ORIGIN_LOST,        .is_timeout = true, .is_server_failure = true) \
	X(HEAD_LATE,            "response-late",                RELAY_ORIGIN, 504, "http_response_timeout",               RELAY_CANCEL,         START_TIMEOUT,      .retry = RELAY_IF_LATE, .is_timeout = true, .grpc_status = GRPC_DEADLINE_EXCEEDED, .is_server_failure = true) \
	X(BODY_LATE,            "response-stalled",             RELAY_ORIGIN, 504, "http_response_timeout",               RELAY_INTERNAL_ERROR, ORIGIN_LOST,        .is_timeout = true, .is_server_failure = true) \
	X(STREAM_IDLE,          "stream-idle",                  RELAY_SELF,   504, "http_response_timeout",               RELAY_CANCEL,         ORIGIN_LOST,        .is_timeout = true, .grpc_status = GRPC_DEADLINE_EXCEEDED) \
	X(DOWN_STALLED,         "client-stalled",               RELAY_CLIENT, 0,   NULL,                                  RELAY_CANCEL,         CLIENT_RESET,       .is_timeout = true) \
	X(PUSH_START_LATE,      "push-start-late",              RELAY_CLIENT, 0,   NULL,                                  RELAY_CANCEL,         START_TIMEOUT,      .is_timeout = true) \
	X(DOWN_RESET,           "client-reset",                 RELAY_CLIENT, 0,   NULL,                                  RELAY_CANCEL,         CLIENT_RESET,       .push_up_code = RELAY_SAME) \
	X(DOWN_LOST,            "client-lost",                  RELAY_CLIENT, 0,   NULL,                                  RELAY_CANCEL,         CLIENT_LOST) \
	X(DOWN_MALFORMED,       "request-malformed",            RELAY_CLIENT, 400, "http_request_error",                  RELAY_PROTOCOL_ERROR, CLIENT_RESET,       .is_malformed = true, .grpc_status = GRPC_OK) \
	X(REQUEST_LATE,         "request-late",                 RELAY_CLIENT, 408, "http_request_error",                  RELAY_CANCEL,         CLIENT_RESET,       .is_timeout = true, .grpc_status = GRPC_OK) \
	X(TARGET_LARGE,         "target-too-long",              RELAY_CLIENT, 414, "http_request_error",                  RELAY_CANCEL,         CLIENT_RESET,       .grpc_status = GRPC_OK) \
	X(CODING_UNKNOWN,       "transfer-coding",              RELAY_CLIENT, 501, "http_request_error",                  RELAY_CANCEL,         CLIENT_RESET,       .grpc_status = GRPC_OK) \
	X(VERSION_UNKNOWN,      "http-version",                 RELAY_CLIENT, 505, "http_request_error",                  RELAY_CANCEL,         CLIENT_RESET,       .grpc_status = GRPC_OK) \
	X(NEEDS_LENGTH,         "length-required",              RELAY_SELF,   411, "http_request_error",                  RELAY_CANCEL,         METHOD) \
	X(UPLOAD_LATE,          "request-stalled",              RELAY_CLIENT, 408, "http_request_error",                  RELAY_CANCEL,         CLIENT_RESET,       .is_timeout = true, .grpc_status = GRPC_DEADLINE_EXCEEDED) \
	X(UPLOAD_LARGE,         "request-too-large",            RELAY_CLIENT, 413, "http_request_error",                  RELAY_CANCEL,         CLIENT_RESET,       .grpc_status = GRPC_RESOURCE_EXHAUSTED) \
	X(UPLOAD_LINGER,        "upload-linger",                RELAY_CLIENT, 0,   NULL,                                  RELAY_NO_ERROR,       CLIENT_RESET,       .is_timeout = true) \
	X(HEAD_LARGE,           "fields-too-large",             RELAY_CLIENT, 431, "http_request_error",                  RELAY_CANCEL,         CLIENT_RESET,       .grpc_status = GRPC_RESOURCE_EXHAUSTED) \
	X(UP_TAKES_LESS,        "fields-too-large-for-origin",  RELAY_SELF,   431, "http_request_error",                  RELAY_CANCEL,         METHOD,             .grpc_status = GRPC_RESOURCE_EXHAUSTED) \
	X(MISDIRECTED,          "misdirected",                  RELAY_SELF,   421, "destination_not_found",               RELAY_REFUSED_STREAM, AUTHORITY,          .grpc_status = GRPC_UNIMPLEMENTED) \
	X(UNTRUSTED_SCHEME,     "untrusted-scheme",             RELAY_SELF,   421, "destination_not_found",               RELAY_REFUSED_STREAM, AUTHORITY,          .grpc_status = GRPC_UNIMPLEMENTED) \
	X(ACCESS_DENIED,        "access-denied",                RELAY_SELF,   403, "http_request_denied",                 RELAY_REFUSED_STREAM, AUTHORITY) \
	X(ADDRESS_DENIED,       "address-denied",               RELAY_SELF,   403, "destination_ip_prohibited",           RELAY_REFUSED_STREAM, AUTHORITY) \
	X(OWN_ADDRESS,          "own-address",                  RELAY_SELF,   403, "proxy_loop_detected",                 RELAY_REFUSED_STREAM, AUTHORITY) \
	X(HOST_STRANGE,         "host-strange",                 RELAY_SELF,   403, "destination_ip_prohibited",           RELAY_REFUSED_STREAM, AUTHORITY) \
	X(NO_TARGET,            "no-target",                    RELAY_SELF,   400, "http_request_error",                  RELAY_REFUSED_STREAM, AUTHORITY) \
	X(USER_UNKNOWN,         "user-unknown",                 RELAY_SELF,   401, NULL,                                  RELAY_REFUSED_STREAM, AUTHORITY) \
	X(PROXY_USER_UNKNOWN,   "proxy-user-unknown",           RELAY_SELF,   407, "http_request_denied",                 RELAY_REFUSED_STREAM, AUTHORITY,          .grpc_status = GRPC_UNAUTHENTICATED) \
	X(USERS_BUSY,           "users-busy",                   RELAY_SELF,   503, "proxy_internal_error",                RELAY_REFUSED_STREAM, AUTHORITY,          .passes_soon = true) \
	X(USER_FAILURES,        "user-failures",                RELAY_SELF,   429, "http_request_denied",                 RELAY_REFUSED_STREAM, AUTHORITY,          .grpc_status = GRPC_RESOURCE_EXHAUSTED) \
	X(DESTINATIONS_FULL,    "destinations-full",            RELAY_SELF,   503, "connection_limit_reached",            RELAY_REFUSED_STREAM, ORIGIN_LOST) \
	X(NO_ROUTE,             "no-route",                     RELAY_SELF,   404, "destination_not_found",               RELAY_REFUSED_STREAM, AUTHORITY) \
	X(LOOP,                 "loop",                         RELAY_SELF,   508, "proxy_loop_detected",                 RELAY_REFUSED_STREAM, AUTHORITY,          .grpc_status = GRPC_INTERNAL) \
	X(REQUEST_RATE,         "request-rate",                 RELAY_SELF,   429, "http_request_denied",                 RELAY_REFUSED_STREAM, METHOD,             .grpc_status = GRPC_RESOURCE_EXHAUSTED) \
	X(REQUEST_CONCURRENCY,  "request-concurrency",          RELAY_SELF,   429, "http_request_denied",                 RELAY_REFUSED_STREAM, METHOD,             .grpc_status = GRPC_RESOURCE_EXHAUSTED) \
	X(TUNNELS_CLIENT,       "tunnels-per-client",           RELAY_SELF,   429, "http_request_denied",                 RELAY_REFUSED_STREAM, METHOD) \
	X(TUNNELS_USER,         "tunnels-per-user",             RELAY_SELF,   429, "http_request_denied",                 RELAY_REFUSED_STREAM, METHOD) \
	X(REDIRECT,             "redirect",                     RELAY_SELF,   308, "proxy_internal_response",             RELAY_REFUSED_STREAM, AUTHORITY) \
	X(ROUTE_REDIRECT,       "route-redirect",               RELAY_SELF,   308, "proxy_internal_response",             RELAY_REFUSED_STREAM, AUTHORITY) \
	X(FIXED_ANSWER,         "fixed-answer",                 RELAY_SELF,   200, "proxy_internal_response",             RELAY_REFUSED_STREAM, AUTHORITY) \
	X(FILE,                 "file",                         RELAY_SELF,   200, NULL,                                  RELAY_REFUSED_STREAM, AUTHORITY) \
	X(PAC_FILE,             "pac-file",                     RELAY_SELF,   200, "proxy_internal_response",             RELAY_REFUSED_STREAM, AUTHORITY) \
	X(SPECULATION_RULES,    "speculation-rules",            RELAY_SELF,   200, NULL,                                  RELAY_REFUSED_STREAM, AUTHORITY) \
	X(ACME_CHALLENGE,       "acme-challenge",               RELAY_SELF,   200, "proxy_internal_response",             RELAY_REFUSED_STREAM, AUTHORITY) \
	X(ADMIN_PAGE,           "admin-page",                   RELAY_SELF,   200, NULL,                                  RELAY_REFUSED_STREAM, AUTHORITY) \
	X(NOT_IMPLEMENTED,      "not-implemented",              RELAY_SELF,   501, "http_request_denied",                 RELAY_REFUSED_STREAM, METHOD,             .grpc_status = GRPC_UNIMPLEMENTED) \
	X(FINAL_RECIPIENT,      "final-recipient",              RELAY_SELF,   204, "proxy_internal_response",             RELAY_REFUSED_STREAM, METHOD) \
	X(NO_MEMORY,            "no-memory",                    RELAY_SELF,   503, "proxy_internal_error",                RELAY_REFUSED_STREAM, BUDGET,             .push_up_code = RELAY_REFUSED_STREAM, .passes_soon = true) \
	X(MEMORY_SHORT,         "memory-short",                 RELAY_SELF,   503, "proxy_internal_error",                RELAY_INTERNAL_ERROR, BUDGET,             .passes_soon = true) \
	X(MEMORY_STALLED,       "memory-stalled",               RELAY_SELF,   503, "proxy_internal_error",                RELAY_INTERNAL_ERROR, BUDGET,             .passes_soon = true) \
	X(SHED,                 "memory-shed",                  RELAY_SELF,   503, "proxy_internal_error",                RELAY_REFUSED_STREAM, PUSH_SHED,          .push_up_code = RELAY_REFUSED_STREAM, .passes_soon = true) \
	X(POLICY,               "policy",                       RELAY_SELF,   0,   NULL,                                  RELAY_CANCEL,         RULE) \
	X(PUSH_OFF,             "push-off",                     RELAY_SELF,   503, "proxy_internal_response",             RELAY_CANCEL,         RESET_BUDGET) \
	X(CALL_LATE,            "call-deadline",                RELAY_SELF,   504, "http_response_timeout",               RELAY_CANCEL,         START_TIMEOUT,      .is_timeout = true, .grpc_status = GRPC_DEADLINE_EXCEEDED) \
	X(REQUEST_DEADLINE,     "request-deadline",             RELAY_SELF,   504, "http_response_timeout",               RELAY_CANCEL,         START_TIMEOUT,      .is_timeout = true, .grpc_status = GRPC_DEADLINE_EXCEEDED) \
	X(NEEDS_HTTP2,          "needs-http2",                  RELAY_SELF,   502, "http_protocol_error",                 RELAY_CANCEL,         METHOD,             .grpc_status = GRPC_UNIMPLEMENTED) \
	X(NO_TUNNEL,            "origin-no-tunnel",             RELAY_SELF,   501, "http_upgrade_failed",                 RELAY_CANCEL,         METHOD,             .was_reached = true) \
	X(TUNNELS_FULL,         "tunnels-full",                 RELAY_SELF,   503, "connection_limit_reached",            RELAY_REFUSED_STREAM, ORIGIN_LOST,        .passes_soon = true) \
	X(TUNNEL_IDLE,          "tunnel-idle",                  RELAY_SELF,   0,   NULL,                                  RELAY_CANCEL,         ORIGIN_LOST,        .is_timeout = true) \
	X(TUNNEL_AGE,           "tunnel-age",                   RELAY_SELF,   0,   NULL,                                  RELAY_CANCEL,         ORIGIN_LOST,        .is_timeout = true) \
	X(TUNNEL_HALF,          "tunnel-half-closed",           RELAY_SELF,   0,   NULL,                                  RELAY_CANCEL,         ORIGIN_LOST,        .is_timeout = true) \
	X(TUNNEL_SNI,           "tunnel-sni",                   RELAY_SELF,   0,   NULL,                                  RELAY_CANCEL,         ORIGIN_LOST) \
	X(TUNNEL_HELLO_LATE,    "tunnel-hello-late",            RELAY_CLIENT, 0,   NULL,                                  RELAY_CANCEL,         ORIGIN_LOST,        .is_timeout = true) \
	X(TUNNEL_BYTES,         "tunnel-bytes",                 RELAY_SELF,   0,   NULL,                                  RELAY_CANCEL,         ORIGIN_LOST) \
	X(ACCESS_REVOKED,       "access-revoked",               RELAY_SELF,   0,   NULL,                                  RELAY_CANCEL,         AUTHORITY) \
	X(DRAINED,              "drained",                      RELAY_SELF,   503, "proxy_internal_response",             RELAY_CANCEL,         DRAIN)
// clang-format on

#define RELAY_CAUSE_EXTERN(symbol, ...) extern const struct relay_cause relay_cause_##symbol;
RELAY_CAUSES(RELAY_CAUSE_EXTERN)
#undef RELAY_CAUSE_EXTERN

enum relay_cause_index {
#define RELAY_CAUSE_INDEX(symbol, ...) RELAY_CAUSE_INDEX_##symbol,
	RELAY_CAUSES(RELAY_CAUSE_INDEX)
#undef RELAY_CAUSE_INDEX
	    RELAY_CAUSE_COUNT
};
extern const struct relay_cause *const relay_cause_table[RELAY_CAUSE_COUNT];
/* The row's position in the table, for counters. */
size_t relay_cause_index(const struct relay_cause *cause);

/* The code to send to one side; `came` is the code received from the other. */
uint32_t relay_code_across(uint32_t rule, uint32_t came);

#endif
