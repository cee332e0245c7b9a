/* SPDX-License-Identifier: MIT */
/* The configuration as it was written, for a reader: sections, options and values with their places, without secrets. */
#include "proxy/conf/load.h"
#include "proxy/conf/setters.h"

/* What a field is set to, or compared with, may be a credential, whatever its name is. */
static struct slice without_secrets(
    struct conf_loader *l, const struct conf_option *o, struct slice value)
{
	struct arena *a = &l->conf->arena;
	if (o->secrets & CONF_SECRET_USER)
		value = conf_hide_user(l, value);
	size_t query = o->secrets & CONF_SECRET_QUERY ? slice_find(value, '?') : value.len;
	if (query < value.len)
		value = arena_printf(a, "%.*s?…", SLICE_ARG(slice_sub(value, 0, query)));
	bool has_field = o->type == CONF_TYPE_FIELDS || (o->secrets & CONF_SECRET_FIELD);
	size_t name = has_field ? slice_find(value, ':') : value.len;
	if (name < value.len)
		value = arena_printf(a, "%.*s: …", SLICE_ARG(slice_sub(value, 0, name)));
	return value;
}

const char *conf_shown_value(struct conf_loader *l, const struct conf_option *o, struct slice value)
{
	return conf_copy(l, without_secrets(l, o, value));
}

bool conf_next_written(const struct conf *c, struct conf_walk *walk, struct conf_written *w)
{
	const struct conf_section *s = walk->has_begun ? walk->section : c->sections;
	walk->has_begun = true;
	while (s && (s->line == 0 || (walk->section == s && walk->option == s->option_count))) {
		s = s->next;
		walk->section = NULL;
	}
	if (!s)
		return false;
	*w = (struct conf_written){
	    .word = conf_section_types[s->kind].word, .name = s->name, .at = {s->file, s->line}};
	if (walk->section != s) {
		walk->section = s;
		walk->option = 0;
		return true;
	}
	const struct conf_option_place *p = &s->options[walk->option++];
	w->key = p->key;
	w->value = p->value;
	w->at = (struct conf_place){p->file, p->line};
	return true;
}
