/* SPDX-License-Identifier: MIT */
/*
 * Folders of certificates: which files are a certificate and its key, as certbot, Caddy and others lay them out. All of
 * a folder is one file of the sealed set, a bundle (net.h), so that a reload may find others there.
 */
#include "proxy/base/sealed.h"
#include "proxy/conf/load.h"
#include "proxy/limits.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Caddy: AUTHORITY/NAME/NAME.crt. */
enum { DEPTH = 2 };

struct walk {
	struct conf_loader *loader;
	const struct conf_section *section;
	uint32_t line;
	struct conf_pair *pairs;
	size_t count;
};

static const char *path_in(const struct walk *w, const char *folder, const char *name)
{
	return arena_printf(&w->loader->conf->arena, "%s/%s", folder, name).ptr;
}

static const struct conf_file_ref *ref_of(const struct walk *w, const char *path)
{
	struct conf_file_ref *ref = arena_alloc(&w->loader->conf->arena, sizeof *ref);

	*ref = (struct conf_file_ref){path, w->line};
	return ref;
}

static void add(struct walk *w, const char *chain, const char *key)
{
	const struct conf_file_ref *chain_ref = ref_of(w, chain);
	const struct conf_pair pair = {
	    w->section, chain_ref, key == chain ? chain_ref : ref_of(w, key)};

	conf_note_named_file(w->loader, chain);
	if (key != chain)
		conf_note_named_file(w->loader, key);
	conf_append(w->loader, w->pairs, w->count, pair);
}

/* The length of the name without ".crt", ".cer" or ".pem"; 0: it has none of them. */
static size_t stem_of(const char *name)
{
	static const char *const endings[] = {".crt", ".cer", ".pem"};
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (length > 4 && strcmp(name + length - 4, endings[i]) == 0)
			return length - 4;
	return 0;
}

static void look_at_file(struct walk *w, const char *folder, const char *name)
{
	struct net_pem_file f;
	size_t stem = stem_of(name);

	if (stem == 0)
		return;
	const char *path = path_in(w, folder, name);
	const char *key =
	    arena_printf(&w->loader->conf->arena, "%s/%.*s.key", folder, (int)stem, name).ptr;
	if (access(key, F_OK) == 0) {
		add(w, path, key);
		return;
	}
	net_pem_look(NULL, path, &f);
	if (f.certificates > 0 && f.keys > 0)
		add(w, path, path);
	else if (f.certificates > 0)
		conf_warning(w->loader, w->section->file, w->line,
		    "the certificate '%s' is not used, because its key is not there; put it into "
		    "'%s'",
		    path, key);
}

static void look_at_folder(struct walk *w, const char *folder, unsigned depth);

static void look_at(struct walk *w, const char *folder, const char *name, unsigned depth)
{
	struct stat info;
	const char *path = path_in(w, folder, name);

	/* The names of a bundle are lines. */
	if (strpbrk(name, "\n\r") || stat(path, &info) != 0)
		return;
	if (S_ISDIR(info.st_mode) && depth < DEPTH)
		look_at_folder(w, path, depth + 1);
	else if (S_ISREG(info.st_mode))
		look_at_file(w, folder, name);
}

static int is_visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* In the order of the names' bytes, which no locale changes. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void look_at_folder(struct walk *w, const char *folder, unsigned depth)
{
	struct dirent **entries = NULL;
	const char *chain = path_in(w, folder, "fullchain.pem");
	const char *key = path_in(w, folder, "privkey.pem");
	bool is_certbot = access(chain, F_OK) == 0 && access(key, F_OK) == 0;

	conf_note_named_file(w->loader, folder);
	/* Beside these two, certbot has the certificate and its chain once more. */
	if (is_certbot)
		add(w, chain, key);
	int count = is_certbot ? 0 : scandir(folder, &entries, is_visible, by_name);
	for (int i = 0; i < count; i++) {
		if (w->count <= LIMIT_CERTIFICATES)
			look_at(w, folder, entries[i]->d_name, depth);
		free(entries[i]);
	}
	free(entries);
}

bool conf_find_certificates(struct conf_loader *l, const struct conf_file_ref *folder,
    const struct conf_section *s, struct conf_pair **pairs, size_t *count)
{
	struct walk w = {.loader = l, .section = s, .line = folder->line};

	look_at_folder(&w, folder->path, 0);
	*pairs = w.pairs;
	*count = w.count;
	if (w.count == 0)
		return conf_mistake(l, s->file, folder->line,
		    "there is no certificate with its key in the folder '%s'; put NAME.crt and "
		    "NAME.key there, or name another folder",
		    folder->path);
	return w.count <= LIMIT_CERTIFICATES ||
	       conf_mistake(l, s->file, folder->line,
		   "there are more than %u certificates in the folder '%s'; divide it among "
		   "several [listen NAME]",
		   LIMIT_CERTIFICATES, folder->path);
}

void conf_seal_certificates(
    struct conf_loader *l, const char *folder, const struct conf_pair *pairs, size_t count)
{
	enum { PARTS = 5 };
	struct sealed_part *parts = arena_alloc(&l->conf->arena, count * PARTS * sizeof *parts);
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct conf_pair *p = &pairs[i];
		struct slice line =
		    arena_printf(&l->conf->arena, NET_BUNDLE_LINE "%s\n", p->chain->path);
		parts[n++] = (struct sealed_part){.text = line};
		parts[n++] = (struct sealed_part){.path = p->chain->path};
		parts[n++] = (struct sealed_part){.text = SLICE("\n")};
		if (p->key == p->chain)
			continue;
		parts[n++] = (struct sealed_part){.path = p->key->path};
		parts[n++] = (struct sealed_part){.text = SLICE("\n")};
	}
	(void)sealed_add_parts(l->conf->sealed, folder, parts, n);
}
