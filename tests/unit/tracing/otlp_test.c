/* SPDX-License-Identifier: MIT */
/* Spans as messages and as JSON: each kind of item, the bounds, and messages that no worker of ours would send. */
#include "proxy/tracing/otlp.h"
#include "proxy/tracing/span.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define BEGIN_USEC UINT64_C(1700000000000001)
#define END_USEC UINT64_C(1700000000000302)

static struct budget budget;

static void begin(struct span *s)
{
	const struct span_head head = {.trace_id = {0xab, [15] = 1},
	    .span_id = {1, [7] = 0xff},
	    .begin = BEGIN_USEC,
	    .end = END_USEC,
	    .kind = SPAN_SERVER};
	budget_init(&budget, NULL, 1 << 20);
	assert_true(span_begin(s, &budget, &head));
}

static void end(struct span *s)
{
	span_fini(s);
	span_fini(s);
	budget_fini(&budget);
}

static void is_json(const struct span *s, const char *wanted)
{
	char *text = otlp_span(span_message(s));
	assert_non_null(text);
	assert_string_equal(text, wanted);
	free(text);
}

#define IDS "{\"traceId\":\"ab000000000000000000000000000001\",\"spanId\":\"01000000000000ff\","
#define TIMES "\"startTimeUnixNano\":\"1700000000000001000\",\"endTimeUnixNano\":\"1700000000000302000\","

static void bare_span_has_its_ids_and_times(void **state)
{
	(void)state;
	struct span s;
	begin(&s);
	is_json(&s, IDS "\"flags\":257,\"name\":\"\",\"kind\":2," TIMES "\"attributes\":[],\"events\":[],\"links\":[]}");
	end(&s);
}

static void items_become_members(void **state)
{
	(void)state;
	struct span s;
	begin(&s);
	struct span_head *h = span_head_of(&s);
	h->parent_id[0] = 0xcd;
	h->has_remote_parent = h->is_error = true;
	h->kind = SPAN_CLIENT;
	const struct http_traceparent link = {.trace_id = {1}, .span_id = {2}, .flags = 1};
	span_event(&s, SPAN_EVENT_VERDICT, BEGIN_USEC + 1,
	    SPAN_DETAILS({SPAN_ATTRIBUTE_URL_PATH, SLICE("/a"), 0}, {SPAN_ATTRIBUTE_PUSH_RULE, SLICE(""), 0},
		{SPAN_ATTRIBUTE_HOLD_JOINED, {0}, 1}));
	span_event(&s, SPAN_EVENT_HINT, BEGIN_USEC + 2, NULL, 0);
	span_name(&s, SLICE("GET"), SLICE("main"));
	span_text(&s, SPAN_ATTRIBUTE_HTTP_ROUTE, SLICE("ma\"in"));
	span_text(&s, SPAN_ATTRIBUTE_URL_SCHEME, SLICE(""));
	span_string(&s, SPAN_ATTRIBUTE_ERROR_TYPE, NULL);
	span_number(&s, SPAN_ATTRIBUTE_HTTP_RESPONSE_BODY_SIZE, UINT64_MAX);
	span_link(&s, &link);
	is_json(&s,
	    IDS "\"flags\":769,\"name\":\"GET main\",\"kind\":3," TIMES "\"attributes\":["
		"{\"key\":\"http.route\",\"value\":{\"stringValue\":\"ma\\\"in\"}},"
		"{\"key\":\"http.response.body.size\",\"value\":{\"intValue\":\"9223372036854775807\"}}],\"events\":["
		"{\"timeUnixNano\":\"1700000000000002000\",\"name\":\"push.verdict\",\"attributes\":["
		"{\"key\":\"url.path\",\"value\":{\"stringValue\":\"/a\"}},"
		"{\"key\":\"pushgate.hold.joined\",\"value\":{\"intValue\":\"1\"}}]},"
		"{\"timeUnixNano\":\"1700000000000003000\",\"name\":\"push.hint\",\"attributes\":[]}],\"links\":["
		"{\"traceId\":\"01000000000000000000000000000000\",\"spanId\":\"0200000000000000\"}],"
		"\"parentSpanId\":\"cd00000000000000\",\"status\":{\"code\":2}}");
	end(&s);
}

