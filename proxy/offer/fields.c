/* SPDX-License-Identifier: MIT */
/* A route's changes to the fields of its requests and responses, applied in the order of the file. */
#include "proxy/offer/offer.h"

/* A name that the program knows has a token, so that no text need be compared. */
static void remove_field(struct http_head *head, const struct conf_field *field)
{
	if (field->token != HTTP_TOKEN_NONE) {
		http_head_remove(head, field->token);
		return;
	}
	uint32_t kept = 0;
	for (uint32_t i = 0; i < head->count; i++)
		if (!slice_equal(head->fields[i].name, field->name))
			head->fields[kept++] = head->fields[i];
	head->count = kept;
}

void offer_apply_fields(const struct conf_fields *rules, struct http_head *head)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct conf_field *field = &rules->fields[i];
		if (field->change != CONF_FIELD_ADD)
			remove_field(head, field);
		if (field->change != CONF_FIELD_REMOVE)
			http_head_add(head, field->name, field->value);
	}
}
