/* SPDX-License-Identifier: MIT */
/*
 * The memory of pages behind a whole gateway: what pages and requests teach it, what is offered with a page, and what
 * becomes of the offers.
 */
#include "tests/support/gateway_world.h"

#include <stdlib.h>

/* covers: P-src-remembered P-src-remembered-private P-src-remembered-hint P-src-remembered-outcome P-src-remembered-sample */

/* Clients of their own, named by a proxy in front. */
#define LISTEN "trusted = 127.0.0.1\nclient-address = x-forwarded-for\n"
#define APPLY "[preload p]\nremembered = apply\n[route a]\norigin = a\n"
#define HINTS "[push h]\naction = hint\n"
#define HTML "content-type", "text/html"

static struct gate_world *world(const char *more)
{
	return gate_world_new(NULL, LISTEN, NULL, more);
}

/* address NULL: of a client that no proxy names, and for which responses may be held. */
static struct gate_stream *load_page(struct gate_peer *client, const char *address, const char *path)
{
	return gate_request(client, "GET", "example.com", path, true, "sec-fetch-dest", "document", "sec-fetch-mode",
	    "navigate", address ? "x-forwarded-for" : NULL, address, NULL);
}

/* One client loads the page, which is answered with these fields. */
static void visit(struct gate_world *w, struct gate_peer *client, const char *address, const char *name, const char *value,
    const char *other, const char *other_value)
{
	struct gate_stream *page = load_page(client, address, "/page");
	size_t before = gate_seen(&w->sites[0], "/page");
	UNTIL(w, gate_seen(&w->sites[0], "/page") > before);
	gate_answer_fields(gate_find(w, "/page"), 200, true, HTML, name, value, other, other_value, NULL);
	UNTIL(w, page->is_over);
	gate_passes(w);
}

static void visits(struct gate_world *w, struct gate_peer *client, int count, const char *link)
{
	for (int i = 1; i <= count; i++) {
		char address[24];
		snprintf(address, sizeof(address), "192.0.2.%d", i);
		visit(w, client, address, "link", link, NULL, NULL);
	}
}

static bool is_policy(const struct http_field *f)
{
	return slice_equal(f->name, SLICE("content-security-policy")) ||
	       slice_equal(f->name, SLICE("referrer-policy"));
}

/* What the client's 103 has in its Link fields, one a line, and policies with their names; "": there was none. */
static const char *hinted(struct gate_world *w, struct gate_peer *client, const char *address)
{
	static char text[2048];
	struct gate_stream *page = load_page(client, address, "/page");
	size_t before = gate_seen(&w->sites[0], "/page"), length = 0;
	UNTIL(w, gate_seen(&w->sites[0], "/page") > before);
	gate_passes(w);
	text[0] = 0;
	for (uint32_t i = 0; page->interims > 0 && i < page->head->count; i++)
		if (page->head->fields[i].token == HTTP_TOKEN_LINK)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%.*s\n",
			    SLICE_ARG(page->head->fields[i].value));
		else if (is_policy(&page->head->fields[i]))
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%.*s: %.*s\n",
			    SLICE_ARG(page->head->fields[i].name), SLICE_ARG(page->head->fields[i].value));
	gate_answer_fields(gate_find(w, "/page"), 200, true, HTML, NULL);
	UNTIL(w, page->is_over);
	gate_passes(w);
	return text;
}

static void say(const char *line, void *context)
{
	char *text = context;
	snprintf(text + strlen(text), 4096 - strlen(text), "%s\n", line);
}

/* What the memory says of the page and its resources. */
static const char *known(struct gate_world *w)
{
	static char text[4096];
	struct http_head *head = http_head_new(w->heads);
	http_head_add(head, SLICE(":method"), SLICE("GET"));
	http_head_add(head, SLICE(":scheme"), SLICE("http"));
	http_head_add(head, SLICE(":authority"), SLICE("example.com"));
	http_head_add(head, SLICE(":path"), SLICE("/page"));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	text[0] = 0;
	remembered_explain(gateway_remembered(w->gateway), head, say, text, w->gateway->relay.now);
	http_head_free(head);
	return text;
}

#define ASSERT_KNOWN(w, part)                                                                      \
	do {                                                                                       \
		if (!strstr(known(w), part))                                                       \
			fail_msg("no \"%s\" in %s", part, known(w));                               \
	} while (0)

