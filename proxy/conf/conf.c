/* SPDX-License-Identifier: MIT */
/*
 * Begins and ends a load. source.c reads the files, apply.c sets the values, validate.c checks the
 * whole.
 */
#include "proxy/conf/conf.h"
#include "proxy/base/memory.h"
#include "proxy/base/sealed.h"
#include "proxy/conf/load.h"
#include <stdlib.h>
#include <unistd.h>

/* folder: where relative paths start in the end; NULL: nowhere, for a text that is no file. */
static struct conf *load_begin(struct conf_loader *l, const char *name, const char *folder,
    bool opens_files, struct conf_findings *findings)
{
	struct conf *c = memory_new(struct conf);

	arena_init(&c->arena, NULL, 0);
	c->sealed = opens_files ? sealed_new() : NULL;
	*l = (struct conf_loader){
	    .conf = c, .findings = findings, .opens_files = opens_files, .folder = folder};
	c->file = conf_copy(l, slice_of_string(name));
	/* Default paths are relative to this file. */
	l->file = c->file;
	conf_apply_presets(l, CONF_SECTION_SERVER, c);
	l->file = NULL;
	return c;
}

static struct conf *load_end(struct conf_loader *l)
{
	conf_finish_servers(l);
	if (!l->is_foreign)
		conf_apply_route_defaults(l);
	if (!l->is_foreign)
		conf_add_forward_sections(l);
	conf_finish_servers(l);
	free(l->servers);
	if (!l->is_foreign)
		conf_finish(l);
	l->conf->sections = l->first;
	if (l->conf->sealed)
		sealed_seal(l->conf->sealed);
	if (l->mistakes == 0)
		return l->conf;
	conf_free(l->conf);
	return NULL;
}

struct conf *conf_load(const char *path, bool opens_files, struct conf_findings *findings)
{
	struct conf_loader l;
	char *folder = getcwd(NULL, 0);
	struct conf *c = load_begin(&l, path, folder, opens_files, findings);

	l.follows_includes = true;
	/* Commands that only look something up in the file do not judge it. */
	l.is_silent = !opens_files;
	conf_read_file(&l, c->file);
	bool is_read = l.seen != NULL;
	if (is_read)
		c = load_end(&l);
	free(folder);
	if (is_read)
		return c;
	/* The main file cannot be read: other mistakes would only follow from that. */
	conf_free(c);
	return NULL;
}

struct conf *conf_load_text(struct slice text, const char *name, bool opens_files, FILE *errors)
{
	struct conf_loader l;
	struct conf_findings findings = {.text = errors};
	struct conf *c = load_begin(&l, name, NULL, opens_files, &findings);

	l.follows_includes = opens_files;
	conf_read_text(&l, c->file, text);
	return load_end(&l);
}

void conf_free(struct conf *c)
{
	if (!c)
		return;
	policy_regexes_free(c->regexes);
	sealed_free(c->sealed);
	arena_fini(&c->arena);
	free(c);
}

struct conf_place conf_find_place(
    const struct conf *c, const char *section, size_t index, const char *key, size_t nth)
{
	const struct conf_section *s = c->sections;

	while (s && (strcmp(conf_section_types[s->kind].word, section) != 0 || index-- > 0))
		s = s->next;
	const struct conf_option_place *p = s ? conf_nth_option(s, key, nth) : NULL;
	if (p)
		return (struct conf_place){p->file, p->line};
	return s ? (struct conf_place){s->file, s->line} : (struct conf_place){c->file, 1};
}
