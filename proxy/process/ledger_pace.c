/* SPDX-License-Identifier: MIT */
/* See ledger_pace.h. */
#include "proxy/process/ledger_pace.h"

#define LOOK_USEC USEC_PER_SEC
/* Prometheus asks once a minute, or more often. */
#define ASKED_USEC (300 * USEC_PER_SEC)
#define SHARE 100u

bool ledger_pace_wants(struct ledger_pace *p, uint64_t scrapes, usec now)
{
	if (scrapes != p->scrapes)
		p->asked_until = now + ASKED_USEC;
	p->scrapes = scrapes;
	return p->at == 0 || now < p->asked_until;
}

usec ledger_pace_next(struct ledger_pace *p, usec now, usec took)
{
	usec pause = took * SHARE;
	p->at = now + (pause > LOOK_USEC ? pause : LOOK_USEC);
	return p->at;
}
