/* SPDX-License-Identifier: MIT */
/* Answers whose bytes are made while they are sent: when the producer is asked, and that it is freed whatever ends them. */
#include "proxy/admin/admin_private.h"
#include "proxy/limits.h"
#include "tests/support/gate_ask.h"

#include <stdio.h>

#define ROUTES "[listen web]\naddress = 127.0.0.1:2\n[route a]\norigin = a\n[route b]\nhost = b.example\norigin = b\n"

/* Says `steps` times `step_bytes` bytes, then sleeps, ends or fails. */
struct tale {
	unsigned steps, asked, freed, opened, refused;
	size_t step_bytes, said;
	enum admin_step last;
	usec sleeps; /* asks to be woken after this time; 0: not */
	struct admin_output *output; /* of the answer that was asked last */
};

static struct tale tale;
static struct admin_output *long_output;

static enum admin_step tell(void *context, struct admin_output *output, FILE *out)
{
	struct tale *t = context;
	t->asked++;
	t->output = output;
	if (t->steps == 0 && t->last == ADMIN_SLEEPS && t->sleeps > 0)
		admin_output_wake_at(output, clock_monotonic() + t->sleeps);
	if (t->steps == 0)
		return t->last;
	t->steps--;
	for (size_t i = 0; i < t->step_bytes; i++)
		fputc('a' + (int)(t->said++ % 26), out);
	return ADMIN_GOES_ON;
}

static enum admin_step tell_long(void *context, struct admin_output *output, FILE *out)
{
	long_output = output;
	return tell(context, output, out);
}

static void forget(void *context)
{
	((struct tale *)context)->freed++;
}

static const struct admin_producer finite = {tell_long, forget, false}, endless = {tell, forget, true};

static void answer_finite(struct admin_request *r)
{
	r->answer->content_type = "text/x-tale";
	bool is_opened = admin_answer_with(r, &finite, &tale);
	tale.opened += is_opened;
	tale.refused += !is_opened;
}

static void answer_endless(struct admin_request *r)
{
	tale.opened += admin_answer_with(r, &endless, &tale);
}

static char below[64];

static void answer_below(struct admin_request *r)
{
	snprintf(below, sizeof(below), "%.*s %.*s", SLICE_ARG(r->below), SLICE_ARG(r->query));
}

static const struct admin_page pages[] = {
    {SLICE_INIT("/long"), SLICE_INIT("GET, HEAD"), false, answer_finite},
    {SLICE_INIT("/events"), SLICE_INIT("GET, HEAD"), false, answer_endless},
    {SLICE_INIT("/api/"), SLICE_INIT("GET, HEAD"), true, answer_below},
};

static struct gate_world *world(const char *listen, struct tale t)
{
	struct gate_world *w = gate_world_new(NULL, listen, NULL, ROUTES);
	w->gateway->admin->pages = pages;
	w->gateway->admin->page_count = sizeof(pages) / sizeof(pages[0]);
	tale = t;
	return w;
}

static struct gate_stream *asks(struct gate_peer *client, const char *method, const char *path)
{
	return gate_request(client, method, "localhost", path, true, NULL);
}

static void all_bytes_come_in_their_order(void **state)
{
	(void)state;
	/* Steps of less than a chunk, of more, and of none. */
	static const size_t sizes[] = {0, 1, 1000, LIMIT_COPY_BELOW_BYTES, LIMIT_CHUNK_BYTES, 100000};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct gate_world *w = world("mode = admin\n", (struct tale){.steps = 7, .step_bytes = sizes[i], .last = ADMIN_ENDS});
		struct gate_stream *s = asks(gate_client(w, NULL), "GET", "/long");
		UNTIL(w, s->is_over);
		assert_int_equal(s->status, 200);
		assert_true(s->ended && !s->was_reset);
		assert_int_equal(s->received, 7 * sizes[i]);
		for (size_t k = 0; k < s->received && k < sizeof(s->text) - 1; k++)
			assert_int_equal(s->text[k], 'a' + (int)(k % 26));
		assert_int_equal(tale.asked, 8);
		assert_int_equal(tale.freed, 1);
		assert_true(slice_equal(http_head_find(s->head, HTTP_TOKEN_CONTENT_TYPE)->value, SLICE("text/x-tale")));
		assert_null(http_head_find(s->head, HTTP_TOKEN_CONTENT_LENGTH));
		gate_world_free(w);
	}
}

