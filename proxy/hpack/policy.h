/* SPDX-License-Identifier: MIT */
/* What the encoder puts into its dynamic table (RFC 7541 6.2, 7.1.3). */
#ifndef PUSHGATE_HPACK_POLICY_H
#define PUSHGATE_HPACK_POLICY_H

#include "proxy/http/token.h"

enum indexing {
	INDEXING_FIRST,  /* at first sight: the value will come again */
	INDEXING_SECOND, /* when it comes again soon: the value may be unlike every other */
	INDEXING_NONE,   /* not at all: it does not pay */
	INDEXING_NEVER,  /* and no one after us may either: a secret */
};

enum indexing indexing_of(uint16_t token, struct slice value);

#endif
