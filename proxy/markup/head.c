/* SPDX-License-Identifier: MIT */
/*
 * The head of a page, as the tree builder of the HTML standard (13.2.6.4.1 to 13.2.6.4.6) makes it, with
 * scripting: from tags to resources, up to the first token that would open the body.
 *
 *   BEFORE --any tag of a head--> IN --</head>--> AFTER --anything else--> the end
 */
#include "proxy/markup/markup.h"

#include "proxy/base/ascii.h"
#include "proxy/base/heap.h"
#include "proxy/markup/reference.h"
#include "proxy/markup/tokenizer.h"

#include <stdlib.h>

#define MARK_BYTES 3u

enum mode { BEFORE_HEAD, IN_HEAD, AFTER_HEAD };

/* What a tag does. */
enum role {
	ROLE_OTHER,
	ROLE_NONE, /* in the head it changes nothing: <meta> */
	ROLE_HTML,
	ROLE_HEAD,
	ROLE_BODY, /* its end tag opens the body, too */
	ROLE_BASE,
	ROLE_LINK,
	ROLE_SCRIPT,
	ROLE_TEXT,
	ROLE_NOSCRIPT, /* text in the head; behind it, it opens the body */
	ROLE_TEMPLATE,
	ROLE_BODY_TEXT, /* text inside a template; else it opens the body */
	ROLE_UNCLEAR    /* inside a template what follows would be read in another way */
};

/* By the lengths of their names. */
static const struct {
	struct slice name;
	enum role role;
} elements[] = {
#define ROW(name, role)                                                                            \
	{                                                                                          \
		SLICE_INIT(name), role                                                             \
	}
    ROW("br", ROLE_BODY), ROW("svg", ROLE_UNCLEAR), ROW("xmp", ROLE_BODY_TEXT),
    ROW("col", ROLE_UNCLEAR), ROW("link", ROLE_LINK), ROW("meta", ROLE_NONE),
    ROW("base", ROLE_BASE), ROW("html", ROLE_HTML), ROW("head", ROLE_HEAD), ROW("body", ROLE_BODY),
    ROW("math", ROLE_UNCLEAR), ROW("title", ROLE_TEXT), ROW("style", ROLE_TEXT),
    ROW("script", ROLE_SCRIPT), ROW("iframe", ROLE_BODY_TEXT), ROW("select", ROLE_UNCLEAR),
    ROW("bgsound", ROLE_NONE), ROW("noembed", ROLE_BODY_TEXT), ROW("noscript", ROLE_NOSCRIPT),
    ROW("template", ROLE_TEMPLATE), ROW("noframes", ROLE_TEXT), ROW("basefont", ROLE_NONE),
    ROW("textarea", ROLE_BODY_TEXT), ROW("colgroup", ROLE_UNCLEAR), ROW("frameset", ROLE_UNCLEAR),
    ROW("plaintext", ROLE_UNCLEAR)
#undef ROW
};

struct markup_head {
	struct markup_tokenizer tokenizer;
	struct markup_sink sink;
	const struct http_target *page; /* borrows */
	struct http_target base;        /* in base_bytes, or the page */
	enum { BASE_OF_PAGE, BASE_NAMED, BASE_UNKNOWN } base_is;
	enum mode mode;
	enum markup_state state;
	uint32_t templates; /* open ones */
	uint32_t found;
	uint32_t bytes; /* read so far */
	uint8_t mark;   /* bytes of the byte order mark, or all of them when there is none */
	char base_bytes[LIMIT_MARKUP_TAG_BYTES];
};

_Static_assert(sizeof(struct markup_head) <= MARKUP_READER_BYTES, "it is charged as that");

struct markup_head *markup_head_new(const struct http_target *page, struct markup_sink sink)
{
	struct markup_head *h = heap_alloc(sizeof(*h));
	if (!h)
		return NULL;
	/* One by one: most of it is room for values, which need not be zero. */
	markup_tokenizer_init(&h->tokenizer);
	h->sink = sink;
	h->page = page;
	h->base = *page;
	h->base_is = BASE_OF_PAGE;
	h->mode = BEFORE_HEAD;
	h->state = MARKUP_READS;
	h->templates = h->found = h->bytes = 0;
	h->mark = 0;
	return h;
}

void markup_head_free(struct markup_head *head)
{
	free(head);
}

