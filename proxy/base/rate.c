/* SPDX-License-Identifier: MIT */
/* Token buckets, in whole millionths: a microsecond refills as many of them as the rate says. */
#include "proxy/base/rate.h"

#define TOKEN UINT64_C(1000000)
/* The span is cut so that the product stays in range: an hour refills any bucket. */
#define SPAN_MOST (3600 * USEC_PER_SEC)

static void pay_back(struct bucket *b, uint64_t millionths)
{
	b->spent -= millionths < b->spent ? millionths : b->spent;
}

bool bucket_take(struct bucket *b, const struct rate *rate, uint32_t tokens, usec now)
{
	if (now > b->at) {
		usec span = now - b->at < SPAN_MOST ? now - b->at : SPAN_MOST;
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
