/* SPDX-License-Identifier: MIT */
/* Which trace a request gets, which requests are recorded, and what their origins are told. */
#include "proxy/tracing/tracing.h"
#include "proxy/base/memory.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"
#define SAMPLED "00-" TRACE "-" SPAN "-01"
#define UNSAMPLED "00-" TRACE "-" SPAN "-00"

/* Without sockets: an exchange that no leg belongs to. */
struct world {
	struct conf conf;
	struct conf_listen listen;
	struct conf_origin_server collector;
	struct worker_env env;
	struct observe observe;
	struct observe_counters counters;
	struct relay relay;
	struct budget budget;
	struct http_head_pool *heads;
	struct tracing *tracing;
	struct exchange x;
	char *sent[8]; /* as JSON */
	unsigned sent_count;
	bool is_full;
};

static bool take(void *context, struct slice message)
{
	struct world *w = context;
	if (w->is_full)
		return false;
	w->sent[w->sent_count] = otlp_span(message);
	assert_non_null(w->sent[w->sent_count++]);
	return true;
}

/* As a new worker would. */
static void begin_tracing(struct world *w, uint32_t ratio)
{
	tracing_free(w->tracing);
	w->conf.server.tracing.ratio = ratio;
	w->tracing = tracing_new(&w->env, &w->budget);
	w->tracing->send = take;
	w->tracing->context = w;
}

static int set_up(void **state)
{
	struct world *w = memory_new(struct world);
	w->heads = http_head_pool_new(4);
	w->conf.server.tracing = (struct conf_tracing){.collector = &w->collector, .parent = CONF_TRACING_FOLLOW};
	w->observe.counters = &w->counters;
	w->relay.now = 1000;
	w->env = (struct worker_env){.conf = &w->conf, .observe = &w->observe, .relay = &w->relay};
	budget_init(&w->budget, NULL, 1 << 20);
	begin_tracing(w, 10000);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	for (unsigned i = 0; i < w->sent_count; i++)
		free(w->sent[i]);
	tracing_free(w->tracing);
	budget_fini(&w->budget);
	http_head_pool_free(w->heads);
	free(w);
	return 0;
}

static struct exchange *begin(struct world *w, const char *traceparent)
{
	struct http_head *h = http_head_new(w->heads);
	http_head_add(h, SLICE(":method"), SLICE("GET"));
	http_head_add(h, SLICE(":scheme"), SLICE("http"));
	http_head_add(h, SLICE(":authority"), SLICE("[::1]:8080"));
	http_head_add(h, SLICE(":path"), SLICE("/a?b"));
	http_head_add(h, SLICE("tracestate"), SLICE("a=b"));
	if (traceparent)
		http_head_add(h, SLICE("traceparent"), slice_of_string(traceparent));
	assert_null(http_head_validate(h, HTTP_REQUEST));
	w->x = (struct exchange){.relay = &w->relay,
	    .request = h,
	    .method = HTTP_METHOD_GET,
	    .facts = {.head = h, .listener = &w->listen},
	    .timing = {.started = 900, .waits_since = 950}};
	tracing_begin(w->tracing, &w->x);
	return &w->x;
}

static void end(struct world *w)
{
	if (tracing_record_of(&w->x))
		tracing_end(w->tracing, &w->x);
	http_head_free((struct http_head *)(uintptr_t)w->x.request);
}

/* What the origin gets; traceparent, with the state behind it if that goes too. */
static void origin_gets(struct world *w, char text[80])
{
	struct net_address at;
	assert_null(net_address_parse(SLICE("127.0.0.1:80"), &at));
	struct http_head *overlay = http_head_overlay(w->x.request);
	tracing_attempt(w->tracing, &w->x, overlay, &at, "http/1.1");
	uint32_t count = 0;
	const struct http_field *f = http_head_find_last(overlay, HTTP_TOKEN_TRACEPARENT, &count);
	assert_int_equal(count, 1);
	bool has_state = http_head_find(overlay, HTTP_TOKEN_TRACESTATE) != NULL;
	snprintf(text, 80, "%.*s%s", SLICE_ARG(f->value), has_state ? "+state" : "");
	http_head_free(overlay);
}

