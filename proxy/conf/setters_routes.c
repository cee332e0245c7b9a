/* SPDX-License-Identifier: MIT */
/*
 * Setters and checks of [route]: hosts and paths, origins with weights, rewrites, redirects, conditions, and when a
 * request is sent: when it is whole; again, after what.
 */
#include "proxy/base/ascii.h"
#include "proxy/base/hash.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include "proxy/http/authority.h"
#include "proxy/http/head.h"
#include "proxy/http/path.h"
#include "proxy/http/spelling.h"

#define BUFFER_MOST (1u << 30)
#define BODY_MOST (UINT64_C(1) << 40)
#define SIDES_MOST 16u
#define SIDE_WEIGHT_MOST 1000u
/* Each may be replaced by a whole path: so many bound the length of a Location. */
#define PLACEHOLDERS_MOST 8u

/* ---- members of lists ---- */

const char *conf_check_route_host(struct slice member)
{
	struct http_authority a;
	struct slice name = member;

	if (slice_equal(member, SLICE("*")))
		return NULL;
	if (slice_starts_with(member, SLICE("*.")))
		name = slice_from(member, 2);
	/* ".example.com" and "_" mean something to other programs, and are no names. */
	if (slice_starts_with(name, SLICE(".")) || slice_equal(name, SLICE("_")) ||
	    slice_find(name, '*') < name.len || !http_authority_parse(name, SLICE(""), &a) ||
	    a.port_given || a.host.len == 0)
		return "write a host name without a port, *.NAME or *";
	return NULL;
}

/* Words that are tokens, but hardly meant as the name of a protocol. */
#define NO_PROTOCOLS                                                                               \
	"yes no on off true false enable enabled 1 0 * any all none ws wss websockets connect"

const char *conf_check_upgrade(struct slice member)
{
	if (slice_equal_nocase(member, SLICE("h2c")) || slice_equal_nocase(member, SLICE("h2")))
		return "write a protocol other than HTTP: a listener speaks HTTP/2 without an "
		       "Upgrade";
	bool is_other = value_choice(member, NO_PROTOCOLS) >= 0;
	return http_is_protocol(member) && !is_other
		   ? NULL
		   : "write the name of a protocol, such as websocket";
}

const char *conf_check_route_path(struct slice member)
{
	if (value_has_any(member, "*?# \t"))
		return "write the beginning of a path, without '*', '?', '#' and spaces";
	return member.len > 0 && member.ptr[0] == '/' ? NULL : "write a path that begins with '/'";
}

/* ---- origin ---- */

/* "NAME" or "NAME WEIGHT". */
static const char *read_side(
    struct conf_loader *l, struct slice member, struct conf_side *side, bool *has_weight)
{
	uint64_t weight = 1;
	struct slice rest = member, name = slice_cut(&rest, ' '), number = slice_trim(rest);

	*has_weight = number.len > 0;
	if (*has_weight && !slice_to_number(number, SIDE_WEIGHT_MOST, &weight))
		return "write a weight from 0 to 1000 behind each name";
	*side = (struct conf_side){.name = conf_copy(l, name), .weight = (uint32_t)weight};
	return NULL;
}

static const char *add_side(
    struct conf_loader *l, struct conf_route *route, const struct conf_side *side)
{
	if (conf_any(other, route->sides, route->side_count, strcmp(other->name, side->name) == 0))
		return "write each origin once";
	if (route->side_count == SIDES_MOST)
		return "write at most 16 origins";
	conf_append(l, route->sides, route->side_count, *side);
	route->side_weights += side->weight;
	/* Not from the weights: when one changes, only so many clients change sides. */
	route->side_seed = hash_bytes(route->side_seed, side->name, strlen(side->name) + 1);
	return NULL;
}

bool conf_set_route_origin(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_route *route = object;
	struct slice rest = value, member;

	route->side_count = 0;
	route->side_weights = 0;
	route->side_seed = 1;
	route->origin_text = conf_copy(l, value);
	/* Without a comma the whole value is the name of a section. */
	bool is_split = slice_find(value, ',') < value.len;
	while (is_split && slice_next_member(&rest, &member)) {
		struct conf_side side;
		bool has_weight;
		const char *right = read_side(l, member, &side, &has_weight);
		if (!right)
			right = add_side(l, route, &side);
		if (right) {
			route->side_count = 0;
			return conf_bad_value(l, value, NULL, right);
		}
	}
	if (!is_split) {
		const struct conf_side whole = {.name = route->origin_text, .weight = 1};
		add_side(l, route, &whole);
	}
	if (route->side_weights == 0)
		return conf_bad_value(l, value, NULL, "give one origin at least a weight above 0");
	return true;
}