static void what_two_clients_got_is_hinted_before_the_origin_answers(void **state)
{
	(void)state;
	struct gate_world *w = world(APPLY HINTS);
	struct gate_peer *client = gate_client(w, NULL);
	visits(w, client, 1, "</a.css>; rel=preload; as=style");
	assert_string_equal(hinted(w, client, "192.0.2.50"), "");
	visits(w, client, 2, "</a.css>; rel=preload; as=style");
	assert_string_equal(hinted(w, client, "192.0.2.51"), "</a.css>; rel=preload; as=style\n");
	gate_world_free(w);
}

static void attributes_stay_as_they_came_without_a_nonce(void **state)
{
	(void)state;
	struct gate_world *w = world(APPLY HINTS);
	struct gate_peer *client = gate_client(w, NULL);
	visits(w, client, 2,
	    "</m.js>; rel=modulepreload; integrity=\"sha384-x\"; nonce=abc; fetchpriority=low, "
	    "</f.woff2>; as=font; rel=preload; crossorigin; type=\"font/woff2\", "
	    "</c.json>;rel=preload;as=fetch;crossorigin=use-credentials, "
	    "</i.png>; rel=\"preload\"; as=image; imagesrcset=\"/i.png 1x, /i2.png 2x\"; media=\"(width > 5px)\", "
	    "</n.css>; rel=preload; as=style; nopush, </o.css>; rel=preload; anchor=\"/x\", "
	    "</p.css>; rel=preload; x-http2-push-only, </page>; rel=preload");
	assert_string_equal(hinted(w, client, "192.0.2.51"),
	    "</m.js>; rel=modulepreload; integrity=\"sha384-x\"; fetchpriority=low\n"
	    "</f.woff2>; rel=preload; as=font; crossorigin; type=\"font/woff2\"\n"
	    "</c.json>; rel=preload; as=fetch; crossorigin=use-credentials\n"
	    "</i.png>; rel=preload; as=image; imagesrcset=\"/i.png 1x, /i2.png 2x\"; media=\"(width > 5px)\"\n");
	gate_world_free(w);
}

static void other_hosts_are_hinted_where_a_rule_says_so(void **state)
{
	(void)state;
	static const char link[] = "<https://cdn.example>; rel=preconnect; crossorigin, "
				   "<https://cdn.example/x.js>; rel=preload; as=script, <//dns.example>; rel=dns-prefetch";
	for (int i = 0; i < 2; i++) {
		struct gate_world *w =
		    world(i == 1 ? APPLY HINTS "cross-origin = yes\n" : APPLY HINTS);
		struct gate_peer *client = gate_client(w, NULL);
		visits(w, client, 2, link);
		assert_string_equal(hinted(w, client, "192.0.2.51"),
		    i == 1 ? "<https://cdn.example>; rel=preconnect; crossorigin\n"
			     "<https://cdn.example/x.js>; rel=preload; as=script\n"
			   : "");
		gate_world_free(w);
	}
}

/* Of the source and the reason, whatever the verdict. */
static uint64_t decided(const struct gate_world *w, const struct policy_reason *reason)
{
	uint64_t sum = 0;
	for (int action = 0; action < POLICY_ACTION_COUNT; action++)
		sum += w->counters.push[POLICY_REMEMBERED][action][policy_reason_position(reason)];
	return sum;
}

static void a_connection_is_nothing_that_could_be_held(void **state)
{
	(void)state;
	struct gate_world *w = world(APPLY "[push h]\naction = hint+hold\ncross-origin = yes\n");
	struct gate_peer *client = gate_client(w, &(struct gate_peer_options){.no_push = true});
	visits(w, client, 2, "<http://b.example>; rel=preconnect");
	assert_string_equal(hinted(w, client, "192.0.2.51"), "<http://b.example>; rel=preconnect\n");
	assert_int_equal(gate_seen(&w->sites[0], "/"), 0);
	gate_world_free(w);
	w = world(APPLY "[push h]\naction = hold\ncross-origin = yes\n");
	client = gate_client(w, &(struct gate_peer_options){.no_push = true});
	visits(w, client, 2, "<http://b.example>; rel=preconnect");
	assert_string_equal(hinted(w, client, "192.0.2.51"), "");
	assert_int_equal(decided(w, &policy_reason_PRECONNECT), 1);
	gate_world_free(w);
}