static void followed_parent_is_the_parent(void **state)
{
	struct world *w = *state;
	char text[80], again[80];
	begin(w, SAMPLED);
	assert_non_null(tracing_record_of(&w->x));
	origin_gets(w, text);
	assert_memory_equal(text, "00-" TRACE "-", 36);
	assert_string_equal(text + 52, "-01+state");
	assert_memory_not_equal(text + 36, SPAN, 16);
	const struct tracing_outcome failed = {.status = 503, .at = 990};
	tracing_attempt_ended(w->tracing, &w->x, &failed);
	tracing_attempt_ended(w->tracing, &w->x, &failed); /* there is none any more */
	origin_gets(w, again);
	assert_memory_not_equal(text + 36, again + 36, 16);
	const struct tracing_outcome good = {.status = 200, .at = 1000};
	tracing_attempt_ended(w->tracing, &w->x, &good);
	end(w);
	assert_int_equal(w->sent_count, 3);
	assert_non_null(strstr(w->sent[0], "\"http.response.status_code\",\"value\":{\"intValue\":\"503\"}"));
	assert_non_null(strstr(w->sent[0], "\"error.type\",\"value\":{\"stringValue\":\"503\"}"));
	assert_non_null(strstr(w->sent[0], "\"server.address\",\"value\":{\"stringValue\":\"::1\"}"));
	assert_non_null(strstr(w->sent[0], "\"url.full\",\"value\":{\"stringValue\":\"http://[::1]:8080/a\"}"));
	assert_null(strstr(w->sent[0], "resend_count"));
	assert_non_null(strstr(w->sent[1], "\"http.request.resend_count\",\"value\":{\"intValue\":\"1\"}"));
	assert_null(strstr(w->sent[1], "error.type"));
	assert_non_null(strstr(w->sent[2], "\"parentSpanId\":\"" SPAN "\""));
}

static void unsampled_parent_passes_as_it_came(void **state)
{
	struct world *w = *state;
	char text[80];
	struct http_traceparent ids;
	begin(w, UNSAMPLED);
	assert_null(tracing_record_of(&w->x));
	origin_gets(w, text);
	assert_string_equal(text, UNSAMPLED "+state");
	assert_true(tracing_ids(&w->x, &ids));
	assert_int_equal(ids.trace_id[0], 0x4b);
	end(w);
	assert_int_equal(w->sent_count, 0);
}

static void request_without_a_parent_begins_a_trace(void **state)
{
	struct world *w = *state;
	char text[80];
	begin_tracing(w, 0);
	begin(w, NULL);
	assert_null(tracing_record_of(&w->x));
	origin_gets(w, text);
	assert_string_equal(text + 52, "-02"); /* random, and not sampled; the state is of another trace */
	end(w);
	begin_tracing(w, 10000);
	begin(w, "nonsense");
	assert_non_null(tracing_record_of(&w->x));
	origin_gets(w, text);
	assert_string_equal(text + 52, "-03");
	const struct tracing_outcome good = {.status = 200, .at = 1000};
	tracing_attempt_ended(w->tracing, &w->x, &good);
	end(w);
}

static void parent_of_a_stranger_is_a_link(void **state)
{
	struct world *w = *state;
	char text[80];
	w->conf.server.tracing.parent = CONF_TRACING_TRUSTED;
	begin(w, SAMPLED);
	origin_gets(w, text);
	assert_memory_not_equal(text + 3, TRACE, 32);
	assert_string_equal(text + 52, "-03");
	end(w);
	assert_int_equal(w->sent_count, 1); /* an attempt that has not ended is none */
	assert_non_null(strstr(w->sent[0], "\"links\":[{\"traceId\":\"" TRACE "\",\"spanId\":\"" SPAN "\"}]"));
	assert_null(strstr(w->sent[0], "parentSpanId"));
}

static void forward_mode_takes_no_part(void **state)
{
	struct world *w = *state;
	char text[80];
	w->listen.mode = CONF_MODE_FORWARD;
	begin(w, SAMPLED);
	origin_gets(w, text);
	assert_string_equal(text, SAMPLED "+state");
	end(w);
	assert_int_equal(w->sent_count, 0);
}

