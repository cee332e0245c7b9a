/* SPDX-License-Identifier: MIT */
/* See server_request.h. The command is server_command.c. */
#include "proxy/process/server_request.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "pushgate server "
#define WEIGHT "weight="
/* Of the hashes in a request. Both ends are this program. */
#define SEED UINT64_C(0x736572766572)

/* ---- the request ---- */

const char *server_change_parse(struct slice text, struct server_change *c)
{
	uint64_t weight;
	*c = (struct server_change){0};
	for (enum server_order o = SERVER_READY; o <= SERVER_TAKEN_DOWN; o++)
		if (slice_equal(text, slice_of_string(server_order_text(o)))) {
			c->order = o;
			return NULL;
		}
	if (!slice_starts_with(text, SLICE(WEIGHT)) ||
	    !slice_to_number(slice_from(text, strlen(WEIGHT)), LIMIT_SERVER_WEIGHT, &weight) ||
	    weight == 0)
		return "write drain, ready, down or weight=1 to weight=256";
	c->weight = (uint32_t)weight;
	return NULL;
}

static uint64_t hash_of(struct slice text)
{
	return hash_bytes(SEED, text.ptr, text.len);
}

size_t server_request_write(const char *origin, const char *url, const struct server_change *c,
    uint64_t id, char name[SERVER_REQUEST_BYTES])
{
	char change[32];
	struct slice wanted = slice_of_string(url);
	if (wanted.len > 0 && wanted.ptr[wanted.len - 1] == '/')
		wanted.len--;
	if (c->weight > 0)
		snprintf(change, sizeof(change), WEIGHT "%" PRIu32, c->weight);
	else
		snprintf(change, sizeof(change), "%s", server_order_text(c->order));
	int n = snprintf(name, SERVER_REQUEST_BYTES,
	    PREFIX "%s %016" PRIx64 " %016" PRIx64 " %016" PRIx64, change,
	    hash_of(slice_of_string(origin)), hash_of(wanted), id);
	return (size_t)n;
}

bool server_is_request(struct slice name)
{
	return slice_starts_with(name, SLICE(PREFIX));
}

struct request {
	struct server_change change;
	uint64_t origin, url;
};

static bool take_hash(struct slice *rest, uint64_t *hash)
{
	char text[17] = "", *end;
	struct slice word = slice_cut(rest, ' ');
	if (word.len != 16)
		return false;
	memcpy(text, word.ptr, word.len);
	*hash = strtoull(text, &end, 16);
	return *end == '\0';
}

static bool parse(struct slice name, struct request *r)
{
	struct slice rest = slice_from(name, strlen(PREFIX));
	uint64_t id;
	return server_change_parse(slice_cut(&rest, ' '), &r->change) == NULL &&
	       take_hash(&rest, &r->origin) && take_hash(&rest, &r->url) && take_hash(&rest, &id) &&
	       rest.len == 0;
}

/* ---- which server is meant ---- */

/* How a server may be named; the first way that names one counts. */
enum way { WAY_URL, WAY_ADDRESS, WAY_HOST, WAYS };

static struct slice named(const struct conf_origin_server *s, enum way way)
{
	struct slice text = slice_of_string(s->text);
	const char *behind = strstr(s->text, "://");
	switch (way) {
	case WAY_ADDRESS:
		return behind ? slice_of_string(behind + 3) : text;
	case WAY_HOST:
		return s->host ? slice_of_string(s->host) : text;
	case WAY_URL:
	case WAYS:
		break;
	}
	return text;
}

static void list_origins(const struct conf *conf, FILE *answer)
{
	fputs("there is no such origin; there are:", answer);
	for (size_t i = 0; i < conf->origin_count; i++)
		fprintf(answer, " %s", conf->origins[i].name);
	fputs("\n", answer);
}

static void list_servers(const struct conf_origin *o, const char *what, FILE *answer)
{
	fprintf(answer, "origin %s: %s:", o->name, what);
	for (size_t i = 0; i < o->server_count; i++)
		fprintf(answer, " %s", o->servers[i].text);
	fputs("\n", answer);
}

