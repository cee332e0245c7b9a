/* SPDX-License-Identifier: MIT */
/* Cookie fields (RFC 6265 4.2, RFC 9113 8.2.3), for a proxy that sets a cookie of its own. */
#ifndef PUSHGATE_HTTP_COOKIE_H
#define PUSHGATE_HTTP_COOKIE_H

#include "proxy/http/head.h"

/*
 * Removes the cookies of this name (case-sensitive) from a request. Other cookies are unchanged; a
 * field without other cookies is removed; no field grows. Returns the value of the last one, lent
 * until the head is freed; its ptr is NULL if there was none.
 */
struct slice http_cookie_cut(struct http_head *request, struct slice name);

/* The value of the first cookie of this name; its ptr is NULL if there is none. Changes nothing. */
struct slice http_cookie_find(const struct http_head *request, struct slice name);

#endif
