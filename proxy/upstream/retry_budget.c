/* SPDX-License-Identifier: MIT */
/* The budget of retries; see retry_budget.h. */
#include "proxy/upstream/retry_budget.h"

#define RETRY UINT64_C(10000)
#define WINDOW_MSEC (RETRY_WINDOW_USEC / USEC_PER_MSEC)

/* Earlier earnings count less with each moment. After a time longer than the window, the average of one window
 * counts. */
static void settle(struct retry_budget *b, uint32_t share, usec now)
{
	usec span = now > b->at ? now - b->at : 0;
	uint64_t earned = b->requests * share;
	if (span >= RETRY_WINDOW_USEC) {
		b->earned = 0;
		earned = earned * WINDOW_MSEC / (span / USEC_PER_MSEC);
	} else {
		b->earned = b->earned * (RETRY_WINDOW_USEC - span) / RETRY_WINDOW_USEC;
	}
	b->earned += earned;
	b->requests = 0;
	b->at = now;
}

bool retry_budget_take(struct retry_budget *b, uint32_t share, usec now)
{
	static const struct rate floor = {RETRY_FLOOR_PER_SECOND, RETRY_FLOOR_BURST};
	settle(b, share, now);
	if (share == 0)
		return false;
	if (b->earned < RETRY)
		return bucket_take(&b->floor, &floor, 1, now);
	b->earned -= RETRY;
	return true;
}
