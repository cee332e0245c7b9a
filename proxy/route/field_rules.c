/* SPDX-License-Identifier: MIT */
/* A route's changes to the fields of its requests and responses, applied in the order of the file. */
#include "proxy/route/route.h"

#include "proxy/base/hash.h"
#include "proxy/http/spelling.h"

static bool is_meant(const struct conf_field *rule, const struct http_field *f)
{
	if (f->token != HTTP_TOKEN_NONE)
		return f->token == rule->token;
	return http_names_alike(f->name, rule->token ? http_token_name(rule->token) : rule->name);
}

/* In each spelling of its name that an origin may take for it. */
static void remove_field(struct http_head *head, const struct conf_field *rule)
{
	if (rule->token && !(head->noted & HTTP_NOTED_NAMES)) {
		http_head_remove(head, rule->token);
		return;
	}
	http_head_keep(head, field, !is_meant(rule, field));
}

bool route_fields_alike(const struct conf_fields *a, const struct conf_fields *b)
{
	bool is_alike = a->count == b->count;
	for (size_t i = 0; is_alike && i < a->count; i++)
		is_alike = a->fields[i].change == b->fields[i].change &&
			   slice_equal(a->fields[i].name, b->fields[i].name) &&
			   slice_equal(a->fields[i].value, b->fields[i].value);
	return is_alike;
}

uint64_t route_fields_key(const struct conf_fields *rules)
{
	uint64_t key = 0;
	for (size_t i = 0; i < rules->count; i++) {
		const struct conf_field *f = &rules->fields[i];
		key = hash_bytes(key + f->change + 1, f->name.ptr, f->name.len);
		key = hash_bytes(key, f->value.ptr, f->value.len);
	}
	return key;
}

void route_apply_fields(const struct conf_fields *rules, struct http_head *head)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct conf_field *rule = &rules->fields[i];
		if (rule->change != CONF_FIELD_ADD)
			remove_field(head, rule);
		if (rule->change == CONF_FIELD_REMOVE)
			continue;
		http_head_add(head, rule->name, rule->value);
		if (rule->is_marked)
			head->noted |= HTTP_NOTED_NAMES;
		if (rule->token == HTTP_TOKEN_TRACEPARENT || rule->token == HTTP_TOKEN_TRACESTATE)
			head->noted |= HTTP_NOTED_TRACE;
	}
}

void route_remove_fields(const struct conf_fields *rules, struct http_head *trailers)
{
	for (size_t i = 0; i < rules->count; i++)
		if (rules->fields[i].change != CONF_FIELD_ADD)
			remove_field(trailers, &rules->fields[i]);
}
