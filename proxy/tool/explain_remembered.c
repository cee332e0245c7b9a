/* SPDX-License-Identifier: MIT */
/*
 * Prints what is remembered of a page. A worker has a copy of the memory. The command asks a running pushgate for its
 * status, which names the pages viewed last, and reads the remembered-file, which has what is told of all pages.
 */
#include "proxy/tool/explain.h"

#include "proxy/base/watched_file.h"
#include "proxy/remembered/remembered.h"
#include "proxy/tool/tool.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static char *(*text_of_status)(const char *socket_path);

void tool_explain_asks(char *(*status_text)(const char *socket_path))
{
	text_of_status = status_text;
}

static enum conf_remembers level_of(const struct explain_scene *s)
{
	const struct exchange *x = s->x;
	struct policy_offer facts = {.parent = x->request, .now = x->relay->now};
	enum conf_remembers most = CONF_REMEMBERED_OFF;
	if (x->method != HTTP_METHOD_GET || !route_shares(&x->facts))
		return most;
	offer_request_context(&s->base, &s->client, x, &facts);
	for (size_t i = 0; i < s->conf->preload_count; i++)
		if (s->conf->preloads[i].remembered > most &&
		    policy_rule_takes(&s->conf->preloads[i].when, &facts))
			most = s->conf->preloads[i].remembered;
	return most;
}

static void print_line(const char *line, void *out)
{
	fputs("   ", out);
	explain_print_string(out, line);
	fputc('\n', out);
}

/* ---- the command ---- */

/* Whether the line is about the page: "SCHEME://AUTHORITY/PATH", then its query, its variant or ":". */
static bool is_about(struct slice said, const struct http_head *request)
{
	char name[512];
	struct slice path = slice_sub(request->path, 0, slice_find(request->path, '?'));
	int n = snprintf(name, sizeof(name), "%.*s://%.*s%.*s", SLICE_ARG(request->scheme),
	    SLICE_ARG(request->authority), SLICE_ARG(path));
	if (n < 0 || (size_t)n >= sizeof(name) || !slice_starts_with(said, slice_of_string(name)))
		return false;
	struct slice rest = slice_from(said, (size_t)n);
	return slice_starts_with(rest, SLICE(": ")) || slice_starts_with(rest, SLICE(" (")) ||
	       slice_starts_with(rest, SLICE("?"));
}

/* The lines of the status: "# remembered: NAME: …". */
static bool print_status(FILE *out, const struct explain_scene *s)
{
	const char *socket_path = s->conf->server.status_socket;
	char *status = socket_path && text_of_status ? text_of_status(socket_path) : NULL;
	struct slice rest = slice_of_string(status ? status : "");
	const struct slice begin = SLICE("# remembered: ");
	bool has_any = false;
	while (rest.len > 0) {
		struct slice line = slice_cut(&rest, '\n');
		struct slice said = slice_from(line, begin.len);
		if (!slice_starts_with(line, begin) || !is_about(said, s->x->request))
			continue;
		fputs("   ", out);
		explain_print(out, said);
		fputc('\n', out);
		has_any = true;
	}
	free(status);
	return has_any;
}

struct file_lines {
	FILE *out;
	const char *path;
	size_t count;
};

/* The first line is that of the page: a file has none of its clients. */
static void print_file_line(const char *line, void *context)
{
	struct file_lines *l = context;
	if (l->count++ == 0)
		fprintf(l->out, "   in %s:\n", l->path);
	else
		print_line(line, l->out);
}

static bool print_file(FILE *out, const struct explain_scene *s)
{
	const struct conf_remembered *c = &s->conf->server.remembered;
	struct file_lines lines = {.out = out, .path = c->file};
	const struct watched_file file = {.path = c->file};
	size_t length = 0;
	uint32_t line;
	char *bytes = c->file ? watched_file_read(&file, REMEMBERED_FILE_BYTES, &length) : NULL;
	if (!bytes && (!c->file || errno == ENOENT))
		return false;
	if (!bytes || length > REMEMBERED_FILE_BYTES) {
		fprintf(out, "   %s cannot be read: %s\n", c->file,
		    bytes ? "it is too long" : strerror(errno));
		free(bytes);
		return true;
	}
	const struct remembered_options options = {
	    .clients = c->clients, .ignored = c->ignored, .ignored_count = c->ignored_count};
	struct remembered *m = remembered_new(&options, 0, NULL);
	const usec now = clock_monotonic();
	const char *mistake =
	    remembered_read(m, slice_of(bytes, length), clock_wall() / USEC_PER_SEC, now, &line);
	free(bytes);
	if (mistake)
		fprintf(out, "   %s:%u: %s\n", c->file, line, mistake);
	else
		(void)remembered_explain(m, s->x->request, print_file_line, &lines, now);
	remembered_free(m);
	return mistake || lines.count > 0;
}

static bool print_known(FILE *out, const struct explain_scene *s)
{
	bool is_in_status = print_status(out, s), is_in_file = print_file(out, s);
	return is_in_status || is_in_file;
}

/* ---- both ---- */

void explain_remembered(
    FILE *out, const struct explain_scene *s, const struct explain_served *served)
{
	enum conf_remembers level = level_of(s);
	if (level == CONF_REMEMBERED_OFF)
		return;
	fprintf(out,
	    "\nremembered = %s: what 2 clients got with the page alike; %u for a page that is "
	    "private, sets cookies or varies by Cookie, and for what they requested after it.\n",
	    level == CONF_REMEMBERED_APPLY ? "apply" : "propose",
	    s->conf->server.remembered.clients);
	bool is_known =
	    served ? served->remembered && remembered_explain(served->remembered, s->x->request,
					       print_line, out, clock_monotonic())
		   : print_known(out, s);
	if (!is_known)
		fputs("   nothing is known of this page, or it was not viewed lately\n", out);
}
