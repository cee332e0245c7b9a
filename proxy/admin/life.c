/* SPDX-License-Identifier: MIT */
/* The beginning and the end of the pages of admin listeners in one worker, with the table of all pages. */
#include "proxy/admin/admin_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

struct admin *admin_new(const struct admin_env *env)
{
	struct admin *a = memory_new(struct admin);
	a->env = *env;
	if (!a->env.readiness)
		a->env.readiness = &a->own_readiness;
	a->pages = admin_pages;
	a->page_count = admin_page_count;
	list_init(&a->outputs);
	list_init(&a->ready);
	return a;
}

void admin_free(struct admin *a)
{
	if (!a)
		return;
	ensure(list_is_empty(&a->outputs));
	free(a);
}
