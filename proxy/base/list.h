/* SPDX-License-Identifier: MIT */
/*
 * Intrusive doubly linked ring. A head and an unlinked node both point at themselves, so that
 * list_remove is safe on either and list_is_linked tells which it is.
 */
#ifndef PUSHGATE_BASE_LIST_H
#define PUSHGATE_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_is_empty(const struct list *head)
{
	return head->next == head;
}

static inline bool list_is_linked(const struct list *node)
{
	return node->next != node;
}

static inline void list_insert_before(struct list *at, struct list *node)
{
	node->next = at;
	node->prev = at->prev;
	at->prev->next = node;
	at->prev = node;
}

static inline void list_append(struct list *head, struct list *node)
{
	list_insert_before(head, node);
}

static inline void list_prepend(struct list *head, struct list *node)
{
	list_insert_before(head->next, node);
}

static inline void list_remove(struct list *node)
{
	/* NOLINTBEGIN(clang-analyzer-*): the analyzer does not follow a ring, and takes what was
	 * unlinked and freed for still linked */
	node->prev->next = node->next;
	node->next->prev = node->prev;
	/* NOLINTEND(clang-analyzer-*) */
	list_init(node);
}

/* Moves all of `from` behind the last of `to`; `from` is empty after it. */
static inline void list_splice(struct list *to, struct list *from)
{
	if (list_is_empty(from))
		return;
	from->next->prev = to->prev;
	from->prev->next = to;
	to->prev->next = from->next;
	to->prev = from->prev;
	list_init(from);
}

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#define list_first(head, type, member)                                                             \
	(list_is_empty(head) ? NULL : container_of((head)->next, type, member))

/* The body may remove the current node, and no other. */
#define list_for_each(head, node, type, member)                                                    \
	for (type *node = container_of((head)->next, type, member),                                \
		  *node##_next = container_of(node->member.next, type, member);                    \
	     &node->member != (head);                                                              \
	     node = node##_next, node##_next = container_of(node->member.next, type, member))

#endif
