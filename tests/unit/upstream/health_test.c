/* SPDX-License-Identifier: MIT */
/* A whole gateway with two servers: which ends of requests eject one, and what checks do without a health table. */
/* covers: R450 R451 */
#include "proxy/upstream/health_check.h"
#include "tests/support/gateway_world.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Both sites are servers of one origin, f. */
static struct gate_world *fleet(const char *options)
{
	char more[1024];
	snprintf(more, sizeof(more),
	    "[origin f]\nserver = %%A\nserver = %%B\nbalance = round-robin\n%s\n[route r]\norigin = f\n", options);
	return gate_world_new(NULL, NULL, NULL, more);
}

static struct destination *destination_of(struct gate_world *w)
{
	return &w->gateway->upstream.destinations[2];
}

/* The server behind a site. */
static struct server *server_of(struct gate_world *w, size_t site)
{
	struct server *s = list_first(&destination_of(w)->servers, struct server, link);
	return site == 0 ? s : container_of(s->link.next, struct server, link);
}

static void answer_ok(struct gate_stream *s)
{
	gate_answer(s, 200, 2, true);
}

static void answer_503(struct gate_stream *s)
{
	gate_answer(s, 503, 2, true);
}

static void reset(struct gate_stream *s)
{
	gate_reset_stream(s, SESSION_INTERNAL_ERROR);
}

static void refuse(struct gate_stream *s)
{
	gate_reset_stream(s, SESSION_REFUSED_STREAM);
}

static void say_nothing(struct gate_stream *s)
{
	(void)s;
}

/* One request at a time, until the condition holds or so many have ended. */
#define ASK_UNTIL(w, c, condition, most)                                                           \
	for (unsigned asked_ = 0; !(condition) && asked_ < (most); asked_++) {                     \
		struct gate_stream *s_ = gate_get(c, "/");                                         \
		UNTIL(w, s_->is_over || s_->was_reset);                                            \
	}

/* ---- ejection ---- */

/* The second site behaves so until it is ejected. */
static void ejects(const char *options, void (*serve)(struct gate_stream *s))
{
	struct gate_world *w = fleet(options);
	w->sites[0].serve = answer_ok;
	w->sites[1].serve = serve;
	struct gate_peer *c = gate_client(w, NULL);
	ASK_UNTIL(w, c, health_state(server_of(w, 1)) == SERVER_EJECTED, 40);
	assert_int_equal(health_state(server_of(w, 1)), SERVER_EJECTED);
	assert_int_equal(health_state(server_of(w, 0)), SERVER_UP);
	assert_int_equal(w->counters.server_ejections, 1);
	size_t before = gate_seen(&w->sites[1], "/");
	ASK_UNTIL(w, c, false, 6);
	assert_int_equal(gate_seen(&w->sites[1], "/"), before);
	gate_world_free(w);
}

static void statuses_eject(void **state)
{
	(void)state;
	ejects("", answer_503);
}

static void resets_eject(void **state)
{
	(void)state;
	ejects("", reset);
}

static void late_responses_eject(void **state)
{
	(void)state;
	ejects("response-timeout = 200ms", say_nothing);
}

/* No client sees them, since another server answers: they count all the same. */
static void late_responses_eject_when_they_are_retried(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL,
	    "[origin f]\nserver = %A\nserver = %B\nbalance = round-robin\nresponse-timeout = 200ms\nretry-budget = 100%\n"
	    "[route r]\norigin = f\nretry-on = late\n");
	w->sites[0].serve = answer_ok;
	w->sites[1].serve = say_nothing;
	struct gate_peer *c = gate_client(w, NULL);
	for (unsigned i = 0; i < 40 && health_state(server_of(w, 1)) != SERVER_EJECTED; i++) {
		struct gate_stream *s = gate_get(c, "/");
		UNTIL(w, s->is_over || s->was_reset);
		assert_int_equal(s->status, 200);
	}
	assert_int_equal(health_state(server_of(w, 1)), SERVER_EJECTED);
	assert_int_equal(w->counters.retries_late, 5);
	gate_world_free(w);
}

