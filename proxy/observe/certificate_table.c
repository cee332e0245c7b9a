/* SPDX-License-Identifier: MIT */
/* See certificate_table.h: one writer, whose readers notice by the version what they have read while it was written. */
#include "proxy/observe/certificate_table.h"

const char *certificate_state_text(enum certificate_state state)
{
	switch (state) {
	case CERTIFICATE_UNKNOWN:
		break;
	case CERTIFICATE_MISSING:
		return "missing";
	case CERTIFICATE_LACKING:
		return "lacking";
	case CERTIFICATE_GOOD:
		return "good";
	}
	return "unknown";
}

void certificate_entry_write(struct certificate_entry *e, const struct certificate_report *r)
{
	/* It is odd already after a process that has died here. */
	uint32_t version = atomic_load(&e->version) | 1;
	atomic_store(&e->version, version);
	atomic_thread_fence(memory_order_release);
	e->report = *r;
	atomic_store_explicit(&e->version, version + 1, memory_order_release);
}

bool certificate_entry_read(const struct certificate_entry *e, struct certificate_report *r)
{
	uint32_t version = atomic_load_explicit(&e->version, memory_order_acquire);
	*r = e->report;
	atomic_thread_fence(memory_order_acquire);
	/* The writer is another process: nothing of it is believed but its numbers. */
	r->why[CERTIFICATE_WHY_BYTES - 1] = '\0';
	return version % 2 == 0 && atomic_load(&e->version) == version &&
	       r->state > CERTIFICATE_UNKNOWN && r->state <= CERTIFICATE_GOOD;
}
