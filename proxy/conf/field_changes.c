/* SPDX-License-Identifier: MIT */
/*
 * `Name: value` in a route's field changes (RFC 9110 5.1, 5.5). The configuration may not change
 * fields that belong to the message's framing or to one hop.
 */
#include "proxy/conf/setters.h"

#include "proxy/base/ascii.h"
#include "proxy/http/spelling.h"

/* RFC 9110 5.5: no control characters but HTAB. The caller has trimmed the value. */
bool conf_is_text(struct slice text)
{
	return !ascii_has(text, ASCII_CONTROL);
}

bool conf_is_of_one_hop(enum http_token token)
{
	switch ((unsigned)token) {
	case HTTP_TOKEN_CONNECTION:
	case HTTP_TOKEN_KEEP_ALIVE:
	case HTTP_TOKEN_PROXY_CONNECTION:
	case HTTP_TOKEN_UPGRADE:
	case HTTP_TOKEN_TE:
	case HTTP_TOKEN_TRANSFER_ENCODING:
	case HTTP_TOKEN_HTTP2_SETTINGS:
		return true;
	}
	return false;
}

/* Why the configuration may not change the field, or NULL. */
static const char *forbidden(enum http_token token)
{
	if (conf_is_of_one_hop(token) || token == HTTP_TOKEN_TRAILER)
		return "pushgate itself sets the fields of one hop: name another field";
	switch ((unsigned)token) {
	case HTTP_TOKEN_CONTENT_LENGTH:
		return "pushgate itself sets the length of a message: name another field";
	case HTTP_TOKEN_HOST:
		return "set host of [origin NAME], and name another field here";
	}
	return NULL;
}

static const char *fault_of(
    struct slice name, struct slice value, enum http_token token, bool needs_value, bool has_colon)
{
	if (name.len > 0 && name.ptr[0] == ':')
		return "pseudo-fields cannot be changed; name a field";
	if (!ascii_is_token(name))
		return needs_value ? "write NAME: VALUE" : "write the field's NAME alone";
	if (forbidden(token))
		return forbidden(token);
	if (has_colon != needs_value)
		return needs_value ? "write NAME: VALUE" : "write the field's NAME alone";
	return conf_is_text(value) ? NULL : "the value has control characters; remove them";
}

bool conf_store_field(
    struct conf_loader *l, const struct conf_option *o, struct conf_fields *f, struct slice value)
{
	enum conf_field_change change = (enum conf_field_change)o->min;
	size_t colon = slice_find(slice_from(value, 1), ':') + 1;
	char *name = conf_copy(l, slice_sub(value, 0, colon));

	struct slice lower = slice_sub(slice_of_string(name), 0, colon);
	ascii_lower_copy(name, lower);
	struct slice text = slice_trim(slice_from(value, colon + 1));
	enum http_token token = http_token_alike(lower);
	const char *wrong =
	    fault_of(lower, text, token, change != CONF_FIELD_REMOVE, colon < value.len);
	if (wrong)
		return conf_bad_value(l, value, NULL, wrong);
	conf_append(l, f->fields, f->count,
	    (struct conf_field){
		change, lower, conf_copy_slice(l, text), http_name_is_marked(lower), token});
	return true;
}
