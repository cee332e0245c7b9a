/* SPDX-License-Identifier: MIT */
/* The keys of servers and of requests by which a balance chooses, as the configuration has them. */
#ifndef PUSHGATE_UPSTREAM_BALANCE_KEY_H
#define PUSHGATE_UPSTREAM_BALANCE_KEY_H

#include "proxy/conf/conf.h"
#include "proxy/upstream/balance.h"

struct destination;
struct exchange;

/* A balance as the [origin] has it. seed: of its draws, another one in each worker. */
struct balance *balance_of_origin(const struct conf_origin *o, uint64_t seed);
/*
 * The key of a server: the same in all workers and after a restart, and never 0. It names the server in
 * clients' cookies, and its address cannot be read from it. text: of the address; of demo:, which has none,
 * what else tells one line from another.
 */
uint64_t balance_member_key(const struct conf_origin *o, struct slice text);
/* Sets hash, has_hash and affinity; the rest is the caller's. */
void balance_ask(const struct destination *d, const struct exchange *x, struct balance_question *q);

#endif
