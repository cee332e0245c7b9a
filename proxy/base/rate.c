/* SPDX-License-Identifier: MIT */
/* Token buckets, counted in millionths of a token: a microsecond refills per_second of them. */
#include "proxy/base/rate.h"

#define TOKEN UINT64_C(1000000)
/* Limits the span so that the product cannot overflow. An hour refills any bucket. */
#define SPAN_MAX_USEC (3600 * USEC_PER_SEC)

static void pay_back(struct bucket *b, uint64_t millionths)
{
	b->spent -= millionths < b->spent ? millionths : b->spent;
}

bool bucket_take(struct bucket *b, const struct rate *rate, uint32_t tokens, usec now)
{
	if (now > b->at) {
		usec span = now - b->at < SPAN_MAX_USEC ? now - b->at : SPAN_MAX_USEC;
		pay_back(b, span * rate->per_second);
		b->at = now;
	}
	if (b->spent + tokens * TOKEN > rate->burst * TOKEN)
		return false;
	b->spent += tokens * TOKEN;
	return true;
}

void bucket_give(struct bucket *b, uint64_t thousandths)
{
	pay_back(b, thousandths * 1000);
}
