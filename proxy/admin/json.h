/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON (RFC 8259) piece by piece, so that a document needs no memory of its own. Private to admin/. The program
 * is linked with jansson, so no function here has a name of jansson's. Texts may be any bytes: what is not UTF-8 becomes \u00XX,
 * and so do controls; "<", ">" and "&" are escaped too, so that a document which somebody puts into a page begins no
 * element there.
 */
#ifndef PUSHGATE_ADMIN_JSON_H
#define PUSHGATE_ADMIN_JSON_H

#include "proxy/base/clock.h"
#include "proxy/base/slice.h"
#include <stdio.h>

struct json {
	FILE *out;
	bool needs_comma;
};

/* A value without the comma before it. */
void put_text(FILE *out, struct slice text);

/* key NULL: a member of an array. open: '{' or '['. */
void put_open(struct json *j, const char *key, char open);
void put_close(struct json *j, char close);
void put_slice(struct json *j, const char *key, struct slice text);
void put_string(struct json *j, const char *key, const char *text); /* NULL and "": left out */
void put_number(struct json *j, const char *key, uint64_t n);
void put_bool(struct json *j, const char *key, bool is_true);
void put_null(struct json *j, const char *key);
/* With three digits behind the point: n is in thousandths. */
void put_thousandths(struct json *j, const char *key, uint64_t n);
/* In microseconds; USEC_NEVER: left out. */
void put_span(struct json *j, const char *key, usec span);
/* "2026-01-02T03:04:05.678Z" */
void put_date(struct json *j, const char *key, usec wall);

#endif
