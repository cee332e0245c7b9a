/* SPDX-License-Identifier: MIT */
/* See user_results.h. */
#include "proxy/admission/user_results.h"

#include "proxy/base/memory.h"

struct user_result {
	struct map_node node;
	struct list link; /* in of->list */
	struct user_result_list *of;
	uint8_t mac[USER_MAC_BYTES];
	uint32_t access;
	usec until;
	struct exchange_user *user; /* one reference; NULL: wrong */
};

static uint64_t hash_of(const uint8_t mac[USER_MAC_BYTES])
{
	uint64_t hash;
	memcpy(&hash, mac, sizeof(hash));
	return hash;
}

static void drop(struct user_results *u, struct user_result *r)
{
	map_remove(&u->by_mac, &r->node);
	list_remove(&r->link);
	r->of->count--;
	exchange_user_release(r->user);
	free(r);
}

static void drop_old(struct user_results *u, struct user_result_list *of, usec now)
{
	struct user_result *r;
	while ((r = list_first(&of->list, struct user_result, link)) != NULL && r->until <= now)
		drop(u, r);
}

void user_results_init(struct user_results *u, usec right_usec)
{
	*u = (struct user_results){
	    .right.kept_usec = right_usec, .wrong.kept_usec = USER_WRONG_USEC};
	map_init(&u->by_mac);
	list_init(&u->right.list);
	list_init(&u->wrong.list);
}

void user_results_fini(struct user_results *u)
{
	user_results_forget(u, UINT32_MAX);
	map_fini(&u->by_mac);
}

static struct user_result *find(struct user_results *u, const uint8_t mac[USER_MAC_BYTES])
{
	struct map_node *n = map_find(&u->by_mac, hash_of(mac));
	for (; n; n = map_next(n)) {
		struct user_result *r = container_of(n, struct user_result, node);
		/* uncovered: two MACs that begin with the same 64 bits */
		if (memcmp(r->mac, mac, USER_MAC_BYTES) == 0)
			return r;
	}
	return NULL;
}

bool user_results_find(struct user_results *u, const uint8_t mac[USER_MAC_BYTES], usec now,
    struct exchange_user **user)
{
	drop_old(u, &u->right, now);
	drop_old(u, &u->wrong, now);
	struct user_result *r = find(u, mac);
	if (!r)
		return false;
	*user = r->user;
	if (r->user) {
		r->until = now + r->of->kept_usec;
		list_remove(&r->link);
		list_append(&r->of->list, &r->link);
	}
	return true;
}

void user_results_add(struct user_results *u, const uint8_t mac[USER_MAC_BYTES], uint32_t access,
    struct exchange_user *user, usec now)
{
	struct user_result_list *of = user ? &u->right : &u->wrong;
	if (of->count == USER_RESULTS_MOST)
		drop(u, list_first(&of->list, struct user_result, link));
	struct user_result *r = memory_new(struct user_result);
	memcpy(r->mac, mac, USER_MAC_BYTES);
	r->access = access;
	r->of = of;
	r->until = now + of->kept_usec;
	r->user = exchange_user_hold(user);
	of->count++;
	list_append(&of->list, &r->link);
	map_insert(&u->by_mac, &r->node, hash_of(mac));
}

void user_results_forget(struct user_results *u, uint32_t access)
{
	map_for_each(&u->by_mac, r, struct user_result, node)
	{
		if (access == UINT32_MAX || r->access == access)
			drop(u, r);
	}
}