/* Offers of one list have one verdict only where each would have it by itself. */
static void each_of_many_is_offered_as_if_alone(void **state)
{
	(void)state;
	static const char links[] = "</a.css>; rel=preload; as=style, </b.js>; rel=preload; as=script, "
				    "</c.css>; rel=preload; as=style, </d.png>; rel=preload; as=image";
	static const char A[] = "</a.css>; rel=preload; as=style\n", B[] = "</b.js>; rel=preload; as=script\n",
			  C[] = "</c.css>; rel=preload; as=style\n", D[] = "</d.png>; rel=preload; as=image\n";
	const struct {
		const char *server, *rules;
		const char *hints[4];
	} rows[] = {
	    {NULL, HINTS, {A, B, C, D}},
	    {"default-action = hint", "", {A, B, C, D}},
	    {"default-action = drop", "[push s]\ntype = style\naction = hint\n", {A, C}},
	    {"default-action = drop", "[push s]\npromised-path = /b.js /d.png\naction = hint\n", {B, D}},
	    {NULL, "[push s]\npromised-path = /b.js\naction = drop\n" HINTS, {A, C, D}},
	    {NULL, "[preload q]\nadd = /c.css as=style\n" HINTS, {C, A, B, D}},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char more[512], want[512] = "";
		snprintf(more, sizeof(more), APPLY "%s", rows[i].rules);
		for (int k = 0; k < 4 && rows[i].hints[k]; k++)
			strcat(want, rows[i].hints[k]);
		struct gate_world *w = gate_world_new(rows[i].server, LISTEN, NULL, more);
		struct gate_peer *client = gate_client(w, NULL);
		visits(w, client, 2, links);
		uint64_t before = w->counters.pushes_offered;
		if (strcmp(hinted(w, client, "192.0.2.51"), want) != 0)
			fail_msg("row %zu: not %s", i, want);
		/* With `add` the same resource is offered twice. */
		assert_int_equal(w->counters.pushes_offered - before, 4 + (i == 5));
		gate_world_free(w);
	}
}

static void what_the_client_has_is_not_hinted_again(void **state)
{
	(void)state;
	struct gate_world *w = world(APPLY HINTS);
	struct gate_peer *client = gate_client(w, NULL), *same = gate_client(w, NULL);
	/* its own views name nothing */
	visits(w, client, 4, "</a.css>; rel=preload; as=style, </b.js>; rel=preload; as=script");
	assert_string_equal(hinted(w, same, NULL), "</a.css>; rel=preload; as=style\n</b.js>; rel=preload; as=script\n");
	assert_string_equal(hinted(w, same, NULL), "");
	assert_int_equal(decided(w, &policy_reason_KNOWN), 2);
	gate_world_free(w);
}

static void what_is_only_proposed_is_counted(void **state)
{
	(void)state;
	struct gate_world *w = world("[preload p]\nremembered = propose\n[route a]\norigin = a\n" HINTS);
	struct gate_peer *client = gate_client(w, NULL);
	visits(w, client, 2, "</a.css>; rel=preload; as=style");
	assert_string_equal(hinted(w, client, "192.0.2.51"), "");
	assert_int_equal(decided(w, &policy_reason_REMEMBERED_PROPOSAL), 1);
	gate_world_free(w);
	/* Another section says more. */
	w = world("[preload p]\nremembered = propose\n[preload q]\nremembered = apply\n[route a]\norigin = a\n" HINTS);
	client = gate_client(w, NULL);
	visits(w, client, 2, "</a.css>; rel=preload; as=style");
	assert_string_equal(hinted(w, client, "192.0.2.51"), "</a.css>; rel=preload; as=style\n");
	gate_world_free(w);
}

static void private_pages_need_three_clients(void **state)
{
	(void)state;
	struct gate_world *w = world(APPLY HINTS);
	struct gate_peer *client = gate_client(w, NULL);
	for (int i = 1; i <= 3; i++) {
		char address[16], link[128];
		snprintf(address, sizeof(address), "192.0.2.%d", i);
		snprintf(link, sizeof(link), "</a.css>; rel=preload; as=style, </u/client-%d.css>; rel=preload; as=style", i);
		assert_string_equal(hinted(w, client, "192.0.2.50"), "");
		visit(w, client, address, "link", link, "cache-control", "private");
	}
	/* the one without links is a vote too */
	visit(w, client, "192.0.2.50", "link", "</a.css>; rel=preload; as=style", "cache-control", "private");
	assert_string_equal(hinted(w, client, "192.0.2.51"), "</a.css>; rel=preload; as=style\n");
	gate_world_free(w);
}

