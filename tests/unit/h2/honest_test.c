/* SPDX-License-Identifier: MIT */
/*
 * Heavy use that is honest never meets the default limits: what browsers, CDNs, gRPC and origins that push do,
 * over a whole connection, and the same for minutes at rates that no single connection reaches.
 */
#include "proxy/h2/guard.h"
#include "tests/support/h2_script.h"

/* covers: R65 */

/* The clock stands still in these: nothing refills, only work pays back. */

static void ends_alive(struct script *s)
{
	script_clears(s);
	script_expects_alive(s);
	script_close(s);
}

static void answers(struct script *s, uint32_t id, size_t bytes)
{
	script_responds(s, id, false, "200");
	script_offers(s, id, bytes, true);
	script_pumps(s);
}

SCRIPT_TEST(browser_may_leave_two_full_pages_in_a_row)
{
	struct script *s = script_open(H2_SERVER);
	uint32_t id = 1;
	for (unsigned page = 0; page < 2; page++) {
		for (uint32_t i = 0; i < 100; i++)
			script_sends_get(s, id + 2 * i);
		script_pumps(s);
		for (uint32_t i = 0; i < 100; i++, id += 2)
			script_sends_rst(s, id, SESSION_CANCEL);
	}
	for (uint32_t i = 0; i < 100; i++, id += 2) {
		script_sends_get(s, id);
		script_pumps(s);
		answers(s, id, 10);
	}
	ends_alive(s);
}

SCRIPT_TEST(proxy_of_many_users_may_cancel_for_one_in_ten)
{
	struct script *s = script_open(H2_SERVER);
	for (uint32_t id = 1; id < 6000; id += 2) {
		script_sends_get(s, id);
		script_pumps(s);
		if (id % 20 == 1)
			script_sends_rst(s, id, SESSION_CANCEL);
		else
			answers(s, id, 10);
		script_sends_window_update(s, 0, 10);
	}
	ends_alive(s);
}

SCRIPT_TEST(stream_of_small_messages_may_be_acknowledged_one_by_one)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_post(s, 1);
	script_pumps(s);
	script_responds(s, 1, false, "200");
	for (uint32_t i = 0; i < 8000; i++) {
		script_offers(s, 1, 40, false);
		script_pumps(s);
		script_sends_window_update(s, 0, 40);
		script_sends_window_update(s, 1, 40);
		if (i % 3 == 0)
			script_sends_ping(s, i);
		if (i % 100 == 0)
			script_clears(s);
	}
	ends_alive(s);
}

SCRIPT_TEST(client_may_refuse_every_push)
{
	struct script *s = script_open(H2_SERVER);
	for (uint32_t id = 1; id < 200; id += 2) {
		script_sends_get(s, id);
		script_pumps(s);
		for (uint32_t push = 0; push < 8; push++) {
			uint32_t promised = script_promises(s, id, "/p");
			if (push % 2) /* it is over before the refusal is here */
				answers(s, promised, 0);
			script_pumps(s);
			script_sends_rst(s, promised, SESSION_CANCEL);
		}
		answers(s, id, 10);
	}
	ends_alive(s);
}

SCRIPT_TEST(browser_may_set_two_priorities_for_each_request)
{
	struct script *s = script_open(H2_SERVER);
	for (uint32_t id = 3; id < 15; id += 2) /* a tree of idle streams, as RFC 7540 had them */
		script_sends_priority(s, id, 0);
	for (uint32_t id = 15; id < 4000; id += 2) {
		script_sends_priority_update(s, id, "u=1");
		script_sends_get(s, id);
		script_sends_priority_update(s, id, "u=3, i");
		script_pumps(s);
		answers(s, id, 10);
		script_sends_window_update(s, 0, 10);
	}
	ends_alive(s);
}

SCRIPT_TEST(origin_may_push_eight_resources_with_each_page)
{
	struct script *s = script_open(H2_CLIENT);
	uint32_t promised = 2;
	for (unsigned page = 0; page < 100; page++) {
		uint32_t id = script_gets(s);
		script_pumps(s);
		for (unsigned push = 0; push < 8; push++, promised += 2) {
			script_sends_good_promise(s, id, promised);
			script_pumps(s);
			script_sends_ok(s, promised, H2_END_STREAM);
		}
		script_sends_ok(s, id, H2_END_STREAM);
		script_pumps(s);
	}
	script_answers_pings(s);
	ends_alive(s);
}

/* ---- for minutes ---- */

#define MOST 16u

/* What comes with one unit of work, in this order: `times` of it, in hundredths. */
struct part {
	bool pays;
	uint8_t what; /* enum h2_guarded, or enum h2_work */
	uint32_t times;
};
#define COSTS(what, times)                                                                         \
	{                                                                                          \
		false, H2_GUARDED_##what, times                                                    \
	}