static void over_http1_they_come_in_chunks(void **state)
{
	(void)state;
	static char text[40000];
	struct gate_world *w = world("mode = admin\n", (struct tale){.steps = 3, .step_bytes = 10, .last = ADMIN_ENDS});
	gate_ask(w, "GET /long HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", text, sizeof(text));
	assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
	assert_non_null(strstr(text, "\r\ntransfer-encoding: chunked\r\n"));
	assert_non_null(strstr(text, "\r\nA\r\nabcdefghij\r\n") ? text : strstr(text, "\r\na\r\nabcdefghij\r\n"));
	assert_string_equal(text + strlen(text) - 5, "0\r\n\r\n");
	assert_int_equal(tale.freed, 1);
	/* One that does not know chunks sees the end of the connection. */
	tale = (struct tale){.steps = 3, .step_bytes = 10, .last = ADMIN_ENDS};
	gate_ask(w, "GET /long HTTP/1.0\r\n\r\n", text, sizeof(text));
	assert_non_null(strstr(text, "\r\n\r\nabcdefghijklmnopqrstuvwxyzabcd"));
	/* Cut off: there is no last chunk. */
	tale = (struct tale){.steps = 1, .step_bytes = 10, .last = ADMIN_FAILS};
	gate_ask(w, "GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n", text, sizeof(text));
	assert_non_null(strstr(text, "abcdefghij"));
	assert_null(strstr(text, "\r\n0\r\n"));
	assert_int_equal(tale.freed, 1);
	gate_world_free(w);
}

static void a_request_of_head_makes_nothing(void **state)
{
	(void)state;
	static char text[4096];
	struct gate_world *w = world("mode = admin\n", (struct tale){.steps = 3, .step_bytes = 10, .last = ADMIN_ENDS});
	struct gate_stream *s = asks(gate_client(w, NULL), "HEAD", "/long");
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	assert_int_equal(s->received, 0);
	assert_true(slice_equal(http_head_find(s->head, HTTP_TOKEN_CONTENT_TYPE)->value, SLICE("text/x-tale")));
	gate_ask(w, "HEAD /events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", text, sizeof(text));
	assert_string_equal(text + strlen(text) - 4, "\r\n\r\n");
	assert_int_equal(tale.asked, 0);
	assert_int_equal(tale.freed, 2);
	gate_world_free(w);
}

static void a_client_that_takes_nothing_costs_no_more_bytes(void **state)
{
	(void)state; /* covers: R240 */
	const struct gate_peer_options slow = {.keeps_credit = true, .window = 1000};
	struct gate_world *w = world("mode = admin\nwrite-timeout = 1s\n", (struct tale){.steps = 100, .step_bytes = 16384, .last = ADMIN_ENDS});
	struct gate_peer *client = gate_client(w, &slow);
	struct gate_stream *s = asks(client, "GET", "/long");
	UNTIL(w, s->received == 1000);
	gate_passes(w);
	unsigned asked = tale.asked;
	assert_in_range(asked, 1, 6);
	gate_passes(w);
	assert_int_equal(tale.asked, asked);
	assert_true(list_is_empty(&w->gateway->admin->ready));
	gate_credit(s);
	UNTIL(w, s->received == 2000);
	/* Then it is ended as any client that does not read. */
	UNTIL(w, s->is_over);
	assert_true(s->was_reset);
	assert_int_equal(tale.freed, 1);
	gate_world_free(w);
}

static void a_producer_that_sleeps_is_asked_when_it_is_woken(void **state)
{
	(void)state;
	struct gate_world *w = world("mode = admin\n", (struct tale){.steps = 1, .step_bytes = 5, .last = ADMIN_SLEEPS});
	struct gate_stream *s = asks(gate_client(w, NULL), "GET", "/events");
	UNTIL(w, s->received == 5);
	gate_passes(w);
	assert_int_equal(tale.asked, 2);
	gate_passes(w);
	assert_int_equal(tale.asked, 2);
	assert_int_equal(admin_due(w->gateway->admin), USEC_NEVER);
	tale.steps = 2;
	admin_output_wake(tale.output);
	UNTIL(w, s->received == 15);
	/* By the time. */
	tale.sleeps = 20 * USEC_PER_MSEC;
	admin_output_wake(tale.output);
	UNTIL(w, tale.asked == 6);
	tale.steps = 1;
	UNTIL(w, s->received == 20);
	tale.last = ADMIN_ENDS;
	UNTIL(w, s->is_over);
	assert_false(s->was_reset);
	assert_int_equal(tale.freed, 1);
	gate_world_free(w);
}