static enum role role_of(const struct markup_name *name)
{
	/* The first row with a name of each length. */
	static const uint8_t first[] = {0, 0, 0, 1, 4, 11, 13, 16, 18, 25};
	struct slice text = markup_name_text(name);
	if (text.len >= sizeof(first))
		return ROLE_OTHER;
	const size_t count = sizeof(elements) / sizeof(elements[0]);
	for (size_t i = first[text.len]; i < count && elements[i].name.len == text.len; i++) {
		if (elements[i].name.ptr[0] == text.ptr[0] && slice_equal(elements[i].name, text))
			return elements[i].role;
	}
	return ROLE_OTHER;
}

#define REL_ALTERNATE 128u

/* What the words of a rel say, as uses; and REL_ALTERNATE. */
static unsigned uses_of(struct slice rel)
{
	static const struct {
		struct slice word;
		unsigned use;
	} words[] = {{SLICE_INIT("stylesheet"), MARKUP_STYLESHEET},
	    {SLICE_INIT("preload"), MARKUP_PRELOAD}, {SLICE_INIT("preconnect"), MARKUP_PRECONNECT},
	    {SLICE_INIT("alternate"), REL_ALTERNATE},
	    {SLICE_INIT("modulepreload"), MARKUP_MODULEPRELOAD}};
	unsigned uses = 0;
	for (size_t i = 0; i < rel.len; i++) {
		size_t from = i;
		while (i < rel.len && !markup_is_space((unsigned char)rel.ptr[i]))
			i++;
		for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
			if (words[w].word.len == i - from &&
			    words[w].word.ptr[0] == (rel.ptr[from] | 0x20) &&
			    slice_equal_nocase(slice_sub(rel, from, i - from), words[w].word))
				uses |= words[w].use;
	}
	return uses;
}

static struct slice value(const struct markup_head *h, enum markup_attribute a)
{
	return markup_tag_value(&h->tokenizer.tag, a);
}

static struct slice without_spaces(struct slice s)
{
	while (s.len > 0 && markup_is_space((unsigned char)s.ptr[0]))
		slice_skip(&s, 1);
	while (s.len > 0 && markup_is_space((unsigned char)s.ptr[s.len - 1]))
		s.len--;
	return s;
}

static void found(
    struct markup_head *h, enum markup_attribute where, unsigned uses, struct slice as)
{
	static const enum markup_attribute flags[] = {
	    MARKUP_ATTRIBUTE_ASYNC, MARKUP_ATTRIBUTE_DEFER};
	const struct markup_tag *tag = &h->tokenizer.tag;
	struct markup_resource r = {.uses = uses, .as = as};
	char first[2048];
	struct arena a;
	arena_init(&a, first, sizeof(first));
	const struct http_target *base = h->base_is == BASE_UNKNOWN ? NULL : &h->base;
	if (markup_reference_resolve(&a, h->page, base, value(h, where), &r.target)) {
		r.rel = value(h, MARKUP_ATTRIBUTE_REL);
		r.type = value(h, MARKUP_ATTRIBUTE_TYPE);
		r.media = value(h, MARKUP_ATTRIBUTE_MEDIA);
		r.crossorigin = value(h, MARKUP_ATTRIBUTE_CROSSORIGIN);
		r.fetchpriority = value(h, MARKUP_ATTRIBUTE_FETCHPRIORITY);
		r.integrity = value(h, MARKUP_ATTRIBUTE_INTEGRITY);
		r.imagesrcset = value(h, MARKUP_ATTRIBUTE_IMAGESRCSET);
		r.imagesizes = value(h, MARKUP_ATTRIBUTE_IMAGESIZES);
		for (unsigned i = 0; uses == MARKUP_SCRIPT && i < 2; i++)
			r.marks |= markup_tag_has(tag, flags[i]) ? 1u << i : 0;
		if (uses == MARKUP_SCRIPT &&
		    slice_equal_nocase(without_spaces(r.type), SLICE("module")))
			r.marks |= MARKUP_MODULE;
		if (markup_tag_has(tag, MARKUP_ATTRIBUTE_CROSSORIGIN))
			r.marks |= MARKUP_HAS_CROSSORIGIN;
		if (markup_tag_has(tag, MARKUP_ATTRIBUTE_NONCE))
			r.marks |= MARKUP_HAS_NONCE;
		if (h->found++ < LIMIT_MARKUP_RESOURCES)
			h->sink.found(&r, h->sink.context);
		else
			h->state = MARKUP_TOO_MANY;
	}
	arena_fini(&a);
}