/* Frames navigate too, and their 103 is ignored. */
static void frames_and_reloads_get_nothing(void **state)
{
	(void)state;
	struct gate_world *w = world(APPLY HINTS);
	struct gate_peer *client = gate_client(w, NULL);
	visits(w, client, 2, "</a.css>; rel=preload; as=style");
	struct gate_stream *frame = gate_request(client, "GET", "example.com", "/page", true, "sec-fetch-dest", "iframe",
	    "sec-fetch-mode", "navigate", NULL);
	struct gate_stream *again = gate_request(client, "GET", "example.com", "/page", true, "sec-fetch-dest", "document",
	    "sec-fetch-mode", "navigate", "cache-control", "no-cache", NULL);
	UNTIL(w, gate_seen(&w->sites[0], "/page") == 4);
	gate_passes(w);
	assert_int_equal(frame->interims, 0);
	assert_int_equal(again->interims, 0);
	assert_int_equal(decided(w, &policy_reason_REVALIDATION), 1);
	gate_world_free(w);
}

static void links_of_a_103_are_remembered(void **state)
{
	(void)state;
	struct gate_world *w = world(APPLY HINTS);
	struct gate_peer *client = gate_client(w, NULL);
	static const char *const addresses[] = {"192.0.2.1", "192.0.2.2"};
	for (int i = 0; i < 2; i++) {
		struct gate_stream *page = load_page(client, addresses[i], "/page");
		UNTIL(w, gate_seen(&w->sites[0], "/page") == (size_t)i + 1);
		gate_answer_fields(gate_find(w, "/page"), 103, false, "link", "</e.css>; rel=preload; as=style", "link",
		    "</e.js>; rel=preload; as=script", NULL);
		gate_answer_fields(gate_find(w, "/page"), 200, true, HTML, "link", "</f.css>; rel=preload; as=style", NULL);
		UNTIL(w, page->is_over);
	}
	gate_passes(w);
	assert_string_equal(hinted(w, client, "192.0.2.51"),
	    "</e.css>; rel=preload; as=style\n</e.js>; rel=preload; as=script\n</f.css>; rel=preload; as=style\n");
	gate_world_free(w);
}

/* One view whose 103 has these fields, and whose final response has other policies. */
static void visit_early(struct gate_world *w, struct gate_peer *client, const char *address, const char *name,
    const char *value, const char *other, const char *other_value)
{
	size_t before = gate_seen(&w->sites[0], "/page");
	struct gate_stream *page = load_page(client, address, "/page");
	UNTIL(w, gate_seen(&w->sites[0], "/page") > before);
	gate_answer_fields(gate_find(w, "/page"), 103, false, "link", "</e.css>; rel=preload; as=style", name, value,
	    other, other_value, NULL);
	gate_answer_fields(gate_find(w, "/page"), 103, false, "link", "</e.css>; rel=preload; as=style",
	    "referrer-policy", "origin", NULL);
	gate_answer_fields(gate_find(w, "/page"), 200, true, HTML, "content-security-policy", "default-src 'none'", NULL);
	UNTIL(w, page->is_over);
	gate_passes(w);
}

/* covers: P-hint-policies */
static void policies_of_a_103_come_with_ours(void **state)
{
	(void)state;
	static const struct {
		const char *fields[4], *second[4], *expected;
	} rows[] = {
	    {{"content-security-policy", "default-src 'self'", "referrer-policy", "no-referrer"}, {NULL},
		"content-security-policy: default-src 'self'\nreferrer-policy: no-referrer\n"},
	    {{"content-security-policy", "default-src 'self'", "content-security-policy", "img-src *"}, {NULL},
		"content-security-policy: default-src 'self', img-src *\n"},
	    {{"referrer-policy", "no-referrer"}, {NULL}, "referrer-policy: no-referrer\n"},
	    {{"referrer-policy", "no-referrer", "referrer-policy", ""}, {NULL}, "referrer-policy: no-referrer\n"},
	    {{NULL}, {NULL}, ""},
	    {{"content-security-policy", "script-src 'nonce-abc'"}, {NULL}, ""},
	    {{"content-security-policy", "default-src 'self'"}, {"content-security-policy", "default-src *"}, ""},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gate_world *w = world(APPLY HINTS);
		struct gate_peer *client = gate_client(w, NULL);
		char expected[256];
		for (int n = 0; n < 2; n++) {
			const char *const *f = n == 1 && rows[i].second[0] ? rows[i].second : rows[i].fields;
			visit_early(w, client, n ? "192.0.2.2" : "192.0.2.1", f[0], f[1], f[2], f[3]);
		}
		snprintf(expected, sizeof(expected), "</e.css>; rel=preload; as=style\n%s", rows[i].expected);
		assert_string_equal(hinted(w, client, "192.0.2.51"), expected);
		gate_world_free(w);
	}
}

