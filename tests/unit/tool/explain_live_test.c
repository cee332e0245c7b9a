/* SPDX-License-Identifier: MIT */
/*
 * explain decides as the gateway does: random rules, requests, promises and links go through a whole gateway and through
 * explain's scene, and after each step both have given the same verdicts for the same reasons.
 */
#include "tests/support/gateway_world.h"

#include "proxy/tool/explain.h"

#include <stdio.h>

enum { OFFERS = 3000, REQUESTS_A_WORLD = 6, PROMISES = 6, FIELDS = 5, TEXT = 6000 };

typedef uint64_t tally[POLICY_SOURCE_COUNT][POLICY_ACTION_COUNT][POLICY_REASON_COUNT];

/* ---- chance, the same in every run ---- */

static uint64_t chance_state = 20240;

static unsigned chance(unsigned below)
{
	chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(chance_state >> 33) % below;
}

#define ANY_OF(list) ((list)[chance(sizeof(list) / sizeof((list)[0]))])

static void add(char *text, const char *line)
{
	assert_true(strlen(text) + strlen(line) + 2 < TEXT);
	strcat(text, line);
	strcat(text, "\n");
}

/* ---- configurations ---- */

static void add_rule(char *text, unsigned number)
{
	static const char *const conditions[] = {"source = relayed", "source = link",
	    "source = config", "type = style", "type = script image", "promised-path = /p*",
	    "promised-path = *.css", "path = /page?", "host = example.com", "host = *.example",
	    "push-enabled = yes", "push-enabled = no", "save-data = yes", "save-data = no",
	    "navigation = yes", "navigation = no", "user-agent = Mozilla*", "share = 50%", "purpose = none prefetch",
	    "destination = *.com", "destination = *:8443", "method = HEAD", "version = 2", "version = 1.0 1.1"};
	static const char *const actions[] = {"forward", "drop", "hold", "hint", "hint+hold"};
	static const char *const liberties[] = {"cross-origin = yes", "on-revalidation = yes",
	    "hint-clients = all", "max-per-parent = 2", "max-per-parent = 4", "urgency = 3",
	    "shadow = yes"};
	char line[80];
	snprintf(line, sizeof(line), "[push r%u]", number);
	add(text, line);
	/* An address of its own, so that no rule hides another. */
	snprintf(line, sizeof(line), "client = %s 192.0.2.%u",
	    chance(8) ? "127.0.0.0/8" : "10.0.0.0/8", number + 1);
	add(text, line);
	for (unsigned i = 0, used = 0; i < chance(3); i++) {
		const char *condition = ANY_OF(conditions);
		unsigned key = 1u << (condition[0] % 32); /* no key twice */
		if (used & key)
			continue;
		used |= key;
		add(text, condition);
	}
	if (chance(3) == 0)
		add(text, ANY_OF(liberties));
	snprintf(line, sizeof(line), "action = %s", ANY_OF(actions));
	add(text, line);
}

static struct gate_world *new_world(void)
{
	char more[TEXT] = "[route a]\norigin = a\n";
	if (chance(2))
		add(more, "request-remove = user-agent");
	add(more, "[route b]\npath = /other\norigin = b");
	add(more, "[preload all]\nlink = yes");
	if (chance(2))
		add(more, "add = /add1.css as=style");
	if (chance(2))
		add(more, "[preload pages]\nnavigation = yes\nadd = /other/add2.js as=script");
	for (unsigned i = 0, n = chance(6); i < n; i++)
		add_rule(more, i);
	static const char *const servers[] = {NULL, "max-pushes-per-parent = 3",
	    "diary-entries = 0", "hold-max-count = 2", "default-action = hold",
	    "default-action = hint"};
	static const char *const listens[] = {NULL, NULL, "clients = shared"};
	return gate_world_new(
	    ANY_OF(servers), ANY_OF(listens), chance(2) ? "push = accept" : NULL, more);
}

/* ---- both sides of one request ---- */

struct both {
	struct gate_world *w;
	struct explain_scene scene;
	tally explained, before;
	struct gate_peer *client;
	struct gate_stream *page, *at;
	size_t *compared, *unread;
};

static void record_decision(void *context, const struct explain_offer *e)
{
	struct both *b = context;
	b->explained[e->offer->source][e->verdict.action]
		    [policy_reason_position(e->verdict.reason)]++;
}

