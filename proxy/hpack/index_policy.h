/* SPDX-License-Identifier: MIT */
/* Which fields the encoder inserts into its dynamic table (RFC 7541 6.2, 7.1.3). */
#ifndef PUSHGATE_HPACK_INDEX_POLICY_H
#define PUSHGATE_HPACK_INDEX_POLICY_H

#include "proxy/http/token.h"

enum indexing {
	INDEXING_FIRST,  /* insert at once: the value will probably repeat */
	INDEXING_SECOND, /* insert when seen again soon: the value may be unique */
	INDEXING_NONE,   /* do not insert: it is not worth it */
	INDEXING_NEVER,  /* a secret: no later hop may insert it either */
};

enum indexing indexing_of(uint16_t token, struct slice value);

#endif
