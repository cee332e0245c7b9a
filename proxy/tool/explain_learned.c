/* SPDX-License-Identifier: MIT */
/* Prints, for a page for which assets are learned, what a proposal needs and how far it is. */
#include "proxy/tool/explain.h"
#include "proxy/tool/tool.h"

#include <stdlib.h>

static char *(*text_of_status)(const char *socket_path);

void tool_explain_asks(char *(*status_text)(const char *socket_path))
{
	text_of_status = status_text;
}

char *explain_status(const char *socket_path)
{
	return text_of_status ? text_of_status(socket_path) : NULL;
}

static enum conf_learned learned_for(const struct explain_scene *s)
{
	const struct exchange *x = s->x;
	struct policy_offer facts = {.parent = x->request, .now = x->relay->now};
	enum conf_learned most = CONF_LEARNED_OFF;
	if (x->method != HTTP_METHOD_GET || !route_shares(&x->facts))
		return most;
	offer_request_context(&s->base, &s->client, x, &facts);
	for (size_t i = 0; i < s->conf->preload_count; i++)
		if (s->conf->preloads[i].learned > most &&
		    policy_rule_takes(&s->conf->preloads[i].when, &facts))
			most = s->conf->preloads[i].learned;
	return most;
}

/* Prints the lines of the status that are about the page: "# learned by worker 0: NAME: …". */
static bool print_lines(FILE *out, const char *status, const char *name)
{
	struct slice rest = slice_of_string(status), page = slice_of_string(name);
	bool has_any = false;
	while (rest.len > 0) {
		struct slice line = slice_cut(&rest, '\n');
		if (!slice_starts_with(line, SLICE("# learned by ")))
			continue;
		struct slice said = slice_from(line, slice_find(line, ':') + 2);
		struct slice after = slice_from(said, page.len);
		if (!slice_starts_with(said, page) || !slice_starts_with(after, SLICE(": ")))
			continue;
		fputs("   ", out);
		explain_print(out, slice_from(line, SLICE("# learned ").len));
		fputc('\n', out);
		has_any = true;
	}
	return has_any;
}

void explain_learned(FILE *out, const struct explain_scene *s)
{
	char needs[OFFER_LEARNED_LINE], name[OFFER_LEARNED_LINE];
	enum conf_learned learned = learned_for(s);
	const char *socket_path = s->conf->server.status_socket;
	if (learned == CONF_LEARNED_OFF)
		return;
	offer_learned_needs(NULL, needs);
	offer_learned_page_name(s->x->request->authority, s->x->request->path, name);
	fprintf(out, "\nlearned = %s: %s.\n", learned == CONF_LEARNED_APPLY ? "apply" : "propose",
	    needs);
	if (!socket_path) {
		fputs("   how far it is: set status-socket, and a running pushgate tells\n", out);
		return;
	}
	char *status = explain_status(socket_path);
	if (!status)
		fprintf(out, "   how far it is: no pushgate answers at %s\n", socket_path);
	else if (!print_lines(out, status, name))
		fputs("   no load of this page has counted yet\n", out);
	free(status);
}
