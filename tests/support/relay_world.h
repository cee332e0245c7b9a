/* SPDX-License-Identifier: MIT */
/*
 * A relay with legs in memory: each call of a leg is recorded as text, so that a test can expect
 * "reset 8" or "head 502 end". There is no engine and no socket; the test sets the time.
 */
#ifndef PUSHGATE_TESTS_RELAY_WORLD_H
#define PUSHGATE_TESTS_RELAY_WORLD_H

#include "proxy/relay/relay.h"

#define WORLD_STREAMS 64u
#define WORLD_SAID 4096u

/* One leg as the other side would see it. */
struct world_leg {
	struct leg *leg;         /* NULL: not bound, or gone */
	char said[WORLD_SAID];   /* the calls of the leg, separated by "; " */
	char bytes[WORLD_SAID]; /* body bytes that the leg received */
	size_t byte_count;
	size_t credit;
	bool is_ready;           /* send_body was called: world_take reads the body */
	bool is_push;
	bool must_wait;          /* pushes: send_head returns false */
};

struct world {
	struct relay relay;
	struct budget budget, down_budget, up_budget; /* of the worker; of all downstream and all upstream legs */
	struct chunk_pool *chunks, *small;
	struct http_head_pool *heads;
	struct policy_rules rules;
	struct world_leg legs[WORLD_STREAMS];
	unsigned leg_count;
	/* How dispatch behaves: */
	bool connects;           /* at once */
	struct exchange *dispatched[16]; /* in order; NULL-terminated */
	unsigned dispatch_count;
	char ended[WORLD_SAID];  /* "x1 complete 200; " or "x1 origin-lost 502; " in order */
	char refused[WORLD_SAID]; /* reasons of refused offers */
	char looked[WORLD_SAID];  /* pieces of bodies that an onlooker got */
	/* Facts for the next offers. */
	bool origin_may_promise, listener_covers, push_enabled, rate_exceeded, client_goes_away;
	bool cannot_promise;     /* the downstream leg refuses promises */
	bool offers_are_special; /* each is decided by itself */
	uint32_t facts_count;    /* offers that facts were asked for */
	usec limits[RELAY_TIMEOUT_TUNNEL_HALF + 1]; /* by enum relay_timeout */
	uint32_t min_rate[2];    /* by enum relay_side */
	enum relay_look look;    /* at the first bytes of tunnels that are checked */
};

struct world *world_new(void);
void world_free(struct world *w); /* ensures that no exchange is left */
void world_end(struct world *w);  /* ends all exchanges, then frees */

/* A validated request or response head: "GET", "/path", then name, value, …, NULL. */
struct http_head *world_request(struct world *w, const char *method, const char *path);
struct http_head *world_response(struct world *w, unsigned status);
struct http_head *world_trailers(struct world *w);

/* A new exchange with a downstream leg; not dispatched. *down: its leg. */
struct exchange *world_exchange(struct world *w, const char *method, bool end, struct world_leg **down);
/* The same, dispatched and connected. */
struct exchange *world_connected(struct world *w, const char *method, bool end, struct world_leg **down, struct world_leg **up);
/* The origin promises path on x; NULL when refused. *up is the promised leg in any case. */
struct exchange *world_promise(struct world *w, struct exchange *x, const char *path, struct world_leg **up, struct world_leg **down);
struct world_leg *world_leg_of(struct world *w, const struct leg *leg);

void world_upload(struct world *w, struct exchange *x, const char *text, bool end);
void world_download(struct world *w, struct exchange *x, const char *text, bool end);
/* The leg receives all bytes that wait for it. */
void world_take(struct world_leg *l);
/* Lets time pass in small steps. */
void world_pass(struct world *w, usec span);

/* The request of an exchange, for a test that builds it; const for all other code. */
static inline struct http_head *world_request_of(struct exchange *x)
{
	return (struct http_head *)(uintptr_t)x->request;
}

#endif