/* ---- rewrite ---- */

static struct slice without_last_slash(struct conf_loader *l, struct slice path)
{
	if (path.len > 0 && path.ptr[path.len - 1] == '/')
		path.len--;
	return conf_copy_slice(l, path);
}

bool conf_read_rewrite(struct conf_loader *l, void *at, struct slice value)
{
	struct slice rest = value, from, to, more;

	if (value_next_word(&rest, &from) != VALUE_WORD ||
	    value_next_word(&rest, &to) != VALUE_WORD ||
	    value_next_word(&rest, &more) != VALUE_END || conf_check_route_path(from) ||
	    conf_check_route_path(to) || http_path_climbs(from) || http_path_climbs(to))
		return false;
	*(struct conf_rewrite *)at =
	    (struct conf_rewrite){true, without_last_slash(l, from), without_last_slash(l, to)};
	return true;
}

/* ---- redirect ---- */

static bool is_placeholder(struct slice name)
{
	return slice_equal(name, SLICE("host")) || slice_equal(name, SLICE("path")) ||
	       slice_equal(name, SLICE("query")) || slice_equal(name, SLICE("rest"));
}

/* A browser skips an empty host: it takes "https:///x" for the host x. */
static bool begins_with_host(struct slice rest)
{
	if (rest.len == 0 || strchr("/?#:", rest.ptr[0]))
		return false;
	return rest.ptr[0] != '{' || slice_starts_with(rest, SLICE("{host}"));
}

/* Says what is wrong with the target; NULL: nothing is. */
static const char *fault_of_target(struct slice target)
{
	bool is_absolute = slice_starts_with(target, SLICE("https://")) ||
			   slice_starts_with(target, SLICE("http://"));
	unsigned placeholders = 0;

	if (!is_absolute && (target.len == 0 || target.ptr[0] != '/'))
		return "write a target that begins with https://, http:// or /";
	if (!is_absolute && slice_starts_with(target, SLICE("//")))
		return "write https:// or http:// before a host";
	if (is_absolute && !begins_with_host(slice_from(target, slice_find(target, ':') + 3)))
		return "write a host or {host} behind the scheme";
	for (size_t i = 0; i < target.len; i++) {
		if (target.ptr[i] <= ' ' || target.ptr[i] == 0x7f ||
		    strchr("\"<>\\^`|}", target.ptr[i]))
			return "write a URI: without spaces, quotes and brackets";
		if (target.ptr[i] != '{')
			continue;
		if (++placeholders > PLACEHOLDERS_MOST)
			return "write at most 8 placeholders";
		struct slice name = slice_from(target, i + 1);
		size_t end = slice_find(name, '}');
		if (end == name.len || !is_placeholder(slice_sub(name, 0, end)))
			return "write {host}, {path}, {query} or {rest}";
		i += end + 1;
	}
	return NULL;
}

bool conf_set_route_redirect(struct conf_loader *l, void *at, struct slice value)
{
	struct slice target = value;
	size_t space = slice_find(value, ' ');
	uint64_t status = 308;

	if (space < value.len) {
		if (!slice_to_number(slice_sub(value, 0, space), 308, &status))
			status = 0;
		target = slice_trim(slice_from(value, space));
	}
	bool is_known =
	    status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
	const char *right =
	    is_known ? fault_of_target(target) : "write the status 301, 302, 303, 307 or 308";
	if (right)
		return conf_bad_value(l, value, NULL, right);
	*(struct conf_redirect *)at =
	    (struct conf_redirect){(uint16_t)status, conf_copy_slice(l, target)};
	return true;
}

/* ---- conditions ---- */

const char *conf_check_method(struct slice member)
{
	if (ascii_has(member, ASCII_LOWER))
		return "write methods in upper case";
	if (slice_equal(member, SLICE("CONNECT")) || slice_equal(member, SLICE("*")))
		return "write a method other than CONNECT";
	return ascii_is_token(member) && ascii_is(member.ptr[0], ASCII_ALPHA) ? NULL
									      : "write methods";
}

static const char *fault_of_test(struct slice name, bool is_absent, bool has_value)
{
	if (!ascii_is_token(name))
		return "write NAME: PATTERN, NAME or !NAME";
	if (is_absent && has_value)
		return "a field that is absent has no value; write !NAME";
	enum http_token token = http_token_find(name);
	if (token == HTTP_TOKEN_HOST)
		return "use the option host, and name another field here";
	if (conf_is_of_one_hop(token))
		return "fields of one hop differ between versions of HTTP: name another field";
	return NULL;
}

