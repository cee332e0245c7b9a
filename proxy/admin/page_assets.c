/* SPDX-License-Identifier: MIT */
/*
 * The page itself: "/" and the files that it is made of. It has all of its own: no other host is asked for anything, and no
 * script or style runs but that of its files. Without scripts it still has the tables of the overview, which are written
 * into it here.
 */
#include "proxy/admin/admin_private.h"
#include "proxy/admin/page_files.h"

/* Where the tables of the overview go. */
#define PLACE SLICE("<!-- overview -->")

static const struct http_own_field page_seclusion[] = {
    {SLICE_INIT("x-content-type-options"), SLICE_INIT("nosniff")},
    {SLICE_INIT("content-security-policy"),
	SLICE_INIT("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
		   "img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")},
    {SLICE_INIT("cross-origin-resource-policy"), SLICE_INIT("same-origin")},
    {SLICE_INIT("cross-origin-opener-policy"), SLICE_INIT("same-origin")},
    {SLICE_INIT("referrer-policy"), SLICE_INIT("no-referrer")},
};

static const struct {
	const char *ending, *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
};

static const char *type_of(const char *name)
{
	const char *ending = strrchr(name, '.');
	for (size_t i = 0; ending && i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].ending, ending) == 0)
			return types[i].type;
	return "application/octet-stream";
}

static const struct admin_file *find_file(struct slice name)
{
	for (size_t i = 0; i < admin_file_count; i++)
		if (slice_equal(slice_of_string(admin_files[i].name), name))
			return &admin_files[i];
	return NULL;
}

static void seclude(struct admin_request *r)
{
	r->answer->more = page_seclusion;
	r->answer->more_count = sizeof(page_seclusion) / sizeof(page_seclusion[0]);
}

void admin_page_file(struct admin_request *r)
{
	struct slice path = r->exchange->request->path, name = slice_cut(&path, '?');
	const struct admin_file *f = find_file(slice_from(name, 1));
	if (!f) { /* uncovered: each row of the table has its file */
		r->answer->status = 404;
		return;
	}
	seclude(r);
	r->answer->content_type = type_of(f->name);
	r->answer->body = slice_of(f->bytes, f->length);
}

static enum admin_step produce_index(void *context, struct admin_output *output, FILE *out)
{
	const struct admin_file *f = find_file(SLICE("index.html"));
	(void)output;
	const char *text = (const char *)f->bytes;
	const char *place = memmem(text, f->length, PLACE.ptr, PLACE.len);
	size_t before = place ? (size_t)(place - text) : f->length;
	fwrite(text, 1, before, out);
	if (place) {
		admin_overview_html(context, out);
		fwrite(place + PLACE.len, 1, f->length - before - PLACE.len, out);
	}
	return ADMIN_ENDS;
}

static void free_nothing(void *context)
{
	(void)context;
}

void admin_page_index(struct admin_request *r)
{
	static const struct admin_producer producer = {
	    .produce = produce_index, .free = free_nothing};
	seclude(r);
	r->answer->content_type = "text/html; charset=utf-8";
	admin_answer_with(r, &producer, r->admin);
}
