/* SPDX-License-Identifier: MIT */
/* For the tests of a route's field rules: fields as text, the exchange of a client's request, and a play: a page, a response that is
 * held for it, and a request that may claim that response. */
#ifndef PUSHGATE_TESTS_GATEWAY_FIELD_RULES_H
#define PUSHGATE_TESTS_GATEWAY_FIELD_RULES_H

#include "tests/support/gateway_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At most four names and values by turns; what is left of the array is NULL, which ends the list. */
#define FIELD_WORDS 9
typedef const char *field_list[FIELD_WORDS];
#define SPREAD(f) f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8]

#define HELD_BYTES 4u
#define ORIGIN_BYTES 7u

/* All values of the fields with this name, joined by " | "; "" without. */
static inline const char *field_text(const struct http_head *head, const char *name, char text[512])
{
	bool is_first = true;
	*text = '\0';
	for (uint32_t i = 0; i < head->count; i++) {
		size_t n = strlen(text);
		if (!slice_equal(head->fields[i].name, slice_of_string(name)))
			continue;
		snprintf(text + n, 512 - n, "%s%.*s", is_first ? "" : " | ", SLICE_ARG(head->fields[i].value));
		is_first = false;
	}
	return text;
}

static inline void field_is(const struct http_head *head, const char *name, const char *wanted, const char *row)
{
	char text[512];
	if (strcmp(field_text(head, name, text), wanted) != 0)
		fail_msg("%s: %s is \"%s\", not \"%s\"", row, name, text, wanted);
}

/* The newest exchange of a client's request for this path that is not over. */
static inline struct exchange *exchange_of(struct gate_world *w, const char *path)
{
	struct exchange *found = NULL;
	list_for_each(&w->gateway->clients.conns, c, struct client_conn, link)
	{
		list_for_each(&c->legs, leg, struct leg, link)
		{
			struct exchange *x = leg->exchange;
			if (!exchange_is_push(x) && slice_equal(x->request->path, slice_of_string(path)) &&
			    (!found || found->id < x->id))
				found = x;
		}
	}
	return found;
}

#define OWN_COOKIE "pg="

/* The value without the diary's cookie, which the tests put at the end. */
static inline struct slice without_own(const char *value)
{
	const char *own = strstr(value, OWN_COOKIE);
	size_t n = own ? (size_t)(own - value) : strlen(value);
	while (own && n > 0 && (value[n - 1] == ' ' || value[n - 1] == ';'))
		n--;
	return slice_of(value, n);
}

/* The exchange's request is byte for byte what the client sent, but for the diary's cookie. */
static inline void request_is_as_sent(struct gate_world *w, const char *path, const char *const *sent)
{
	const struct exchange *x = exchange_of(w, path);
	assert_non_null(x);
	const struct http_head *head = x->request;
	uint32_t at = 0;
	for (; *sent; sent += 2) {
		bool is_cookie = strcmp(sent[0], "cookie") == 0;
		struct slice value = is_cookie ? without_own(sent[1]) : slice_of_string(sent[1]);
		if (is_cookie && value.len == 0)
			continue;
		assert_true(at < head->count);
		assert_true(slice_equal(head->fields[at].name, slice_of_string(sent[0])));
		assert_true(slice_equal(head->fields[at].value, value));
		at++;
	}
	assert_int_equal(at, head->count);
	assert_true(slice_equal(head->authority, SLICE("example.com")));
	assert_true(slice_equal(head->scheme, SLICE("http")));
	assert_true(slice_equal(head->path, slice_of_string(path)));
}

/* ---- a page, the response that is held for it, and the claimer ---- */

enum held_source {
	PROMISED, /* the origin pushes it on the page */
	LINKED,   /* we ask for it because of the page's Link field */
};

struct play {
	const char *name;
	enum held_source source;
	/* Fields of the page's request, of the origin's promise, of the response that is held, and of the request that may claim it. */
	field_list page, promise, response, claim;
	bool from_elsewhere; /* the claimer has another connection */
};

struct played {
	struct gate_stream *answer;         /* to the claimer */
	struct gate_stream *page_at;        /* the page's request at the origin */
	struct gate_stream *own_at;         /* our own request for a LINKED resource */
	struct gate_stream *claim_at;       /* the claimer's request at the origin; NULL: claimed */
	const char *outcome; /* "claimed", "304", why it missed (hold_miss_name), or "origin": nothing was held */
	char path[32];
};

struct stage {
	struct gate_world *w;
	unsigned plays;
};

