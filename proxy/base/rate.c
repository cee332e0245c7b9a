/* SPDX-License-Identifier: MIT */
/* Token buckets at rates of whole tokens a second; see rate.h. */
#include "proxy/base/rate.h"

/* At least 1: a token is never nothing. */
static uint64_t nsec_of_token(const struct rate *rate)
{
	uint64_t nsec = NSEC_PER_SEC / (rate->per_second > 0 ? rate->per_second : 1);
	return nsec > 0 ? nsec : 1;
}

bool bucket_take(struct bucket *b, const struct rate *rate, uint32_t tokens, usec now)
{
	uint64_t nsec = nsec_of_token(rate);
	if (bucket_wait(b, tokens * nsec, rate->burst * nsec, now) > 0)
		return false;
	bucket_spend(b, tokens * nsec, now);
	return true;
}

void bucket_give(struct bucket *b, const struct rate *rate, uint64_t thousandths)
{
	bucket_pay_back(b, thousandths * nsec_of_token(rate) / 1000);
}
