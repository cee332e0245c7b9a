/* SPDX-License-Identifier: MIT */
/*
 * The name of the page that a request is for: which members of its query matter (No-Vary-Search, and an option), and
 * what the request says in the fields that Vary names. Not here: RFC 9111's own comparison, which http/vary.c makes; the
 * memory needs a text that can be stored.
 */
#include "proxy/remembered/remembered_private.h"

#include "proxy/base/ascii.h"

enum { VARY_NAMES = 4, MEMBERS = 64 };

bool place_name_set(
    struct place_name *name, struct slice scheme, struct slice authority, struct slice path)
{
	path.len = slice_find(path, '?');
	name->is_https = slice_equal(scheme, SLICE("https"));
	if ((!name->is_https && !slice_equal(scheme, SLICE("http"))) || authority.len == 0 ||
	    authority.len > sizeof(name->bytes) || path.len == 0 ||
	    path.len > REMEMBERED_TARGET_BYTES || path.ptr[0] != '/' ||
	    !ascii_is_visible(authority) || !ascii_is_visible(path) ||
	    slice_find(path, '#') != path.len)
		return false;
	ascii_lower_copy(name->bytes, authority);
	name->authority = slice_of(name->bytes, authority.len);
	name->path = path;
	return true;
}

bool text_add(struct text *t, struct slice s)
{
	if (s.len > sizeof(t->bytes) - t->len)
		return false;
	if (s.len > 0)
		memcpy(t->bytes + t->len, s.ptr, s.len);
	t->len += s.len;
	return true;
}

/* ---- No-Vary-Search ---- */

static void skip_blanks(struct slice *s)
{
	while (slice_peek(*s) == ' ')
		slice_skip(s, 1);
}

/* A string of a structured field (RFC 9651 3.3.3), as a name of the rule. */
static bool read_string(struct slice *rest, struct text *names)
{
	slice_skip(rest, 1);
	if (names->len > 0 && !text_add(names, SLICE(" ")))
		return false;
	size_t before = names->len;
	while (rest->len > 0 && rest->ptr[0] != '"') {
		if (rest->ptr[0] == '\\')
			slice_skip(rest, 1);
		/* The name is that of a decoded member: a rule cannot hold blanks. */
		if (rest->len == 0 || !ascii_is_visible(slice_sub(*rest, 0, 1)) ||
		    !text_add(names, slice_sub(*rest, 0, 1)))
			return false;
		slice_skip(rest, 1);
	}
	bool is_closed = rest->len > 0 && names->len > before;
	slice_skip(rest, 1);
	return is_closed;
}

static bool read_strings(struct slice *rest, struct text *names)
{
	names->len = 0;
	slice_skip(rest, 1);
	for (skip_blanks(rest); slice_peek(*rest) == '"'; skip_blanks(rest))
		if (!read_string(rest, names))
			return false;
	bool is_closed = slice_peek(*rest) == ')';
	slice_skip(rest, 1);
	return is_closed;
}

struct search_rule {
	bool ignores_order, ignores_all, has_names, has_except;
	struct text names, except;
};

/* A boolean: "?0", "?1", or nothing behind the key, which is true (RFC 9651 3.2). */
static bool read_boolean(struct slice *rest, bool *out)
{
	*out = !slice_starts_with(*rest, SLICE("=?0"));
	if (slice_peek(*rest) != '=')
		return true;
	bool is_one =
	    slice_starts_with(*rest, SLICE("=?0")) || slice_starts_with(*rest, SLICE("=?1"));
	slice_skip(rest, 3);
	return is_one;
}

static bool read_search_member(struct slice *rest, struct search_rule *rule)
{
	struct slice key = slice_sub(*rest, 0, ascii_span(*rest, ASCII_LOWER | ASCII_DASH));
	slice_skip(rest, key.len);
	bool is_list = slice_starts_with(*rest, SLICE("=("));
	if (slice_equal(key, SLICE("key-order")))
		return !is_list && read_boolean(rest, &rule->ignores_order);
	if (slice_equal(key, SLICE("params"))) {
		rule->has_names = is_list;
		if (!is_list)
			return read_boolean(rest, &rule->ignores_all);
		rule->ignores_all = false;
		slice_skip(rest, 1);
		return read_strings(rest, &rule->names);
	}
	if (!slice_equal(key, SLICE("except")) || !is_list)
		return false;
	rule->has_except = true;
	slice_skip(rest, 1);
	return read_strings(rest, &rule->except);
}

