/* SPDX-License-Identifier: MIT */
/*
 * An intrusive doubly linked ring. A list head without nodes and an unlinked node point at
 * themselves, so list_remove is safe on both.
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
	list_insert_before(head->next, node); /* NOLINT(clang-analyzer-*): see list_remove */
}

static inline void list_remove(struct list *node)
{
	/*
	 * NOLINTBEGIN(clang-analyzer-*): the analyzer does not understand rings and reports
	 * unlinked, freed nodes as still linked
	 */
	node->prev->next = node->next;
	node->next->prev = node->prev;
	/* NOLINTEND(clang-analyzer-*) */
	list_init(node);
}

/* Moves all nodes of `from` to the end of `to`; `from` is empty afterwards. */
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

/* The loop body may remove the current node, but no other node. */
#define list_for_each(head, node, type, member)                                                    \
	for (type *node = container_of((head)->next, type, member),                                \
		  *node##_next = container_of(node->member.next, type, member);                    \
	     &node->member != (head);                                                              \
	     node = node##_next, node##_next = container_of(node->member.next, type, member))

#endif
