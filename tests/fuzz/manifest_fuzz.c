/* SPDX-License-Identifier: MIT */
/*
 * Any octets as a manifest, and as the state of the learned table. A manifest is accepted without a
 * word or refused with at least one line that begins with the file's name, a line and a column;
 * what it lends holds the bounds, and reading it twice gives the same. A state is taken whole or
 * leaves the table empty; what was taken can be saved, and is the same when it is loaded again.
 *
 * Input: the text, as it would stand in the file.
 */
#include "proxy/source/source.h"

#include "proxy/base/ensure.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAME "m.json"
#define NOW (1000 * USEC_PER_SEC)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct told {
	char *text;
	size_t length;
};

static bool is_position(const char *line)
{
	unsigned at[2];
	return sscanf(line, NAME ":%u:%u: ", &at[0], &at[1]) == 2 && at[0] > 0 && at[1] > 0;
}

/* Printable lines, each with its position, and not without end. */
static void check_errors(const struct told *errors)
{
	size_t lines = 0;
	const char *line = errors->text;
	ensure(strlen(errors->text) == errors->length);
	for (size_t i = 0; i < errors->length; i++)
		ensure(errors->text[i] == '\n' ||
		       (errors->text[i] >= ' ' && (unsigned char)errors->text[i] < 0x7f));
	for (; *line; lines++) {
		ensure(is_position(line));
		line = strchr(line, '\n');
		ensure(line);
		line++;
	}
	ensure(lines > 0 && lines <= SOURCE_MISTAKES + 1);
}

static void check_resources(struct source_resources r)
{
	ensure(r.count <= SOURCE_RESOURCES);
	for (size_t i = 0; i < r.count; i++) {
		const struct source_resource *of = &r.list[i];
		ensure(of->target.len > 0 && of->weight <= 256);
		ensure(of->target.ptr[0] == '/' || slice_starts_with(of->target, SLICE("http")));
		for (size_t k = 0; k < of->target.len; k++)
			ensure(of->target.ptr[k] > ' ' && (unsigned char)of->target.ptr[k] < 0x7f);
		ensure(of->crossorigin.len == 0 ||
		       slice_equal(of->crossorigin, SLICE("anonymous")) ||
		       slice_equal(of->crossorigin, SLICE("use-credentials")));
	}
}

static bool is_same(struct source_resources a, struct source_resources b)
{
	if (a.count != b.count)
		return false;
	for (size_t i = 0; i < a.count; i++)
		if (!slice_equal(a.list[i].target, b.list[i].target) ||
		    !slice_equal(a.list[i].as, b.list[i].as) ||
		    a.list[i].weight != b.list[i].weight)
			return false;
	return true;
}

static struct source_manifest *parse(struct slice text)
{
	struct told errors;
	FILE *stream = open_memstream(&errors.text, &errors.length);
	struct source_manifest *m = source_manifest_parse(text, NAME, stream);
	fclose(stream);
	if (m)
		ensure(errors.length == 0);
	else
		check_errors(&errors);
	free(errors.text);
	return m;
}

static void check_manifest(struct slice text)
{
	static const struct slice paths[] = {
	    SLICE_INIT("/"), SLICE_INIT("/index.html"), SLICE_INIT("/a?b"), SLICE_INIT("/shop/")};
	struct source_manifest *m = parse(text), *again = parse(text);
	ensure(!m == !again);
	if (!m)
		return;
	ensure(source_manifest_pages(m) <= SOURCE_PAGES);
	ensure(source_manifest_bytes(m) > 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		check_resources(source_manifest_find(m, paths[i]));
		ensure(is_same(
		    source_manifest_find(m, paths[i]), source_manifest_find(again, paths[i])));
	}
	/* The index stands for its directory. */
	ensure(is_same(source_manifest_find(m, paths[0]), source_manifest_find(m, paths[1])));
	source_manifest_free(m);
	source_manifest_free(again);
}

/* ---- the state ---- */

static struct source_learned *table_new(void)
{
	return source_learned_new(&(struct source_learned_options){.pages = 50}, 1, NULL);
}

static void check_item(const struct source_learned_item *item, void *context)
{
	uint32_t *count = context;
	ensure(item->path.len > 0 && item->path.ptr[0] == '/');
	ensure(item->path.len <= SOURCE_PATH_BYTES && item->page.len <= SOURCE_PATH_BYTES);
	ensure(item->authority.len > 0 && item->authority.len <= SOURCE_AUTHORITY_BYTES);
	ensure(item->clients <= SOURCE_SUPPORTERS && item->confidence <= 10000);
	ensure(item->hits >= 0 && item->hits <= item->views);
	++*count;
}

/* How many are proposed. */
static uint32_t check_table(const struct source_learned *t)
{
	uint32_t all = 0, proposed = 0;
	struct source_learned_stats stats = source_learned_stats(t);
	source_learned_each(t, false, check_item, &all, NOW);
	source_learned_each(t, true, check_item, &proposed, NOW);
	ensure(all == stats.resources && proposed <= all);
	ensure(stats.pages <= 50 && stats.bytes <= stats.most_bytes && stats.clients == 0);
	return proposed;
}

static bool load(struct source_learned *t, const char *path)
{
	struct told errors;
	FILE *stream = open_memstream(&errors.text, &errors.length);
	bool is_loaded = source_learned_load(t, path, NOW, stream);
	fclose(stream);
	ensure(is_loaded == (errors.length == 0));
	free(errors.text);
	return is_loaded;
}

/* What stands in a table that was saved and loaded. */
static struct source_learned *saved_and_loaded(const struct source_learned *t)
{
	char folder[] = "/tmp/manifest-fuzz-XXXXXX", path[sizeof(folder) + 8];
	struct source_learned *again = table_new();
	ensure(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/state", folder);
	ensure(source_learned_save(t, path, NOW, stderr));
	ensure(load(again, path));
	ensure(unlink(path) == 0 && rmdir(folder) == 0);
	return again;
}

/* Figures are rounded when they are saved, so it is from then on that nothing may change. */
static void check_saved(const struct source_learned *t)
{
	struct source_learned *first = saved_and_loaded(t);
	struct source_learned *second = saved_and_loaded(first);
	ensure(source_learned_stats(first).resources <= source_learned_stats(t).resources);
	ensure(source_learned_stats(second).resources == source_learned_stats(first).resources);
	ensure(check_table(second) == check_table(first));
	source_learned_free(first);
	source_learned_free(second);
}

static void check_state(struct slice text)
{
	char path[64];
	int fd = memfd_create("state", 0);
	struct source_learned *t = table_new();
	ensure(fd >= 0 && write(fd, text.ptr, text.len) == (ssize_t)text.len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (load(t, path)) {
		check_table(t);
		check_saved(t);
	} else {
		ensure(source_learned_stats(t).pages == 0 && check_table(t) == 0);
	}
	close(fd);
	source_learned_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = slice_of(size ? data : (const uint8_t *)"", size);
	check_manifest(text);
	check_state(text);
	return 0;
}
