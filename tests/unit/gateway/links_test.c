/* SPDX-License-Identifier: MIT */
/* Links of a page, in its response and in a 103 before it: which become offers, why others do not, and which the client sees. */
#include "tests/support/accounts.h"
#include "tests/unit/gateway/field_rules.h"

/* covers: P-src-link */

#define RULES "[route a]\norigin = a\n[push all]\naction = forward\n[preload l]\nlink = yes\n"

/* A link for each reason that there is, one for pushgate alone, and some that are no preload. */
#define LINKS                                                                                                          \
	"</own.css>; rel=preload; as=style, </own.css>; rel=preload; as=style, "                                       \
	"</anchor.css>; rel=preload; as=style; anchor=\"/other\", <ftp://example.com/no>; rel=preload, "               \
	"</page>; rel=preload, </nopush.css>; rel=preload; as=style; nopush, "                                         \
	"</alone.css>; rel=preload; as=style; x-http2-push-only, </next>; rel=next, </late>; rel=stylesheet"

static void answer_pushes(struct gate_stream *s)
{
	if (strcmp(s->path, "/page") != 0)
		gate_answer(s, 200, 3, true);
}

struct seen {
	char interim[512], final[512];
};

static struct seen page_of(const struct gate_peer_options *client, const char *listen, const char *rules, const char *interim,
    const char *final, const char *counters)
{
	struct seen seen = {.interim = ""};
	struct gate_world *w = gate_world_new(NULL, listen, NULL, rules);
	accounts_begin(w);
	w->sites[0].serve = answer_pushes;
	struct gate_stream *page = gate_get(gate_client(w, client), "/page");
	UNTIL(w, gate_find(w, "/page"));
	struct gate_stream *at = gate_find(w, "/page");
	if (interim) {
		gate_answer_fields(at, 103, false, "link", interim, NULL);
		gate_passes(w);
		if (page->interims > 0)
			field_text(page->head, "link", seen.interim);
	}
	if (final)
		gate_answer_fields(at, 200, false, "link", final, NULL);
	else
		gate_answer_fields(at, 200, false, NULL);
	UNTIL(w, page->status == 200);
	field_text(page->head, "link", seen.final);
	UNTIL(w, w->counters.pushes_open == 0);
	gate_more(at, 1, true);
	accounts_are(w, counters, NULL);
	gate_world_free(w);
	return seen;
}

static struct seen page_with(const char *rules, const char *interim, const char *final, const char *counters)
{
	return page_of(NULL, NULL, rules, interim, final, counters);
}

static void links_of_a_response(void **state)
{
	(void)state;
	struct seen seen = page_with(RULES, NULL, LINKS,
	    "connections 1\nupstream_connections 2\nrequests 1\nresponses_2xx 3\ndown_out_bytes 7\n"
	    "pushes_offered 7\npushes_forwarded 2\npushes_dropped 5\npushes_completed 2\npush_out_bytes 6\n"
	    "connections_open 1\nupstream_connections_open 2\nsessions_client_h2 1\nsessions_origin_h2 2\n"
	    "offer link forward rule 2\noffer link drop known 1\noffer link drop link-nopush 1\n"
	    "offer link drop link-anchor 1\noffer link drop link-self 1\noffer link drop link-target 1\n"
	    "rule 0 offered 2\nrule 0 forwarded 2\nrule 0 used 2\nrule 0 used_bytes 6\n");
	assert_string_equal(seen.final,
	    "</own.css>; rel=preload; as=style, </own.css>; rel=preload; as=style, </anchor.css>; rel=preload; "
	    "as=style; anchor=\"/other\", <ftp://example.com/no>; rel=preload, </page>; rel=preload, "
	    "</nopush.css>; rel=preload; as=style; nopush, </next>; rel=next, </late>; rel=stylesheet");
}

static void links_of_an_interim_response(void **state)
{
	(void)state;
	struct seen seen = page_with(RULES, LINKS, NULL,
	    "connections 1\nupstream_connections 2\nrequests 1\nresponses_1xx 1\nresponses_2xx 3\n"
	    "down_out_bytes 7\npushes_offered 6\npushes_forwarded 2\npushes_dropped 4\npushes_completed 2\n"
	    "push_out_bytes 6\nconnections_open 1\nupstream_connections_open 2\nsessions_client_h2 1\n"
	    "sessions_origin_h2 2\noffer link forward rule 2\noffer link drop link-nopush 1\n"
	    "offer link drop link-anchor 1\noffer link drop link-self 1\noffer link drop link-target 1\n"
	    "rule 0 offered 2\nrule 0 forwarded 2\nrule 0 used 2\nrule 0 used_bytes 6\n");
	assert_string_equal(seen.interim,
	    "</own.css>; rel=preload; as=style, </anchor.css>; rel=preload; as=style; anchor=\"/other\", "
	    "<ftp://example.com/no>; rel=preload, </page>; rel=preload, </nopush.css>; rel=preload; as=style; "
	    "nopush, </next>; rel=next, </late>; rel=stylesheet");
	assert_string_equal(seen.final, "");
}

