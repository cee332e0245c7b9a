/* SPDX-License-Identifier: MIT */
/*
 * Saves the learned table to a file and loads it after a restart. The file has the number of clients of
 * a resource, but no clients, not even as hashes. A resource of too few clients is not written: else one
 * client could count several times, once in each life of the process.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/offer/json.h"
#include "proxy/offer/learned_table.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { STORE_VERSION = 1 };

/* ---- saving ---- */

static json_t *text_of(struct slice s)
{
	return json_stringn(s.ptr, s.len);
}

static json_t *resource_to_json(struct slice path, const struct offer_learned_numbers *n)
{
	return json_pack("{s:o, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I}", "path", text_of(path),
	    "hits", n->hits, "views", n->views, "clients", (json_int_t)n->clients, "proposed",
	    (json_int_t)n->proposed, "came_true", (json_int_t)n->came_true, "offered",
	    (json_int_t)n->offered, "taken", (json_int_t)n->taken, "refused",
	    (json_int_t)n->refused);
}

/* NULL: no resource of the page has enough hits and clients. */
static json_t *page_to_json(const struct offer_learned *t, const struct learned_page *p, usec now)
{
	json_t *resources = json_array();
	double fade = learned_page_fade(t, p, now);
	for (int i = 0; i < OFFER_LEARNED_RESOURCES; i++) {
		const struct learned_resource *r = p->resources[i];
		if (!r || !learned_resource_is_kept(t, r, fade, now))
			continue;
		const struct offer_learned_numbers numbers = learned_numbers_of(t, r, fade, now);
		json_array_append_new(resources, resource_to_json(resource_path(r), &numbers));
	}
	if (json_array_size(resources) == 0) {
		json_decref(resources);
		return NULL;
	}
	return json_pack("{s:o, s:o, s:o}", "authority", text_of(page_authority(p)), "path",
	    text_of(page_path(p)), "resources", resources);
}

/* Writes the least recently used page first, so that loading restores the order of use. */
static json_t *table_to_json(const struct offer_learned *t, usec now)
{
	json_t *pages = json_array();
	const struct list *lists[] = {&t->candidates, &t->established};
	for (size_t i = 0; i < 2; i++)
		list_for_each(lists[i], p, struct learned_page, by_use)
		{
			json_t *page = page_to_json(t, p, now);
			if (page)
				json_array_append_new(pages, page);
		}
	return json_pack("{s:i, s:o}", "version", STORE_VERSION, "pages", pages);
}

/* A file in the same folder as `path`, which rename(2) needs. What a process that was killed has left
 * there is replaced: one process saves at a time. */
static int open_aside(const char *aside)
{
	unlink(aside);
	return open(aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* True: `path` is the file that was written aside. */
static bool replace(const char *path, const char *aside, int fd, const json_t *root)
{
	bool is_written = json_dumpfd(root, fd, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0 &&
			  write(fd, "\n", 1) == 1 && fsync(fd) == 0;
	int error = errno;
	if (close(fd) != 0 && is_written) {
		error = errno;
		is_written = false;
	}
	if (is_written && rename(aside, path) == 0)
		return true;
	if (is_written)
		error = errno;
	unlink(aside);
	errno = error;
	return false;
}

bool offer_learned_save(const struct offer_learned *t, const char *path, usec now, FILE *errors)
{
	size_t length = strlen(path);
	char *aside = memory_alloc(length + sizeof(".new"));
	memcpy(aside, path, length);
	memcpy(aside + length, ".new", sizeof(".new"));
	int fd = open_aside(aside);
	json_t *root = fd >= 0 ? table_to_json(t, now) : NULL;
	bool is_saved = fd >= 0 && replace(path, aside, fd, root);
	if (!is_saved)
		fprintf(errors, "%s: cannot be written: %s\n", path, strerror(errno));
	json_decref(root);
	free(aside);
	return is_saved;
}

/* ---- loading ---- */

static bool read_count(const json_t *object, const char *key, uint32_t *out)
{
	const json_t *value = json_object_get(object, key);
	json_int_t number = json_integer_value(value);
	if (!json_is_integer(value) || number < 0 || number > UINT32_MAX)
		return false;
	*out = (uint32_t)number;
	return true;
}

static bool read_weight(const json_t *object, const char *key, double *out)
{
	const json_t *value = json_object_get(object, key);
	*out = json_number_value(value);
	return json_is_number(value);
}

static struct slice read_text(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return slice_of(json_string_value(value), json_string_length(value));
}

static const char *load_resource(
    struct offer_learned *t, struct learned_page *p, const json_t *object, usec now)
{
	struct offer_learned_numbers read;
	if (!read_weight(object, "views", &read.views) || !read_weight(object, "hits", &read.hits))
		return "\"hits\" and \"views\" are no numbers that views can give";
	if (!read_count(object, "clients", &read.clients) ||
	    !read_count(object, "proposed", &read.proposed) ||
	    !read_count(object, "came_true", &read.came_true) ||
	    !read_count(object, "offered", &read.offered) ||
	    !read_count(object, "taken", &read.taken) ||
	    !read_count(object, "refused", &read.refused))
		return "a count is missing, or no whole number";
	return learned_numbers_add(t, p, read_text(object, "path"), read, now);
}

static const char *load_page(struct offer_learned *t, const json_t *object, usec now)
{
	const json_t *resources = json_object_get(object, "resources"), *resource;
	struct learned_page *p;
	size_t i;
	const char *mistake =
	    learned_page_add(t, read_text(object, "authority"), read_text(object, "path"), &p, now);
	if (mistake)
		return mistake;
	if (!json_is_array(resources) || json_array_size(resources) > OFFER_LEARNED_RESOURCES)
		return "\"resources\" is no list, or too long";
	if (!p)
		return NULL;
	json_array_foreach(resources, i, resource)
	{
		mistake = load_resource(t, p, resource, now);
		if (mistake)
			return mistake;
	}
	if (!p->used)
		learned_page_free(t, p);
	return NULL;
}

static bool load_root(
    struct offer_learned *t, const json_t *root, const char *path, usec now, FILE *errors)
{
	const json_t *pages = json_object_get(root, "pages"), *page;
	const json_t *version = json_object_get(root, "version");
	size_t i;
	if (!json_is_integer(version) || json_integer_value(version) != STORE_VERSION) {
		fprintf(errors, "%s: has not the version that is read here, which is %d\n", path,
		    STORE_VERSION);
		return false;
	}
	if (!json_is_array(pages)) {
		fprintf(errors, "%s: \"pages\" is no list\n", path);
		return false;
	}
	json_array_foreach(pages, i, page)
	{
		const char *mistake = load_page(t, page, now);
		if (mistake) {
			fprintf(errors, "%s: page %zu of the list: %s\n", path, i + 1, mistake);
			return false;
		}
	}
	return true;
}

bool offer_learned_load(struct offer_learned *t, const char *path, usec now, FILE *errors)
{
	char *text;
	size_t length;
	ensure(t->pages.count == 0 && t->clients.count == 0);
	if (access(path, F_OK) != 0 && errno == ENOENT)
		return true;
	if (!offer_json_read(path, OFFER_LEARNED_FILE_BYTES, &text, &length, errors))
		return false;
	struct offer_json json = {.text = slice_of(text, length), .name = path, .errors = errors};
	json_t *root = offer_json_parse(&json);
	bool is_loaded = root && load_root(t, root, path, now, errors);
	json_decref(root);
	free(text);
	if (!is_loaded)
		offer_learned_clear(t);
	return is_loaded;
}