/* The second site behaves so, and stays in use. */
static void does_not_eject(void (*serve)(struct gate_stream *s), const char *options, bool cancels)
{
	struct gate_world *w = fleet(options);
	w->sites[0].serve = answer_ok;
	w->sites[1].serve = serve;
	struct gate_peer *c = gate_client(w, NULL);
	for (unsigned i = 0; i < 40; i++) {
		struct gate_stream *s = gate_get(c, "/");
		size_t seen = gate_seen(&w->sites[0], "/") + gate_seen(&w->sites[1], "/");
		UNTIL(w, gate_seen(&w->sites[0], "/") + gate_seen(&w->sites[1], "/") > seen);
		if (cancels && !s->is_over)
			gate_reset_stream(s, SESSION_CANCEL);
		else
			UNTIL(w, s->is_over || s->was_reset);
	}
	assert_true(gate_seen(&w->sites[1], "/") >= 10);
	assert_int_equal(health_state(server_of(w, 1)), SERVER_UP);
	assert_int_equal(w->counters.server_ejections, 0);
	gate_world_free(w);
}

static void refused_streams_do_not_eject(void **state)
{
	(void)state;
	does_not_eject(refuse, "", false);
}

static void what_clients_cancel_does_not_eject(void **state)
{
	(void)state;
	does_not_eject(say_nothing, "", true);
}

static void other_statuses_do_not_eject(void **state)
{
	(void)state;
	does_not_eject(answer_503, "failure-status = 500-502", false);
}

static void a_server_returns_on_trial(void **state)
{
	(void)state;
	struct gate_world *w = fleet("eject-time = 1s\nslow-start = 1s");
	w->sites[0].serve = answer_ok;
	w->sites[1].serve = answer_503;
	struct gate_peer *c = gate_client(w, NULL);
	struct server *s = server_of(w, 1);
	ASK_UNTIL(w, c, health_state(s) == SERVER_EJECTED, 40);
	UNTIL(w, health_state(s) == SERVER_UP);
	assert_true(s->health.ejection.is_on_trial);
	assert_true(s->member.joined > 0);
	/* Slow start gives it few requests, and the first is enough. */
	ASK_UNTIL(w, c, health_state(s) == SERVER_EJECTED, 1000);
	assert_int_equal(w->counters.server_ejections, 2);
	assert_int_equal(s->health.ejection.length, 2 * USEC_PER_SEC);
	gate_world_free(w);
}

static void two_failed_connects_eject(void **state)
{
	(void)state;
	struct gate_world *w = fleet("");
	w->sites[0].serve = answer_ok;
	gate_site_close(&w->sites[1]);
	struct gate_peer *c = gate_client(w, NULL);
	for (unsigned i = 0; i < 200 && health_state(server_of(w, 1)) != SERVER_EJECTED; i++) {
		struct gate_stream *s = gate_get(c, "/");
		UNTIL(w, s->is_over || s->was_reset);
		assert_int_equal(s->status, 200);
	}
	assert_int_equal(health_state(server_of(w, 1)), SERVER_EJECTED);
	gate_world_free(w);
}

/* ---- checks ---- */

#define CHECKED "health-check = /health\nhealth-interval = 100ms\nhealth-fall = 2\nhealth-rise = 2"

static void checks_decide_without_a_health_table(void **state)
{
	(void)state;
	struct gate_world *w = fleet(CHECKED);
	w->sites[0].serve = answer_ok;
	w->sites[1].serve = answer_503;
	struct gate_peer *c = gate_client(w, NULL);
	struct server *s = server_of(w, 1);
	assert_null(s->health.entry);
	UNTIL(w, health_state(s) == SERVER_FAILING);
	ASK_UNTIL(w, c, false, 6);
	assert_int_equal(gate_seen(&w->sites[1], "/"), 0);
	assert_int_equal(health_state(server_of(w, 0)), SERVER_UP);
	assert_true(w->counters.health_checks_failed >= 2);
	w->sites[1].serve = answer_ok;
	UNTIL(w, health_state(s) == SERVER_UP);
	ASK_UNTIL(w, c, gate_seen(&w->sites[1], "/") > 0, 20);
	assert_true(gate_seen(&w->sites[1], "/") > 0);
	gate_world_free(w);
}

