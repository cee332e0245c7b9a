/* SPDX-License-Identifier: MIT */
/* Accept: which of two media types a client prefers (RFC 9110 12.5.1). */
#ifndef PUSHGATE_HTTP_ACCEPT_H
#define PUSHGATE_HTTP_ACCEPT_H

#include "proxy/http/head.h"

/*
 * Whether the client rather has a JSON document (application/problem+json, RFC 9457, or application/json)
 * than one of `type`, such as "text/html; charset=utf-8". Without Accept, or with equal quality values, it
 * does not.
 */
bool http_accept_prefers_json(const struct http_head *request, struct slice type);
/* Whether the client names `type` itself, and has it as gladly as `other` or rather. Both are without parameters, and so
 * are ranges looked at. */
bool http_accept_takes(const struct http_head *request, struct slice type, struct slice other);

#endif