static void texts_are_cut_and_made_utf8(void **state)
{
	(void)state;
	struct span s;
	char path[3000];
	begin(&s);
	memset(path, 'x', sizeof(path));
	span_text(&s, SPAN_ATTRIBUTE_URL_PATH, slice_of(path, sizeof(path)));
	span_text(&s, SPAN_ATTRIBUTE_USER_AGENT_ORIGINAL, slice_of("a\xff" "\xc3\xa9\x00\xe2\x82", 7));
	char *text = otlp_span(span_message(&s));
	assert_non_null(text);
	assert_int_equal(strspn(strstr(text, "xxx"), "x"), 1024);
	assert_non_null(strstr(text, "\"a\xef\xbf\xbd\xc3\xa9\\u0000\xef\xbf\xbd\xef\xbf\xbd\""));
	free(text);
	end(&s);
}

static void events_without_room_are_counted(void **state)
{
	(void)state;
	struct span s;
	char path[1000];
	unsigned count = 0;
	begin(&s);
	memset(path, '\xff', sizeof(path));
	for (int i = 0; i < 40; i++)
		span_event(&s, SPAN_EVENT_VERDICT, BEGIN_USEC,
		    SPAN_DETAILS({SPAN_ATTRIBUTE_URL_PATH, slice_of(path, sizeof(path)), 0}));
	assert_in_range(span_head_of(&s)->left_out, 1, 39);
	/* What the end says still has room. */
	for (int i = 0; i < 2; i++)
		span_text(&s, SPAN_ATTRIBUTE_URL_PATH, slice_of(path, sizeof(path)));
	for (int i = 0; i < 1000; i++)
		span_number(&s, SPAN_ATTRIBUTE_SERVER_PORT, 80);
	assert_in_range(s.length, SPAN_BYTES_MOST - 20, SPAN_BYTES_MOST);
	char *text = otlp_span(span_message(&s));
	for (const char *at = text; (at = strstr(at, "push.verdict")); at++)
		count++;
	assert_int_equal(count + span_head_of(&s)->left_out, 40);
	assert_non_null(strstr(text, "\"droppedEventsCount\":"));
	free(text);
	end(&s);
}

static void budget_that_refuses_costs_items(void **state)
{
	(void)state;
	struct span s;
	char path[900];
	const struct span_head head = {.kind = SPAN_SERVER, .span_id = {1}};
	budget_init(&budget, NULL, 1 << 20);
	budget_fail_nth(&budget, 1);
	assert_false(span_begin(&s, &budget, &head));
	assert_null(s.bytes);
	assert_true(span_begin(&s, &budget, &head));
	memset(path, 'x', sizeof(path));
	budget_fail_nth(&budget, 1);
	span_text(&s, SPAN_ATTRIBUTE_URL_PATH, slice_of(path, sizeof(path)));
	span_text(&s, SPAN_ATTRIBUTE_URL_PATH, slice_of(path, sizeof(path)));
	uint32_t before = s.length;
	budget_fail_nth(&budget, 1);
	span_event(&s, SPAN_EVENT_VERDICT, 1,
	    SPAN_DETAILS({SPAN_ATTRIBUTE_PUSH_RULE, SLICE("a"), 0},
		{SPAN_ATTRIBUTE_URL_PATH, slice_of(path, sizeof(path)), 0},
		{SPAN_ATTRIBUTE_URL_FULL, slice_of(path, sizeof(path)), 0}));
	assert_int_equal(s.length, before); /* half an event is none */
	assert_int_equal(span_head_of(&s)->left_out, 1);
	end(&s);
}

/* ---- malformed messages ---- */

static void is_malformed(const void *message, size_t length)
{
	char *text = otlp_span(slice_of(message, length));
	if (text)
		fail_msg("taken: %s", text);
}