/* ---- with a health table ---- */

struct shared {
	struct gate_world *w;
	void *memory;
	struct health_table *table;
};

static struct shared shared_fleet(const char *options, size_t servers)
{
	struct shared s = {.memory = calloc(1, health_table_bytes(servers, 0))};
	s.table = health_table_new(s.memory, servers, 0);
	gate_share_health(s.table);
	s.w = fleet(options);
	gate_share_health(NULL);
	return s;
}

static void shared_free(struct shared *s)
{
	gate_world_free(s->w);
	for (size_t i = 0; i < s->table->capacity; i++)
		assert_int_equal(atomic_load(&s->table->entries[i].key), 0); /* each entry was left */
	free(s->table);
	free(s->memory);
}

static void what_a_worker_finds_it_publishes(void **state)
{
	(void)state;
	struct shared s = shared_fleet(CHECKED, 4);
	struct gate_world *w = s.w;
	w->sites[0].serve = answer_ok;
	w->sites[1].serve = answer_503;
	struct server *first = server_of(w, 0), *second = server_of(w, 1);
	assert_non_null(second->health.entry);
	UNTIL(w, health_state(second) == SERVER_FAILING);
	struct server_check check = server_entry_check(second->health.entry);
	assert_int_equal(check.state, SERVER_CHECK_FAILS);
	assert_int_equal(check.result, 503);
	assert_in_range(check.since, w->gateway->relay.now - USEC_PER_SEC, w->gateway->relay.now);
	UNTIL(w, server_entry_check(first->health.entry).state == SERVER_CHECK_PASSES);
	assert_int_equal(server_entry_check(first->health.entry).result, 200);
	/* Others may check when this worker has nothing to do any more, and not before. */
	assert_false(server_entry_lease(first->health.entry, 7, w->gateway->relay.now, USEC_PER_SEC));
	gate_world_drain(w, 10 * USEC_PER_SEC);
	usec since = clock_monotonic();
	while (!server_entry_lease(first->health.entry, 7, w->gateway->relay.now, w->gateway->relay.now + USEC_PER_SEC) &&
	       clock_monotonic() - since < 10 * USEC_PER_SEC)
		net_run_once(w->loop, USEC_PER_MSEC);
	assert_false(server_entry_lease(first->health.entry, 0, w->gateway->relay.now, w->gateway->relay.now + USEC_PER_SEC));
	server_entry_unlease(first->health.entry, 7);
	shared_free(&s);
}

static void what_another_worker_publishes_is_taken(void **state)
{
	(void)state;
	struct shared s = shared_fleet(CHECKED, 4);
	struct gate_world *w = s.w;
	w->sites[0].serve = w->sites[1].serve = answer_ok;
	struct server *second = server_of(w, 1);
	struct server_entry *e = second->health.entry;
	usec now = w->gateway->relay.now;
	assert_true(server_entry_lease(e, 7, now, now + 3600 * USEC_PER_SEC));
	server_entry_publish(s.table, e, (struct server_check){SERVER_CHECK_FAILS, 500, now});
	UNTIL(w, health_state(second) == SERVER_FAILING);
	assert_int_equal(gate_seen(&w->sites[1], "/health"), 0);
	server_entry_publish(s.table, e, (struct server_check){SERVER_CHECK_PASSES, 200, now});
	UNTIL(w, health_state(second) == SERVER_UP);
	UNTIL(w, gate_seen(&w->sites[0], "/health") >= 3);
	assert_int_equal(gate_seen(&w->sites[1], "/health"), 0);
	server_entry_unlease(e, 7);
	shared_free(&s);
}

