/* SPDX-License-Identifier: MIT */
/*
 * An access log's pushes, decided again under another configuration. A line says what was promised
 * and what was decided; its parent's line says who asked for what. What neither says is taken from
 * the logged verdict: a guard of the moment (a client that took no pushes, a full connection, a
 * resource that was known) stands as it was.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/http/link.h"
#include "proxy/tool/explain.h"
#include <jansson.h>
#include <stdlib.h>

#define LINES_MAX 4000000u

struct entry {
	json_t *line;
	size_t number;      /* of the line, from 1 */
	int64_t worker, id; /* of the push's parent, for a push */
	bool is_push;
	const struct entry *parent; /* of a push; NULL: not in the log */
};

struct replay {
	const struct conf *conf;
	FILE *out;
	struct entry *entries;
	size_t count, room;
	struct explain_scene scene;
	const struct entry *now; /* the push that is decided again */
	size_t decided, changed, without_parent, unread;
};

static const char *text_of(const struct entry *e, const char *key)
{
	const char *text = json_string_value(json_object_get(e->line, key));
	return text ? text : "";
}

static int64_t number_of(const json_t *line, const char *key)
{
	return (int64_t)json_integer_value(json_object_get(line, key));
}

/* ---- reading ---- */

static void add_line(struct replay *r, const char *text, size_t len, size_t number)
{
	json_error_t error;
	json_t *line = json_loadb(text, len, 0, &error);
	if (!json_is_object(line) || r->count == LINES_MAX) {
		json_decref(line);
		r->unread++;
		return;
	}
	if (r->count == r->room) {
		r->room = r->room ? r->room * 2 : 256;
		r->entries = memory_resize(r->entries, r->room, sizeof(*r->entries));
	}
	bool is_push = json_is_true(json_object_get(line, "push"));
	r->entries[r->count++] = (struct entry){
	    .line = line,
	    .number = number,
	    .worker = number_of(line, "worker"),
	    .id = number_of(line, is_push ? "parent" : "id"),
	    .is_push = is_push,
	};
}

static void read_log(struct replay *r, FILE *log)
{
	char *text = NULL;
	size_t size = 0, number = 0;
	for (ssize_t n; (n = getline(&text, &size, log)) > 0;)
		add_line(r, text, (size_t)n, ++number);
	free(text);
}

