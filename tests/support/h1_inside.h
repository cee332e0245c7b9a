/* SPDX-License-Identifier: MIT */
/* Queries of a codec's state that only tests need. */
#ifndef PUSHGATE_TESTS_H1_INSIDE_H
#define PUSHGATE_TESTS_H1_INSIDE_H

#include "proxy/h1/h1_conn.h"

static inline bool h1_has_stream(const struct session *s)
{
	return h1_of(s)->stream.is_open;
}

#endif
