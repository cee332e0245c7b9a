/* SPDX-License-Identifier: MIT */
/* HTTP dates (RFC 9110 5.6.7) from and to seconds since the epoch. */
#ifndef PUSHGATE_HTTP_DATE_H
#define PUSHGATE_HTTP_DATE_H

#include "proxy/base/slice.h"

/*
 * Reads any of the three forms; without case, as RFC 9111 4.2 asks of caches. False: none of them,
 * a zone that is not GMT, or a day or time that does not exist. Before 1970 counts as 0: long ago.
 * now_sec places two-digit years: never more than 50 years ahead of it.
 */
bool http_date_parse(struct slice text, uint64_t now_sec, uint64_t *sec);

#define HTTP_DATE_LEN 29
/* Writes the preferred form, "Sun, 06 Nov 1994 08:49:37 GMT"; no NUL. Up to the year 9999. */
void http_date_write(char text[HTTP_DATE_LEN], uint64_t sec);

#endif