/* The gateway does not read links that it would drop in any case; explain says why it would. */
static void leave_out_what_was_not_read(struct both *b)
{
	for (unsigned a = 0; a < POLICY_ACTION_COUNT; a++)
		for (unsigned r = 0; r < POLICY_REASON_COUNT; r++) {
			uint64_t *explained = &b->explained[POLICY_LINK][a][r];
			if (*explained > 0 && a != POLICY_DROP)
				fail_msg("links were not read, and one was to be: %s", policy_action_name(a));
			*b->unread += *explained;
			*explained = 0;
		}
}

static void compare(struct both *b)
{
	if (b->scene.ignores_links)
		leave_out_what_was_not_read(b);
	for (unsigned s = 0; s < POLICY_SOURCE_COUNT; s++)
		for (unsigned a = 0; a < POLICY_ACTION_COUNT; a++)
			for (unsigned r = 0; r < POLICY_REASON_COUNT; r++) {
				uint64_t live = b->w->counters.push[s][a][r] - b->before[s][a][r];
				if (live != b->explained[s][a][r])
					fail_msg("%s %s %s: %u happened, %u were explained",
					    policy_source_name(s), policy_action_name(a),
					    policy_reason_table[r]->code, (unsigned)live,
					    (unsigned)b->explained[s][a][r]);
				*b->compared += live;
			}
	memcpy(b->before, b->w->counters.push, sizeof(b->before));
	memset(b->explained, 0, sizeof(b->explained));
}

/* ---- what is said on both ---- */

struct said {
	const char *path;
	const char *fields[FIELDS][2];
};

static struct said any_request(void)
{
	static const char *const paths[] = {"/page1", "/page2", "/index.html?x=1", "/other/page"};
	static const char *const fields[FIELDS][3][2] = {
	    {{"sec-fetch-mode", "navigate"}, {"sec-fetch-mode", "cors"}, {"x-none", "0"}},
	    {{"save-data", "on"}, {"save-data", "off"}, {"x-none", "1"}},
	    {{"user-agent", "Mozilla/5.0 (X)"}, {"user-agent", "curl/8"}, {"x-none", "2"}},
	    {{"if-none-match", "\"a\""}, {"x-none", "3"}, {"x-none", "3"}},
	    {{"x-forwarded-for", "10.1.1.1"}, {"cookie", "a=b"}, {"x-none", "4"}},
	};
	struct said said = {.path = ANY_OF(paths)};
	for (unsigned i = 0; i < FIELDS; i++)
		memcpy(said.fields[i], fields[i][chance(3)], sizeof(said.fields[i]));
	return said;
}

static struct http_head *request_head(
    struct explain_scene *s, const char *scheme, const char *authority, const char *path)
{
	struct http_head *head = http_head_new(s->heads);
	http_head_add(head, SLICE(":method"), SLICE("GET"));
	http_head_add(head, SLICE(":scheme"), slice_of_string(scheme));
	http_head_add(head, SLICE(":authority"), slice_of_string(authority));
	http_head_add(head, SLICE(":path"), slice_of_string(path));
	return head;
}

/* The request as its origin has it, on whichever connection. */
static struct gate_stream *find_open(struct gate_world *w, const char *path)
{
	for (unsigned i = 0; i < GATE_SITES; i++)
		for (size_t j = 0; j < w->sites[i].peer_count; j++) {
			struct gate_peer *p = w->sites[i].peers[j];
			for (size_t k = 0; p && k < p->stream_count; k++) {
				struct gate_stream *s = p->streams[k];
				if (!s->parent && !s->is_over && strcmp(s->path, path) == 0)
					return s;
			}
		}
	return NULL;
}

static void ask(struct both *b)
{
	const struct said said = any_request();
	const char *const(*f)[2] = said.fields;
	const struct gate_peer_options options = {
	    .no_push = chance(2), .max_streams = chance(5) ? 0 : UINT32_MAX};
	b->client = gate_client(b->w, &options);
	b->page = gate_request(b->client, "GET", "example.com", said.path, 1, f[0][0], f[0][1],
	    f[1][0], f[1][1], f[2][0], f[2][1], f[3][0], f[3][1], f[4][0], f[4][1], NULL);
	b->scene.client = (struct client_facts){
	    .push_enabled = !options.no_push, .accepts_streams = options.max_streams == 0, .takes_interim = true, .hints_expected = true};
	assert_true(address_parse(SLICE("127.0.0.1"), &b->scene.client.address));
	explain_end(&b->scene);
	struct http_head *head = request_head(&b->scene, "http", "example.com", said.path);
	head->version = HTTP_VERSION_2;
	for (unsigned i = 0; i < FIELDS; i++)
		http_head_add(head, slice_of_string(f[i][0]), slice_of_string(f[i][1]));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	const char *detail;
	assert_null(explain_ask(&b->scene, head, &detail));
	explain_dispatch(&b->scene);
	b->at = NULL;
	gate_passes(b->w);
	UNTIL(b->w, (b->at = find_open(b->w, said.path)) != NULL);
	assert_int_equal(b->scene.wants_pushes, b->at->peer->enable_push);
	compare(b);
}