#define PAYS(what, times)                                                                          \
	{                                                                                          \
		true, H2_WORK_##what, times                                                        \
	}

static const struct shape {
	const char *name;
	uint32_t per_second;
	struct part parts[MOST];
} shapes[] = {
    {"proxy of many users: one request in ten is cancelled, one in fifty malformed", 10000,
	{COSTS(BLOCKS, 100), COSTS(RESETS, 10), COSTS(PROVOKED, 2), PAYS(DATA_OUT, 88),
	    PAYS(EXCHANGE, 88), COSTS(WINDOWS, 176)}},
    {"cookies of 8 KiB in each request, at a rate that nobody reaches", 20000,
	{COSTS(BLOCKS, 100), COSTS(EXPANSION, 800), PAYS(EXCHANGE, 100)}},
    {"a proxy of many users with cookies of 4 KiB, of which one request in four fails", 2000,
	{COSTS(BLOCKS, 100), COSTS(EXPANSION, 400), PAYS(EXCHANGE, 75)}},
    {"gRPC, unary calls", 20000,
	{COSTS(BLOCKS, 100), PAYS(DATA_OUT, 100), COSTS(WINDOWS, 200), COSTS(PINGS, 25),
	    PAYS(EXCHANGE, 100)}},
    {"gRPC, a stream of messages from us", 50000,
	{PAYS(DATA_OUT, 100), COSTS(WINDOWS, 200), COSTS(PINGS, 25)}},
    {"a client that announces its windows for every few bytes", 20000,
	{PAYS(DATA_OUT, 100), COSTS(WINDOWS, 400)}},
    {"pages with eight pushes, all refused, half of them too late", 20000,
	{COSTS(BLOCKS, 100), PAYS(PROMISE, 800), PAYS(DATA_OUT, 500), PAYS(EXCHANGE, 500),
	    COSTS(WINDOWS, 400)}},
    {"an origin that pushes eight resources with each page", 20000,
	{PAYS(REQUEST, 100), COSTS(PROMISES, 800), COSTS(BLOCKS, 900), PAYS(EXCHANGE, 900)}},
    {"the same, and all are refused when their heads are on the way", 20000,
	{PAYS(REQUEST, 100), COSTS(PROMISES, 800), COSTS(BLOCKS, 900), COSTS(PROMISES, 800),
	    PAYS(EXCHANGE, 100)}},
    {"an origin with a 103, a head and trailers", 20000,
	{PAYS(REQUEST, 100), COSTS(BLOCKS, 300), PAYS(EXCHANGE, 100)}},
    {"an origin that takes uploads, pings and opens windows", 20000,
	{PAYS(DATA_OUT, 100), COSTS(WINDOWS, 200), COSTS(PINGS, 50)}},
};

/* Of so many hundredths a unit, how many whole ones come with the n-th. */
static uint32_t whole(uint32_t times, uint64_t n)
{
	return (uint32_t)((n + 1) * times / 100 - n * times / 100);
}

static void lasts(const struct shape *shape, unsigned seconds)
{
	struct h2_guard guard;
	usec now = SCRIPT_START;
	h2_guard_init(&guard, &h2_limits_default);
	for (uint64_t n = 0; n < (uint64_t)seconds * shape->per_second; n++) {
		now = SCRIPT_START + n * USEC_PER_SEC / shape->per_second;
		for (const struct part *p = shape->parts; p->times > 0; p++)
			for (uint32_t i = whole(p->times, n); i > 0; i--) {
				if (p->pays)
					h2_guard_refund(&guard, (enum h2_work)p->what, now);
				else if (h2_guard_count(&guard, (enum h2_guarded)p->what, now))
					fail_msg("%s: too many %s after %llu", shape->name,
					    h2_guard_rows[p->what].name, (unsigned long long)n);
			}
	}
}

static void honest_rates_last(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		lasts(&shapes[i], 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(browser_may_leave_two_full_pages_in_a_row),
	    cmocka_unit_test(proxy_of_many_users_may_cancel_for_one_in_ten),
	    cmocka_unit_test(stream_of_small_messages_may_be_acknowledged_one_by_one),
	    cmocka_unit_test(client_may_refuse_every_push),
	    cmocka_unit_test(browser_may_set_two_priorities_for_each_request),
	    cmocka_unit_test(origin_may_push_eight_resources_with_each_page),
	};
	const struct CMUnitTest rates[] = {cmocka_unit_test(honest_rates_last)};
	return SCRIPT_RUN(tests) + cmocka_run_group_tests(rates, NULL, NULL);
}
