/* SPDX-License-Identifier: MIT */
/* Setters for the options of TLS in [listen NAME]. */
#include "proxy/base/sealed.h"
#include "proxy/conf/setters.h"
#include <errno.h>
#include <sys/stat.h>

/* Puts the library's name of a word behind the others of a list, which colons separate. */
static bool add_name(struct conf_loader *l, const char **list, struct slice word, const char *name,
    const char *wrong)
{
	if (!name)
		return conf_bad_value(l, word, wrong, NULL);
	struct slice rest = slice_of_string(*list ? *list : "");
	while (rest.len > 0)
		if (slice_equal(slice_cut(&rest, ':'), slice_of_string(name)))
			return conf_bad_value(l, word, "it is there twice", NULL);
	struct slice text =
	    *list ? arena_printf(&l->conf->arena, "%s:%s", *list, name) : slice_of_string(name);
	*list = conf_copy(l, text);
	return true;
}

bool conf_add_suite(struct conf_loader *l, void *at, struct slice word)
{
	const char *wrong = NULL, *name = net_tls_suite(word, &wrong);

	return add_name(l, at, word, name, wrong);
}

bool conf_add_group(struct conf_loader *l, void *at, struct slice word)
{
	const char *wrong = NULL, *name = net_tls_group(word, &wrong);

	return add_name(l, at, word, name, wrong);
}

/* certificates.c looks into it. */
bool conf_set_certificate_folder(struct conf_loader *l, void *at, struct slice value)
{
	struct conf_section *s = l->current;
	const struct conf_file_ref folder = {conf_path(l, value), l->line};
	struct stat info;

	(void)at;
	if (conf_any(f, s->folders, s->folder_count, strcmp(f->path, folder.path) == 0))
		return conf_bad_value(l, value, "it is there twice", NULL);
	conf_append(l, s->folders, s->folder_count, folder);
	if (!l->opens_files)
		return true;
	if (stat(folder.path, &info) != 0)
		return conf_no_file(l, "certificates", folder.path, "name a folder of PEM files");
	return S_ISDIR(info.st_mode) ||
	       conf_mistake_here(l,
		   "'%s' for certificates is no folder; name a folder, or write certificate = and "
		   "key = for single files",
		   folder.path);
}

bool conf_set_ticket_keys(struct conf_loader *l, void *at, struct slice value)
{
	const char *path = *(const char **)at;
	char error[512];

	(void)value;
	if (!l->opens_files)
		return true;
	conf_note_named_file(l, path);
	errno = sealed_add(l->conf->sealed, path);
	if (errno)
		return conf_no_file(
		    l, "ticket-keys", path, "name a file with a secret in each line");
	return net_ticket_file_check(l->conf->sealed, path, error, sizeof error) ||
	       conf_mistake_here(l,
		   "ticket-keys cannot be used: %s; write 1 to %d lines, each made by: openssl "
		   "rand "
		   "-hex 32",
		   error, NET_TICKET_FILE_KEYS);
}

bool conf_set_keylog_file(struct conf_loader *l, void *at, struct slice value)
{
	const char *path = *(const char **)at;

	(void)value;
	if (path)
		conf_warning(l, l->file, l->line,
		    "whoever reads %s can decrypt all TLS connections, with clients and with "
		    "origins; remove the line and the file when you are done",
		    path);
	return true;
}

/* certificates.c looks into it: the outer names must be those of certificates. */
bool conf_set_ech_keys(struct conf_loader *l, void *at, struct slice value)
{
	const char *path = *(const char **)at;

	(void)value;
	if (!l->opens_files)
		return true;
	conf_note_named_file(l, path);
	errno = sealed_add(l->conf->sealed, path);
	return !errno || conf_no_file(l, "ech-keys", path,
			     "name a file that this made: pushgate ech-key NAME");
}
