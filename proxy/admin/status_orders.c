/* SPDX-License-Identifier: MIT */
/* The part of `pushgate status` about orders for servers (`pushgate server`). */
#include "proxy/admin/status.h"

#include <string.h>

/* The text stays within a socket's buffer. */
#define ORDERS_MOST 128u

struct ordered {
	const char *origin, *url;
	struct server_orders_row row;
	uint32_t open;
};

/* The open requests of one server in another generation. */
static uint32_t open_there(const struct status_orders *there, const char *origin, const char *url)
{
	uint32_t open = 0;
	size_t row = 0;
	for (size_t i = 0; i < there->conf->origin_count; i++) {
		const struct conf_origin *o = &there->conf->origins[i];
		for (size_t k = 0; k < o->server_count && strcmp(o->name, origin) == 0; k++)
			if (strcmp(o->servers[k].text, url) == 0)
				open += server_orders_open(there->orders, row + k);
		row += o->server_count;
	}
	return open;
}

static uint32_t open_of(const struct status *s, size_t row, const struct ordered *one)
{
	uint32_t open = server_orders_open(s->orders, row);
	for (uint32_t i = 0; i < s->other_orders_count; i++)
		open += open_there(&s->other_orders[i], one->origin, one->url);
	return open;
}

/* Calls print for each server with an order. */
static void each_order(
    const struct status *s, void *context, void (*print)(void *context, const struct ordered *o))
{
	size_t row = 0, named = 0;
	for (size_t i = 0; i < s->conf->origin_count; i++) {
		const struct conf_origin *o = &s->conf->origins[i];
		for (size_t k = 0; k < o->server_count && named < ORDERS_MOST; k++) {
			struct ordered one = {.origin = o->name,
			    .url = o->servers[k].text,
			    .row = server_orders_get(s->orders, row + k)};
			if (one.row.order == SERVER_READY && one.row.weight == 0)
				continue;
			one.open = open_of(s, row + k, &one);
			print(context, &one);
			named++;
		}
		row += o->server_count;
	}
}

static void print_note(void *context, const struct ordered *o)
{
	FILE *out = context;
	if (o->row.order != SERVER_READY)
		fprintf(out, "# origin %s: server %s: %s by command, %u request%s open\n",
		    o->origin, o->url, server_order_text(o->row.order), o->open,
		    o->open == 1 ? "" : "s");
	if (o->row.weight > 0)
		fprintf(out, "# origin %s: server %s has weight %u by command\n", o->origin, o->url,
		    o->row.weight);
}

void status_order_notes(const struct status *s, FILE *out)
{
	each_order(s, out, print_note);
}

static void print_order(void *context, const struct ordered *o)
{
	if (o->row.order != SERVER_READY)
		observe_sample(context,
		    OBSERVE_LABELS({"origin", o->origin}, {"server", o->url},
			{"order", server_order_text(o->row.order)}),
		    "%u", o->open);
}

static void print_weight(void *context, const struct ordered *o)
{
	if (o->row.weight > 0)
		observe_sample(context, OBSERVE_LABELS({"origin", o->origin}, {"server", o->url}),
		    "%u", o->row.weight);
}

void status_orders_print(const struct status *s, FILE *out)
{
	struct observe_family orders = {.out = out, .id = OBSERVE_FAMILY_SERVER_ORDER};
	struct observe_family weights = {.out = out, .id = OBSERVE_FAMILY_SERVER_WEIGHT};
	each_order(s, &orders, print_order);
	each_order(s, &weights, print_weight);
}
