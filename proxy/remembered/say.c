/* SPDX-License-Identifier: MIT */
/* What status, explain and the crash dump print of the memory of pages. Changes nothing. */
#include "proxy/remembered/remembered_private.h"

#include <stdarg.h>
#include <stdio.h>

/* Of longer names the beginning. */
enum { NAME_BYTES = 96, TARGET_BYTES = 80 };

struct line {
	char *text;
	size_t size, used;
};

static void add(struct line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct line *l, const char *format, ...)
{
	va_list values;
	va_start(values, format);
	int n = vsnprintf(l->text + l->used, l->size - l->used, format, values);
	va_end(values);
	size_t room = l->size - l->used - 1;
	l->used += n > 0 && (size_t)n < room ? (size_t)n : n > 0 ? room : 0;
}

static const char *plural(uint32_t n)
{
	return n == 1 ? "" : "s";
}

static void add_span(struct line *l, usec span)
{
	unsigned long long sec = span / USEC_PER_SEC;
	if (sec >= 2 * 86400)
		add(l, "%llud", sec / 86400);
	else if (sec >= 2 * 3600)
		add(l, "%lluh", sec / 3600);
	else if (sec >= 120)
		add(l, "%llumin", sec / 60);
	else
		add(l, "%llus", sec);
}

static const char *const source_names[REMEMBERED_SOURCES] = {
    "link", "head", "style", "asked", "followed"};

static void add_sources(struct line *l, uint8_t sources)
{
	const char *before = "";
	for (int s = 0; s < REMEMBERED_SOURCES; s++)
		if (sources >> s & 1) {
			add(l, "%s%s", before, source_names[s]);
			before = ", ";
		}
}

/* ---- a page ---- */

static void add_name(struct line *l, const struct remembered_page *p)
{
	char whole[8 + REMEMBERED_AUTHORITY_BYTES + REMEMBERED_TARGET_BYTES +
		   REMEMBERED_TEXT_BYTES + 8];
	int n = snprintf(whole, sizeof(whole), "%.*s://%.*s%.*s%s%.*s",
	    SLICE_ARG(place_scheme(p->place)), SLICE_ARG(place_authority(p->place)),
	    SLICE_ARG(place_path(p->place)), p->query_len > 0 ? "?" : "", SLICE_ARG(page_query(p)));
	add(l, "%.*s", n < NAME_BYTES ? n : NAME_BYTES, whole);
	if (n > NAME_BYTES)
		add(l, "...");
	if (p->variant_len > 0)
		add(l, " (%.*s)", p->variant_len < 40 ? p->variant_len : 40, page_variant(p).ptr);
	for (size_t i = 0; i < l->used; i++)
		if (l->text[i] == '\t')
			l->text[i] = ' ';
}

static void write_page(const struct remembered *m, const struct remembered_page *p,
    char text[REMEMBERED_LINE], usec now)
{
	struct line l = {text, REMEMBERED_LINE, 0};
	uint64_t told = page_told(m, p, now);
	uint32_t clients = page_votes(m, p, now), known = (uint32_t)__builtin_popcountll(p->taken);
	uint32_t offered = 0, used = 0, of_source[REMEMBERED_SOURCES] = {0};
	for (int i = 0; i < REMEMBERED_RESOURCES; i++) {
		if (!(p->taken >> i & 1))
			continue;
		offered += p->resources[i]->offered;
		used += p->resources[i]->used;
		for (int s = 0; told >> i & 1 && s < REMEMBERED_SOURCES; s++)
			of_source[s] += resource_sources(p, i) >> s & 1;
	}
	add_name(&l, p);
	add(&l, ": %u client%s, %u view%s, known for ", clients, plural(clients), p->views,
	    plural(p->views));
	add_span(&l, now - p->since);
	add(&l, "; %d of %u resource%s told", __builtin_popcountll(told), known, plural(known));
	const char *before = " (";
	for (int s = 0; s < REMEMBERED_SOURCES; s++)
		if (of_source[s] > 0) {
			add(&l, "%s%s %u", before, source_names[s], of_source[s]);
			before = ", ";
		}
	add(&l, "%s", before[0] == ',' ? ")" : "");
	if (offered > 0)
		add(&l, "; used %u of %u", used, offered);
}

