/* SPDX-License-Identifier: MIT */
/*
 * Field names and methods that the program knows, as numbers: validation, stripping and HPACK
 * lookups switch on them. HTTP_TOKEN_NONE is any other name. The order of the first part is the
 * order of first appearance in HPACK's static table (RFC 7541 A).
 */
#ifndef PUSHGATE_HTTP_TOKEN_H
#define PUSHGATE_HTTP_TOKEN_H

#include "proxy/base/slice.h"

/* X(symbol, "name") */
// clang-format off
#define HTTP_TOKENS(X)                                                                             \
	X(PSEUDO_AUTHORITY, ":authority") X(PSEUDO_METHOD, ":method") X(PSEUDO_PATH, ":path")      \
	X(PSEUDO_SCHEME, ":scheme") X(PSEUDO_STATUS, ":status")                                    \
	X(ACCEPT_CHARSET, "accept-charset") X(ACCEPT_ENCODING, "accept-encoding")                  \
	X(ACCEPT_LANGUAGE, "accept-language") X(ACCEPT_RANGES, "accept-ranges")                    \
	X(ACCEPT, "accept") X(ACCESS_CONTROL_ALLOW_ORIGIN, "access-control-allow-origin")          \
	X(AGE, "age") X(ALLOW, "allow") X(AUTHORIZATION, "authorization")                          \
	X(CACHE_CONTROL, "cache-control") X(CONTENT_DISPOSITION, "content-disposition")            \
	X(CONTENT_ENCODING, "content-encoding") X(CONTENT_LANGUAGE, "content-language")            \
	X(CONTENT_LENGTH, "content-length") X(CONTENT_LOCATION, "content-location")                \
	X(CONTENT_RANGE, "content-range") X(CONTENT_TYPE, "content-type") X(COOKIE, "cookie")      \
	X(DATE, "date") X(ETAG, "etag") X(EXPECT, "expect") X(EXPIRES, "expires")                  \
	X(FROM, "from") X(HOST, "host") X(IF_MATCH, "if-match")                                    \
	X(IF_MODIFIED_SINCE, "if-modified-since") X(IF_NONE_MATCH, "if-none-match")                \
	X(IF_RANGE, "if-range") X(IF_UNMODIFIED_SINCE, "if-unmodified-since")                      \
	X(LAST_MODIFIED, "last-modified") X(LINK, "link") X(LOCATION, "location")                  \
	X(MAX_FORWARDS, "max-forwards") X(PROXY_AUTHENTICATE, "proxy-authenticate")                \
	X(PROXY_AUTHORIZATION, "proxy-authorization") X(RANGE, "range") X(REFERER, "referer")      \
	X(REFRESH, "refresh") X(RETRY_AFTER, "retry-after") X(SERVER, "server")                    \
	X(SET_COOKIE, "set-cookie") X(STRICT_TRANSPORT_SECURITY, "strict-transport-security")      \
	X(TRANSFER_ENCODING, "transfer-encoding") X(USER_AGENT, "user-agent") X(VARY, "vary")      \
	X(VIA, "via") X(WWW_AUTHENTICATE, "www-authenticate")                                      \
	/* Not in HPACK's static table. */                                                         \
	X(PSEUDO_PROTOCOL, ":protocol") X(CONNECTION, "connection") X(KEEP_ALIVE, "keep-alive")    \
	X(PROXY_CONNECTION, "proxy-connection") X(UPGRADE, "upgrade") X(TE, "te")                  \
	X(PROXY_AUTHENTICATION_INFO, "proxy-authentication-info") X(PROXY, "proxy")                \
	X(TRAILER, "trailer") X(HTTP2_SETTINGS, "http2-settings") X(PRIORITY, "priority")          \
	X(PROXY_STATUS, "proxy-status") X(CACHE_STATUS, "cache-status")                            \
	X(FORWARDED, "forwarded") X(X_FORWARDED_FOR, "x-forwarded-for")                            \
	X(X_FORWARDED_PROTO, "x-forwarded-proto") X(X_FORWARDED_HOST, "x-forwarded-host")          \
	X(X_FORWARDED_PORT, "x-forwarded-port") X(X_REAL_IP, "x-real-ip")                          \
	X(X_HTTP2_PUSH_ONLY, "x-http2-push-only") X(SAVE_DATA, "save-data")                        \
	X(SEC_FETCH_MODE, "sec-fetch-mode") X(SEC_FETCH_DEST, "sec-fetch-dest")                    \
	X(SEC_FETCH_SITE, "sec-fetch-site") X(SEC_FETCH_USER, "sec-fetch-user")                    \
	X(PRAGMA, "pragma") X(ORIGIN, "origin") X(EARLY_DATA, "early-data")                        \
	X(ALT_SVC, "alt-svc") X(UPGRADE_INSECURE_REQUESTS, "upgrade-insecure-requests")              \
	X(TRACEPARENT, "traceparent") X(TRACESTATE, "tracestate")                                    \
	X(X_REQUEST_ID, "x-request-id") X(CLIENT_CERT, "client-cert")                                \
	X(CLIENT_CERT_CHAIN, "client-cert-chain")
// clang-format on

enum http_token {
	HTTP_TOKEN_NONE = 0,
#define HTTP_TOKEN_ENUM(symbol, name) HTTP_TOKEN_##symbol,
	HTTP_TOKENS(HTTP_TOKEN_ENUM)
#undef HTTP_TOKEN_ENUM
	    HTTP_TOKEN_COUNT
};

enum http_method {
	HTTP_METHOD_OTHER = 0,
	HTTP_METHOD_GET,
	HTTP_METHOD_HEAD,
	HTTP_METHOD_POST,
	HTTP_METHOD_PUT,
	HTTP_METHOD_DELETE,
	HTTP_METHOD_CONNECT,
	HTTP_METHOD_OPTIONS,
	HTTP_METHOD_TRACE,
	HTTP_METHOD_PATCH,
};

/* O(1). Compares exactly, so the name must be in lower case. HTTP_TOKEN_NONE if unknown. */
enum http_token http_token_find(struct slice name);
struct slice http_token_name(enum http_token token);
enum http_method http_method_find(struct slice method);

/* Whether it is one of the known safe methods (RFC 9110 9.2.1). */
bool http_method_is_safe(enum http_method method);
/* Whether it is known that the request may be sent again (RFC 9110 9.2.2). */
bool http_method_is_idempotent(enum http_method method);

#endif
