/* SPDX-License-Identifier: MIT */
/*
 * Random pushes and requests of two users on one connection, against a model that knows only the rules: whatever
 * the order of events, a claim is one that the rules allow, its bytes are the right ones, and (where nothing
 * had to make room) what the rules allow is claimed.
 */
#include "proxy/hold/held.h"
#include "tests/support/hold_world.h"

#include "proxy/base/ensure.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>

#define SEQUENCES 600
#define STEPS 42
#define USERS 2
#define PATHS 3

struct item {
	struct exchange *push;
	unsigned user, path, language;
	bool has_head, varies, must_check, is_for_all, is_whole, is_closed;
	usec fresh_until;
	char body[256];
};

struct request {
	struct world_leg *down;
	struct exchange *x;
	struct item *item; /* NULL: not claimed, or sent away */
	unsigned user, language;
};

struct game {
	struct hold_world *hw;
	struct exchange *parents[USERS];
	struct item items[STEPS];
	struct request requests[STEPS];
	unsigned item_count, request_count, serial;
	bool is_roomy;
	uint64_t random;
};

static const char *const cookies[USERS] = {"user=a", "user=b"};
static const char *const paths[PATHS] = {"/0", "/1", "/2"};
static const char *const languages[2] = {"de", "en"};

static unsigned draw(struct game *g, unsigned below)
{
	g->random ^= g->random << 13;
	g->random ^= g->random >> 7;
	g->random ^= g->random << 17;
	return (unsigned)(g->random >> 33) % below;
}

static bool is_alive(const struct item *i)
{
	return !exchange_is_over(i->push);
}

/* What the rules say of one item and a GET. */
static bool fits(
    const struct game *g, const struct item *i, unsigned user, unsigned path, unsigned language)
{
	if (!is_alive(i) || i->is_closed || i->path != path)
		return false;
	if (!i->has_head) /* another user waits for what the head says */
		return true;
	return (i->user == user || i->is_for_all) && (!i->varies || i->language == language) &&
	       (!i->is_whole || (!i->must_check && g->hw->w->relay.now < i->fresh_until));
}

/* ---- steps ---- */

/* What missed twice is not held for a while; mostly it is all the same, so that enough is held. */
static bool is_paused(struct game *g, const char *path)
{
	if (draw(g, 4) > 0)
		hold_pauses_fini(&g->hw->hold);
	struct http_head *promised = world_request(g->hw->w, "GET", path);
	bool is_it = hold_refusal(g->hw->parent, promised) == &policy_reason_HOLD_PAUSED;
	http_head_free(promised);
	return is_it;
}

static void promise(struct game *g)
{
	unsigned user = draw(g, USERS), path = draw(g, PATHS), language = draw(g, 2);
	g->hw->parent = g->parents[user];
	bool may_be_refused = is_paused(g, paths[path]) || !g->is_roomy;
	for (unsigned i = 0; i < g->item_count; i++) /* a double, perhaps */
		may_be_refused =
		    may_be_refused || (is_alive(&g->items[i]) && g->items[i].path == path &&
					  (g->items[i].user == user || g->items[i].is_for_all));
	struct exchange *push = hold_world_promise(
	    g->hw, paths[path], FIELDS("accept-language", languages[language]), NULL);
	if (!push) {
		assert_true(may_be_refused);
		return;
	}
	g->items[g->item_count++] =
	    (struct item){.push = push, .user = user, .path = path, .language = language};
}

static struct item *pick(struct game *g, bool with_head)
{
	for (unsigned tries = 0; g->item_count > 0 && tries < 8; tries++) {
		struct item *i = &g->items[draw(g, g->item_count)];
		if (is_alive(i) && i->has_head == with_head && !i->is_whole)
			return i;
	}
	return NULL;
}

static void head(struct game *g)
{
	struct item *i = pick(g, false);
	if (!i)
		return;
	i->has_head = true;
	i->varies = draw(g, 2) == 0;
	i->must_check = draw(g, 3) == 0;
	i->is_for_all = !i->must_check && draw(g, 2) == 0;
	i->fresh_until = g->hw->w->relay.now + 4 * USEC_PER_SEC;
	hold_world_head(g->hw, i->push, 200,
	    FIELDS("cache-control",
		i->must_check   ? "private, no-cache"
		: i->is_for_all ? "max-age=4"
				: "private, max-age=4",
		i->varies ? "vary" : "x-none", "accept-language"),
	    false);
	for (unsigned r = 0; r < g->request_count; r++) /* who joined unseen may be sent away now */
		if (g->requests[r].item == i &&
		    ((i->varies && g->requests[r].language != i->language) ||
			(g->requests[r].user != i->user && !i->is_for_all)))
			g->requests[r].item = NULL;
}

static void bytes(struct game *g)
{
	struct item *i = pick(g, true);
	char text[32];
	if (!i)
		return;
	snprintf(text, sizeof(text), "%s%s#%u;", cookies[i->user], paths[i->path], g->serial++);
	strcat(i->body, text);
	i->is_whole = draw(g, 2) == 0;
	world_download(g->hw->w, i->push, text, i->is_whole);
	if (i->is_whole)
		exchange_on_leg_closed(&i->push->up);
}

