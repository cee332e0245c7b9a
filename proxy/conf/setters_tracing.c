/* SPDX-License-Identifier: MIT */
/* The option tracing of [server]: the collector of spans, and the path there. */
#include "proxy/base/ascii.h"
#include "proxy/conf/setters.h"

/* Where collectors take spans over HTTP by OTLP's default. */
#define DEFAULT_PATH "/v1/traces"

/* Returns NULL or the mistake. */
static const char *read_url(struct conf_loader *l, struct conf_tracing *t, struct slice url)
{
	struct slice http = SLICE("http://");
	bool has_scheme = slice_starts_with(url, http);
	struct slice place = slice_from(url, has_scheme ? http.len : 0);
	if (slice_starts_with(url, SLICE("https://")))
		return "spans are sent over http alone";
	struct slice path = slice_from(place, slice_find(place, '/'));
	if (!ascii_is_visible(path) || slice_find(path, '#') < path.len)
		return "its path is none of a URL";
	struct conf_origin_server *s = arena_alloc(&l->conf->arena, sizeof *s);
	*s = (struct conf_origin_server){.weight = 1};
	const char *wrong =
	    conf_read_host_port(l, s, slice_sub(place, 0, slice_find(place, '/')), SLICE(""));
	if (wrong)
		return wrong;
	s->text = conf_copy(l, slice_sub(place, 0, slice_find(place, '/')));
	t->collector = s;
	t->path = path.len > 1 ? conf_copy(l, path) : DEFAULT_PATH;
	return NULL;
}

bool conf_set_tracing(struct conf_loader *l, void *at, struct slice value)
{
	struct conf_tracing *t = at;
	if (slice_equal(value, SLICE("off")))
		return true;
	const char *wrong = read_url(l, t, value);
	return !wrong || conf_bad_value(l, conf_hide_user(l, value), wrong, NULL);
}
