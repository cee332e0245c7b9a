/* SPDX-License-Identifier: MIT */
/*
 * Who teaches: whether a view of a page may teach at all, whether its page is open or guarded, and what of the lesson
 * this client alone may have got, because it said it itself.
 *
 * A guarded page is private, sets a cookie, or varies by Cookie. Only paths of its own site that look like an asset's
 * are remembered for it.
 */
#include "proxy/remembered/remembered_private.h"

#include "policy/policy.h"
#include "proxy/base/ascii.h"
#include "proxy/base/hash.h"
#include "proxy/http/cache_control.h"
#include "proxy/http/link.h"
#include "proxy/http/vary.h"

/* Shorter words stand in too many paths by chance. */
enum { WORD_LEAST = 5, WORD_MOST = 128 };
/* Of words with targets, in one lesson: about a millisecond. */
#define COMPARED_MOST 100000u

static bool is_html(const struct http_head *response)
{
	struct slice type = http_head_media_type(response);
	return slice_equal_nocase(type, SLICE("text/html")) ||
	       slice_equal_nocase(type, SLICE("application/xhtml+xml"));
}

enum remembered_answer lesson_class(const struct remembered_lesson *lesson, enum lesson_class *out)
{
	const struct http_head *request = lesson->request, *response = lesson->response;
	if (!lesson->is_page_load || request->method_token != HTTP_METHOD_GET ||
	    response->status != 200 || lesson->client.len == 0 || !is_html(response))
		return REMEMBERED_NO_PAGE;
	if (lesson->has_user || http_head_find(request, HTTP_TOKEN_AUTHORIZATION))
		return REMEMBERED_CREDENTIALED;
	const struct http_cache_control of_request = http_cache_control(request),
					of_response = http_cache_control(response);
	if (of_request.no_store || of_response.no_store)
		return REMEMBERED_NOT_STORED;
	if (lesson->count > REMEMBERED_LESSON_ITEMS)
		return REMEMBERED_TOO_LONG;
	bool varies_by_cookie = http_vary_names(response, HTTP_TOKEN_COOKIE);
	*out = of_response.is_private || http_head_find(response, HTTP_TOKEN_SET_COOKIE) ||
		       varies_by_cookie
		   ? LESSON_GUARDED
		   : LESSON_OPEN;
	return REMEMBERED_TAUGHT;
}

const char *remembered_answer_text(enum remembered_answer answer)
{
	static const char *const texts[REMEMBERED_ANSWERS] = {
	    [REMEMBERED_TAUGHT] = "taught",
	    [REMEMBERED_NO_PAGE] = "not a page load answered 200 with HTML",
	    [REMEMBERED_CREDENTIALED] = "the request has credentials",
	    [REMEMBERED_NOT_STORED] = "no-store",
	    [REMEMBERED_TOO_VARIED] = "Vary names too much, or there are too many variants",
	    [REMEMBERED_TOO_LONG] = "too long",
	    [REMEMBERED_OTHER_VARIANT] =
		"Vary or No-Vary-Search has changed: another client must get it too",
	    [REMEMBERED_NO_ROOM] = "no room",
	};
	return texts[answer];
}

/* ---- what the request says ---- */