static void look(struct game *g)
{
	unsigned user = draw(g, USERS), path = draw(g, PATHS), language = draw(g, 2);
	bool busts = draw(g, 6) == 0, is_expected = false;
	hold_world_pass(g->hw);
	for (unsigned i = 0; i < g->item_count; i++)
		is_expected =
		    is_expected || (!busts && fits(g, &g->items[i], user, path, language));
	struct request *r = &g->requests[g->request_count++];
	r->user = user;
	r->language = language;
	r->x = hold_world_request(g->hw, &g->hw->store, "GET", paths[path],
	    FIELDS("cookie", cookies[user], "accept-language", languages[language],
		busts ? "pragma" : "x-none", "no-cache"),
	    &r->down);
	if (!hold_claim(&g->hw->hold, r->x)) {
		assert_false(is_expected && g->is_roomy);
		exchange_dispatch(r->x);
		return;
	}
	assert_true(is_expected);
	const struct exchange *push = ((const struct claim *)r->x->up.carrier)->held->push;
	for (unsigned i = 0; i < g->item_count; i++)
		if (g->items[i].push == push)
			r->item = &g->items[i];
	assert_non_null(r->item);
	assert_true(fits(g, r->item, user, path, language));
}

static void change(struct game *g)
{
	unsigned path = draw(g, PATHS);
	struct request *r = &g->requests[g->request_count++];
	r->x = hold_world_request(g->hw, &g->hw->store, "POST", paths[path], NULL, &r->down);
	struct http_head *response = world_response(g->hw->w, 200);
	hold_invalidate(&g->hw->hold, r->x, response);
	http_head_free(response);
	for (unsigned i = 0; i < g->item_count; i++)
		g->items[i].is_closed = g->items[i].is_closed || g->items[i].path == path;
}

static void break_off(struct game *g)
{
	struct item *i = pick(g, draw(g, 2));
	if (i)
		exchange_on_up_failed(i->push, &relay_cause_UP_RESET, RELAY_CANCEL, NULL);
}

static void give_up(struct game *g)
{
	if (g->request_count == 0)
		return;
	struct request *r = &g->requests[draw(g, g->request_count)];
	if (!exchange_is_over(r->x))
		exchange_on_down_ended(r->x, &relay_cause_DOWN_RESET, RELAY_CANCEL, NULL);
	r->item = NULL;
}

/* What a client got is its own user's, or of a response that says that it is the same for all. */
static void check_owner(const struct game *g, const struct request *r)
{
	const char *bytes = r->down->bytes;
	bool may_have = r->down->byte_count == 0 ||
			strncmp(bytes, cookies[r->user], strlen(cookies[r->user])) == 0;
	for (unsigned i = 0; i < g->item_count && !may_have; i++)
		may_have = g->items[i].is_for_all &&
			   strncmp(bytes, g->items[i].body, r->down->byte_count) == 0;
	assert_true(may_have);
}

/* Clients take what there is; whoever has a whole answer has the right one, and others a beginning of it. */
static void settle(struct game *g)
{
	hold_world_pass(g->hw);
	for (unsigned n = 0; n < g->request_count; n++) {
		struct request *r = &g->requests[n];
		if (r->item && draw(g, 3) > 0)
			hold_world_take(g->hw, r->down);
		if (r->down)
			check_owner(g, r);
		if (!r->item)
			continue;
		assert_memory_equal(r->down->bytes, r->item->body, r->down->byte_count);
		if (exchange_is_over(r->x) && !r->x->ending.cause) {
			assert_true(r->item->is_whole);
			assert_string_equal(r->down->bytes, r->item->body);
			r->item = NULL;
		}
	}
	assert_true(g->hw->store.count <= g->hw->store.limits.count);
	g->hw->w->dispatch_count = 0;
}

static void step(struct game *g)
{
	switch (draw(g, 12)) {
	case 0:
	case 1:
		promise(g);
		break;
	case 2:
	case 3:
		head(g);
		break;
	case 4:
	case 5:
		bytes(g);
		break;
	case 6:
	case 7:
	case 8:
		look(g);
		break;
	case 9:
		hold_world_wait(g->hw, draw(g, 3) * USEC_PER_SEC);
		break;
	case 10:
		draw(g, 2) ? change(g) : break_off(g);
		break;
	case 11:
		give_up(g);
		break;
	}
	if (draw(g, 2))
		settle(g);
}

static void play(uint64_t seed, bool is_roomy)
{
	const struct hold_limits roomy = {.count = 99, .bytes = 1 << 20, .age = 0};
	const struct hold_limits tight = {.count = 3, .bytes = 60, .age = 3 * USEC_PER_SEC};
	struct game g = {.is_roomy = is_roomy, .random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1};
	struct world_leg *down;
	g.hw =
	    hold_world_with(FIELDS("cookie", cookies[0]), false, is_roomy ? &roomy : &tight, NULL);
	g.parents[0] = g.hw->parent;
	g.parents[1] =
	    hold_world_request(g.hw, &g.hw->store, "GET", "/", FIELDS("cookie", cookies[1]), &down);
	exchange_dispatch(g.parents[1]);
	for (unsigned i = 0; i < STEPS; i++)
		step(&g);
	settle(&g);
	hold_world_free(g.hw); /* ensures that nothing is left */
}

/* covers: P-hold-private P-hold-claim P-hold-no-store */
static void claims_are_those_that_the_rules_allow(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEQUENCES; seed++)
		play(seed, true);
}

/* covers: P-hold-private P-hold-bounds */
static void the_same_where_room_is_scarce(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEQUENCES; seed++)
		play(seed, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(claims_are_those_that_the_rules_allow),
	    cmocka_unit_test(the_same_where_room_is_scarce),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
