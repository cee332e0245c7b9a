/* SPDX-License-Identifier: MIT */
/* Cookie fields (RFC 6265 4.2, RFC 9113 8.2.3), for a proxy that has one of its own in them. */
#ifndef PUSHGATE_HTTP_COOKIE_H
#define PUSHGATE_HTTP_COOKIE_H

#include "proxy/http/head.h"

/*
 * Cuts the cookies of this name, whose case counts, out of a request: a field that had nothing else
 * goes with them, the other cookies stay as they are, and no field grows. The value of the last of
 * them, lent as long as the head's bytes; its ptr is NULL when there was none.
 */
struct slice http_cookie_cut(struct http_head *request, struct slice name);

#endif