static void promise(struct both *b)
{
	static const char *const paths[] = {
	    "/p1.css", "/p2.js", "/p3.png", "/other/p4.css", "/p5", "/add1.css"};
	static const char *const names[] = {
	    "example.com", "example.com", "example.com", "static.example", "EXAMPLE.com:80"};
	const char *scheme = chance(16) ? "http" : "https", *name = ANY_OF(names);
	const char *path = ANY_OF(paths);
	if (!b->at->peer->enable_push)
		return;
	uint64_t offered = b->w->counters.pushes_offered;
	assert_non_null(gate_promise(b->at, scheme, name, path));
	UNTIL(b->w, b->w->counters.pushes_offered == offered + 1);
	gate_passes(b->w);
	struct http_head *head = request_head(&b->scene, scheme, name, path);
	assert_null(http_head_validate(head, HTTP_PROMISE));
	explain_promise(&b->scene, head);
	relay_send_hints(&b->scene.relay);
	compare(b);
}

static const char *const links[] = {"</l1.css>; rel=preload; as=style",
    "</p2.js>; rel=preload; as=script, </l2.png>; rel=preload; as=image",
    "</add1.css>; rel=preload; as=style", "</l3.css>; rel=preload; nopush",
    "<http://static.example/l4.js>; rel=preload; as=script; crossorigin",
    "</l6.css>; rel=preload; x-http2-push-only",
    "<mailto:a@b>; rel=preload", "</l5.css>; rel=preload; anchor=\"#a\"",
    "</next>; rel=next"};

/* The 103 may be left empty and not be sent; the 102 behind it is. */
static void hint_early(struct both *b)
{
	const char *first = ANY_OF(links), *second = ANY_OF(links);
	unsigned interims = b->page->interims;
	gate_answer_fields(b->at, 103, 0, "link", first, "link", second, NULL);
	gate_answer_fields(b->at, 102, 0, NULL);
	UNTIL(b->w, b->page->interims > interims);
	gate_passes(b->w);
	struct http_head *head = http_head_new(b->scene.heads);
	http_head_add(head, SLICE(":status"), SLICE("103"));
	http_head_add(head, SLICE("link"), slice_of_string(first));
	http_head_add(head, SLICE("link"), slice_of_string(second));
	assert_null(http_head_validate(head, HTTP_RESPONSE));
	exchange_on_response(b->scene.x, head, true);
	relay_send_hints(&b->scene.relay);
	compare(b);
}

static void answer(struct both *b)
{
	const char *first = ANY_OF(links), *second = ANY_OF(links);
	gate_answer_fields(b->at, 200, 1, "link", first, "link", second, NULL);
	UNTIL(b->w, b->page->is_over);
	gate_passes(b->w);
	struct http_head *head = http_head_new(b->scene.heads);
	http_head_add(head, SLICE(":status"), SLICE("200"));
	http_head_add(head, SLICE("link"), slice_of_string(first));
	http_head_add(head, SLICE("link"), slice_of_string(second));
	assert_null(http_head_validate(head, HTTP_RESPONSE));
	exchange_on_response(b->scene.x, head, true);
	compare(b);
}

static void what_is_explained_is_what_happens(void **state)
{
	(void)state;
	size_t compared = 0, unread = 0;
	while (compared < OFFERS || unread < OFFERS / 20) {
		struct both b = {.w = new_world(), .compared = &compared, .unread = &unread};
		b.scene.conf = b.w->conf;
		b.scene.listen = &b.w->conf->listens[0];
		b.scene.decided = record_decision;
		b.scene.context = &b;
		explain_scene_init(&b.scene);
		for (unsigned i = 0; i < REQUESTS_A_WORLD; i++) {
			ask(&b);
			for (unsigned j = 0; j < PROMISES; j++) {
				if (chance(PROMISES) == 0)
					hint_early(&b);
				promise(&b);
			}
			answer(&b);
			gate_peer_abort(b.client);
			gate_passes(b.w);
		}
		explain_scene_fini(&b.scene);
		gate_world_free(b.w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_explained_is_what_happens)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