static int by_name(const struct entry *a, const struct entry *b)
{
	if (a->worker != b->worker)
		return a->worker < b->worker ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static int by_name_and_line(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int d = by_name(a, b);
	return d ? d : (a->number > b->number) - (a->number < b->number);
}

static size_t lines_between(const struct entry *a, const struct entry *b)
{
	return a->number > b->number ? a->number - b->number : b->number - a->number;
}

/* The push's parent so far, or this request of its name if that is nearer. */
static void take_nearer(struct entry *push, const struct entry *request)
{
	if (!request || by_name(request, push) != 0)
		return;
	if (!push->parent || lines_between(push, request) < lines_between(push, push->parent))
		push->parent = request;
}

/* A worker that was started again begins to count again: of several requests of one name the
 * nearest line counts. In their order that is the last before the push or the first behind it. */
static void find_parents(struct replay *r)
{
	const struct entry *request = NULL;
	for (size_t i = 0; i < r->count; i++) {
		if (r->entries[i].is_push)
			take_nearer(&r->entries[i], request);
		else
			request = &r->entries[i];
	}
	request = NULL;
	for (size_t i = r->count; i-- > 0;) {
		if (r->entries[i].is_push)
			take_nearer(&r->entries[i], request);
		else
			request = &r->entries[i];
	}
}

/* ---- what the log says between the lines ---- */

static bool has_reason(const struct entry *e, const struct policy_reason *reason)
{
	return strcmp(text_of(e, "reason"), reason->code) == 0;
}

static bool has_verdict(const struct entry *e, enum policy_action action)
{
	return strcmp(text_of(e, "verdict"), policy_action_name(action)) == 0;
}

static bool was_hinted(const struct entry *e)
{
	return has_verdict(e, POLICY_HINT) || has_verdict(e, POLICY_HINT_HOLD);
}

/* What the pushes of one parent say of its client. They stand together, from `first` on, with none
 * but the parent among them. */
struct between {
	bool takes_pushes, takes_none, navigates, does_not;
};

static struct between look_between(const struct replay *r, const struct entry *first)
{
	struct between b = {0};
	const struct entry *end = r->entries + r->count;
	for (const struct entry *e = first; e < end; e++) {
		if (e == first->parent)
			continue;
		if (e->parent != first->parent)
			break;
		b.takes_pushes |= has_verdict(e, POLICY_FORWARD);
		b.takes_none |= has_reason(e, &policy_reason_PUSH_DISABLED);
		b.navigates |= was_hinted(e);
		b.does_not |= has_reason(e, &policy_reason_HINT_CLIENT);
	}
	return b;
}

/* A browser takes no pushes, and what it asks for by a path without an extension is a page. */
static void guess(struct between *b, const struct entry *parent)
{
	bool is_browser = strncmp(text_of(parent, "user_agent"), "Mozilla/", 8) == 0;
	struct slice path = slice_of_string(text_of(parent, "path"));
	enum policy_type type = policy_type_of_path(path);
	bool is_page = type == POLICY_TYPE_UNKNOWN || type == POLICY_TYPE_DOCUMENT;
	if (!b->takes_pushes)
		b->takes_none = b->takes_none || is_browser;
	if (!b->does_not)
		b->navigates = b->navigates || (is_browser && is_page);
}

/* Guards of the moment: what they asked about is not in the log, so they stand. */
static void correct(void *context, struct policy_offer *offer)
{
	struct replay *r = context;
	const struct entry *e = r->now;
	offer->duplicate |= has_reason(e, &policy_reason_DUPLICATE);
	offer->parent_gone |= has_reason(e, &policy_reason_PARENT_GONE);
	offer->parent_is_push |= has_reason(e, &policy_reason_PARENT_PUSHED);
	offer->client_going_away |= has_reason(e, &policy_reason_CLIENT_GOING_AWAY);
	offer->parent_revalidates |= has_reason(e, &policy_reason_REVALIDATION);
	offer->promise_rate_exceeded |= has_reason(e, &policy_reason_PROMISE_RATE);
	if (has_reason(e, &policy_reason_NO_STREAMS))
		offer->client_accepts_streams = false;
	if (has_reason(e, &policy_reason_KNOWN))
		offer->known = POLICY_KNOWN;
	if (has_reason(e, &policy_reason_CONNECTION_CAP))
		offer->connection_pushes = UINT32_MAX;
	if (has_reason(e, &policy_reason_BYTES_CAP))
		offer->connection_push_bytes = UINT64_MAX;
	if (has_reason(e, &policy_reason_HINT_LATE) || has_reason(e, &policy_reason_HINT_VERSION))
		offer->hint_refusal = policy_reason_find(text_of(e, "reason"));
	else if (was_hinted(e))
		offer->hint_refusal = NULL;
	if (has_reason(e, &policy_reason_HOLD_FORWARDED) ||
	    has_reason(e, &policy_reason_HOLD_BYTES))
		offer->hold_refusal = policy_reason_find(text_of(e, "reason"));
}

/* Said by something other than rules, guards and facts that the log has: the same again. */
static bool is_beyond_policy(const struct entry *e)
{
	static const struct policy_reason *const reasons[] = {
	    &policy_reason_LINK_NOPUSH,
	    &policy_reason_LINK_ANCHOR,
	    &policy_reason_LINK_SELF,
	    &policy_reason_LINK_TARGET,
	    &policy_reason_BUDGET,
	    &policy_reason_RESET_BUDGET,
	    &policy_reason_MALFORMED,
	    &policy_reason_BODY,
	    &policy_reason_LEARNED_PROPOSAL,
	};
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (has_reason(e, reasons[i]))
			return true;
	return false;
}

/* The rule decided, and then something else did that the log does not have: the response, or what
 * came of others. */
static bool was_changed_later(const struct entry *e)
{
	return has_reason(e, &policy_reason_PAUSED) || has_reason(e, &policy_reason_STATUS) ||
	       has_reason(e, &policy_reason_CONTENT_TYPE) ||
	       has_reason(e, &policy_reason_TOO_LARGE) ||
	       has_reason(e, &policy_reason_NOT_STORABLE) ||
	       (has_verdict(e, POLICY_HINT) && text_of(e, "end_reason")[0]);
}

/* ---- deciding again ---- */

static void print_text(FILE *out, const char *text)
{
	explain_print(out, slice_of_string(text));
}

static void show_difference(struct replay *r, struct policy_verdict v)
{
	const struct entry *e = r->now;
	FILE *out = r->out;
	print_text(out, text_of(e, "source"));
	fputc(' ', out);
	print_text(out, text_of(e, "scheme"));
	fputs("://", out);
	print_text(out, text_of(e, "authority"));
	print_text(out, text_of(e, "path"));
	fputs(" for ", out);
	print_text(out, text_of(e->parent, "path"));
	fputs("\n    ", out);
	print_text(out, text_of(e, "verdict"));
	fputs(" (", out);
	print_text(out, text_of(e, "reason"));
	if (text_of(e, "rule")[0]) {
		fputc(' ', out);
		print_text(out, text_of(e, "rule"));
	}
	fprintf(out, ") -> %s (%s", policy_action_name(v.action), v.reason->code);
	if (v.rule) {
		fputc(' ', out);
		print_text(out, v.rule->name);
	}
	fprintf(out, ")  line %zu\n", e->number);
}

static void settled(void *context, const struct explain_offer *offer)
{
	struct replay *r = context;
	const struct entry *e = r->now;
	const struct policy_verdict v = offer->verdict;
	const char *rule = v.rule ? v.rule->name : "";
	bool is_same = strcmp(policy_action_name(v.action), text_of(e, "verdict")) == 0 &&
		       has_reason(e, v.reason);
	r->decided++;
	if ((is_same || was_changed_later(e)) && strcmp(rule, text_of(e, "rule")) == 0)
		return;
	r->changed++;
	show_difference(r, v);
}

static void set_field(struct http_head *head, enum http_token token, const char *text)
{
	if (text[0])
		http_head_add_token(head, token, slice_of_string(text));
}

/* The request of a line; settling it tells whether the line has all that it takes. */
static struct http_head *head_of(struct replay *r, const struct entry *e)
{
	struct http_head *head = explain_head(&r->scene);
	set_field(head, HTTP_TOKEN_PSEUDO_METHOD, text_of(e, "method"));
	set_field(head, HTTP_TOKEN_PSEUDO_SCHEME, text_of(e, "scheme"));
	set_field(head, HTTP_TOKEN_PSEUDO_AUTHORITY, text_of(e, "authority"));
	set_field(head, HTTP_TOKEN_PSEUDO_PATH, text_of(e, "path"));
	set_field(head, HTTP_TOKEN_USER_AGENT, text_of(e, "user_agent"));
	set_field(head, HTTP_TOKEN_REFERER, text_of(e, "referer"));
	return head;
}

static const struct conf_listen *find_listen(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->listen_count; i++)
		if (strcmp(conf->listens[i].name, name) == 0)
			return &conf->listens[i];
	return conf->listen_count > 0 ? &conf->listens[0] : NULL;
}

