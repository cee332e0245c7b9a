/* SPDX-License-Identifier: MIT */
/*
 * HPACK (RFC 7541): a decoder and an encoder, each with its dynamic table. Neither allocates per
 * field beyond the head's arena; lookups are by hash.
 */
#ifndef PUSHGATE_HPACK_HPACK_H
#define PUSHGATE_HPACK_HPACK_H

#include "proxy/http/head.h"

struct hpack_decoder;
struct hpack_encoder;

enum hpack_result {
	HPACK_OK,
	/* Decoded to the end, table in step, but the list is over its limit: `head` holds the
	 * pseudo-fields that came until then, the rest was discarded. */
	HPACK_TOO_LARGE,
	HPACK_BAD, /* RFC 9113 4.3: connection error COMPRESSION_ERROR */
};

/*
 * table_bytes: the SETTINGS_HEADER_TABLE_SIZE that we announce (RFC 7541 4.2): the most that a
 * size update may ask for. Memory is taken as entries come, never more than table_bytes plus
 * a fixed share. seed: the hash seed shared by all coders of the process (see http_field.hash).
 * The table starts at 4,096 whatever was announced, and less than that binds the peer only from
 * hpack_decoder_set_limit on, since it may not have seen it yet.
 */
struct hpack_decoder *hpack_decoder_new(uint32_t table_bytes, uint64_t seed);
void hpack_decoder_free(struct hpack_decoder *d);

/*
 * A new limit, also a first one below 4,096, was acknowledged. When it is lower than the table's
 * size, the peer must begin its next block with a size update (RFC 7541 4.2).
 */
void hpack_decoder_set_limit(struct hpack_decoder *d, uint32_t table_bytes);

/*
 * Decodes one complete field block into a fresh head (http_head_add_slot per field, tokens and
 * hashes filled, not validated). list_limit: SETTINGS_MAX_HEADER_LIST_SIZE, counted as RFC 9113
 * 6.5.2 says; also bounded by LIMIT_FIELDS_PER_HEAD. After HPACK_BAD the decoder is dead.
 */
enum hpack_result hpack_decode(
    struct hpack_decoder *d, struct slice block, size_t list_limit, struct http_head *head);

/* Bytes of memory now held by the table. */
size_t hpack_decoder_bytes(const struct hpack_decoder *d);

/* table_bytes: the most that we are willing to use, whatever the peer allows. */
struct hpack_encoder *hpack_encoder_new(uint32_t table_bytes, uint64_t seed);
void hpack_encoder_free(struct hpack_encoder *e);
/* The peer's SETTINGS_HEADER_TABLE_SIZE was received: the next block starts with the size
 * updates that RFC 7541 4.2 asks (the smallest seen, then the last). */
void hpack_encoder_set_limit(struct hpack_encoder *e, uint32_t table_bytes);
size_t hpack_encoder_bytes(const struct hpack_encoder *e);

/* At most this many bytes come out of hpack_encode for this head. */
size_t hpack_encode_bound(const struct hpack_encoder *e, const struct http_head *head);
/*
 * Encodes a validated head, pseudo-fields first, into `out` (hpack_encode_bound bytes at least);
 * returns the length. never_index fields stay so; authorization, proxy-authorization, set-cookie
 * and short cookie crumbs are never indexed either (RFC 7541 7.1.3); what often changes with each
 * message (:path, content-length, date-like values, etag, unknown names, …) is put into the table
 * only when the same value is seen again soon.
 */
size_t hpack_encode(struct hpack_encoder *e, const struct http_head *head, uint8_t *out);

/* Checks every invariant of both tables (debug and fuzz builds). */
void hpack_decoder_check(const struct hpack_decoder *d);
void hpack_encoder_check(const struct hpack_encoder *e);

#endif