static bool read_search(struct slice rest, struct search_rule *rule)
{
	do {
		skip_blanks(&rest);
		if (!read_search_member(&rest, rule))
			return false;
		skip_blanks(&rest);
		if (rest.len > 0 && rest.ptr[0] != ',')
			return false;
		slice_skip(&rest, 1);
	} while (rest.len > 0);
	/* "except" is for a response that ignores all other members. */
	return !rule->has_except || rule->ignores_all;
}

static const struct http_field *only_field(const struct http_head *head, struct slice name)
{
	const struct http_field *found = NULL;
	for (uint32_t i = 0; i < head->count; i++) {
		if (!slice_equal_nocase(head->fields[i].name, name))
			continue;
		if (found)
			return NULL;
		found = &head->fields[i];
	}
	return found;
}

void query_rule_read(const struct http_head *response, struct text *rule)
{
	const struct http_field *f = only_field(response, SLICE("no-vary-search"));
	struct search_rule read = {0};
	*rule = (struct text){.bytes = "=*", .len = 2};
	if (!f || f->value.len == 0 || !read_search(slice_trim(f->value), &read))
		return;
	struct text *names = read.ignores_all ? &read.except : &read.names;
	struct text made = {0};
	bool is_all = !read.ignores_all && (!read.has_names || read.names.len == 0);
	if (text_add(&made, read.ignores_order ? SLICE("~") : SLICE("=")) &&
	    text_add(&made, is_all             ? SLICE("*")
			    : read.ignores_all ? SLICE("+")
					       : SLICE("-")) &&
	    text_add(&made, text_slice(names)))
		*rule = made;
}

bool query_rule_is_good(struct slice rule)
{
	if (rule.len < 2 || rule.len > REMEMBERED_TEXT_BYTES ||
	    (rule.ptr[0] != '=' && rule.ptr[0] != '~'))
		return false;
	struct slice names = slice_from(rule, 2);
	if (rule.ptr[1] == '*')
		return names.len == 0;
	if (rule.ptr[1] != '+' && rule.ptr[1] != '-')
		return false;
	for (size_t i = 0; i < names.len; i++)
		if (names.ptr[i] != ' ' && !ascii_is_visible(slice_sub(names, i, 1)))
			return false;
	return true;
}

/* ---- queries ---- */

/* Whether the encoded name of a member is this name. */
static bool name_is(struct slice encoded, struct slice name)
{
	size_t at = 0;
	while (encoded.len > 0) {
		int byte = ascii_percent_byte(encoded);
		slice_skip(&encoded, byte >= 0 ? 3 : 1);
		char c = byte >= 0 ? (char)byte : encoded.ptr[-1];
		if (at == name.len || name.ptr[at] != c)
			return false;
		at++;
	}
	return at == name.len;
}

static bool is_ignored(const struct remembered *m, struct slice name)
{
	for (size_t i = 0; i < m->options.ignored_count; i++) {
		struct slice pattern = m->options.ignored[i];
		bool is_beginning = pattern.len > 0 && pattern.ptr[pattern.len - 1] == '*';
		if (is_beginning ? slice_starts_with(name, slice_sub(pattern, 0, pattern.len - 1))
				 : name_is(name, pattern))
			return true;
	}
	return false;
}

bool query_member_matters(const struct remembered *m, struct slice rule, struct slice member)
{
	struct slice name = slice_sub(member, 0, slice_find(member, '='));
	if (is_ignored(m, name))
		return false;
	char mode = rule.ptr[1];
	if (mode == '*')
		return true;
	struct slice names = slice_from(rule, 2);
	bool is_named = false;
	while (names.len > 0 && !is_named)
		is_named = name_is(name, slice_cut(&names, ' '));
	return is_named == (mode == '+');
}

/* By name alone: members of one name keep their order. */
static bool goes_before(struct slice a, struct slice b)
{
	return slice_compare(
		   slice_sub(a, 0, slice_find(a, '=')), slice_sub(b, 0, slice_find(b, '='))) < 0;
}