/* Words of every browser's requests. Some are names of files in a great many sites, and none is a client's own. */
static const struct slice usual_words[] = {
    SLICE_INIT("https"),
    SLICE_INIT("application"),
    SLICE_INIT("image"),
    SLICE_INIT("xhtml"),
    SLICE_INIT("signed-exchange"),
    SLICE_INIT("document"),
    SLICE_INIT("navigate"),
    SLICE_INIT("same-origin"),
    SLICE_INIT("same-site"),
    SLICE_INIT("cross-site"),
    SLICE_INIT("deflate"),
    SLICE_INIT("trailers"),
    SLICE_INIT("keep-alive"),
    SLICE_INIT("max-age"),
    SLICE_INIT("no-cache"),
    SLICE_INIT("Mozilla"),
    SLICE_INIT("AppleWebKit"),
    SLICE_INIT("KHTML"),
    SLICE_INIT("Gecko"),
    SLICE_INIT("Chrome"),
    SLICE_INIT("Chromium"),
    SLICE_INIT("Google"),
    SLICE_INIT("Safari"),
    SLICE_INIT("Firefox"),
    SLICE_INIT("Version"),
    SLICE_INIT("Brand"),
    SLICE_INIT("Linux"),
    SLICE_INIT("x86_64"),
    SLICE_INIT("Windows"),
    SLICE_INIT("Macintosh"),
    SLICE_INIT("Intel"),
    SLICE_INIT("iPhone"),
    SLICE_INIT("Android"),
    SLICE_INIT("Mobile"),
};

static bool is_word_byte(char c)
{
	return ascii_is(c, ASCII_ALNUM) || c == '-' || c == '_' || c == '.';
}

/* Of four bytes, 0 to 4095. */
static uint32_t begin_hash(const char *bytes)
{
	uint32_t word;
	memcpy(&word, bytes, sizeof(word));
	return word * UINT32_C(2654435761) >> 20;
}

/* Adds the words of a text, with percent-encoding decoded. */
static bool add_words(struct lesson_inputs *in, struct slice text)
{
	size_t begin = in->bytes;
	if (text.len + 1 > sizeof(in->decoded) - in->bytes)
		return false;
	while (text.len > 0) {
		struct slice plain = slice_sub(text, 0, slice_find(text, '%'));
		memcpy(in->decoded + in->bytes, plain.ptr, plain.len);
		in->bytes += plain.len;
		slice_skip(&text, plain.len);
		if (text.len == 0)
			break;
		int byte = ascii_percent_byte(text);
		in->decoded[in->bytes++] = byte >= 0 ? (char)byte : '%';
		slice_skip(&text, byte >= 0 ? 3 : 1);
	}
	in->decoded[in->bytes++] = ' ';
	for (size_t at = begin; at < in->bytes; at++) {
		if (is_word_byte(in->decoded[at]))
			continue;
		struct slice word = slice_of(in->decoded + begin, at - begin);
		begin = at + 1;
		if (word.len < WORD_LEAST ||
		    slice_is_among(word, usual_words, sizeof(usual_words) / sizeof(usual_words[0])))
			continue;
		/* The beginning of a long word is enough to find it. */
		word.len = word.len < WORD_MOST ? word.len : WORD_MOST;
		if (in->word_count == sizeof(in->words) / sizeof(in->words[0]))
			return false;
		in->words[in->word_count++] = word;
		uint32_t at_begin = begin_hash(word.ptr);
		in->begins[at_begin / 64] |= UINT64_C(1) << at_begin % 64;
	}
	return true;
}

/* Fields that browsers send with each page load: their values say nothing unusual. All others may be anything, so that
 * clients which say the same there count as one request. */
static bool is_usual(const struct http_field *f)
{
	switch (f->token) {
	case HTTP_TOKEN_ACCEPT:
	case HTTP_TOKEN_ACCEPT_ENCODING:
	case HTTP_TOKEN_ACCEPT_LANGUAGE:
	case HTTP_TOKEN_USER_AGENT:
	case HTTP_TOKEN_COOKIE:
	case HTTP_TOKEN_REFERER:
	case HTTP_TOKEN_HOST:
	case HTTP_TOKEN_CONNECTION:
	case HTTP_TOKEN_TE:
	case HTTP_TOKEN_PRIORITY:
	case HTTP_TOKEN_CACHE_CONTROL:
	case HTTP_TOKEN_PRAGMA:
	case HTTP_TOKEN_SAVE_DATA:
	case HTTP_TOKEN_IF_NONE_MATCH:
	case HTTP_TOKEN_IF_MODIFIED_SINCE:
	case HTTP_TOKEN_UPGRADE_INSECURE_REQUESTS:
	case HTTP_TOKEN_TRACEPARENT:
	case HTTP_TOKEN_TRACESTATE:
	case HTTP_TOKEN_EARLY_DATA:
		return true;
	}
	return slice_starts_with(f->name, SLICE("sec-")) || slice_equal(f->name, SLICE("dnt"));
}

