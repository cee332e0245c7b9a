/* SPDX-License-Identifier: MIT */
/*
 * Placeholders in the values of request-set and the like: "{client}" stands for the address of the client. A value is
 * divided into its parts when the configuration is read; route/placeholders.c writes them for each request.
 */
#ifndef PUSHGATE_CONF_PLACEHOLDERS_H
#define PUSHGATE_CONF_PLACEHOLDERS_H

#include "proxy/base/slice.h"

/*
 * X(symbol, "name between the braces", writer in route/placeholders.c, syntax of what it writes, tells who the client is)
 *
 * The syntax says which bytes stay as they are: of TEXT those of names and addresses, of a URI "%" and more. All others
 * become %XX. What an origin says to a request that tells it who the client is answers no other client's request.
 */
// clang-format off
#define CONF_PLACEHOLDERS(X) \
	X(CLIENT, "client", client, TEXT, true) \
	X(HOST, "host", host, TEXT, false) \
	X(PORT, "port", port, TEXT, false) \
	X(SCHEME, "scheme", scheme, TEXT, false) \
	X(PATH, "path", path, URI, false) \
	X(QUERY, "query", query, URI, false) \
	X(PROTOCOL, "protocol", protocol, URI, false) \
	X(TLS, "tls", tls, TEXT, false) \
	X(USER, "user", user, TEXT, true) \
	X(CLIENT_CERT, "client-cert", client_cert, URI, true) \
	X(CLIENT_CERT_SUBJECT, "client-cert-subject", client_cert_subject, URI, true) \
	X(CLIENT_CERT_ISSUER, "client-cert-issuer", client_cert_issuer, URI, true) \
	X(CLIENT_CERT_CN, "client-cert-cn", client_cert_cn, TEXT, true) \
	X(CLIENT_CERT_FINGERPRINT, "client-cert-fingerprint", client_cert_fingerprint, TEXT, true) \
	X(REQUEST_ID, "request-id", request_id, URI, false)
// clang-format on

enum conf_placeholder {
	CONF_PLACEHOLDER_NONE = 0,
#define CONF_PLACEHOLDER_ID(symbol, ...) CONF_PLACEHOLDER_##symbol,
	CONF_PLACEHOLDERS(CONF_PLACEHOLDER_ID)
#undef CONF_PLACEHOLDER_ID
	    CONF_PLACEHOLDER_COUNT
};

/* A text as written, and the placeholder behind it; NONE: the value ends there. */
struct conf_value_part {
	struct slice before;
	enum conf_placeholder placeholder;
};

struct conf_loader;

/* The parts of a value with placeholders. */
struct conf_value_parts {
	struct conf_value_part *parts;
	size_t count; /* 0: the value has no placeholder */
};
/* Divides *value. Without placeholders *value becomes what is meant by it: "{{" is one brace. Returns NULL, or what to
 * write in place of a wrong value. */
const char *conf_divide_value(
    struct conf_loader *l, struct slice *value, struct conf_value_parts *parts);

#endif
