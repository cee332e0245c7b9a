/* SPDX-License-Identifier: MIT */
/*
 * Begins and ends a load. source.c reads the files, apply.c sets the values, validate.c checks the
 * whole.
 */
#include "proxy/conf/conf.h"
#include "proxy/base/memory.h"
#include "proxy/conf/load.h"

static struct conf *load_begin(struct conf_loader *l, const char *name, bool resolve, FILE *errors)
{
	struct conf *c = memory_new(struct conf);

	arena_init(&c->arena, NULL, 0);
	*l = (struct conf_loader){.conf = c, .errors = errors, .resolve = resolve};
	c->file = conf_copy(l, slice_of_string(name));
	/* Default paths are relative to this file. */
	l->file = c->file;
	conf_apply_presets(l, CONF_SECTION_SERVER, c);
	l->file = NULL;
	return c;
}

static struct conf *load_end(struct conf_loader *l)
{
	if (!l->is_foreign)
		conf_finish(l);
	if (l->mistakes == 0)
		return l->conf;
	conf_free(l->conf);
	return NULL;
}

struct conf *conf_load(const char *path, bool resolve, FILE *errors)
{
	struct conf_loader l;
	struct conf *c = load_begin(&l, path, resolve, errors);

	l.follows_includes = true;
	/* Commands that only look something up in the file do not judge it. */
	l.is_silent = !resolve;
	conf_read_file(&l, c->file);
	if (l.mistakes > 0 &&
	    !l.seen) { /* The main file cannot be read: other mistakes would only follow from that. */
		conf_free(c);
		return NULL;
	}
	return load_end(&l);
}

struct conf *conf_load_text(struct slice text, const char *name, bool resolve, FILE *errors)
{
	struct conf_loader l;
	struct conf *c = load_begin(&l, name, resolve, errors);

	l.follows_includes = resolve;
	conf_read_text(&l, c->file, text);
	return load_end(&l);
}

struct conf *conf_load_everything(struct slice text, const char *name, bool resolve, FILE *errors)
{
	struct conf_loader l;
	struct conf *c = load_begin(&l, name, resolve, errors);

	l.accepts_unavailable = true;
	conf_read_text(&l, c->file, text);
	return load_end(&l);
}

void conf_free(struct conf *c)
{
	if (!c)
		return;
	policy_regexes_free(c->regexes);
	arena_fini(&c->arena);
	free(c);
}

bool conf_listen_trusts(const struct conf_listen *l, const struct address *peer)
{
	for (size_t i = 0; i < l->trusted_count; i++) {
		const struct cidr *t = &l->trusted[i];
		bool is_unix = t->base.family == 0 && peer->family == 0;
		if (is_unix || cidr_contains(t, peer))
			return true;
	}
	return false;
}
