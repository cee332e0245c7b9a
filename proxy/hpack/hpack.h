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
	/*
	 * The block was decoded and the table is in step, but the list is over its limit. `head`
	 * has the pseudo-fields up to there; the rest was discarded.
	 */
	HPACK_TOO_LARGE,
	HPACK_BAD, /* RFC 9113 4.3: connection error COMPRESSION_ERROR */
};

/*
 * table_bytes: the SETTINGS_HEADER_TABLE_SIZE announced to the peer (RFC 7541 4.2): the highest
 * size that a size update may ask for. Memory grows with the entries, up to table_bytes plus a
 * fixed share. seed: the hash seed shared by all coders of the process (http_field.hash). The table
 * starts at 4,096 bytes whatever was announced. A lower limit binds the peer only from
 * hpack_decoder_set_limit on, because the peer may not have seen it before.
 */
struct hpack_decoder *hpack_decoder_new(uint32_t table_bytes, uint64_t seed);
void hpack_decoder_free(struct hpack_decoder *d);

/*
 * Call this when the peer has acknowledged a new limit, or a first limit below 4,096. If it is
 * below the table's size, the peer must begin its next block with a size update (RFC 7541 4.2).
 */
void hpack_decoder_set_limit(struct hpack_decoder *d, uint32_t table_bytes);

/*
 * Decodes one complete field block into a fresh head (http_head_add_slot per field, tokens and
 * hashes filled, not validated). list_limit: SETTINGS_MAX_HEADER_LIST_SIZE, counted as RFC 9113
 * 6.5.2 says; also bounded by LIMIT_FIELDS_PER_HEAD. head->list_bytes: of the fields until then. After HPACK_BAD the decoder must not be used.
 */
enum hpack_result hpack_decode(
    struct hpack_decoder *d, struct slice block, size_t list_limit, struct http_head *head);

/* Bytes of memory that the table uses now. */
size_t hpack_decoder_bytes(const struct hpack_decoder *d);

/* table_bytes: highest table size to use, even if the peer allows more. */
struct hpack_encoder *hpack_encoder_new(uint32_t table_bytes, uint64_t seed);
void hpack_encoder_free(struct hpack_encoder *e);
/*
 * Call this for each SETTINGS_HEADER_TABLE_SIZE of the peer. The next block begins with the size
 * updates of RFC 7541 4.2 (the smallest value, then the last).
 */
void hpack_encoder_set_limit(struct hpack_encoder *e, uint32_t table_bytes);
size_t hpack_encoder_bytes(const struct hpack_encoder *e);

/* The most bytes that hpack_encode writes for this head. */
size_t hpack_encode_bound(const struct http_head *head);
/*
 * Encodes a validated head, pseudo-fields first, into `out` (hpack_encode_bound bytes at least);
 * returns the length. Fields with never_index stay never indexed; so are authorization,
 * proxy-authorization, set-cookie and short cookie crumbs (RFC 7541 7.1.3). Values that often
 * change (:path, content-length, dates, etag, unknown names, …) are inserted into the table only
 * when the same value comes again soon.
 */
size_t hpack_encode(struct hpack_encoder *e, const struct http_head *head, uint8_t *out);

/* Checks every invariant of both tables (debug and fuzz builds). */
void hpack_decoder_check(const struct hpack_decoder *d);
void hpack_encoder_check(const struct hpack_encoder *e);

#endif