/* The parent's request, as far as the log has it. False: nothing can be offered with it any more.
 * */
static bool ask(struct replay *r, const struct entry *first)
{
	const struct entry *parent = first->parent;
	struct between b = look_between(r, first);
	const char *detail;
	guess(&b, parent);
	struct facts_client *client = &r->scene.client;
	*client = (struct facts_client){
	    .push_enabled = b.takes_pushes || !b.takes_none,
	    .accepts_streams = true,
	};
	address_parse(slice_of_string(text_of(parent, "client")), &client->address);
	r->scene.listen = find_listen(r->conf, text_of(parent, "listen"));
	explain_end(&r->scene);
	struct http_head *head = head_of(r, parent);
	if (b.navigates)
		http_head_add_token(head, HTTP_TOKEN_SEC_FETCH_MODE, SLICE("navigate"));
	if (http_head_settle(head, HTTP_REQUEST)) {
		http_head_free(head);
		return false;
	}
	if (explain_ask(&r->scene, head, &detail))
		return false;
	explain_dispatch(&r->scene, false);
	return true;
}

static void decide_relayed(struct replay *r)
{
	struct http_head *head = head_of(r, r->now);
	if (http_head_settle(head, HTTP_REQUEST) == NULL)
		explain_promise(&r->scene, head);
	else
		http_head_free(head);
}