static void an_ejection_is_published_until_it_is_over(void **state)
{
	(void)state;
	struct shared s = shared_fleet("eject-failures = 2\neject-time = 1s", 4);
	struct gate_world *w = s.w;
	w->sites[0].serve = answer_ok;
	w->sites[1].serve = answer_503;
	struct gate_peer *c = gate_client(w, NULL);
	struct server *second = server_of(w, 1);
	assert_int_equal(server_entry_ejected(second->health.entry, w->gateway->relay.now), 0);
	ASK_UNTIL(w, c, health_state(second) == SERVER_EJECTED, 40);
	struct server_entry *e = second->health.entry;
	assert_non_null(e);
	assert_int_equal(server_entry_ejected(e, w->gateway->relay.now), 1);
	assert_int_equal(atomic_load(&e->verdict), SERVER_FAILED_IN_A_ROW);
	UNTIL(w, health_state(second) == SERVER_UP);
	assert_int_equal(server_entry_ejected(e, w->gateway->relay.now), 0);
	ASK_UNTIL(w, c, health_state(second) == SERVER_EJECTED, 40);
	assert_int_equal(server_entry_ejected(e, w->gateway->relay.now), 1);
	shared_free(&s);
}

static void what_was_known_before_a_reload_holds(void **state)
{
	(void)state;
	struct shared old = shared_fleet("eject-failures = 2\neject-time = 60s", 4);
	struct gate_world *w = old.w;
	w->sites[0].serve = answer_ok;
	w->sites[1].serve = answer_503;
	struct gate_peer *c = gate_client(w, NULL);
	ASK_UNTIL(w, c, health_state(server_of(w, 1)) == SERVER_EJECTED, 40);
	usec until = server_of(w, 1)->health.ejection.until;

	/* The worlds have sites at other addresses: each server of this one is known as the ejected one was. */
	struct shared fresh = shared_fleet("eject-failures = 2\neject-time = 60s\neject-most = 50", 4);
	for (size_t site = 0; site < 2; site++) {
		struct server_entry *from = server_of(old.w, 1)->health.entry;
		struct server *s = server_of(fresh.w, site);
		atomic_store(&s->health.entry->kept_until, atomic_load(&from->ejected_until));
		atomic_store(&s->health.entry->verdict, atomic_load(&from->verdict));
		server_entry_note_length(s->health.entry, 60 * USEC_PER_SEC);
	}
	gateway_take_over(fresh.w->gateway);
	/* At most half of them. */
	assert_int_equal(health_state(server_of(fresh.w, 0)), SERVER_EJECTED);
	assert_int_equal(health_state(server_of(fresh.w, 1)), SERVER_UP);
	assert_int_equal(server_of(fresh.w, 0)->health.ejection.until, until);
	assert_int_equal(server_entry_ejected(server_of(fresh.w, 0)->health.entry, until - 1), 1);
	gateway_take_over(fresh.w->gateway); /* changes nothing any more */
	assert_int_equal(destination_of(fresh.w)->ejected_count, 1);
	fresh.w->sites[0].serve = fresh.w->sites[1].serve = answer_ok;
	struct gate_peer *d = gate_client(fresh.w, NULL);
	ASK_UNTIL(fresh.w, d, false, 6);
	assert_int_equal(gate_seen(&fresh.w->sites[0], "/"), 0);
	shared_free(&fresh);
	shared_free(&old);
}

/* A worker that was taken over has written there. */
static void an_ejection_that_is_too_long_is_cut(void **state)
{
	(void)state;
	struct shared fresh = shared_fleet("eject-failures = 2\neject-time = 60s\neject-time-max = 90s", 4);
	struct server *s = server_of(fresh.w, 0);
	atomic_store(&s->health.entry->kept_until, UINT64_MAX);
	server_entry_note_length(s->health.entry, 86400 * USEC_PER_SEC);
	gateway_take_over(fresh.w->gateway);
	assert_int_equal(health_state(s), SERVER_EJECTED);
	assert_true(s->health.ejection.until <= fresh.w->gateway->relay.now + 90 * USEC_PER_SEC);
	assert_int_equal(s->health.ejection.length, 90 * USEC_PER_SEC);
	shared_free(&fresh);
}