size_t remembered_lines(const struct remembered *m, char (*lines)[REMEMBERED_LINE], usec now)
{
	const struct list *lists[] = {&m->established, &m->candidates};
	size_t count = 0;
	for (size_t i = 0; i < 2; i++)
		/* The page viewed last goes first. */
		for (const struct list *at = lists[i]->prev;
		     at != lists[i] && count < REMEMBERED_LINES; at = at->prev)
			write_page(m, container_of(at, struct remembered_page, by_use),
			    lines[count++], now + EPOCH);
	return count;
}

/* ---- a resource ---- */

/* Why it is not told: the first reason that holds. */
static void add_lack(
    struct line *l, const struct remembered *m, const struct remembered_page *p, int i, usec now)
{
	const struct remembered_resource *r = p->resources[i];
	uint8_t sources = resource_sources(p, i);
	uint32_t need = page_need(m, p), votes = resource_votes(m, p, i, now);
	if (sources == 1u << REMEMBERED_ASKED || r->rel == REMEMBERED_NEXT)
		need = m->options.clients;
	add(l, "not told: ");
	if (now < r->barred_until) {
		add(l, r->is_unused ? "no client used it; tried again in "
				    : "it failed; tried again in ");
		add_span(l, r->barred_until - now);
	} else if (votes < need) {
		add(l, "%u more client%s must get it", need - votes, plural(need - votes));
	} else {
		add(l, "%u of %u clients got it", votes,
		    r->rel == REMEMBERED_NEXT ? p->followed_count : page_votes(m, p, now));
	}
	add(l, " (");
	add_sources(l, sources);
	add(l, ")");
}

static void write_resource(const struct remembered *m, const struct remembered_page *p, int i,
    uint64_t told, char text[REMEMBERED_LINE], usec now)
{
	struct line l = {text, REMEMBERED_LINE, 0};
	const struct remembered_resource *r = p->resources[i];
	int length = r->target_len < TARGET_BYTES ? r->target_len : TARGET_BYTES;
	if (remembered_rel_is_field(r->rel))
		add(&l, "%s: ",
		    r->rel == REMEMBERED_CSP ? "Content-Security-Policy" : "Referrer-Policy");
	add(&l, "%.*s%s", length, r->text, length < r->target_len ? "..." : "");
	if (r->as_len > 0)
		add(&l, " as %.*s", SLICE_ARG(resource_as(r)));
	add(&l, ": ");
	if (told >> i & 1) {
		add(&l, "told (");
		add_sources(&l, resource_sources(p, i));
		add(&l, ")");
	} else {
		add_lack(&l, m, p, i, now);
	}
	add(&l, "; known for ");
	add_span(&l, now - r->since);
	add(&l, ", named ");
	add_span(&l, now - r->seen);
	add(&l, " ago; offered %u, used %u", r->offered, r->used);
	if (r->failed > 0)
		add(&l, ", failed %u", r->failed);
}

bool remembered_explain(const struct remembered *m, const struct http_head *request,
    void (*say)(const char *line, void *context), void *context, usec now)
{
	const struct remembered_page *p = page_of_request(m, request);
	char text[REMEMBERED_LINE];
	now += EPOCH;
	if (!p)
		return false;
	uint64_t told = page_told(m, p, now);
	write_page(m, p, text, now);
	say(text, context);
	for (int i = 0; i < REMEMBERED_RESOURCES; i++)
		if (p->taken >> i & 1) {
			write_resource(m, p, i, told, text, now);
			say(text, context);
		}
	return true;
}

size_t remembered_describe(const struct remembered *m, char *buffer, size_t size)
{
	int n = snprintf(buffer, size,
	    "remembered places=%zu pages=%u/%u established=%u resources=%u bytes=%zu/%zu "
	    "taught=%llu "
	    "refused=%llu\n",
	    m->places.count, m->page_count, m->options.pages, m->established_count,
	    m->resource_count, m->budget.used_bytes, m->budget.limit_bytes,
	    (unsigned long long)m->taught, (unsigned long long)m->refused);
	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}