static void malformed_messages_are_refused(void **state)
{
	(void)state;
	struct span s;
	begin(&s);
	for (size_t n = 0; n < sizeof(struct span_head); n++)
		is_malformed(s.bytes, n);
	static const struct {
		size_t at;
		uint8_t value;
	} changes[] = {{offsetof(struct span_head, kind), 0}, {offsetof(struct span_head, kind), 4},
	    {offsetof(struct span_head, is_error), 2}, {offsetof(struct span_head, has_remote_parent), 0xff},
	    {offsetof(struct span_head, begin) + 7, 0xff}, {offsetof(struct span_head, end) + 7, 0xff}};
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		uint8_t before = s.bytes[changes[i].at];
		s.bytes[changes[i].at] = changes[i].value;
		is_malformed(s.bytes, s.length);
		s.bytes[changes[i].at] = before;
	}
	memset(span_head_of(&s)->span_id, 0, HTTP_SPAN_ID_BYTES);
	is_malformed(s.bytes, s.length);
	end(&s);
}

static void malformed_items_are_refused(void **state)
{
	(void)state;
	static const struct {
		struct span_item item;
		size_t bytes;
	} rows[] = {
	    {{SPAN_LINK + 1, 0, 0}, 0},
	    {{SPAN_TEXT, SPAN_ATTRIBUTE_COUNT, 1}, 1},
	    {{SPAN_NUMBER, SPAN_ATTRIBUTE_COUNT, 8}, 8},
	    {{SPAN_NUMBER, SPAN_ATTRIBUTE_SERVER_PORT, 7}, 7},
	    {{SPAN_EVENT, SPAN_EVENT_COUNT, 8}, 8},
	    {{SPAN_EVENT, SPAN_EVENT_HINT, 4}, 4},
	    {{SPAN_EVENT_TEXT, SPAN_ATTRIBUTE_URL_PATH, 1}, 1},   /* of no event */
	    {{SPAN_EVENT_NUMBER, SPAN_ATTRIBUTE_SERVER_PORT, 8}, 8},
	    {{SPAN_LINK, 0, 3}, 3},
	    {{SPAN_TEXT, SPAN_ATTRIBUTE_URL_PATH, 5}, 4},         /* longer than the message */
	    {{SPAN_TEXT, SPAN_ATTRIBUTE_URL_PATH, 65535}, 8},
	    {{SPAN_TEXT, SPAN_ATTRIBUTE_URL_PATH, 1}, 3},         /* and half an item behind it */
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct span s;
		uint8_t message[256];
		begin(&s);
		memcpy(message, s.bytes, s.length);
		memcpy(message + s.length, &rows[i].item, sizeof(rows[i].item));
		memset(message + s.length + sizeof(rows[i].item), 'x', rows[i].bytes);
		is_malformed(message, s.length + sizeof(rows[i].item) + rows[i].bytes);
		is_malformed(message, s.length + 2);
		end(&s);
	}
	/* A text that is no UTF-8. */
	struct span s;
	begin(&s);
	span_text(&s, SPAN_ATTRIBUTE_URL_PATH, SLICE("/x"));
	s.bytes[s.length - 1] = 0xff;
	is_malformed(s.bytes, s.length);
	end(&s);
}

static void resource_begins_and_ends_a_body(void **state)
{
	(void)state;
	const struct otlp_resource r = {.service = "edge1", .version = "1.2", .host = "h\"ost"};
	char *text = otlp_begin(&r);
	assert_string_equal(text,
	    "{\"resourceSpans\":[{\"resource\":{\"attributes\":["
	    "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"edge1\"}},"
	    "{\"key\":\"service.version\",\"value\":{\"stringValue\":\"1.2\"}},"
	    "{\"key\":\"host.name\",\"value\":{\"stringValue\":\"h\\\"ost\"}}]},\"scopeSpans\":["
	    "{\"scope\":{\"name\":\"pushgate\",\"version\":\"1.2\"},\"spans\":[");
	free(text);
	const struct otlp_resource odd = {.service = "a", .version = "1", .host = "\xff"};
	text = otlp_begin(&odd);
	assert_null(strstr(text, "host.name"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bare_span_has_its_ids_and_times),
	    cmocka_unit_test(items_become_members),
	    cmocka_unit_test(texts_are_cut_and_made_utf8),
	    cmocka_unit_test(events_without_room_are_counted),
	    cmocka_unit_test(budget_that_refuses_costs_items),
	    cmocka_unit_test(malformed_messages_are_refused),
	    cmocka_unit_test(malformed_items_are_refused),
	    cmocka_unit_test(resource_begins_and_ends_a_body),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
