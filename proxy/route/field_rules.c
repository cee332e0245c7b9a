/* SPDX-License-Identifier: MIT */
/* A route's changes to the fields of its requests and responses, applied in the order of the file. */
#include "proxy/route/route.h"

#include "proxy/base/hash.h"
#include "proxy/base/rare.h"
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

/* A value as written and one without placeholders can have the same text, since "{{" stands for a brace. */
static bool is_same_rule(const struct conf_field *a, const struct conf_field *b)
{
	return a == b || (a->change == b->change && slice_equal(a->name, b->name) &&
			     slice_equal(a->value, b->value) && a->parts.count == b->parts.count);
}

bool route_fields_alike(const struct conf_fields *a, const struct request_facts *of_a,
    const struct conf_fields *b, const struct request_facts *of_b)
{
	bool is_alike = a->count == b->count;
	for (size_t i = 0; is_alike && i < a->count; i++)
		is_alike = is_same_rule(&a->fields[i], &b->fields[i]) &&
			   route_values_tell_alike(&a->fields[i].parts, of_a, of_b);
	return is_alike;
}

uint64_t route_fields_key(const struct conf_fields *rules, const struct request_facts *facts)
{
	uint64_t key = 0;
	for (size_t i = 0; i < rules->count; i++) {
		const struct conf_field *f = &rules->fields[i];
		key = hash_bytes(key + f->change + 1, f->name.ptr, f->name.len);
		key = hash_bytes(key + f->parts.count, f->value.ptr, f->value.len);
		key = route_values_key(key, &f->parts, facts);
	}
	return key;
}

/* Adds no field whose value is nothing but placeholders that stand for nothing. */
static RARE bool add_written(
    const struct conf_field *rule, const struct request_facts *f, struct http_head *head)
{
	struct slice value;
	if (!route_write_value(&rule->parts, f, &head->arena, &value))
		return false;
	http_head_add(head, rule->name, value);
	return true;
}

void route_apply_fields(
    const struct conf_fields *rules, const struct request_facts *f, struct http_head *head)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct conf_field *rule = &rules->fields[i];
		if (rule->change != CONF_FIELD_ADD)
			remove_field(head, rule);
		if (rule->change == CONF_FIELD_REMOVE)
			continue;
		if (rule->parts.count == 0)
			http_head_add(head, rule->name, rule->value);
		else if (!add_written(rule, f, head))
			continue;
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