/* covers: R451 */
static void when_all_servers_fail_they_are_used(void **state)
{
	(void)state;
	struct gate_world *w = fleet(CHECKED "\nhealth-status = 204");
	w->sites[0].serve = w->sites[1].serve = answer_ok;
	struct gate_peer *c = gate_client(w, NULL);
	UNTIL(w, health_state(server_of(w, 0)) == SERVER_FAILING && health_state(server_of(w, 1)) == SERVER_FAILING);
	struct gate_stream *s = gate_get(c, "/");
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	gate_world_free(w);
}

static void each_end_of_a_check_is_a_failure(void **state)
{
	(void)state;
	static void (*const serves[])(struct gate_stream *s) = {reset, refuse, say_nothing};
	for (size_t i = 0; i < sizeof(serves) / sizeof(*serves); i++) {
		struct gate_world *w = fleet(CHECKED "\nhealth-timeout = 50ms");
		w->sites[0].serve = answer_ok;
		w->sites[1].serve = serves[i];
		UNTIL(w, health_state(server_of(w, 1)) == SERVER_FAILING);
		gate_world_free(w);
	}
	/* It cannot be connected to; and again it can. */
	struct gate_world *w = fleet(CHECKED);
	w->sites[0].serve = w->sites[1].serve = answer_ok;
	gate_site_close(&w->sites[1]);
	UNTIL(w, health_state(server_of(w, 1)) == SERVER_FAILING);
	gate_site_open(&w->sites[1]);
	UNTIL(w, health_state(server_of(w, 1)) == SERVER_UP);
	gate_world_free(w);
}

static void a_check_that_takes_long_is_not_made_twice(void **state)
{
	(void)state;
	struct gate_world *w = fleet(CHECKED "\nhealth-timeout = 1h");
	w->sites[0].serve = w->sites[1].serve = say_nothing;
	UNTIL(w, gate_seen(&w->sites[0], "/health") == 1 && gate_seen(&w->sites[1], "/health") == 1);
	struct health_target *t = server_of(w, 0)->health.target;
	for (unsigned i = 0; i < 3; i++) {
		usec due = t->timer.deadline;
		UNTIL(w, t->timer.deadline != due);
		gate_passes(w);
	}
	assert_int_equal(w->gateway->upstream.checks.running, 2);
	assert_int_equal(gate_seen(&w->sites[0], "/health"), 1);
	gate_world_free(w);
}

static void a_gateway_ends_while_it_checks(void **state)
{
	(void)state;
	struct gate_world *w = fleet(CHECKED "\nhealth-timeout = 1h");
	w->sites[0].serve = w->sites[1].serve = say_nothing;
	UNTIL(w, gate_find(w, "/health") != NULL);
	assert_true(w->gateway->upstream.checks.running > 0);
	/* A drain does not wait for checks. */
	gate_world_drain(w, 10 * USEC_PER_SEC);
	UNTIL(w, w->drained == 1);
	gate_world_free(w);
}

/* A start that fails before there are servers: a key that was there when it was examined is gone. */
static void a_gateway_that_cannot_start_is_freed(void **state)
{
	(void)state;
	struct gate_world *w = fleet(CHECKED);
	gate_world_free_gateway(w);
	struct net_certificate missing = {"/nonexistent/a.pem", "/nonexistent/a.key"};
	struct conf_listen *listen = &w->conf->listens[0];
	listen->certificates = &missing;
	listen->certificate_count = 1;
	const struct gateway_env env = {.loop = w->loop, .chunks = w->chunks, .conf = w->conf, .observe = &w->observe, .seed = 42};
	char error[256] = "";
	assert_null(gateway_new(&env, error, sizeof(error)));
	assert_non_null(strstr(error, "/nonexistent/a"));
	listen->certificates = NULL;
	listen->certificate_count = 0;
	gate_world_free(w);
}

