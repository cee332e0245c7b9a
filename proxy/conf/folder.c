/* SPDX-License-Identifier: MIT */
/*
 * Reads the folder of a route with `files`, as far as the route's paths reach, together with the configuration: workers
 * open no file. No file outside of the folder is read, whatever links in it say. Names that begin with a dot are left
 * out, but for .well-known (RFC 8615): they are of editors and version control.
 */
#include "proxy/base/ascii.h"
#include "proxy/base/base64.h"
#include "proxy/base/memory.h"
#include "proxy/conf/setters.h"
#include "proxy/http/file_set.h"
#include "proxy/http/path.h"
#include "proxy/limits.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A folder while it is read. */
struct walk {
	struct conf_loader *loader;
	const struct conf_section *section;
	const struct conf_route *route;
	int root; /* descriptor of the folder */
	struct http_file *files;
	size_t count;
	uint64_t bytes; /* of all bodies */
};

#define tell(w, ...)                                                                               \
	conf_mistake(                                                                              \
	    (w)->loader, (w)->section->file, conf_option_line((w)->section, "files"), __VA_ARGS__)

/* The path below the folder as messages and the watch of files have it. It lives as long as the configuration. */
static const char *path_of(const struct walk *w, const char *name)
{
	return arena_printf(&w->loader->conf->arena, "%s/%s", w->route->folder.path, name).ptr;
}

/* ---- what is wanted ---- */

/* A path of the configuration is written as a client asks for it (RFC 3986 2.1). */
static struct slice decode(struct slice path, char out[LIMIT_FOLDER_NAME_BYTES + 1])
{
	size_t n = 0;
	for (size_t i = 0; i < path.len && n <= LIMIT_FOLDER_NAME_BYTES; i++) {
		int byte = ascii_percent_byte(slice_from(path, i));
		out[n++] = byte < 0 ? path.ptr[i] : (char)byte;
		i += byte < 0 ? 0 : 2;
	}
	if (n > 0 && out[n - 1] == '/')
		n--;
	return slice_of(out, n);
}

/* "/name" is one of the route's paths, below one, or a folder above one. */
static bool is_wanted(const struct walk *w, struct slice name)
{
	char room[LIMIT_FOLDER_NAME_BYTES + 1];
	for (size_t i = 0; i < w->route->path_count; i++) {
		struct slice path = decode(w->route->paths[i], room);
		if (http_path_is_below(name, path) || http_path_is_below(path, name))
			return true;
	}
	return w->route->path_count == 0;
}

static bool may_be_served(const struct dirent *entry)
{
	bool may_be_file = entry->d_type == DT_REG || entry->d_type == DT_DIR ||
			   entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN;
	return may_be_file &&
	       (entry->d_name[0] != '.' || strcmp(entry->d_name, ".well-known") == 0);
}

/* ---- one file ---- */