bool query_choose(
    const struct remembered *m, struct slice rule, struct slice query, struct text *chosen)
{
	struct slice members[MEMBERS];
	size_t count = 0;
	chosen->len = 0;
	if (!(query.len == 0 || ascii_is_visible(query)))
		return false;
	while (query.len > 0) {
		struct slice member = slice_cut(&query, '&');
		if (member.len == 0 || !query_member_matters(m, rule, member))
			continue;
		if (count == MEMBERS)
			return false;
		size_t at = count++;
		for (; rule.ptr[0] == '~' && at > 0 && goes_before(member, members[at - 1]); at--)
			members[at] = members[at - 1];
		members[at] = member;
	}
	for (size_t i = 0; i < count; i++)
		if ((i > 0 && !text_add(chosen, SLICE("&"))) || !text_add(chosen, members[i]))
			return false;
	return true;
}

/* ---- Vary ---- */

static bool read_vary_names(
    const struct http_head *response, char (*names)[64], struct slice *list, size_t *count)
{
	for (uint32_t i = 0; i < response->count; i++) {
		const struct http_field *f = &response->fields[i];
		struct slice rest = f->value, name;
		if (f->token != HTTP_TOKEN_VARY)
			continue;
		while (slice_next_member(&rest, &name)) {
			if (slice_equal_nocase(name, SLICE("accept-encoding")) ||
			    slice_equal_nocase(name, SLICE("authorization")))
				continue;
			if (!ascii_is_token(name) || slice_equal(name, SLICE("*")) ||
			    *count == VARY_NAMES || name.len > sizeof(*names))
				return false;
			ascii_lower_copy(names[*count], name);
			struct slice lower = slice_of(names[*count], name.len);
			if (slice_is_among(lower, list, *count))
				continue;
			list[(*count)++] = lower;
		}
	}
	return true;
}

bool vary_read(const struct http_head *response, struct text *vary)
{
	char names[VARY_NAMES + 1][64];
	struct slice list[VARY_NAMES + 1];
	size_t count = 0;
	vary->len = 0;
	if (!read_vary_names(response, names, list, &count))
		return false;
	for (size_t i = 1; i < count; i++)
		for (size_t at = i; at > 0 && slice_compare(list[at], list[at - 1]) < 0; at--) {
			struct slice lower = list[at];
			list[at] = list[at - 1];
			list[at - 1] = lower;
		}
	for (size_t i = 0; i < count; i++)
		if ((i > 0 && !text_add(vary, SLICE(" "))) || !text_add(vary, list[i]))
			return false;
	return true;
}

bool vary_is_good(struct slice vary)
{
	size_t count = 0;
	if (vary.len > REMEMBERED_TEXT_BYTES)
		return false;
	while (vary.len > 0) {
		struct slice name = slice_cut(&vary, ' ');
		if (name.len == 0 || !ascii_all(name, ASCII_LOWER_TOKEN) || ++count > VARY_NAMES)
			return false;
	}
	return true;
}

/* The values of one field, as if its lines were joined. False: they are too long, or have a tab, which would separate them
 * from the next field in the variant. */
static bool add_values(struct text *t, const struct http_head *request, struct slice name)
{
	bool is_first = true;
	for (uint32_t i = 0; i < request->count; i++) {
		if (!slice_equal_nocase(request->fields[i].name, name))
			continue;
		struct slice value = slice_trim(request->fields[i].value);
		if (slice_find(value, '\t') < value.len ||
		    (!is_first && !text_add(t, SLICE(", "))) || !text_add(t, value))
			return false;
		is_first = false;
	}
	return true;
}

/* "name: value", one for each name that the request has, separated by tabs. */
bool variant_of(struct slice vary, const struct http_head *request, struct text *variant)
{
	variant->len = 0;
	while (vary.len > 0) {
		struct slice name = slice_cut(&vary, ' ');
		struct text values = {0};
		bool is_cookie = slice_equal(name, SLICE("cookie"));
		if (is_cookie) {
			if (http_head_find(request, HTTP_TOKEN_COOKIE))
				text_add(&values, SLICE("yes"));
		} else if (!add_values(&values, request, name)) {
			return false;
		}
		if (values.len == 0)
			continue;
		if ((variant->len > 0 && !text_add(variant, SLICE("\t"))) ||
		    !text_add(variant, name) || !text_add(variant, SLICE(": ")) ||
		    !text_add(variant, text_slice(&values)))
			return false;
	}
	/* What could not be stored. */
	for (size_t i = 0; i < variant->len; i++)
		if ((variant->bytes[i] < ' ' || variant->bytes[i] > '~') &&
		    variant->bytes[i] != '\t')
			return false;
	return true;
}