/* NULL: the answer says why. */
static const struct conf_origin *find_origin(
    const struct conf *conf, const struct request *r, FILE *answer)
{
	for (size_t i = 0; i < conf->origin_count; i++) {
		const struct conf_origin *o = &conf->origins[i];
		if (hash_of(slice_of_string(o->name)) != r->origin)
			continue;
		if (o->kind != CONF_ORIGIN_FORWARD)
			return o;
		fprintf(answer, "origin %s: requests name its servers\n", o->name);
		return NULL;
	}
	list_origins(conf, answer);
	return NULL;
}

/* The first one of those with the same URL. NULL: the answer says why. */
static const struct conf_origin_server *find_server(
    const struct conf_origin *o, const struct request *r, FILE *answer)
{
	const struct conf_origin_server *found = NULL;
	for (enum way way = WAY_URL; way < WAYS && !found; way++)
		for (size_t i = 0; i < o->server_count; i++) {
			const struct conf_origin_server *s = &o->servers[i];
			if (hash_of(named(s, way)) != r->url)
				continue;
			if (found && strcmp(found->text, s->text) != 0) {
				list_servers(o,
				    "this names several servers; write the URL of one of", answer);
				return NULL;
			}
			found = found ? found : s;
		}
	if (!found)
		list_servers(o, "it has no such server; it has", answer);
	return found;
}

/* ---- the list ---- */

static void forget(struct server_orders_list *l, size_t at)
{
	struct server_orders_kept gone = l->all[at];
	l->count--;
	for (size_t i = at; i < l->count; i++)
		l->all[i] = l->all[i + 1];
	free(gone.origin);
	free(gone.url);
}

void server_orders_list_free(struct server_orders_list *l)
{
	while (l->count > 0)
		forget(l, 0);
	free(l->all);
	l->all = NULL;
}

static size_t find_kept(const struct server_orders_list *l, const char *origin, const char *url)
{
	size_t i = 0;
	while (i < l->count &&
	       (strcmp(l->all[i].origin, origin) != 0 || strcmp(l->all[i].url, url) != 0))
		i++;
	return i;
}

/* Takes both texts. */
static struct server_orders_row *add(struct server_orders_list *l, char *origin, char *url)
{
	l->all = memory_resize(l->all, l->count + 1, sizeof(*l->all));
	l->all[l->count] = (struct server_orders_kept){.origin = origin, .url = url};
	return &l->all[l->count++].row;
}

static void say(const struct conf_origin *o, const struct conf_origin_server *s,
    const struct server_orders_row *row, FILE *answer)
{
	static const char *const texts[] = {
	    [SERVER_READY] = "is used again, if its checks pass",
	    [SERVER_DRAIN] = "gets no new requests; those that are open end",
	    [SERVER_TAKEN_DOWN] = "gets no requests, and its connections are cut",
	};
	fprintf(answer, "origin %s: server %s %s; weight %" PRIu32 "%s\n", o->name, s->text,
	    s->is_down ? "stays down, as the configuration says" : texts[row->order],
	    row->weight ? row->weight : s->weight, row->weight ? " by command" : "");
}

/* Whether another server of the origin may get requests. */
static bool has_another(const struct server_orders_list *l, const struct conf_origin *o)
{
	for (size_t i = 0; i < o->server_count; i++) {
		size_t at = find_kept(l, o->name, o->servers[i].text);
		bool is_ordered = at < l->count && l->all[at].row.order != SERVER_READY;
		if (!o->servers[i].is_down && !is_ordered)
			return true;
	}
	return false;
}