static void on_link(struct markup_head *h)
{
	unsigned uses = uses_of(value(h, MARKUP_ATTRIBUTE_REL));
	struct slice as = value(h, MARKUP_ATTRIBUTE_AS);
	struct slice type = without_spaces(value(h, MARKUP_ATTRIBUTE_TYPE));
	bool is_css = type.len == 0 || slice_equal_nocase(slice_sub(type, 0, 8), SLICE("text/css"));
	if (!is_css || (uses & REL_ALTERNATE) ||
	    markup_tag_has(&h->tokenizer.tag, MARKUP_ATTRIBUTE_DISABLED))
		uses &= ~(unsigned)MARKUP_STYLESHEET;
	if (as.len == 0)
		uses &= ~(unsigned)MARKUP_PRELOAD;
	uses &= ~REL_ALTERNATE;
	if (uses & MARKUP_STYLESHEET)
		as = SLICE("style");
	else if (as.len == 0 && (uses & MARKUP_MODULEPRELOAD))
		as = SLICE("script");
	if (uses != 0)
		found(h, MARKUP_ATTRIBUTE_HREF, uses, as);
}

/* HTML standard 4.12.1.1: the type, or else the language, names JavaScript, or a module. */
static bool is_script_run(const struct markup_head *h)
{
	static const struct slice names[] = {SLICE_INIT("javascript"), SLICE_INIT("ecmascript"),
	    SLICE_INIT("x-javascript"), SLICE_INIT("x-ecmascript"), SLICE_INIT("jscript"),
	    SLICE_INIT("livescript"), SLICE_INIT("javascript1.0"), SLICE_INIT("javascript1.1"),
	    SLICE_INIT("javascript1.2"), SLICE_INIT("javascript1.3"), SLICE_INIT("javascript1.4"),
	    SLICE_INIT("javascript1.5")};
	const struct markup_tag *tag = &h->tokenizer.tag;
	struct slice type = value(h, MARKUP_ATTRIBUTE_TYPE),
		     name = value(h, MARKUP_ATTRIBUTE_LANGUAGE);
	bool has_type = markup_tag_has(tag, MARKUP_ATTRIBUTE_TYPE), is_application = false;
	if (has_type ? type.len == 0 : name.len == 0)
		return !markup_tag_has(tag, MARKUP_ATTRIBUTE_NOMODULE);
	if (has_type) {
		name = without_spaces(type);
		if (slice_equal_nocase(name, SLICE("module")))
			return true;
		is_application = slice_equal_nocase(slice_sub(name, 0, 12), SLICE("application/"));
		if (!is_application && !slice_equal_nocase(slice_sub(name, 0, 5), SLICE("text/")))
			return false;
		slice_skip(&name, is_application ? 12 : 5);
	}
	for (size_t i = 0; i < (is_application ? 4 : sizeof(names) / sizeof(names[0])); i++) {
		if (slice_equal_nocase(names[i], name))
			return !markup_tag_has(tag, MARKUP_ATTRIBUTE_NOMODULE);
	}
	return false;
}

/* The first href counts (4.2.3). Against one that cannot be read here, nothing relative is resolved. */
static void on_base(struct markup_head *h)
{
	const struct markup_tag *tag = &h->tokenizer.tag;
	struct http_target t;
	char first[1024];
	struct arena a;
	if (h->base_is != BASE_OF_PAGE || !markup_tag_has(tag, MARKUP_ATTRIBUTE_HREF))
		return;
	h->base_is = BASE_UNKNOWN;
	arena_init(&a, first, sizeof(first));
	if (!tag->is_unclear &&
	    markup_reference_resolve(&a, h->page, h->page, value(h, MARKUP_ATTRIBUTE_HREF), &t) &&
	    t.authority.len + t.path.len <= sizeof(h->base_bytes)) {
		memcpy(h->base_bytes, t.authority.ptr, t.authority.len);
		memcpy(h->base_bytes + t.authority.len, t.path.ptr, t.path.len);
		h->base = (struct http_target){t.scheme, slice_of(h->base_bytes, t.authority.len),
		    slice_of(h->base_bytes + t.authority.len, t.path.len)};
		h->base_is = BASE_NAMED;
	}
	arena_fini(&a);
}

