/* SPDX-License-Identifier: MIT */
/*
 * Token buckets against floods (RFC 9113 10.5) and the default limits. Bounds that are not rates
 * (field block size, CONTINUATIONs, control output, reserved streams) are checked where the data
 * grows; their rows are in h2_fault.h.
 */
#include "proxy/h2/guard.h"
#include <stddef.h>
#include <string.h>

const struct h2_limits h2_limits_default = {
    .connection_window = 1u << 20,
    .field_block_bytes = 131072,
    .continuations = 32,
    .encoder_table_bytes = 4096,
    .interim_responses = 32,
    .reserved_streams = 4096,
    .control_bytes = 262144,
    .request_list_bytes = UINT32_MAX,
    /* A hundred responses with heads of 10 KiB each. */
    .output_bytes = 1u << 20,
    /*
     * A user who leaves a page cancels all requests at once, but an honest client also completes
     * requests.
     */
    .resets_received = {.per_second = 100, .burst = 200},
    .resets_provoked = {.per_second = 100, .burst = 200},
    .pings = {.per_second = 500, .burst = 1000},
    .settings = {.per_second = 20, .burst = 100},
    .priorities = {.per_second = 1000, .burst = 2000},
    .empty_frames = {.per_second = 200, .burst = 1000},
    /* Some peers send one for every few KiB that they have read. */
    .window_updates = {.per_second = 50000, .burst = 100000},
    /*
     * Higher than promise-rate, which refuses single promises before this limit ends the
     * connection.
     */
    .promises = {.per_second = 400000, .burst = 400000},
    .field_blocks = {.per_second = 10000, .burst = 20000},
    /* A thousand requests in a second with cookies of 4 KiB, even if none is completed. */
    .expansion = {.per_second = 4096, .burst = 4096},
    .preface_timeout = 10 * USEC_PER_SEC,
    .settings_timeout = 10 * USEC_PER_SEC,
    .block_timeout = 10 * USEC_PER_SEC,
};

#define AT(member) offsetof(struct h2_limits, member)

// clang-format off
const struct h2_guard_row h2_guard_rows[H2_GUARDED_COUNT] = {
	[H2_GUARDED_RESETS] = {"resets-received", AT(resets_received), H2_FAULT_FLOOD_RESETS,
		{[H2_WORK_EXCHANGE] = 500, [H2_WORK_PROMISE] = 1000}},
	[H2_GUARDED_PROVOKED] = {"resets-provoked", AT(resets_provoked), H2_FAULT_FLOOD_PROVOKED,
		{[H2_WORK_EXCHANGE] = 200}},
	[H2_GUARDED_PINGS] = {"pings", AT(pings), H2_FAULT_FLOOD_PINGS,
		{[H2_WORK_EXCHANGE] = 500, [H2_WORK_DATA_OUT] = 500}},
	[H2_GUARDED_SETTINGS] = {"settings", AT(settings), H2_FAULT_FLOOD_SETTINGS, {0}},
	[H2_GUARDED_PRIORITIES] = {"priorities", AT(priorities), H2_FAULT_FLOOD_PRIORITIES,
		{[H2_WORK_EXCHANGE] = 3000, [H2_WORK_PROMISE] = 2000}},
	[H2_GUARDED_EMPTY] = {"empty-frames", AT(empty_frames), H2_FAULT_FLOOD_EMPTY,
		{[H2_WORK_EXCHANGE] = 1000}},
	[H2_GUARDED_WINDOWS] = {"window-updates", AT(window_updates), H2_FAULT_FLOOD_WINDOWS,
		{[H2_WORK_EXCHANGE] = 3000, [H2_WORK_DATA_OUT] = 4000}},
	[H2_GUARDED_PROMISES] = {"promises", AT(promises), H2_FAULT_FLOOD_PROMISES,
		{[H2_WORK_REQUEST] = 32000}},
	[H2_GUARDED_BLOCKS] = {"field-blocks", AT(field_blocks), H2_FAULT_FLOOD_BLOCKS,
		{[H2_WORK_EXCHANGE] = 3000, [H2_WORK_REQUEST] = 32000}},
	/* 8 KiB of fields are usual, however many requests have them. */
	[H2_GUARDED_EXPANSION] = {"expansion", AT(expansion), H2_FAULT_FLOOD_EXPANSION,
		{[H2_WORK_EXCHANGE] = 8000}},
};
// clang-format on

void h2_guard_init(struct h2_guard *g, const struct h2_limits *limits)
{
	*g = (struct h2_guard){.limits = limits};
}

static struct rate rate_of(const struct h2_guard *g, unsigned what)
{
	struct rate rate;
	memcpy(&rate, (const char *)g->limits + h2_guard_rows[what].offset, sizeof(rate));
	return rate;
}

const struct session_fault *h2_guard_take(
    struct h2_guard *g, enum h2_guarded what, uint32_t tokens, usec now)
{
	struct rate rate = rate_of(g, what);
	g->in_debt |= 1u << what;
	return bucket_take(&g->buckets[what], &rate, tokens, now)
		   ? NULL
		   : &h2_faults[h2_guard_rows[what].fault];
}

void h2_guard_refund(struct h2_guard *g, enum h2_work work, usec now)
{
	for (uint32_t left = g->in_debt; left != 0; left &= left - 1) {
		unsigned what = (unsigned)__builtin_ctz(left);
		struct bucket *b = &g->buckets[what];
		uint16_t refund = h2_guard_rows[what].refund[work];
		if (refund > 0) {
			struct rate rate = rate_of(g, what);
			bucket_give(b, &rate, refund);
		}
		if (bucket_is_full(b, now))
			g->in_debt &= ~(1u << what);
	}
}