/* Follows no link that leads out of the folder, and is not made to wait by a pipe. */
static int open_beneath(const struct walk *w, const char *name)
{
	struct open_how how = {
	    .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	return (int)syscall(SYS_openat2, w->root, name, &how, sizeof how);
}

/* At most a byte more than a file may have. False: it cannot be read. */
static bool read_all(int fd, char *bytes, size_t *length)
{
	ssize_t n = 1;
	for (*length = 0; n > 0 && *length <= LIMIT_FOLDER_FILE_BYTES; *length += (size_t)n) {
		n = read(fd, bytes + *length, LIMIT_FOLDER_FILE_BYTES + 1 - *length);
		if (n < 0)
			return false;
	}
	return true;
}

/* Strong (RFC 9110 8.8.1): other bytes have another one. */
static void write_tag(struct http_file *f)
{
	uint8_t digest[NET_SHA1_BYTES];
	char text[BASE64_SIZE(NET_SHA1_BYTES)];
	net_sha1(f->body, digest);
	size_t length = base64url_encode(slice_of((const char *)digest, sizeof digest), text);
	snprintf(f->tag, sizeof f->tag, "\"%.*s\"", (int)length, text);
}

/* False: too many or too large, which was told. */
static bool fits(struct walk *w, const char *name, size_t length)
{
	if (length > LIMIT_FOLDER_FILE_BYTES)
		return tell(w,
		    "'%s' is larger than %u bytes; take it out of the folder of files, and let an "
		    "origin serve it",
		    path_of(w, name), LIMIT_FOLDER_FILE_BYTES);
	if (w->count == LIMIT_FOLDER_FILES)
		return tell(w,
		    "the folder '%s' for files has more than %u files; let path name a part of it, "
		    "or let an origin serve them",
		    w->route->folder.path, LIMIT_FOLDER_FILES);
	if (w->bytes + length > LIMIT_FOLDER_BYTES)
		return tell(w,
		    "the files of folder '%s' have more than %u bytes together; let path name a "
		    "part of it, or let an origin serve them",
		    w->route->folder.path, LIMIT_FOLDER_BYTES);
	return true;
}

static bool add_file(struct walk *w, int fd, const char *name, const struct stat *info)
{
	char *bytes = memory_alloc(LIMIT_FOLDER_FILE_BYTES + 1);
	size_t length;
	bool is_read = read_all(fd, bytes, &length);
	if (!is_read)
		tell(w, "'%s' for files cannot be read: %s; make it readable, or remove it",
		    path_of(w, name), strerror(errno));
	if (!is_read || !fits(w, name, length)) {
		free(bytes);
		return false;
	}
	struct http_file f = {
	    .name = conf_copy_slice(w->loader, slice_of_string(name)),
	    .type = slice_of_string(http_file_type(slice_of_string(name))),
	    .body = slice_of(memory_resize(bytes, length + 1, 1), length),
	    .modified_sec = info->st_mtim.tv_sec > 0 ? (uint64_t)info->st_mtim.tv_sec : 0,
	};
	write_tag(&f);
	w->bytes += length;
	w->files[w->count++] = f;
	return true;
}

/* ---- the walk ---- */

static bool read_folder(struct walk *w, int fd, const char *name, unsigned depth);

/* Takes the descriptor. False: what is wrong has been told, and the walk ends. */
static bool visit(struct walk *w, int fd, const char *name, unsigned depth)
{
	struct stat info;
	bool is_good = fstat(fd, &info) == 0;
	if (is_good && S_ISDIR(info.st_mode))
		return read_folder(w, fd, name, depth);
	if (is_good && S_ISREG(info.st_mode)) {
		conf_note_named_file(w->loader, path_of(w, name));
		is_good = add_file(w, fd, name, &info);
	}
	close(fd);
	return is_good;
}

/* EXDEV: a link leads out. A file that has just been removed is none. */
static bool could_not_open(struct walk *w, const char *name)
{
	int error = errno;
	if (error == ENOENT)
		return true;
	if (error != EXDEV && error != ELOOP)
		return tell(w, "'%s' for files cannot be read: %s; make it readable, or remove it",
		    path_of(w, name), strerror(error));
	conf_warning(w->loader, w->section->file, conf_option_line(w->section, "files"),
	    "'%s' is a link that leads out of the folder of files, so it is not served; copy the "
	    "file",
	    path_of(w, name));
	return true;
}

static bool visit_entry(
    struct walk *w, const struct dirent *entry, const char *folder, unsigned depth)
{
	char path[LIMIT_FOLDER_NAME_BYTES + 2]; /* with a slash before it */
	int length =
	    snprintf(path, sizeof path, "/%s%s%s", folder, *folder ? "/" : "", entry->d_name);
	if (!may_be_served(entry))
		return true;
	if (length >= (int)sizeof path)
		return tell(w,
		    "the folder '%s' for files has names of more than %u bytes; "
		    "shorten them",
		    w->route->folder.path, LIMIT_FOLDER_NAME_BYTES);
	if (!is_wanted(w, slice_of_string(path)))
		return true;
	int fd = open_beneath(w, path + 1);
	return fd >= 0 ? visit(w, fd, path + 1, depth) : could_not_open(w, path + 1);
}

/* name: "" of the folder itself. Takes the descriptor. */
static bool read_folder(struct walk *w, int fd, const char *name, unsigned depth)
{
	const struct dirent *entry;
	bool is_good = depth <= LIMIT_FOLDER_DEPTH;
	if (!is_good)
		tell(w, "'%s' for files lies deeper than %u folders; move it up", path_of(w, name),
		    LIMIT_FOLDER_DEPTH);
	conf_note_named_file(w->loader, path_of(w, name));
	DIR *d = is_good ? fdopendir(fd) : NULL;
	if (is_good && !d)
		is_good = tell(w, "'%s' for files cannot be read: %s; make it readable",
		    path_of(w, name), strerror(errno));
	while (is_good && d && (entry = readdir(d)))
		is_good = visit_entry(w, entry, name, depth + 1);
	if (d)
		closedir(d);
	else
		close(fd);
	return is_good;
}

void conf_read_folder(struct conf_loader *l, const struct conf_section *s)
{
	struct conf_route *route = s->object;
	struct walk w = {.loader = l, .section = s, .route = route, .root = -1};
	if (!route->folder.path || !l->opens_files)
		return;
	w.root = open(route->folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w.root < 0) {
		tell(&w, "the folder '%s' for files cannot be read: %s; name a readable folder",
		    route->folder.path, strerror(errno));
		return;
	}
	w.files = memory_alloc(LIMIT_FOLDER_FILES * sizeof *w.files);
	if (read_folder(&w, dup(w.root), "", 0))
		route->folder.files = http_file_set_make(&l->conf->arena, w.files, w.count);
	for (size_t i = 0; i < w.count; i++) {
		conf_digest(&l->conf->lists_digest, w.files[i].name.ptr, w.files[i].body);
		free((void *)(uintptr_t)w.files[i].body.ptr);
	}
	free(w.files);
	close(w.root);
}