/* A section that only proposes changes no 103 that other offers have made. */
static void proposals_bring_no_policies(void **state)
{
	(void)state;
	struct gate_world *w = world(
	    "[preload p]\nremembered = propose\nadd = /own.css as=style\n[route a]\norigin = a\n" HINTS);
	struct gate_peer *client = gate_client(w, NULL);
	for (int n = 0; n < 2; n++)
		visit_early(w, client, n ? "192.0.2.2" : "192.0.2.1", "content-security-policy", "default-src 'self'", NULL,
		    NULL);
	ASSERT_KNOWN(w, "Content-Security-Policy: default-src 'self': told");
	assert_string_equal(hinted(w, client, "192.0.2.51"), "</own.css>; rel=preload; as=style\n");
	gate_world_free(w);
}

/* ---- requests after the page ---- */

struct asset {
	const char *path, *referer, *name, *value; /* a field of the request */
	unsigned status;
	const char *fields[4];
	const char *known; /* "": nothing */
};

static void asks(struct gate_world *w, struct gate_peer *client, const char *address, const struct asset *a)
{
	struct gate_stream *s = gate_request(client, "GET", "example.com", a->path, true, "x-forwarded-for", address, "referer",
	    a->referer, a->name, a->value, NULL);
	size_t before = gate_seen(&w->sites[0], a->path);
	UNTIL(w, gate_seen(&w->sites[0], a->path) > before);
	gate_answer_fields(gate_find(w, a->path), a->status, true, a->fields[0], a->fields[1], a->fields[2], a->fields[3], NULL);
	UNTIL(w, s->is_over);
	gate_passes(w);
}

#define PAGE "http://example.com/page"
#define CSS "content-type", "text/css"

static void what_three_clients_ask_for_after_a_page_is_remembered(void **state)
{
	(void)state;
	static const struct asset assets[] = {
	    {"/a.css", PAGE, NULL, NULL, 200, {CSS}, "/a.css as style: told (asked)"},
	    {"/a.css", PAGE, NULL, NULL, 200, {NULL}, "/a.css as style: told (asked)"},
	    {"/a.js", PAGE, "sec-fetch-mode", "cors", 200, {"content-type", "text/javascript"}, "/a.js as script: told (asked)"},
	    {"/a.woff2", PAGE, NULL, NULL, 200, {"content-type", "font/woff2"}, "/a.woff2 as font: told (asked)"},
	    /* of other pages and sites */
	    {"/a.css", "http://example.com/other", NULL, NULL, 200, {CSS}, ""},
	    {"/a.css", "https://example.com/page", NULL, NULL, 200, {CSS}, ""},
	    {"/a.css", "http://example.com.evil/page", NULL, NULL, 200, {CSS}, ""},
	    /* what is one client's, or may be */
	    {"/a.css", PAGE, "cookie", "a=b", 200, {CSS}, ""},
	    {"/a.css", PAGE, "authorization", "Basic x", 200, {CSS}, ""},
	    {"/a.css", PAGE, NULL, NULL, 200, {CSS, "set-cookie", "a=b"}, ""},
	    {"/a.css", PAGE, NULL, NULL, 200, {CSS, "cache-control", "private"}, ""},
	    {"/a.css", PAGE, NULL, NULL, 200, {CSS, "cache-control", "no-store"}, ""},
	    {"/a.css", PAGE, NULL, NULL, 200, {CSS, "vary", "cookie"}, ""},
	    {"/a.css", PAGE, NULL, NULL, 200, {CSS, "vary", "*"}, ""},
	    /* no assets, by response or path */
	    {"/a.css", PAGE, NULL, NULL, 404, {CSS}, ""},
	    {"/logout.php/x.css", PAGE, NULL, NULL, 200, {HTML}, ""},
	    {"/logout", PAGE, NULL, NULL, 200, {CSS}, ""},
	    {"/a.css?user=4711", PAGE, NULL, NULL, 200, {CSS}, ""},
	};
	static const char *const addresses[] = {"192.0.2.1", "192.0.2.2", "192.0.2.3"};
	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++) {
		struct gate_world *w = world(APPLY HINTS);
		struct gate_peer *client = gate_client(w, NULL);
		for (int n = 0; n < 3; n++) {
			if (strstr(known(w), "told (asked)"))
				fail_msg("row %zu: told after %d", i, n);
			visit(w, client, addresses[n], NULL, NULL, NULL, NULL);
			asks(w, client, addresses[n], &assets[i]);
		}
		if (assets[i].known[0] ? !strstr(known(w), assets[i].known) : strstr(known(w), "asked") != NULL)
			fail_msg("row %zu: %s", i, known(w));
		gate_world_free(w);
	}
}