enum process_status server_orders_list_change(
    struct server_orders_list *l, const struct conf *conf, struct slice name, FILE *answer)
{
	struct request r;
	if (!parse(name, &r)) {
		fputs("not a request of this version\n", answer);
		return PROCESS_FAILED;
	}
	const struct conf_origin *o = find_origin(conf, &r, answer);
	const struct conf_origin_server *s = o ? find_server(o, &r, answer) : NULL;
	if (!s)
		return PROCESS_BAD_CONF;
	size_t at = find_kept(l, o->name, s->text);
	if (at == l->count)
		add(l, memory_strdup(o->name), memory_strdup(s->text));
	struct server_orders_row *row = &l->all[at].row;
	if (r.change.weight > 0)
		row->weight = r.change.weight == s->weight && !s->is_srv ? 0 : r.change.weight;
	else
		row->order = r.change.order;
	say(o, s, row, answer);
	if (row->order == SERVER_READY && row->weight == 0)
		forget(l, at);
	if (!has_another(l, o))
		fprintf(answer, "origin %s: no server gets requests now\n", o->name);
	return PROCESS_DONE;
}

static bool has_server(const struct conf *conf, const char *origin, const char *url)
{
	for (size_t i = 0; i < conf->origin_count; i++) {
		const struct conf_origin *o = &conf->origins[i];
		for (size_t s = 0; strcmp(o->name, origin) == 0 && s < o->server_count; s++)
			if (strcmp(o->servers[s].text, url) == 0)
				return true;
	}
	return false;
}

void server_orders_list_prune(struct server_orders_list *l, const struct conf *conf,
    void (*gone)(void *context, const struct server_orders_kept *k), void *context)
{
	for (size_t i = 0; i < l->count;) {
		if (has_server(conf, l->all[i].origin, l->all[i].url)) {
			i++;
			continue;
		}
		gone(context, &l->all[i]);
		forget(l, i);
	}
}

/* ---- as a text: order, weight, URL, origin ---- */

void server_orders_list_write(const struct server_orders_list *l, FILE *out)
{
	for (size_t i = 0; i < l->count; i++)
		fprintf(out, "%s\t%" PRIu32 "\t%s\t%s\n", server_order_text(l->all[i].row.order),
		    l->all[i].row.weight, l->all[i].url, l->all[i].origin);
}

static char *copy(struct slice text)
{
	char *made = memory_alloc(text.len + 1);
	memcpy(made, text.ptr, text.len);
	made[text.len] = '\0';
	return made;
}

void server_orders_list_read(struct server_orders_list *l, struct slice text)
{
	while (text.len > 0) {
		struct slice line = slice_cut(&text, '\n');
		struct server_change order;
		uint64_t weight;
		bool is_good =
		    !server_change_parse(slice_cut(&line, '\t'), &order) && order.weight == 0 &&
		    slice_to_number(slice_cut(&line, '\t'), LIMIT_SERVER_WEIGHT, &weight);
		struct slice url = slice_cut(&line, '\t');
		if (!is_good || url.len == 0 || line.len == 0)
			continue;
		*add(l, copy(line), copy(url)) =
		    (struct server_orders_row){order.order, (uint32_t)weight};
	}
}

/* ---- for the workers ---- */

size_t server_orders_rows(const struct conf *conf)
{
	size_t rows = 0;
	for (size_t i = 0; i < conf->origin_count; i++)
		rows += conf->origins[i].server_count;
	return rows;
}

void server_orders_list_give(const struct server_orders_list *l, const struct conf *conf,
    const struct conf *known, struct server_orders *to)
{
	size_t row = 0;
	/* Workers look at no row until one was given. */
	if (!to || (l->count == 0 && atomic_load(to->version) == 0))
		return;
	for (size_t i = 0; i < conf->origin_count; i++)
		for (size_t s = 0; s < conf->origins[i].server_count; s++, row++) {
			const struct conf_origin *o = &conf->origins[i];
			if (known != conf && !has_server(known, o->name, o->servers[s].text))
				continue;
			size_t at = find_kept(l, o->name, o->servers[s].text);
			server_orders_give(to, row,
			    at < l->count ? l->all[at].row : (struct server_orders_row){0});
		}
	server_orders_publish(to);
}
