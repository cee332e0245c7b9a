/* SPDX-License-Identifier: MIT */
/* The program's protocols, and how one of them is chosen for a connection. */
#include "proxy/session/session.h"

#include <stdio.h>

const struct session_protocol *const session_protocols[] = {&session_h2, NULL};

const struct session_protocol *session_match(
    const struct session_protocol *const *protocols, const uint8_t *bytes, size_t n, bool *more)
{
	*more = false;
	for (; *protocols; protocols++) {
		switch ((*protocols)->match(bytes, n)) {
		case SESSION_MATCH_YES:
			return *protocols;
		case SESSION_MATCH_MORE:
			*more = true;
			break;
		case SESSION_MATCH_NO:
			break;
		}
	}
	return NULL;
}

const struct session_protocol *session_by_alpn(
    const struct session_protocol *const *protocols, struct slice alpn)
{
	for (; *protocols; protocols++)
		if (slice_equal(slice_of_string((*protocols)->alpn), alpn))
			return *protocols;
	return NULL;
}

void session_alpn_list(const struct session_protocol *const *protocols, char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; protocols[i] && used < size; i++)
		used += (size_t)snprintf(
		    text + used, size - used, "%s%s", i > 0 ? "," : "", protocols[i]->alpn);
}
