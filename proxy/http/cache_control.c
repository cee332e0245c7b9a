/* SPDX-License-Identifier: MIT */
/*
 * Reads Cache-Control, a list of directives, some with an argument (RFC 9111 5.2). An unreadable
 * directive never permits anything.
 */
#include "proxy/http/cache_control.h"

#include "proxy/base/ascii.h"

#define AT(member) offsetof(struct http_cache_control, member)
#define NO_MEMBER SIZE_MAX

/* The directives that are used: the members for their presence and for their seconds. */
static const struct directive {
	struct slice name;
	size_t flag, sec;
} directives[] = {
    {SLICE_INIT("no-store"), AT(no_store), NO_MEMBER},
    {SLICE_INIT("no-cache"), AT(no_cache), NO_MEMBER}, /* also with field names: RFC 9111 5.2.2.4 */
    {SLICE_INIT("private"), AT(is_private), NO_MEMBER},
    {SLICE_INIT("public"), AT(is_public), NO_MEMBER},
    {SLICE_INIT("must-revalidate"), AT(must_revalidate), NO_MEMBER},
    {SLICE_INIT("max-age"), AT(has_max_age), AT(max_age_sec)},
    {SLICE_INIT("s-maxage"), AT(has_s_maxage), AT(s_maxage_sec)},
    {SLICE_INIT("min-fresh"), NO_MEMBER, AT(min_fresh_sec)},
};
#define DIRECTIVES (sizeof(directives) / sizeof(*directives))

bool http_delta_seconds(struct slice s, uint32_t *sec)
{
	uint64_t value = HTTP_DELTA_MAX_SEC;
	if (s.len == 0 || !ascii_all(s, ASCII_DIGIT))
		return false;
	slice_to_number(s, HTTP_DELTA_MAX_SEC, &value);
	*sec = (uint32_t)value;
	return true;
}

static void note_directive(
    struct http_cache_control *cc, const struct directive *d, struct slice value)
{
	uint32_t sec = 0;
	http_delta_seconds(value, &sec);
	if (d->flag != NO_MEMBER)
		*(bool *)((char *)cc + d->flag) = true;
	if (d->sec != NO_MEMBER)
		memcpy((char *)cc + d->sec, &sec, sizeof(sec));
}

/*
 * Returns an argument without its quotes and the spaces inside them. *is_open: its quote has no
 * end.
 */
static struct slice unquoted(struct slice value, bool *is_open)
{
	*is_open = false;
	if (value.len == 0 || value.ptr[0] != '"')
		return value;
	*is_open = value.len == 1 || value.ptr[value.len - 1] != '"';
	return *is_open ? value : slice_trim(slice_sub(value, 1, value.len - 2));
}

/* Of equal directives the first counts (RFC 9111 4.2.1). */
static void read_directives(struct http_cache_control *cc, struct slice list, unsigned *seen)
{
	struct slice member;
	bool is_open;
	while (slice_next_member(&list, &member)) {
		size_t equals = slice_find(member, '=');
		struct slice name = slice_trim(slice_sub(member, 0, equals));
		struct slice value = slice_trim(slice_from(member, equals + 1));
		value = unquoted(value, &is_open);
		if (is_open)
			cc->no_store = true; /* the unclosed quote may contain a no-store */
		size_t d = 0;
		while (d < DIRECTIVES && !slice_equal_nocase(name, directives[d].name))
			d++;
		if (d == DIRECTIVES || (*seen & 1u << d))
			continue;
		*seen |= 1u << d;
		note_directive(cc, &directives[d], value);
	}
}

struct http_cache_control http_cache_control(const struct http_head *head)
{
	struct http_cache_control cc = {0};
	unsigned seen = 0;
	struct slice member;
	bool is_request = head->kind == HTTP_REQUEST || head->kind == HTTP_PROMISE;
	for (uint32_t i = 0; i < head->count; i++) {
		if (head->fields[i].token == HTTP_TOKEN_CACHE_CONTROL)
			read_directives(&cc, head->fields[i].value, &seen);
	}
	if (!is_request || http_head_find(head, HTTP_TOKEN_CACHE_CONTROL))
		return cc;
	for (uint32_t i = 0; i < head->count; i++) {
		struct slice list = head->fields[i].value;
		if (head->fields[i].token != HTTP_TOKEN_PRAGMA)
			continue;
		while (slice_next_member(&list, &member))
			cc.no_cache |= slice_equal_nocase(member, SLICE("no-cache"));
	}
	return cc;
}