static void whatever_ends_it_frees_the_producer(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 5; how++) {
		struct gate_world *w = world("mode = admin\n", (struct tale){.steps = 1, .step_bytes = 5, .last = ADMIN_SLEEPS});
		const struct gate_peer_options keeps = {.keeps_credit = how == 4, .window = how == 4 ? 2 : 0};
		struct gate_peer *client = gate_client(w, &keeps);
		struct gate_stream *s = asks(client, "GET", "/events");
		UNTIL(w, s->received == (how == 4 ? 2 : 5));
		if (how == 0) {
			gate_reset_stream(s, 8);
		} else if (how == 1) {
			gate_peer_abort(client);
		} else if (how == 2) {
			gate_world_free_gateway(w);
		} else if (how == 3) { /* it fails */
			tale.last = ADMIN_FAILS;
			admin_output_wake(tale.output);
		} else { /* while bytes wait for it */
			gate_reset_stream(s, 8);
		}
		UNTIL(w, tale.freed == 1);
		if (how == 3) {
			UNTIL(w, s->was_reset);
			assert_int_equal(s->code, 2);
		}
		if (how != 2) {
			gate_passes(w);
			assert_int_equal(w->gateway->admin->output_count, 0);
		}
		gate_world_free(w);
	}
}

static void a_drain_ends_what_is_endless(void **state)
{
	(void)state; /* covers: R240 */
	struct gate_world *w = world("mode = admin\n", (struct tale){.steps = 1, .step_bytes = 5, .last = ADMIN_SLEEPS});
	struct gate_peer *client = gate_client(w, NULL);
	struct gate_stream *s = asks(client, "GET", "/events"), *other = asks(client, "GET", "/long");
	UNTIL(w, s->received + other->received == 5);
	gate_passes(w);
	gate_world_drain(w, 10 * USEC_PER_SEC);
	UNTIL(w, s->is_over);
	assert_true(s->ended && !s->was_reset);
	assert_int_equal(tale.freed, 1);
	/* The other one ends when it has said all. */
	assert_false(other->is_over);
	assert_int_equal(w->drained, 0);
	tale.last = ADMIN_ENDS;
	admin_output_wake(long_output);
	UNTIL(w, w->drained == 1);
	assert_true(other->ended && !other->was_reset);
	assert_int_equal(tale.freed, 2);
	gate_world_free(w);
}

static void so_many_at_a_time_and_no_more(void **state)
{
	(void)state;
	struct gate_world *w = world("mode = admin\n", (struct tale){.last = ADMIN_SLEEPS});
	struct gate_peer *client = gate_client(w, NULL);
	struct gate_stream *all[LIMIT_ADMIN_OUTPUTS];
	/* The endless ones leave room for others. */
	for (size_t i = 0; i < LIMIT_ADMIN_OUTPUTS; i++)
		all[i] = asks(client, "GET", i < LIMIT_ADMIN_ENDLESS_OUTPUTS ? "/events" : "/long");
	UNTIL(w, tale.opened == LIMIT_ADMIN_OUTPUTS);
	assert_in_range(w->gateway->env.budget.used_bytes, LIMIT_ADMIN_OUTPUTS * LIMIT_ADMIN_CONTEXT_BYTES, SIZE_MAX);
	struct gate_stream *more = asks(client, "GET", "/long");
	UNTIL(w, more->is_over);
	assert_int_equal(more->status, 503);
	assert_true(slice_equal(http_head_find(more->head, HTTP_TOKEN_RETRY_AFTER)->value, SLICE("1")));
	assert_int_equal(tale.freed, 1);
	gate_reset_stream(all[LIMIT_ADMIN_OUTPUTS - 1], 8);
	UNTIL(w, tale.freed == 2);
	more = asks(client, "GET", "/events");
	UNTIL(w, more->is_over);
	assert_int_equal(more->status, 503);
	assert_int_equal(tale.freed, 3);
	gate_reset_stream(all[3], 8);
	UNTIL(w, tale.freed == 4);
	asks(client, "GET", "/events");
	UNTIL(w, tale.opened == LIMIT_ADMIN_OUTPUTS + 1);
	asks(client, "GET", "/long");
	UNTIL(w, tale.opened == LIMIT_ADMIN_OUTPUTS + 2);
	gate_world_free(w);
	assert_int_equal(tale.freed, LIMIT_ADMIN_OUTPUTS + 4);
}

