/* SPDX-License-Identifier: MIT */
/*
 * Decodes the beginning of a body that passes, for reading alone: gzip (RFC 1952), br (RFC 7932), zstd
 * (RFC 8878). The output, the input and the memory of a decoder are bounded; what would go beyond ends
 * the reading. The checksum of gzip is not compared.
 */
#ifndef PUSHGATE_DECODE_DECODE_H
#define PUSHGATE_DECODE_DECODE_H

#include "proxy/base/slice.h"

struct decode;

enum decode_state {
	DECODE_READS,
	DECODE_ENDED,    /* the end of the encoded stream; what follows is not read */
	DECODE_AT_LIMIT, /* the output has its most bytes, or the input LIMIT_DECODE_INPUT_BYTES */
	DECODE_FAILED /* the stream is broken, or needs more memory than LIMIT_DECODE_MEMORY_BYTES */
};

/* Gets decoded bytes, lent for the call. False: no more are wanted (DECODE_ENDED). */
struct decode_sink {
	bool (*decoded)(struct slice bytes, void *context);
	void *context;
};

/*
 * For the value of a Content-Encoding field. NULL: it names another coding, or several, or there is no
 * memory. `most` is the output's bound in bytes.
 */
struct decode *decode_new(struct slice coding, size_t most, struct decode_sink sink);
void decode_free(struct decode *decode);
size_t decode_memory(const struct decode *decode); /* bytes that it has now, to be charged */
/* The next bytes of the body. Other states than DECODE_READS are final, and read nothing more. */
enum decode_state decode_read(struct decode *decode, struct slice piece);

#endif
