/* SPDX-License-Identifier: MIT */
/*
 * Families of user-agents. The line of a push does not say which client it was for: the line of its parent does, which
 * stands before it or behind it. So the newest requests are remembered, and the figures of pushes wait for theirs.
 */
#include "proxy/report/report_private.h"

#include "proxy/base/memory.h"
#include <string.h>
#include <strings.h>

/* The first row whose text stands in the user-agent, case aside. Bots come first, since most of them name a browser
 * too, and so do Edge and Opera. */
static const struct {
	const char *text, *family;
} rows[] = {
    {"bot", "bots"},
    {"crawler", "bots"},
    {"spider", "bots"},
    {"slurp", "bots"},
    {"edg/", "Edge"},
    {"edga/", "Edge"},
    {"edgios/", "Edge"},
    {"edge/", "Edge"},
    {"opr/", "Opera"},
    {"firefox/", "Firefox"},
    {"fxios/", "Firefox"},
    {"chrome/", "Chrome"},
    {"chromium/", "Chrome"},
    {"crios/", "Chrome"},
    {"headlesschrome/", "Chrome"},
    {"safari/", "Safari"},
    {"nghttp2/", "nghttp"},
    {"curl/", "curl"},
    {"undici", "Node"},
    {"node", "Node"},
    {"axios/", "Node"},
    {"go-http-client/", "Go"},
    {"java", "Java"},
    {"apache-httpclient/", "Java"},
    {"okhttp/", "Java"},
};

const char *report_family(const char *user_agent)
{
	if (!user_agent)
		return "(no user-agent)";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcasestr(user_agent, rows[i].text))
			return rows[i].family;
	return "others";
}

/* ---- requests that are remembered ---- */

/* The oldest of a row is forgotten for a new one. 262,144 requests are those of minutes, even of a busy server: what was
 * held for a page ends as long after it as hold-max-age says. */
#define SETS 65536u
#define WAYS 4u

struct remembered {
	uint64_t page;
	uint64_t seen;      /* the greater the later; 0: the place is empty */
	const char *family; /* NULL: the request's own line has not come */
	struct report_figures
	    *waiting; /* owned: of pushes that came before it; NULL: there are none */
};

struct report_families {
	uint64_t now;
	struct remembered sets[SETS][WAYS];
};

struct report_families *report_families_new(void)
{
	return memory_new(struct report_families);
}

void report_families_free(struct report_families *f)
{
	for (size_t i = 0; f && i < SETS * WAYS; i++)
		free(f->sets[i / WAYS][i % WAYS].waiting);
	free(f);
}

static void add(struct report *r, const char *family, const struct report_figures *figures)
{
	report_groups_add(&r->groups[REPORT_BY_FAMILY], family, figures);
}

static void release(struct report *r, struct remembered *m, const char *family)
{
	if (!m->waiting)
		return;
	add(r, family, m->waiting);
	free(m->waiting);
	m->waiting = NULL;
}

static const char unknown[] = "(not known)";

static struct remembered *remember(struct report *r, uint64_t page)
{
	struct report_families *f = r->families;
	struct remembered *set = f->sets[page % SETS], *oldest = set;
	for (size_t i = 0; i < WAYS; i++) {
		struct remembered *m = &set[i];
		if (m->seen > 0 && m->page == page)
			return m;
		if (m->seen < oldest->seen)
			oldest = m;
	}
	release(r, oldest, unknown);
	*oldest = (struct remembered){.page = page, .seen = ++f->now};
	return oldest;
}

void report_families_request(
    struct report *r, uint64_t page, const char *family, const struct report_figures *figures)
{
	struct remembered *m = remember(r, page);
	m->family = family;
	release(r, m, family);
	add(r, family, figures);
}

void report_families_push(struct report *r, uint64_t page, const struct report_figures *figures)
{
	if (page == 0) { /* its request was over, and its client is not known any more */
		add(r, unknown, figures);
		return;
	}
	struct remembered *m = remember(r, page);
	if (m->family) {
		add(r, m->family, figures);
		return;
	}
	if (!m->waiting)
		m->waiting = memory_new(struct report_figures);
	report_add(m->waiting, figures);
}

void report_families_end(struct report *r)
{
	for (size_t i = 0; i < SETS * WAYS; i++)
		release(r, &r->families->sets[i / WAYS][i % WAYS], unknown);
}