/* What it takes goes back with it. */
static void each_is_charged_until_it_ends(void **state)
{
	(void)state;
	struct gate_world *w = world("mode = admin\n", (struct tale){.last = ADMIN_SLEEPS});
	struct gate_peer *client = gate_client(w, NULL);
	UNTIL(w, client->settings_came > 0);
	const struct budget *budget = &w->gateway->env.budget;
	size_t before = budget->used_bytes;
	struct gate_stream *s = asks(client, "GET", "/events");
	UNTIL(w, tale.opened == 1);
	assert_in_range(budget->used_bytes, before + LIMIT_ADMIN_CONTEXT_BYTES, before + 2 * LIMIT_ADMIN_CONTEXT_BYTES);
	gate_reset_stream(s, 8);
	UNTIL(w, tale.freed == 1 && budget->used_bytes < before + LIMIT_ADMIN_CONTEXT_BYTES);
	gate_world_free(w);
}

static void a_refusal_of_memory_is_an_answer(void **state)
{
	(void)state;
	bool was_refused = false;
	for (uint32_t nth = 1; nth < 8; nth++) {
		struct gate_world *w = world("mode = admin\n", (struct tale){.steps = 3, .step_bytes = 5, .last = ADMIN_ENDS});
		struct gate_peer *client = gate_client(w, NULL);
		UNTIL(w, client->settings_came > 0);
		budget_fail_nth(&w->gateway->env.budget, nth);
		struct gate_stream *s = asks(client, "GET", "/long");
		UNTIL(w, s->is_over || client->ended || client->failed);
		was_refused |= tale.refused > 0;
		if (tale.refused > 0)
			assert_int_equal(s->status, 503);
		gate_world_free(w);
		assert_int_equal(tale.freed, tale.opened + tale.refused);
	}
	assert_true(was_refused);
}

static void without_a_chunk_it_is_tried_again(void **state)
{
	(void)state;
	for (size_t nth = 1; nth < 6; nth++) {
		struct gate_world *w = world("mode = admin\n", (struct tale){.steps = 3, .step_bytes = 20000, .last = ADMIN_ENDS});
		struct gate_peer *client = gate_client(w, NULL);
		UNTIL(w, client->settings_came > 0);
		chunk_pool_fail_nth(w->chunks, nth);
		struct gate_stream *s = asks(client, "GET", "/long");
		UNTIL(w, s->is_over);
		assert_true(s->ended);
		assert_int_equal(s->received, 60000);
		gate_world_free(w);
	}
}

static void a_folder_has_all_paths_below(void **state)
{
	(void)state;
	static char text[4096];
	struct gate_world *w = world("mode = admin\n", (struct tale){0});
	gate_ask(w, "GET /api/pages/7?host=a&b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", text, sizeof(text));
	assert_string_equal(below, "pages/7 host=a&b");
	gate_ask(w, "GET /api/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", text, sizeof(text));
	assert_string_equal(below, " ");
	gate_ask(w, "GET /api HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", text, sizeof(text));
	assert_non_null(strstr(text, "404 Not Found: no such page"));
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_bytes_come_in_their_order),
	    cmocka_unit_test(over_http1_they_come_in_chunks),
	    cmocka_unit_test(a_request_of_head_makes_nothing),
	    cmocka_unit_test(a_client_that_takes_nothing_costs_no_more_bytes),
	    cmocka_unit_test(a_producer_that_sleeps_is_asked_when_it_is_woken),
	    cmocka_unit_test(whatever_ends_it_frees_the_producer),
	    cmocka_unit_test(a_drain_ends_what_is_endless),
	    cmocka_unit_test(so_many_at_a_time_and_no_more),
	    cmocka_unit_test(each_is_charged_until_it_ends),
	    cmocka_unit_test(a_refusal_of_memory_is_an_answer),
	    cmocka_unit_test(without_a_chunk_it_is_tried_again),
	    cmocka_unit_test(a_folder_has_all_paths_below),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