/* A Referer of the same site without a query is the path of a page there: its folders are those of assets too. */
static bool is_own_referer(const struct http_field *f, const struct http_head *request)
{
	struct http_target from;
	return f->token == HTTP_TOKEN_REFERER && http_target_cut(f->value, &from) &&
	       slice_find(from.path, '?') == from.path.len &&
	       slice_equal_nocase(from.authority, request->authority);
}

static uint64_t mixed(uint64_t hash, struct slice name, struct slice value)
{
	hash = hash_bytes(hash, name.ptr, name.len);
	hash = hash_bytes(hash, value.ptr, value.len);
	return hash ? hash : 1;
}

bool lesson_inputs_read(struct lesson_inputs *in, const struct remembered *m, struct slice rule,
    const struct http_head *request)
{
	struct slice query = slice_from(request->path, slice_find(request->path, '?') + 1);
	in->input = in->cookie = 0;
	in->word_count = in->bytes = 0;
	in->compared = 0;
	memset(in->begins, 0, sizeof(in->begins));
	while (query.len > 0) {
		struct slice member = slice_cut(&query, '&');
		if (member.len == 0 || query_member_matters(m, rule, member))
			continue;
		in->input = mixed(m->seed ^ in->input, SLICE("?"), member);
		if (!add_words(in, member))
			return false;
	}
	for (uint32_t i = 0; i < request->count; i++) {
		const struct http_field *f = &request->fields[i];
		if (f->token == HTTP_TOKEN_COOKIE)
			in->cookie = mixed(m->seed ^ in->cookie, f->name, f->value);
		if (f->token == HTTP_TOKEN_HOST || is_own_referer(f, request))
			continue;
		if (!is_usual(f))
			in->input = mixed(m->seed ^ in->input, f->name, f->value);
		if (!add_words(in, f->value))
			return false;
	}
	return true;
}

static bool is_word_at(struct lesson_inputs *in, struct slice rest)
{
	for (size_t i = 0; i < in->word_count; i++)
		if (slice_starts_with(rest, in->words[i]))
			return true;
	in->compared += (uint32_t)in->word_count;
	return false;
}

/* A request and a page that need too many comparisons were made for that: nothing of them counts. */
bool lesson_is_reflected(struct lesson_inputs *in, struct slice target)
{
	for (size_t i = 0; i + WORD_LEAST <= target.len; i++) {
		uint32_t begin = begin_hash(target.ptr + i);
		if (!(in->begins[begin / 64] >> begin % 64 & 1))
			continue;
		if (in->compared > COMPARED_MOST || is_word_at(in, slice_from(target, i)))
			return true;
	}
	return false;
}

/* ---- items ---- */

/* Some servers end the path at a semicolon, or where an escaped character stands, and run what is before it. */
static bool is_asset(struct slice path)
{
	static const char unsafe[] = {'?', ';', '%', '\\'};
	const unsigned assets = 1u << POLICY_TYPE_STYLE | 1u << POLICY_TYPE_SCRIPT |
				1u << POLICY_TYPE_IMAGE | 1u << POLICY_TYPE_FONT;
	for (size_t i = 0; i < sizeof(unsafe); i++)
		if (slice_find(path, unsafe[i]) < path.len)
			return false;
	return assets >> policy_type_of_path(path) & 1;
}

/* A page that a GET without a query shows. */
static bool is_page(struct slice path)
{
	return slice_find(path, '?') == path.len && slice_find(path, ';') == path.len &&
	       slice_find(path, '%') == path.len;
}

