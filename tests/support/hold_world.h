/* SPDX-License-Identifier: MIT */
/*
 * A relay_world with a client's store of held responses and optionally the worker's shared store. Pushes are held,
 * requests are looked up in the stores first, and the stores' notes are recorded as text.
 */
#ifndef PUSHGATE_TESTS_HOLD_WORLD_H
#define PUSHGATE_TESTS_HOLD_WORLD_H

#include "proxy/hold/hold.h"
#include "tests/support/relay_world.h"

#define HOLD_WORLD_HEADS 64u
#define HOLD_WORLD_HEAD_BYTES 512u

/* Names and values, NULL at the end; NULL = none. */
typedef const char *const *hold_fields;
#define FIELDS(...) ((const char *const[]){__VA_ARGS__, NULL})

struct hold_world {
	struct world *w;
	struct relay_ops ops;        /* relay_world's, some wrapped to record their calls */
	struct hold hold;
	struct hold_store store;     /* of the client's connection */
	struct exchange *parent;     /* GET / of that client, open */
	struct world_leg *parent_down, *parent_up;
	hold_fields promise_fields;  /* for the next promise */
	char notes[WORLD_SAID];      /* "claimed; missed vary:accept-language; expired hold-count 5; …" */
	char pushes[WORLD_SAID];     /* how pushes ended: "x2 claimed claimed; …" */
	char heads[HOLD_WORLD_HEADS][HOLD_WORLD_HEAD_BYTES]; /* by exchange: the fields that its client was sent */
	char value[HOLD_WORLD_HEAD_BYTES]; /* hold_world_field's answer */
	usec held_for;               /* of the last final head: hold_held_for */
	uint64_t taken;              /* bytes received by hold_world_take */
	uint64_t wasted_bytes;       /* of all notes */
};

struct hold_world *hold_world_new(void);
/* parent: fields of the parent's request; shared: limits of the worker's store, NULL = none. */
struct hold_world *hold_world_with(hold_fields parent, bool came_through, const struct hold_limits *own,
    const struct hold_limits *shared);
extern const struct hold_limits hold_world_ample; /* room for everything */
/* Ends all exchanges and ensures that nothing leaks. */
void hold_world_free(struct hold_world *hw);

/* The origin promises path on the parent. NULL: refused. *up: the promised leg; may be NULL. */
struct exchange *hold_world_promise(struct hold_world *hw, const char *path, hold_fields fields, struct world_leg **up);
/* The same for /a of another scheme and authority. */
struct exchange *hold_world_promise_at(struct hold_world *hw, const char *scheme, const char *authority);
/* The response's head. */
void hold_world_head(struct hold_world *hw, struct exchange *push, unsigned status, hold_fields fields, bool end);
/* Promise, head and body, whole, at the end of a loop pass. */
struct exchange *hold_world_push(struct hold_world *hw, const char *path, hold_fields fields, const char *body);

/* A request on a connection with this store, not looked up. */
struct exchange *hold_world_request(struct hold_world *hw, struct hold_store *s, const char *method, const char *path,
    hold_fields fields, struct world_leg **down);
/* The same, looked up, and dispatched when no held response matches. True: claimed. Then ends the loop pass and receives
 * what has arrived. */
bool hold_world_ask(struct hold_world *hw, struct hold_store *s, const char *method, const char *path, hold_fields fields,
    struct world_leg **down);
/* GET on the client's connection. */
bool hold_world_get(struct hold_world *hw, const char *path, hold_fields fields, struct world_leg **down);
/* The end of a loop pass. */
void hold_world_pass(struct hold_world *hw);
/* Time passes, in loop passes. */
void hold_world_wait(struct hold_world *hw, usec span);
/* The leg receives all bytes that are available, in several loop passes. */
void hold_world_take(struct hold_world *hw, struct world_leg *down);
/* The client connection is lost: ends all of its exchanges. */
void hold_world_lose(struct hold_world *hw);
/* For ops that compare routes: whether both exchanges have the same one. */
bool hold_world_same_route(void *context, const struct exchange *a, const struct exchange *b);
/* A route that is no other's, for the places of exchanges. Nothing reads it. */
const struct conf_route *hold_world_route(unsigned number);
/* The value of a field of the last head for this exchange (by number), "" without. */
const char *hold_world_field(struct hold_world *hw, uint64_t id, const char *name);

#endif
