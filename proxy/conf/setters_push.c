/* SPDX-License-Identifier: MIT */
/* Setters and checks of [push] and [preload]: patterns, shares, times, urgency, resources. */
#include "proxy/base/ascii.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"

/* ---- members of lists ---- */

const char *conf_check_path_glob(struct slice member)
{
	if (member.len > 0 && strchr("/*?", member.ptr[0]))
		return NULL;
	return "write a path pattern that begins with '/' or '*'";
}

const char *conf_check_host_glob(struct slice member)
{
	size_t colon = slice_find(member, ':');

	if (member.len == 0 || slice_find(member, '/') < member.len)
		return "write a host name pattern, without scheme and path";
	/* An IPv6 address has more than one colon. */
	if (colon < member.len &&
	    slice_find(slice_from(member, colon + 1), ':') == member.len - colon - 1)
		return "write a host name pattern, without a port";
	return NULL;
}

/* RFC 7617 2: a name with a colon could not be sent. */
const char *conf_check_user(struct slice member)
{
	if (value_has_any(member, ":=/"))
		return "write the name of a user, without ':', '=' and '/'";
	return member.len > 0 ? NULL : "write the name of a user";
}

const char *conf_check_destination(struct slice member)
{
	struct policy_destination d;

	if (slice_find(member, '/') < member.len || policy_pattern_is_regex(member))
		return "write a host name pattern, without scheme and path";
	if (!policy_destination_of(member, &d))
		return "write a port from 1 to 65535 behind the host";
	size_t colon = slice_find(d.host, ':');
	if (colon < d.host.len && d.host.ptr[0] != '[')
		return "write an IPv6 address in brackets";
	return NULL;
}

/* "(X11;" is the rest of a pattern that lacks its quotes; "(null)*" is an odd client. */
const char *conf_check_user_agent_glob(struct slice member)
{
	if (member.len > 0 && member.ptr[0] == '(' && slice_find(member, ')') == member.len)
		return "write a pattern with spaces in double quotes";
	return NULL;
}

const char *conf_check_media_glob(struct slice member)
{
	if (slice_find(member, '/') < member.len && slice_find(member, ';') == member.len)
		return NULL;
	return "write a media type without parameters";
}

/* ---- conditions and limits ---- */

bool conf_read_rtt(struct conf_loader *l, void *object, struct slice value)
{
	struct policy_rule *rule = object;
	usec span;

	(void)l;
	if (value.len < 2 || (value.ptr[0] != '<' && value.ptr[0] != '>') ||
	    !value_time(slice_trim(slice_from(value, 1)), &span) || span == 0 ||
	    span > 60 * USEC_PER_SEC)
		return false;
	rule->rtt_compare = value.ptr[0] == '<' ? POLICY_COMPARE_BELOW : POLICY_COMPARE_ABOVE;
	rule->rtt_usec = span;
	return true;
}

bool conf_read_urgency(struct conf_loader *l, void *at, struct slice value)
{
	static const int8_t words[] = {POLICY_URGENCY_AUTO, POLICY_URGENCY_AFTER,
	    POLICY_URGENCY_BEFORE, POLICY_URGENCY_INTERLEAVED};
	int word = value_choice(value, "auto after before interleaved");
	uint64_t number = 0;

	(void)l;
	if (word < 0 && !slice_to_number(value, 7, &number))
		return false;
	*(int8_t *)at = word < 0 ? (int8_t)number : words[word];
	return true;
}

/* ---- the memory of pages ---- */

/* A name of a member of a query, or its beginning with "*" behind. */
static bool is_query_name(struct slice word)
{
	size_t star = slice_find(word, '*');
	return word.len > 1 && star + 1 >= word.len && ascii_is_visible(word) &&
	       !value_has_any(word, "&=#?");
}