/* What was hinted is not hinted again, and what was offered is not offered again. */
static void links_of_both(void **state)
{
	(void)state;
	struct seen seen = page_with(RULES, LINKS, LINKS,
	    "connections 1\nupstream_connections 2\nrequests 1\nresponses_1xx 1\nresponses_2xx 3\n"
	    "down_out_bytes 7\npushes_offered 13\npushes_forwarded 2\npushes_dropped 11\npushes_completed 2\n"
	    "push_out_bytes 6\nconnections_open 1\nupstream_connections_open 2\nsessions_client_h2 1\n"
	    "sessions_origin_h2 2\noffer link forward rule 2\noffer link drop known 3\n"
	    "offer link drop link-nopush 2\noffer link drop link-anchor 2\noffer link drop link-self 2\n"
	    "offer link drop link-target 2\nrule 0 offered 2\nrule 0 forwarded 2\nrule 0 used 2\n"
	    "rule 0 used_bytes 6\n");
	assert_string_equal(seen.interim,
	    "</own.css>; rel=preload; as=style, </anchor.css>; rel=preload; as=style; anchor=\"/other\", "
	    "<ftp://example.com/no>; rel=preload, </page>; rel=preload, </nopush.css>; rel=preload; as=style; "
	    "nopush, </next>; rel=next, </late>; rel=stylesheet");
	assert_string_equal(seen.final,
	    "</own.css>; rel=preload; as=style, </own.css>; rel=preload; as=style, </anchor.css>; rel=preload; "
	    "as=style; anchor=\"/other\", <ftp://example.com/no>; rel=preload, </page>; rel=preload, "
	    "</nopush.css>; rel=preload; as=style; nopush, </next>; rel=next, </late>; rel=stylesheet");
}

static void links_that_nobody_reads(void **state)
{
	(void)state;
	struct seen seen = page_with("[route a]\norigin = a\n", LINKS, LINKS,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_1xx 1\nresponses_2xx 1\n"
	    "down_out_bytes 1\nconnections_open 1\nupstream_connections_open 1\nsessions_client_h2 1\n"
	    "sessions_origin_h2 1\n");
	assert_string_equal(seen.interim,
	    "</own.css>; rel=preload; as=style, </own.css>; rel=preload; as=style, </anchor.css>; rel=preload; "
	    "as=style; anchor=\"/other\", <ftp://example.com/no>; rel=preload, </page>; rel=preload, "
	    "</nopush.css>; rel=preload; as=style; nopush, </alone.css>; rel=preload; as=style; "
	    "x-http2-push-only, </next>; rel=next, </late>; rel=stylesheet");
	assert_string_equal(seen.final,
	    "</own.css>; rel=preload; as=style, </own.css>; rel=preload; as=style, </anchor.css>; rel=preload; "
	    "as=style; anchor=\"/other\", <ftp://example.com/no>; rel=preload, </page>; rel=preload, "
	    "</nopush.css>; rel=preload; as=style; nopush, </alone.css>; rel=preload; as=style; "
	    "x-http2-push-only, </next>; rel=next, </late>; rel=stylesheet");
}

/* No verdict could use them: they are not read, but what is for pushgate alone is taken out. */
static void links_for_a_client_that_takes_no_pushes(void **state)
{
	(void)state;
	static const struct gate_peer_options refuses = {.no_push = true};
	struct seen seen = page_of(&refuses, NULL, RULES, NULL, LINKS,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_2xx 1\ndown_out_bytes 1\n"
	    "connections_open 1\nupstream_connections_open 1\nsessions_client_h2 1\nsessions_origin_h2 1\n");
	assert_string_equal(seen.final,
	    "</own.css>; rel=preload; as=style, </own.css>; rel=preload; as=style, </anchor.css>; rel=preload; "
	    "as=style; anchor=\"/other\", <ftp://example.com/no>; rel=preload, </page>; rel=preload, "
	    "</nopush.css>; rel=preload; as=style; nopush, </next>; rel=next, </late>; rel=stylesheet");
}

/* A client behind a proxy that ends TLS may use both schemes; any other one only that of its connection. */
static void links_of_another_scheme_than_the_connection_has(void **state)
{
	(void)state;
	static const char rules[] =
	    "[route a]\norigin = a\n[push all]\naction = forward\ncross-origin = yes\n[preload l]\nlink = yes\n";
	static const char secure[] = "<https://example.com/a.css>; rel=preload; as=style";
	page_of(NULL, NULL, rules, NULL, secure,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_2xx 1\ndown_out_bytes 1\n"
	    "pushes_offered 1\npushes_dropped 1\nconnections_open 1\nupstream_connections_open 1\n"
	    "sessions_client_h2 1\nsessions_origin_h2 1\noffer link drop downstream-authority 1\n");
	page_of(NULL, "trusted = 127.0.0.1", rules, NULL, secure,
	    "connections 1\nupstream_connections 2\nrequests 1\nresponses_2xx 2\ndown_out_bytes 4\n"
	    "pushes_offered 1\npushes_forwarded 1\npushes_completed 1\npush_out_bytes 3\nconnections_open 1\n"
	    "upstream_connections_open 2\nsessions_client_h2 1\nsessions_origin_h2 2\n"
	    "offer link forward rule 1\nrule 0 offered 1\nrule 0 forwarded 1\nrule 0 used 1\n"
	    "rule 0 used_bytes 3\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(links_of_a_response),
	    cmocka_unit_test(links_of_an_interim_response),
	    cmocka_unit_test(links_of_both),
	    cmocka_unit_test(links_that_nobody_reads),
	    cmocka_unit_test(links_for_a_client_that_takes_no_pushes),
	    cmocka_unit_test(links_of_another_scheme_than_the_connection_has),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