static void ratio_is_a_share_of_the_trace_ids(void **state)
{
	struct world *w = *state;
	unsigned recorded = 0;
	w->is_full = true;
	begin_tracing(w, 5000);
	for (unsigned i = 0; i < 2000; i++) {
		struct http_traceparent ids;
		begin(w, NULL);
		bool is_recorded = tracing_record_of(&w->x) != NULL;
		recorded += is_recorded;
		/* By the last 56 bits, those of them that are below one half. */
		assert_true(tracing_ids(&w->x, &ids));
		assert_int_equal(ids.trace_id[9] < 0x80, is_recorded);
		end(w);
	}
	assert_in_range(recorded, 800, 1200); /* nine standard deviations */
	assert_int_equal(w->counters.spans_dropped, recorded); /* nobody takes them */
}

#define IDS 4096u

static int compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, HTTP_SPAN_ID_BYTES);
}

/* Neither those of one worker nor those of two. */
static void no_id_comes_twice(void **state)
{
	struct world *w = *state;
	static const uint8_t zeros[HTTP_SPAN_ID_BYTES];
	static uint8_t spans[IDS][HTTP_SPAN_ID_BYTES], traces[IDS][HTTP_SPAN_ID_BYTES];
	begin_tracing(w, 0);
	struct tracing *first = w->tracing, *second = tracing_new(&w->env, &w->budget);
	assert_true(first->first_half != second->first_half);
	for (size_t i = 0; i < IDS; i++) {
		struct http_traceparent ids;
		w->tracing = i % 2 ? first : second;
		begin(w, NULL);
		assert_true(tracing_ids(&w->x, &ids));
		memcpy(spans[i], ids.span_id, sizeof(spans[i]));
		memcpy(traces[i], ids.trace_id + sizeof(traces[i]), sizeof(traces[i]));
		end(w);
	}
	w->tracing = first;
	tracing_free(second);
	qsort(spans, IDS, sizeof(spans[0]), compare_ids);
	qsort(traces, IDS, sizeof(traces[0]), compare_ids);
	assert_memory_not_equal(spans[0], zeros, sizeof(zeros));
	for (size_t i = 1; i < IDS; i++) {
		assert_memory_not_equal(spans[i - 1], spans[i], sizeof(spans[i]));
		assert_memory_not_equal(traces[i - 1], traces[i], sizeof(traces[i]));
	}
}

/* Their fields share a text. */
static void unrecorded_requests_have_the_fields_of_their_ids(void **state)
{
	struct world *w = *state;
	struct exchange waiting[3];
	begin_tracing(w, 0);
	for (size_t i = 0; i < 3; i++)
		waiting[i] = *begin(w, i == 1 ? SAMPLED : NULL);
	for (size_t i = 0; i < 3; i++) {
		struct http_traceparent ids;
		char text[80], expected[HTTP_TRACEPARENT_BYTES];
		w->x = waiting[i];
		assert_true(tracing_ids(&w->x, &ids));
		if (i != 1) {
			http_traceparent_write(&ids, expected);
			for (int again = 0; again < 2; again++) {
				origin_gets(w, text);
				assert_memory_equal(text, expected, sizeof(expected));
				assert_string_equal(text + 52, "-02");
			}
		}
		end(w);
	}
	assert_int_equal(w->sent_count, 1);
}

/* What its origin gets, if pushgate asks for it. */
static void push_is_in_the_trace_of_its_page(void **state)
{
	static const struct {
		const char *came, *sent; /* up to the span's id, if that is a new one */
		uint32_t ratio;
		bool is_recorded;
	} rows[] = {{UNSAMPLED, UNSAMPLED, 10000, false}, {SAMPLED, "00-" TRACE "-", 10000, true}, {NULL, NULL, 0, false}};
	struct world *w = *state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char page_text[80], text[80];
		begin_tracing(w, rows[i].ratio);
		struct exchange page = *begin(w, rows[i].came);
		origin_gets(w, page_text);
		memset(w->x.tracing, 0, sizeof(w->x.tracing));
		w->x.pushed.parent = &page;
		tracing_begin_push(w->tracing, &w->x);
		assert_int_equal(tracing_record_of(&w->x) != NULL, rows[i].is_recorded);
		origin_gets(w, text);
		if (rows[i].sent)
			assert_memory_equal(text, rows[i].sent, strlen(rows[i].sent));
		if (!rows[i].is_recorded)
			assert_memory_equal(text, page_text, HTTP_TRACEPARENT_BYTES);
		if (tracing_record_of(&w->x))
			tracing_end(w->tracing, &w->x);
		w->x = page;
		end(w);
	}
}