/* The members of the line replace those of the default. */
bool conf_set_ignored_query(struct conf_loader *l, void *at, struct slice value)
{
	struct conf_remembered *remembered = at;
	struct slice rest = value, word;
	bool is_good = true;

	remembered->ignored_count = 0;
	if (slice_equal(value, SLICE("none")))
		return true;
	while (is_good && conf_next_word(l, &rest, &word, &is_good)) {
		if (!is_query_name(word))
			return conf_bad_value(l, word, NULL, NULL);
		conf_append(
		    l, remembered->ignored, remembered->ignored_count, conf_copy_slice(l, word));
	}
	return is_good;
}

/* ---- [preload] ---- */

bool conf_read_arm_share(struct conf_loader *l, void *at, struct slice value)
{
	uint32_t *share = at;

	(void)l;
	if (!slice_equal(value, SLICE("off")))
		return value_percent(value, share);
	*share = CONF_SHARE_OFF;
	return true;
}

/* A request target in origin form (RFC 9112 3.2.1), without a fragment. */
static bool is_target(struct slice text)
{
	return slice_peek(text) == '/' && !slice_starts_with(text, SLICE("//")) &&
	       ascii_is_visible(text) && !value_has_any(text, "#<>\"");
}

static bool is_media_type(struct slice text)
{
	return ascii_is_token(slice_cut(&text, '/')) && ascii_is_token(text);
}

/* The parameters of a preload link and their values (HTML, Fetch). */
static const struct add_parameter {
	struct slice name;
	const char *choices; /* NULL: is_good checks the value */
	bool (*is_good)(struct slice value);
	size_t offset;
	const char *right;
} parameters[] = {
    {SLICE_INIT("as"),
	"audio document embed fetch font image json object script style track video worker", NULL,
	offsetof(struct conf_add, as),
	"write as=style, as=script, as=font, as=image, as=fetch or another destination"},
    {SLICE_INIT("type"), NULL, is_media_type, offsetof(struct conf_add, type),
	"write a media type (type=text/css)"},
    {SLICE_INIT("crossorigin"), "anonymous use-credentials", NULL,
	offsetof(struct conf_add, crossorigin),
	"write crossorigin=anonymous or crossorigin=use-credentials"},
    {SLICE_INIT("fetchpriority"), "high low auto", NULL, offsetof(struct conf_add, fetchpriority),
	"write fetchpriority=high, fetchpriority=low or fetchpriority=auto"},
    {SLICE_INIT("media"), NULL, conf_is_quotable, offsetof(struct conf_add, media),
	"write a media query (\"media=(min-width: 600px)\")"},
};

static const char *set_parameter(struct conf_loader *l, struct conf_add *add, struct slice word)
{
	struct slice text = word, name = slice_cut(&text, '=');

	const struct add_parameter *p = conf_first(known, parameters,
	    sizeof parameters / sizeof *parameters, slice_equal_nocase(name, known->name));
	if (!p)
		return "write as=, type=, crossorigin=, fetchpriority= or media= after the path";
	if (p->choices ? value_choice(text, p->choices) < 0 : !p->is_good(text))
		return p->right;
	struct slice *slot = (struct slice *)(void *)((char *)add + p->offset);
	if (slot->len > 0)
		return "give each parameter once";
	*slot = conf_copy_slice(l, text);
	return NULL;
}

bool conf_set_add(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_preload *preload = object;
	struct conf_add add = {.path = SLICE("")};
	struct slice rest = value, word;
	bool is_good = true;

	if (value_next_word(&rest, &word) != VALUE_WORD || !is_target(word))
		return conf_bad_value(l, value, NULL, "write a path that begins with '/'");
	if (word.ptr[word.len - 1] == ';')
		return conf_bad_value(l, word, NULL, "write spaces and no ';' between the parts");
	add.path = conf_copy_slice(l, word);
	while (conf_next_word(l, &rest, &word, &is_good)) {
		const char *right = set_parameter(l, &add, word);
		if (right)
			return conf_bad_value(l, word, NULL, right);
	}
	if (!is_good)
		return false;
	conf_append(l, preload->adds, preload->add_count, add);
	return true;
}
