/* SPDX-License-Identifier: MIT */
/*
 * `pushgate server`: the request, and the orders that are in force. As with a trace (trace_request.h) the request is the
 * name of the command's socket; since that is short, origin and URL are hashes in it. The master keeps the orders by
 * these names over reloads, until another one is given or the server is gone from the configuration.
 */
#ifndef PUSHGATE_PROCESS_SERVER_REQUEST_H
#define PUSHGATE_PROCESS_SERVER_REQUEST_H

#include "proxy/base/slice.h"
#include "proxy/conf/conf.h"
#include "proxy/observe/observe.h"
#include "proxy/process/process.h"
#include <stdio.h>

/* What a command changes: the order, or the weight. */
struct server_change {
	enum server_order order;
	uint32_t weight; /* 0: it changes the order */
};

/* "drain", "weight=5". NULL, or what is wrong with it. */
const char *server_change_parse(struct slice text, struct server_change *c);

#define SERVER_REQUEST_BYTES 108
/* Returns the length. id makes the name unique. */
size_t server_request_write(const char *origin, const char *url, const struct server_change *c,
    uint64_t id, char name[SERVER_REQUEST_BYTES]);
bool server_is_request(struct slice name);

/* ---- in the master ---- */

struct server_orders_kept {
	char *origin, *url; /* owned; as the configuration has them */
	struct server_orders_row row;
};

struct server_orders_list {
	struct server_orders_kept *all; /* owned */
	size_t count;
};

void server_orders_list_free(struct server_orders_list *l);
/* Obeys a request, and writes an answer for its user. The configuration is that which is in use. */
enum process_status server_orders_list_change(
    struct server_orders_list *l, const struct conf *conf, struct slice name, FILE *answer);
/* Forgets those of servers that the configuration does not have, and calls gone for each. */
void server_orders_list_prune(struct server_orders_list *l, const struct conf *conf,
    void (*gone)(void *context, const struct server_orders_kept *k), void *context);
/* Gives the orders to the workers of a configuration. Servers that `known` does not have keep what they had: the list
 * forgets orders for them, and older workers still have them. to may be NULL. */
void server_orders_list_give(const struct server_orders_list *l, const struct conf *conf,
    const struct conf *known, struct server_orders *to);
/* As a text that another version can read: a line for each. */
void server_orders_list_write(const struct server_orders_list *l, FILE *out);
/* Adds those of such a text. What cannot be read is passed over. */
void server_orders_list_read(struct server_orders_list *l, struct slice text);
/* The rows that server_orders has for it. */
size_t server_orders_rows(const struct conf *conf);

#endif