static void memory_that_is_short_costs_spans(void **state)
{
	struct world *w = *state;
	char text[80];
	for (size_t nth = 1; nth <= 2; nth++) {
		budget_fail_nth(&w->budget, nth);
		begin(w, SAMPLED);
		assert_null(tracing_record_of(&w->x));
		assert_int_equal(w->counters.spans_dropped, nth);
		origin_gets(w, text);
		assert_string_equal(text + 52, "-01+state"); /* it is told so all the same */
		end(w);
	}
	begin(w, SAMPLED);
	budget_fail_nth(&w->budget, 1);
	origin_gets(w, text);
	assert_int_equal(w->counters.spans_dropped, 3);
	struct http_traceparent ids;
	char own[17] = "";
	assert_true(tracing_ids(&w->x, &ids));
	http_trace_id_write(ids.span_id, sizeof(ids.span_id), own);
	assert_memory_equal(text + 36, own, 16); /* its parent is the request's span */
	end(w);
	assert_int_equal(w->sent_count, 1);
}

/* Without what is behind the path, and not as long as a client may make it. */
static void url_of_an_attempt_is_cut(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *scheme;
		size_t path, kept; /* bytes */
	} rows[] = {{"http", 0, 0}, {"http", 10, 10}, {"http", 1518, 1518}, {"http", 1519, 1519}, {"http", 1520, 1519}, {"http", 1583, 1519},
	    {"http", 1584, 1519}, {"http", 65000, 1519}, {"", 10, 0}};
	const size_t before = strlen("http://[::1]:8080");
	static char path[65002];
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct exchange *x = begin(w, SAMPLED);
		struct http_head *head = (struct http_head *)(uintptr_t)x->request;
		char text[80];
		memset(path, 'p', sizeof(path));
		memcpy(path + rows[i].path, "?q", 2);
		head->path = slice_of(path, rows[i].path + 2);
		head->scheme = slice_of_string(rows[i].scheme);
		w->sent_count = 0;
		origin_gets(w, text);
		const struct tracing_outcome good = {.status = 200, .at = 1000};
		tracing_attempt_ended(w->tracing, x, &good);
		const char *url = strstr(w->sent[0], "\"url.full\"");
		assert_int_equal(url != NULL, *rows[i].scheme != '\0');
		if (url)
			assert_int_equal(strcspn(strstr(url, "http"), "\""), before + rows[i].kept);
		end(w);
		while (w->sent_count > 0)
			free(w->sent[--w->sent_count]);
	}
}

static void server_that_is_not_reached_is_an_attempt(void **state)
{
	struct world *w = *state;
	struct net_address at;
	begin(w, SAMPLED);
	assert_null(net_address_parse(SLICE("unix:/run/a.sock"), &at));
	tracing_attempt_unsent(w->tracing, &w->x, &at, &relay_cause_UP_LOST);
	end(w);
	assert_int_equal(w->sent_count, 2);
	assert_non_null(strstr(w->sent[0], "/run/a.sock"));
	assert_non_null(strstr(w->sent[0], relay_cause_UP_LOST.name));
	assert_non_null(strstr(w->sent[0], "\"status\":{\"code\":2}"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(followed_parent_is_the_parent),
	    TEST(unsampled_parent_passes_as_it_came),
	    TEST(request_without_a_parent_begins_a_trace),
	    TEST(parent_of_a_stranger_is_a_link),
	    TEST(forward_mode_takes_no_part),
	    TEST(ratio_is_a_share_of_the_trace_ids),
	    TEST(no_id_comes_twice),
	    TEST(unrecorded_requests_have_the_fields_of_their_ids),
	    TEST(push_is_in_the_trace_of_its_page),
	    TEST(memory_that_is_short_costs_spans),
	    TEST(url_of_an_attempt_is_cut),
	    TEST(server_that_is_not_reached_is_an_attempt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