static void open_text(struct markup_head *h, enum markup_content content)
{
	markup_tokenizer_expect(&h->tokenizer, content);
}

static void set_templates(struct markup_head *h, uint32_t count)
{
	h->templates = count;
	h->tokenizer.ignores_text = count > 0;
}

/* Inside a template nothing is fetched; what it has is followed to its end tag. */
static void on_template_tag(struct markup_head *h, enum role role, bool is_end)
{
	if (role == ROLE_TEMPLATE)
		set_templates(h, is_end ? h->templates - 1 : h->templates + 1);
	else if (is_end)
		return;
	else if (role == ROLE_UNCLEAR)
		h->state = MARKUP_ENDED;
	else if (role == ROLE_SCRIPT)
		open_text(h, MARKUP_CONTENT_SCRIPT);
	else if (role == ROLE_TEXT || role == ROLE_NOSCRIPT || role == ROLE_BODY_TEXT)
		open_text(h, MARKUP_CONTENT_TEXT);
}

static void on_end_tag(struct markup_head *h, enum role role)
{
	if (role == ROLE_HEAD && h->mode != AFTER_HEAD)
		h->mode = AFTER_HEAD;
	else if (role == ROLE_HTML || role == ROLE_BODY)
		h->state = MARKUP_ENDED;
}

static void on_start_tag(struct markup_head *h, enum role role)
{
	bool is_clear = !h->tokenizer.tag.is_unclear;
	if (role == ROLE_HTML)
		return;
	if (h->mode == BEFORE_HEAD)
		h->mode = IN_HEAD;
	switch (role) {
	case ROLE_NONE:
	case ROLE_HTML:
	case ROLE_HEAD:
		break;
	case ROLE_BASE:
		on_base(h);
		break;
	case ROLE_LINK:
		if (is_clear)
			on_link(h);
		break;
	case ROLE_SCRIPT:
		if (is_clear && is_script_run(h))
			found(h, MARKUP_ATTRIBUTE_SRC, MARKUP_SCRIPT, SLICE("script"));
		open_text(h, MARKUP_CONTENT_SCRIPT);
		break;
	case ROLE_TEXT:
		open_text(h, MARKUP_CONTENT_TEXT);
		break;
	case ROLE_NOSCRIPT:
		if (h->mode == AFTER_HEAD)
			h->state = MARKUP_ENDED;
		open_text(h, MARKUP_CONTENT_TEXT);
		break;
	case ROLE_TEMPLATE:
		set_templates(h, 1);
		break;
	case ROLE_OTHER:
	case ROLE_BODY:
	case ROLE_BODY_TEXT:
	case ROLE_UNCLEAR:
		h->state = MARKUP_ENDED;
		break;
	}
}

static void on_tag(struct markup_head *h)
{
	bool is_end = h->tokenizer.tag.is_end;
	enum role role = role_of(&h->tokenizer.tag.name);
	if (h->templates > 0)
		on_template_tag(h, role, is_end);
	else if (is_end)
		on_end_tag(h, role);
	else
		on_start_tag(h, role);
}

/* A byte order mark is no text; a part of one is. */
static void skip_mark(struct markup_head *h, struct slice *rest)
{
	static const char mark[MARK_BYTES] = {'\xef', '\xbb', '\xbf'};
	while (h->mark < MARK_BYTES && rest->len > 0) {
		if (rest->ptr[0] != mark[h->mark]) {
			if (h->mark > 0)
				h->state = MARKUP_ENDED;
			h->mark = MARK_BYTES;
			return;
		}
		slice_skip(rest, 1);
		h->mark++;
	}
}

enum markup_state markup_head_read(struct markup_head *h, struct slice piece)
{
	struct slice rest = slice_sub(piece, 0, LIMIT_MARKUP_BYTES - h->bytes);
	if (h->state != MARKUP_READS)
		return h->state;
	h->bytes += (uint32_t)rest.len;
	skip_mark(h, &rest);
	while (h->state == MARKUP_READS) {
		enum markup_token token = markup_tokenizer_next(&h->tokenizer, &rest);
		if (token == MARKUP_TOKEN_NONE)
			break;
		if (token == MARKUP_TOKEN_TAG)
			on_tag(h);
		else
			h->state = MARKUP_ENDED;
	}
	if (h->state == MARKUP_READS && h->bytes == LIMIT_MARKUP_BYTES)
		h->state = MARKUP_AT_LIMIT;
	return h->state;
}