/* A font has the style sheet as its Referer. */
static void what_a_style_sheet_asks_for_belongs_to_its_page(void **state)
{
	(void)state;
	struct gate_world *w = world(APPLY HINTS);
	struct gate_peer *client = gate_client(w, NULL);
	static const struct asset css = {"/a.css", PAGE, NULL, NULL, 200, {CSS}, ""};
	static const struct asset font = {
	    "/f.woff2", "http://example.com/a.css", "sec-fetch-mode", "cors", 200, {"content-type", "font/woff2"}, ""};
	static const char *const addresses[] = {"192.0.2.1", "192.0.2.2", "192.0.2.3"};
	for (int n = 0; n < 3; n++) {
		visit(w, client, addresses[n], NULL, NULL, NULL, NULL);
		asks(w, client, addresses[n], &css);
		asks(w, client, addresses[n], &font);
	}
	assert_string_equal(hinted(w, client, "192.0.2.51"),
	    "</a.css>; rel=preload; as=style\n</f.woff2>; rel=preload; as=font; crossorigin\n");
	gate_world_free(w);
}

/* ---- outcomes ---- */

static void offers_and_uses_are_counted(void **state)
{
	(void)state;
	static const struct asset used = {"/a.css", PAGE, NULL, NULL, 200, {CSS}, ""};
	struct gate_world *w = world(APPLY HINTS);
	struct gate_peer *client = gate_client(w, NULL);
	visits(w, client, 2, "</a.css>; rel=preload; as=style");
	assert_string_equal(hinted(w, client, "192.0.2.51"), "</a.css>; rel=preload; as=style\n");
	ASSERT_KNOWN(w, "offered 1, used 0");
	asks(w, client, "192.0.2.51", &used);
	asks(w, client, "192.0.2.51", &used);
	ASSERT_KNOWN(w, "offered 1, used 1");
	asks(w, client, "192.0.2.52", &used);
	ASSERT_KNOWN(w, "offered 1, used 1");
	gate_world_free(w);
}

static void a_held_response_that_is_claimed_is_used(void **state)
{
	(void)state;
	struct gate_world *w = world(APPLY "[push h]\naction = hold\n");
	struct gate_peer *client = gate_client(w, &(struct gate_peer_options){.no_push = true});
	visits(w, client, 2, "</a.css>; rel=preload; as=style");
	struct gate_stream *page = load_page(client, NULL, "/page");
	UNTIL(w, gate_find(w, "/a.css") && gate_seen(&w->sites[0], "/page") == 3);
	gate_answer_fields(gate_find(w, "/a.css"), 200, true, CSS, "cache-control", "max-age=60", NULL);
	gate_answer_fields(gate_find(w, "/page"), 200, true, HTML, NULL);
	UNTIL(w, page->is_over);
	struct gate_stream *claim = gate_request(client, "GET", "example.com", "/a.css", true, "referer", PAGE, NULL);
	UNTIL(w, claim->is_over);
	gate_passes(w);
	assert_int_equal(claim->status, 200);
	ASSERT_KNOWN(w, "offered 1, used 1");
	gate_world_free(w);
}

/* A client that has the hint asks while the origin thinks of the page: the use belongs to the vote that comes later. */
static void what_is_used_before_the_page_is_answered_counts(void **state)
{
	(void)state;
	static const struct asset used = {"/a.css", PAGE, NULL, NULL, 200, {CSS}, ""};
	static const struct asset other = {"/b.css", PAGE, NULL, NULL, 200, {CSS}, ""};
	struct gate_world *w = world(APPLY HINTS);
	struct gate_peer *client = gate_client(w, NULL);
	visits(w, client, 2, "</a.css>; rel=preload; as=style");
	for (int i = 0; i < 5; i++) { /* offers to four, of which none is used, would end it */
		char address[24], offered[40];
		snprintf(address, sizeof(address), "192.0.2.%d", 50 + i);
		snprintf(offered, sizeof(offered), "offered %d, used %d", i + 1, i + 1);
		struct gate_stream *page = load_page(client, address, "/page");
		UNTIL(w, gate_find(w, "/page"));
		asks(w, client, address, &used);
		asks(w, client, address, &other);
		gate_answer_fields(gate_find(w, "/page"), 200, true, HTML, "link", "</a.css>; rel=preload; as=style", NULL);
		UNTIL(w, page->is_over);
		gate_passes(w);
		ASSERT_KNOWN(w, offered);
	}
	ASSERT_KNOWN(w, "/b.css as style: told (asked)");
	gate_world_free(w);
}