static void add_condition_field(struct conf *c, struct slice name)
{
	struct slice rest = c->condition_fields, member;

	while (slice_next_member(&rest, &member))
		if (slice_equal(member, name))
			return;
	c->condition_fields = arena_printf(&c->arena, "%.*s%s%.*s", SLICE_ARG(c->condition_fields),
	    c->condition_fields.len > 0 ? ", " : "", SLICE_ARG(name));
}

bool conf_set_route_field(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_route *route = object;
	bool is_absent = value.ptr[0] == '!';
	struct slice rest = slice_from(value, is_absent);
	size_t colon = slice_find(rest, ':');
	char *name = conf_copy(l, slice_sub(rest, 0, colon));
	struct conf_field_test test = {
	    .name = slice_trim(slice_of_string(name)), .is_absent = is_absent};

	ascii_lower_copy(name, slice_of_string(name));
	const char *wrong = fault_of_test(test.name, is_absent, colon < rest.len);
	if (wrong)
		return conf_bad_value(l, value, NULL, wrong);
	test.token = http_token_find(test.name);
	struct slice pattern = slice_trim(slice_from(rest, colon + 1));
	if (colon < rest.len && pattern.len == 0)
		return conf_bad_value(
		    l, value, NULL, "write a pattern behind the colon, or no colon");
	if (pattern.len > 0 && !conf_add_pattern(l, &test.values, pattern))
		return false;
	conf_append(l, route->field_tests, route->field_test_count, test);
	add_condition_field(l->conf, test.name);
	return true;
}

/* ---- when it is sent ---- */

bool conf_set_retry_on(struct conf_loader *l, void *at, struct slice value)
{
	struct conf_retry_on *on = at;
	struct slice rest = value, word;
	uint64_t status;

	*on = (struct conf_retry_on){0};
	if (slice_equal_nocase(value, SLICE("off")))
		return true;
	while (value_next_word(&rest, &word) == VALUE_WORD) {
		if (slice_equal_nocase(word, SLICE("lost")))
			on->lost = true;
		else if (slice_equal_nocase(word, SLICE("late")))
			on->late = true;
		else if (slice_to_number(word, 599, &status) && status >= 500)
			on->statuses[status - 500] = true;
		else
			return conf_bad_value(l, word, NULL, NULL);
	}
	return value.len > 0 || conf_bad_value(l, value, NULL, NULL);
}

bool conf_read_request_buffer(struct conf_loader *l, void *at, struct slice value)
{
	uint64_t bytes = 0;
	(void)l;
	if (!slice_equal(value, SLICE("off")) &&
	    (!value_size(value, &bytes) || bytes > BUFFER_MOST))
		return false;
	*(struct conf_request_buffer *)at = (struct conf_request_buffer){true, (uint32_t)bytes};
	return true;
}

bool conf_read_body_limit(struct conf_loader *l, void *at, struct slice value)
{
	uint64_t bytes = 0;
	(void)l;
	if (!slice_equal(value, SLICE("off")) &&
	    (!value_size(value, &bytes) || bytes == 0 || bytes > BODY_MOST))
		return false;
	*(struct conf_body_limit *)at = (struct conf_body_limit){true, bytes};
	return true;
}

/* ---- changes of fields (RFC 9110 5.1, 5.5): those of the message's framing or of one hop cannot be changed ---- */

/* RFC 9110 5.5: no control characters but HTAB. The caller has trimmed the value. */
bool conf_is_text(struct slice text)
{
	return !ascii_has(text, ASCII_CONTROL);
}

bool conf_is_quotable(struct slice text)
{
	return conf_is_text(text) && !value_has_any(text, "\"\\");
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

bool conf_store_field(struct conf_loader *l, void *at, struct slice value)
{
	struct conf_fields *f = at;
	enum conf_field_change change = (enum conf_field_change)l->option->min;
	size_t colon = slice_find(slice_from(value, 1), ':') + 1;
	char *name = conf_copy(l, slice_sub(value, 0, colon));

	struct slice lower = slice_sub(slice_of_string(name), 0, colon);
	ascii_lower_copy(name, lower);
	struct slice text = slice_trim(slice_from(value, colon + 1));
	enum http_token token = http_token_alike(lower);
	struct conf_value_parts parts = {0};
	const char *wrong =
	    fault_of(lower, text, token, change != CONF_FIELD_REMOVE, colon < value.len);
	if (!wrong)
		wrong = conf_divide_value(l, &text, &parts);
	if (wrong)
		return conf_bad_value(l, value, NULL, wrong);
	conf_append(l, f->fields, f->count,
	    (struct conf_field){.change = change,
		.name = lower,
		.value = conf_copy_slice(l, text),
		.parts = parts,
		.is_marked = http_name_is_marked(lower),
		.token = token});
	return true;
}
