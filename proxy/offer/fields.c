/* SPDX-License-Identifier: MIT */
/* A route's changes to the fields of its requests and responses, applied in the order of the file. */
#include "proxy/offer/offer.h"

#include "proxy/base/hash.h"

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

bool offer_fields_alike(const struct conf_fields *a, const struct conf_fields *b)
{
	bool is_alike = a->count == b->count;
	for (size_t i = 0; is_alike && i < a->count; i++)
		is_alike = a->fields[i].change == b->fields[i].change &&
			   slice_equal(a->fields[i].name, b->fields[i].name) &&
			   slice_equal(a->fields[i].value, b->fields[i].value);
	return is_alike;
}

uint64_t offer_fields_key(const struct conf_fields *rules)
{
	uint64_t key = 0;
	for (size_t i = 0; i < rules->count; i++) {
		const struct conf_field *f = &rules->fields[i];
		key = hash_bytes(key + f->change + 1, f->name.ptr, f->name.len);
		key = hash_bytes(key, f->value.ptr, f->value.len);
	}
	return key;
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