/* There is no vote to which it could belong. */
static void what_is_asked_before_a_page_that_fails_teaches_nothing(void **state)
{
	(void)state;
	static const struct asset asset = {"/a.css", PAGE, NULL, NULL, 200, {CSS}, ""};
	struct gate_world *w = world(APPLY HINTS);
	struct gate_peer *client = gate_client(w, NULL);
	struct gate_stream *page = load_page(client, "192.0.2.1", "/page");
	UNTIL(w, gate_find(w, "/page"));
	asks(w, client, "192.0.2.1", &asset);
	gate_answer_fields(gate_find(w, "/page"), 404, true, HTML, NULL);
	UNTIL(w, page->is_over);
	gate_passes(w);
	assert_int_equal(w->counters.lessons_taken, 0);
	gate_world_free(w);
}

static void what_is_gone_is_told_no_more(void **state)
{
	(void)state;
	static const struct asset gone[] = {
	    {"/a.css", PAGE, NULL, NULL, 404, {CSS}, ""},
	    {"/a.css", PAGE, NULL, NULL, 410, {CSS}, ""},
	    {"/a.css", PAGE, NULL, NULL, 200, {HTML}, ""},
	};
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		struct gate_world *w = world(APPLY HINTS);
		struct gate_peer *client = gate_client(w, NULL);
		visits(w, client, 2, "</a.css>; rel=preload; as=style");
		assert_string_not_equal(hinted(w, client, "192.0.2.51"), "");
		asks(w, client, "192.0.2.51", &gone[i]);
		assert_string_equal(hinted(w, client, "192.0.2.52"), "");
		gate_world_free(w);
	}
}

static void what_is_fetched_for_a_page_and_gone_is_told_no_more(void **state)
{
	(void)state;
	static const struct {
		unsigned status;
		bool is_gone;
	} rows[] = {{404, true}, {410, true}, {500, false}, {503, false}, {403, false}, {429, false}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gate_world *w = world(APPLY "[push h]\naction = hint+hold\n");
		struct gate_peer *client = gate_client(w, &(struct gate_peer_options){.no_push = true});
		visits(w, client, 2, "</a.css>; rel=preload; as=style");
		load_page(client, NULL, "/page");
		UNTIL(w, gate_find(w, "/a.css") && gate_seen(&w->sites[0], "/page") == 3);
		gate_answer_fields(gate_find(w, "/a.css"), rows[i].status, true, NULL);
		UNTIL(w, w->counters.pushes_open == 0);
		gate_answer_fields(gate_find(w, "/page"), 200, true, HTML, NULL);
		bool is_told = hinted(w, client, "192.0.2.52")[0] != 0;
		if (is_told == rows[i].is_gone)
			fail_msg("status %u: told %d", rows[i].status, is_told);
		gate_world_free(w);
	}
}

/* ---- which views teach ---- */

static void a_page_that_breaks_off_teaches_nothing(void **state)
{
	(void)state;
	struct gate_world *w = world(APPLY HINTS);
	struct gate_peer *client = gate_client(w, NULL);
	for (int i = 0; i < 2; i++) {
		struct gate_stream *page = load_page(client, i ? "192.0.2.1" : "192.0.2.2", "/page");
		UNTIL(w, gate_seen(&w->sites[0], "/page") == (size_t)i + 1);
		gate_answer_fields(gate_find(w, "/page"), 200, false, HTML, "link", "</a.css>; rel=preload; as=style", NULL);
		UNTIL(w, page->status == 200);
		gate_reset_stream(gate_find(w, "/page"), SESSION_CANCEL);
		UNTIL(w, page->is_over);
	}
	gate_passes(w);
	assert_string_equal(known(w), "");
	assert_int_equal(w->counters.lessons_taken, 0);
	gate_world_free(w);
}

