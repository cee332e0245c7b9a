/* SPDX-License-Identifier: MIT */
/* Counts the failures of a server, and says when they are too many. */
#include "proxy/upstream/ejection.h"

static void count_in_window(struct ejection *e, bool has_failed, usec now)
{
	if (now - e->window_began >= EJECTION_WINDOW_USEC) {
		e->window_began = now;
		e->answers_in_window = e->failures_in_window = 0;
	}
	if (has_failed)
		e->failures_in_window++;
	else
		e->answers_in_window++;
}

static bool is_share_too_large(const struct ejection *e, const struct conf_eject *rules)
{
	uint64_t all = (uint64_t)e->answers_in_window + e->failures_in_window;
	return rules->percent > 0 && all >= EJECTION_WINDOW_REQUESTS &&
	       (uint64_t)e->failures_in_window * 100 >= all * rules->percent;
}

enum server_verdict ejection_count(
    struct ejection *e, const struct conf_eject *rules, enum health_result result, usec now)
{
	bool has_failed = result != HEALTH_ANSWERED;
	if (e->until > 0)
		return SERVER_STAYS;
	count_in_window(e, has_failed, now);
	if (!has_failed) {
		e->failures = e->failed_connects = 0;
		e->is_on_trial = false;
		return SERVER_STAYS;
	}
	e->failures++;
	if (result == HEALTH_CONNECT_FAILED)
		e->failed_connects++;
	if (rules->failures == 0 && rules->percent == 0)
		return SERVER_STAYS;
	if (e->is_on_trial)
		return SERVER_FAILED_AGAIN;
	if (rules->failures > 0 && e->failed_connects >= EJECTION_CONNECTS)
		return SERVER_FAILED_CONNECTS;
	if (rules->failures > 0 && e->failures >= rules->failures)
		return SERVER_FAILED_IN_A_ROW;
	return is_share_too_large(e, rules) ? SERVER_FAILED_OFTEN : SERVER_STAYS;
}

/* Each time that the server has worked as long as it was ejected halves the length. */
static void forget_length(struct ejection *e, const struct conf_eject *rules, usec now)
{
	usec worked = now - e->returned;
	while (e->length > 0 && worked >= e->length) {
		worked -= e->length;
		e->length = e->length > rules->time ? e->length / 2 : 0;
	}
}

void ejection_begin(struct ejection *e, const struct conf_eject *rules, usec now)
{
	usec most = rules->time_max > rules->time ? rules->time_max : rules->time;
	forget_length(e, rules, now);
	usec length = e->length > 0 ? 2 * e->length : rules->time;
	if (length < rules->time)
		length = rules->time;
	e->length = length < most ? length : most;
	e->until = now + e->length;
}

void ejection_resume(struct ejection *e, usec until, usec length, usec now)
{
	e->length = length;
	if (until > now)
		e->until = until;
	else
		e->returned = until;
}

void ejection_end(struct ejection *e, usec now)
{
	usec length = e->length;
	*e = (struct ejection){
	    .length = length, .returned = now, .window_began = now, .is_on_trial = true};
}