static void without_memory_no_check_is_made(void **state)
{
	(void)state;
	struct gate_world *w = fleet(CHECKED);
	w->sites[0].serve = w->sites[1].serve = answer_ok;
	size_t room = budget_room(&w->gateway->env.budget);
	budget_force(&w->gateway->env.budget, room);
	for (usec end = clock_monotonic() + 150 * USEC_PER_MSEC; clock_monotonic() < end;)
		net_run_once(w->loop, USEC_PER_MSEC);
	assert_int_equal(w->gateway->upstream.checks.running, 0);
	assert_int_equal(w->counters.health_checks, 0);
	budget_give(&w->gateway->env.budget, room);
	UNTIL(w, w->counters.health_checks > 0);
	gate_world_free(w);
}

/* Many addresses, behind which the kernel accepts and nobody reads. */
static void few_checks_run_at_a_time(void **state)
{
	(void)state;
	struct sockaddr_in any = {.sin_family = AF_INET};
	socklen_t length = sizeof(any);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&any, length), 0);
	assert_int_equal(listen(fd, 256), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&any, &length), 0);
	/* None of them is late while this test looks. */
	char more[8192] = "[origin f]\nhealth-check = /health\nhealth-interval = 1s\nhealth-timeout = 1h\n";
	for (unsigned i = 0; i < LIMIT_HEALTH_CHECKS + 20; i++)
		snprintf(more + strlen(more), sizeof(more) - strlen(more), "server = http://127.0.1.%u:%u\n", i + 1, ntohs(any.sin_port));
	strcat(more, "[route r]\norigin = f\n");
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, more);
	const struct health_checks *checks = &w->gateway->upstream.checks;
	UNTIL(w, !list_is_empty(&checks->waiting));
	assert_int_equal(checks->running, LIMIT_HEALTH_CHECKS);
	/* Those that wait begin when others have ended: here all that wait in the kernel, by a reset. */
	close(fd);
	UNTIL(w, w->counters.health_checks > LIMIT_HEALTH_CHECKS + 10);
	assert_true(w->counters.health_checks_failed > 0);
	assert_true(checks->running <= LIMIT_HEALTH_CHECKS);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(statuses_eject),
	    cmocka_unit_test(resets_eject),
	    cmocka_unit_test(late_responses_eject),
	    cmocka_unit_test(late_responses_eject_when_they_are_retried),
	    cmocka_unit_test(refused_streams_do_not_eject),
	    cmocka_unit_test(what_clients_cancel_does_not_eject),
	    cmocka_unit_test(other_statuses_do_not_eject),
	    cmocka_unit_test(a_server_returns_on_trial),
	    cmocka_unit_test(two_failed_connects_eject),
	    cmocka_unit_test(checks_decide_without_a_health_table),
	    cmocka_unit_test(what_a_worker_finds_it_publishes),
	    cmocka_unit_test(what_another_worker_publishes_is_taken),
	    cmocka_unit_test(an_ejection_is_published_until_it_is_over),
	    cmocka_unit_test(what_was_known_before_a_reload_holds),
	    cmocka_unit_test(an_ejection_that_is_too_long_is_cut),
	    cmocka_unit_test(when_all_servers_fail_they_are_used),
	    cmocka_unit_test(each_end_of_a_check_is_a_failure),
	    cmocka_unit_test(a_check_that_takes_long_is_not_made_twice),
	    cmocka_unit_test(a_gateway_ends_while_it_checks),
	    cmocka_unit_test(a_gateway_that_cannot_start_is_freed),
	    cmocka_unit_test(without_memory_no_check_is_made),
	    cmocka_unit_test(few_checks_run_at_a_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