/* Neither does it keep others from teaching. */
static void one_client_is_taught_once_in_a_row(void **state)
{
	(void)state;
	struct gate_world *w = world(APPLY HINTS);
	struct gate_peer *client = gate_client(w, NULL);
	for (int i = 0; i < 300; i++)
		visit(w, client, "192.0.2.9", "link", "</evil.css>; rel=preload; as=style", NULL, NULL);
	/* one of 16 by chance: 19, and 100 with a probability below 1e-20 */
	assert_true(w->counters.lessons_taken < 100);
	assert_string_equal(hinted(w, client, "192.0.2.51"), "");
	visits(w, client, 4, "</a.css>; rel=preload; as=style");
	assert_string_equal(hinted(w, client, "192.0.2.52"), "</a.css>; rel=preload; as=style\n");
	gate_world_free(w);
}

static void later_views_teach_by_chance_and_new_versions_at_once(void **state)
{
	(void)state;
	struct gate_world *w = world("[preload p]\nremembered = propose\n[route a]\norigin = a\n");
	struct gate_peer *client = gate_client(w, NULL);
	char address[24];
	for (int i = 0; i < 216; i++) {
		snprintf(address, sizeof(address), "192.0.2.%d", i);
		visit(w, client, address, "link", "</a.css>; rel=preload; as=style", "etag", "\"1\"");
	}
	/* the first 16, and of the next 200 one of 16 */
	ASSERT_KNOWN(w, "/a.css as style: told (link)");
	uint64_t before = w->counters.lessons_taken;
	assert_in_range(before, 16, 116);
	for (int i = 1; i <= 8; i++) {
		snprintf(address, sizeof(address), "198.51.100.%d", i);
		visit(w, client, address, "link", "</b.css>; rel=preload; as=style", "etag", "\"2\"");
	}
	assert_int_equal(w->counters.lessons_taken, before + 8);
	ASSERT_KNOWN(w, "1 of 1 resource told");
	ASSERT_KNOWN(w, "/b.css as style: told (link)");
	gate_world_free(w);
}

/* ---- the owner is another process ---- */

static void a_gateway_without_the_option_has_no_memory(void **state)
{
	(void)state;
	struct gate_world *w = world("[preload p]\nlink = yes\n[route a]\norigin = a\n");
	assert_null(gateway_remembered(w->gateway));
	struct gate_peer *client = gate_client(w, NULL);
	visits(w, client, 2, "</a.css>; rel=preload; as=style");
	assert_int_equal(w->counters.lessons_taken, 0);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_two_clients_got_is_hinted_before_the_origin_answers),
	    cmocka_unit_test(attributes_stay_as_they_came_without_a_nonce),
	    cmocka_unit_test(other_hosts_are_hinted_where_a_rule_says_so),
	    cmocka_unit_test(a_connection_is_nothing_that_could_be_held),
	    cmocka_unit_test(each_of_many_is_offered_as_if_alone),
	    cmocka_unit_test(what_the_client_has_is_not_hinted_again),
	    cmocka_unit_test(what_is_only_proposed_is_counted),
	    cmocka_unit_test(private_pages_need_three_clients),
	    cmocka_unit_test(frames_and_reloads_get_nothing),
	    cmocka_unit_test(links_of_a_103_are_remembered),
	    cmocka_unit_test(policies_of_a_103_come_with_ours),
	    cmocka_unit_test(proposals_bring_no_policies),
	    cmocka_unit_test(what_three_clients_ask_for_after_a_page_is_remembered),
	    cmocka_unit_test(what_a_style_sheet_asks_for_belongs_to_its_page),
	    cmocka_unit_test(offers_and_uses_are_counted),
	    cmocka_unit_test(a_held_response_that_is_claimed_is_used),
	    cmocka_unit_test(what_is_used_before_the_page_is_answered_counts),
	    cmocka_unit_test(what_is_asked_before_a_page_that_fails_teaches_nothing),
	    cmocka_unit_test(what_is_gone_is_told_no_more),
	    cmocka_unit_test(what_is_fetched_for_a_page_and_gone_is_told_no_more),
	    cmocka_unit_test(a_page_that_breaks_off_teaches_nothing),
	    cmocka_unit_test(one_client_is_taught_once_in_a_row),
	    cmocka_unit_test(later_views_teach_by_chance_and_new_versions_at_once),
	    cmocka_unit_test(a_gateway_without_the_option_has_no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