/* "https://host" with anything behind it. */
static bool is_absolute(struct slice target)
{
	size_t colon = slice_find(target, ':');
	struct slice scheme = slice_sub(target, 0, colon), rest = slice_from(target, colon);
	return (slice_equal(scheme, SLICE("https")) || slice_equal(scheme, SLICE("http"))) &&
	       slice_starts_with(rest, SLICE("://")) && rest.len > 3 && rest.ptr[3] != '/';
}

/* Printable, and without what would end the link-value around it. */
static bool is_attributes(struct slice s)
{
	if (s.len > REMEMBERED_TEXT_BYTES)
		return false;
	bool is_quoted = false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] < ' ' || s.ptr[i] > '~' || s.ptr[i] == '\\')
			return false;
		is_quoted ^= s.ptr[i] == '"';
		if (s.ptr[i] == ',' && !is_quoted)
			return false;
	}
	return !is_quoted;
}

/* Whether a value begins so at some place, in any case. */
static bool has_text(struct slice value, struct slice text)
{
	for (size_t i = 0; i + text.len <= value.len; i++)
		if (slice_equal_nocase(slice_sub(value, i, text.len), text))
			return true;
	return false;
}

/* Printable, and without what a policy never has. */
static bool field_is_good(const struct remembered_item *item)
{
	struct slice value = item->target;
	bool is_policy = item->rel == REMEMBERED_CSP;
	if (item->source != REMEMBERED_LINK || item->crossorigin != REMEMBERED_NO_CORS ||
	    item->as.len > 0 || item->attributes.len > 0 || value.len == 0 ||
	    value.len > REMEMBERED_FIELD_BYTES || slice_trim(value).len < value.len)
		return false;
	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];
		bool is_good = is_policy
				   ? c >= ' ' && c <= '~' && c != '"' && c != '\\'
				   : ascii_is(c, ASCII_ALPHA | ASCII_DASH) || c == ',' || c == ' ';
		if (!is_good)
			return false;
	}
	return !is_policy || !has_text(value, SLICE("'nonce-"));
}

/* Visible, and without what would end it where it is written. */
static bool is_target_text(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		if (ascii_is(c, ASCII_ALNUM | ASCII_HOST_MARK) || c == '/')
			continue;
		if (c <= ' ' || c > '~' || c == '#' || c == '<' || c == '>' || c == '"' ||
		    c == '\\')
			return false;
	}
	return true;
}

bool item_is_good(const struct remembered_item *item, bool is_guarded)
{
	if ((unsigned)item->rel < REMEMBERED_RELS && remembered_rel_is_field(item->rel))
		return field_is_good(item);
	struct slice t = item->target;
	bool is_path = target_is_path(t) && !slice_starts_with(t, SLICE("//"));
	if (t.len == 0 || t.len > REMEMBERED_TARGET_BYTES || !is_target_text(t) ||
	    (!is_path && !is_absolute(t)))
		return false;
	if ((unsigned)item->source >= REMEMBERED_SOURCES ||
	    (unsigned)item->rel >= REMEMBERED_RELS ||
	    (unsigned)item->crossorigin > REMEMBERED_CREDENTIALS || item->as.len > 16 ||
	    !ascii_all(item->as, ASCII_LOWER) || !is_attributes(item->attributes))
		return false;
	if ((item->rel == REMEMBERED_NEXT) != (item->source == REMEMBERED_FOLLOWED))
		return false;
	if (item->rel == REMEMBERED_NEXT)
		return is_path && is_page(t) && item->as.len + item->attributes.len == 0 &&
		       item->crossorigin == REMEMBERED_NO_CORS;
	if (item->rel == REMEMBERED_PRECONNECT)
		return !is_path && !is_guarded;
	return is_guarded || item->source == REMEMBERED_ASKED ? is_path && is_asset(t) : true;
}