static void decide_own(struct replay *r, enum policy_source source)
{
	struct exchange *x = r->scene.x;
	const struct entry *e = r->now;
	struct http_resource resource = {
	    .target = {slice_of_string(text_of(e, "scheme")),
		slice_of_string(text_of(e, "authority")), slice_of_string(text_of(e, "path"))},
	};
	enum policy_type type = policy_type_of_path(resource.target.path);
	resource.as = slice_of_string(policy_type_as(type));
	bool is_foreign = !slice_equal(resource.target.scheme, x->scheme) ||
			  !slice_equal(resource.target.authority, x->authority);
	exchange_offer(
	    x, source, &resource, is_foreign ? RELAY_OFFER_CROSS_ORIGIN : RELAY_OFFER_PLAIN);
}

static void decide_again(struct replay *r, const struct entry *e)
{
	size_t before = r->decided;
	r->now = e;
	if (!is_beyond_policy(e) && r->scene.x && !r->scene.x->is_over) {
		for (unsigned source = 0; source < POLICY_SOURCE_COUNT; source++) {
			if (strcmp(policy_source_name(source), text_of(e, "source")) != 0)
				continue;
			if (source == POLICY_RELAYED)
				decide_relayed(r);
			else
				decide_own(r, source);
		}
	}
	if (r->decided == before && is_beyond_policy(e))
		r->decided++;
	else if (r->decided == before)
		r->unread++;
}

static void decide_all(struct replay *r)
{
	const struct entry *asked = NULL;
	for (size_t i = 0; i < r->count; i++) {
		const struct entry *e = &r->entries[i];
		if (!e->is_push)
			continue;
		if (!e->parent) {
			r->without_parent++;
			continue;
		}
		if (e->parent != asked && !ask(r, e))
			explain_end(&r->scene);
		asked = e->parent;
		decide_again(r, e);
	}
}

static void show_sum(const struct replay *r)
{
	fprintf(r->out, "%zu pushes decided again, %zu differ\n", r->decided, r->changed);
	if (r->without_parent > 0)
		fprintf(
		    r->out, "%zu left out: their request is not in the log\n", r->without_parent);
	if (r->unread > 0)
		fprintf(r->out, "%zu lines left out: not understood, or not served any more\n",
		    r->unread);
}

int explain_log(const struct conf *conf, FILE *log, FILE *out)
{
	struct replay r = {.conf = conf, .out = out};
	read_log(&r, log);
	if (r.count > 0)
		qsort(r.entries, r.count, sizeof(*r.entries), by_name_and_line);
	find_parents(&r);
	r.scene = (struct explain_scene){
	    .conf = conf,
	    .correct = correct,
	    .settled = settled,
	    .context = &r,
	};
	explain_scene_init(&r.scene);
	decide_all(&r);
	explain_scene_fini(&r.scene);
	show_sum(&r);
	for (size_t i = 0; i < r.count; i++)
		json_decref(r.entries[i].line);
	free(r.entries);
	return r.changed > 0 ? EXPLAIN_DIFFERS : EXPLAIN_OK;
}