static inline struct gate_stream *at_origin(struct gate_world *w, const char *path, size_t count)
{
	UNTIL(w, gate_seen(&w->sites[0], path) >= count);
	for (size_t i = 0; i < w->sites[0].peer_count; i++)
		for (size_t j = w->sites[0].peers[i]->stream_count; j-- > 0;) {
			struct gate_stream *s = w->sites[0].peers[i]->streams[j];
			if (!s->parent && !s->is_over && strcmp(s->path, path) == 0)
				return s;
		}
	return NULL;
}

/* The page and the response that is held for it are sent completely. */
static inline void play_page(struct stage *stage, struct gate_peer *client, const struct play *p, struct played *d)
{
	struct gate_world *w = stage->w;
	char page[32], link[64];
	snprintf(page, sizeof(page), "/page%u", stage->plays);
	snprintf(d->path, sizeof(d->path), "/r%u.css", stage->plays++);
	snprintf(link, sizeof(link), "<%s>; rel=preload; as=style", d->path);
	struct gate_stream *asked = gate_request(client, "GET", "example.com", page, true, SPREAD(p->page));
	d->page_at = at_origin(w, page, 1);
	request_is_as_sent(w, page, p->page);
	struct gate_stream *held;
	if (p->source == PROMISED) {
		held = gate_promise_fields(d->page_at, "http", "example.com", d->path, SPREAD(p->promise));
		assert_non_null(held);
		gate_answer_fields(d->page_at, 200, false, NULL);
	} else {
		gate_answer_fields(d->page_at, 200, false, "link", link, NULL);
		held = d->own_at = at_origin(w, d->path, 1);
	}
	gate_answer_fields(held, 200, false, SPREAD(p->response));
	gate_more(held, HELD_BYTES, true);
	UNTIL(w, asked->status != 0 && held->is_over);
	request_is_as_sent(w, page, p->page);
	gate_more(d->page_at, 1, true);
	UNTIL(w, asked->is_over);
	gate_passes(w);
}

/* Why the last request that found a held response was not answered with it; HOLD_FITS: none since. */
static enum hold_miss last_miss;

static inline void note_miss(void *gateway, const struct hold_note *note)
{
	if (note->outcome == HOLD_MISSED)
		last_miss = note->miss;
	access_record_held(gateway, note);
}

/* From now on misses of the gateway are noted. */
static inline void watch_misses(struct gateway *g)
{
	static struct hold_ops ops;
	ops = gateway_hold_ops;
	ops.note = note_miss;
	g->hold.ops = &ops;
	last_miss = HOLD_FITS;
}

static inline void play_claim(struct stage *stage, struct gate_peer *client, const struct play *p, struct played *d)
{
	struct gate_world *w = stage->w;
	size_t before = gate_seen(&w->sites[0], d->path);
	watch_misses(w->gateway);
	d->answer = gate_request(client, "GET", "example.com", d->path, true, SPREAD(p->claim));
	UNTIL(w, d->answer->is_over || gate_seen(&w->sites[0], d->path) > before);
	d->outcome = "origin";
	if (last_miss != HOLD_FITS)
		d->outcome = hold_miss_name(last_miss);
	if (gate_seen(&w->sites[0], d->path) > before) {
		d->claim_at = at_origin(w, d->path, before + 1);
		request_is_as_sent(w, d->path, p->claim);
		gate_answer_fields(d->claim_at, 200, false, NULL);
		UNTIL(w, d->answer->status != 0);
		request_is_as_sent(w, d->path, p->claim);
		gate_more(d->claim_at, ORIGIN_BYTES, true);
		UNTIL(w, d->answer->is_over);
		assert_int_equal(d->answer->received, ORIGIN_BYTES);
		return;
	}
	assert_string_equal(d->outcome, "origin");
	d->outcome = d->answer->status == 304 ? "304" : "claimed";
	assert_int_equal(d->answer->received, d->answer->status == 304 ? 0 : HELD_BYTES);
}

static inline struct gate_peer *refusing_client(struct gate_world *w)
{
	static const struct gate_peer_options no_push = {.no_push = true};
	return gate_client(w, &no_push);
}

static inline struct played play(struct stage *stage, const struct play *p)
{
	struct played d = {0};
	struct gate_peer *client = refusing_client(stage->w);
	play_page(stage, client, p, &d);
	play_claim(stage, p->from_elsewhere ? refusing_client(stage->w) : client, p, &d);
	return d;
}

/* A world whose only route has these rules; all promised and linked resources are held. */
static inline struct gate_world *rules_world(const char *server, const char *rules)
{
	char more[1024];
	snprintf(more, sizeof(more),
	    "[route a]\norigin = a\n%s\n[push hold]\naction = hold\n[preload links]\nlink = yes\n", rules);
	return gate_world_new(server, NULL, NULL, more);
}

#endif
