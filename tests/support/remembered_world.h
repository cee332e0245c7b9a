/* SPDX-License-Identifier: MIT */
/* Clients that load pages, for tests of the memory of pages. */
#ifndef PUSHGATE_TESTS_REMEMBERED_WORLD_H
#define PUSHGATE_TESTS_REMEMBERED_WORLD_H

#include "proxy/remembered/remembered.h"

#define WORLD_START (1000 * USEC_PER_SEC)
#define WORLD_DAY (86400 * USEC_PER_SEC)

struct remembered_world {
	struct http_head_pool *pool;
	struct budget budget;
	struct remembered *m;
	usec now;
};

void remembered_world_init(struct remembered_world *w, const struct remembered_options *options);
void remembered_world_fini(struct remembered_world *w);

/* One view. Fields are lines "name: value", separated by "\n"; NULL: none. */
struct remembered_view {
	const char *authority, *path; /* NULL: www.example, "/" */
	const char *request, *response;
	const char *items; /* separated by spaces: "/a.css=style", "~/b.js=script" is of the head */
	const char *csp, *referrer_policy; /* of the origin's 103; NULL: none */
	uint16_t status;   /* 0: 200 */
	bool is_no_page_load, has_user, is_post, is_plain_http;
	const char *type; /* NULL: text/html; "": none */
};

struct http_head *remembered_request(struct remembered_world *w, const struct remembered_view *view);
/* A view by the client of this number; a second passes. */
enum remembered_answer remembered_view(
    struct remembered_world *w, uint32_t client, const struct remembered_view *view);
/* What is told for the request of such a view: targets in their order, separated by spaces. Lent until the next call. */
const char *remembered_told(struct remembered_world *w, const struct remembered_view *view);
/* The fields that are told: "CSP | Referrer-Policy". Lent as above. */
const char *remembered_told_fields(struct remembered_world *w, const struct remembered_view *view);
/* A client requests these right after the page (source ASKED; with style: STYLE). */
void remembered_asks(struct remembered_world *w, uint32_t client, const char *page, const char *paths, bool style);
void remembered_outcome(struct remembered_world *w, uint32_t client, const struct remembered_view *view,
    const char *target, enum remembered_outcome outcome);
/* The whole memory, as its file has it; to be freed. */
char *remembered_text(struct remembered_world *w, size_t *length, uint64_t wall_sec);

#endif
