/* SPDX-License-Identifier: MIT */
/* HTTP dates (RFC 9110 5.6.7) from and to seconds since the epoch. */
#ifndef PUSHGATE_HTTP_DATE_H
#define PUSHGATE_HTTP_DATE_H

#include "proxy/base/slice.h"

/*
 * Reads any of the three forms, ignoring case as RFC 9111 4.2 asks of caches. False: another form,
 * a zone other than GMT, or a day or time that does not exist. A date before 1970 becomes 0.
 * now_sec resolves two-digit years: the result is at most 50 years later.
 */
bool http_date_parse(struct slice text, uint64_t now_sec, uint64_t *sec);

#define HTTP_DATE_LEN 29
/* Writes the preferred form, "Sun, 06 Nov 1994 08:49:37 GMT"; no NUL. Up to the year 9999. */
void http_date_write(char text[HTTP_DATE_LEN], uint64_t sec);

#endif
