/* SPDX-License-Identifier: MIT */
/*
 * Memory files with seals (memfd_create(2), fcntl(2)). Of a set of files each begins on a page, so that it can be
 * mapped alone. The bytes of a key pass through no memory that is not erased.
 */
#include "proxy/base/sealed.h"
#include "proxy/base/descriptor.h"
#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* linux/memfd.h, Linux 6.3. Where vm.memfd_noexec is 2, some kernels make no memory file without it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* ---- single memory files ---- */

static int make_memory_file(const char *name)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL) /* the kernel is older than this flag */
		fd = memfd_create(name, flags);
	return fd;
}

int sealed_begin(void)
{
	return make_memory_file("pushgate-file");
}

bool sealed_end(int fd)
{
	return fcntl(fd, F_ADD_SEALS, SEALS) == 0;
}

int sealed_make(struct slice bytes)
{
	int fd = sealed_begin();
	if (fd < 0)
		return -1;
	if (descriptor_write_all(fd, bytes) && sealed_end(fd))
		return fd;
	close(fd);
	return -1;
}

void *sealed_map(int fd, size_t most, size_t *length)
{
	/* Unsealed, its other owners could change or cut it off while it is read. */
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & SEALS) != SEALS) /* the kernel may add F_SEAL_EXEC */
		return NULL;
	off_t size = lseek(fd, 0, SEEK_END);
	if (size <= 0 || (uint64_t)size > most)
		return NULL;
	*length = (size_t)size;
	void *bytes = mmap(NULL, *length, PROT_READ, MAP_SHARED, fd, 0);
	return bytes == MAP_FAILED ? NULL : bytes;
}

void sealed_unmap(void *bytes, size_t length)
{
	munmap(bytes, length);
}

/* ---- a set of files ---- */

/* Where a file is; the table of all is at the end of the memory file, in the order of the entries. */
struct extent {
	off_t at;
	size_t length;
	long error;      /* of reading it; 0 = it was read */
	uint64_t digest; /* of its bytes, once the set is sealed */
};

struct entry {
	char *path;
	struct extent extent;
	bool is_as_before; /* it has the bytes of the last set that was settled */
};

struct sealed {
	int fd; /* -1: nothing was read, or it was closed */
	off_t end;
	struct entry *entries;
	size_t count, capacity;
	bool is_sealed;
	bool is_unsettled; /* exchanged since the last sealed_settle */
};

struct sealed *sealed_new(void)
{
	struct sealed *s = memory_new(struct sealed);
	s->fd = -1;
	return s;
}

void sealed_close(struct sealed *s)
{
	if (s && s->fd >= 0)
		close(s->fd);
	if (s)
		s->fd = -1;
}

void sealed_free(struct sealed *s)
{
	if (!s)
		return;
	sealed_close(s);
	for (size_t i = 0; i < s->count; i++)
		free(s->entries[i].path);
	free(s->entries);
	free(s);
}

static struct entry *find(const struct sealed *s, const char *path)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->entries[i].path, path) == 0)
			return &s->entries[i];
	return NULL;
}

/* Copies what `from` has behind what `to` has. Returns 0 or errno. */
static int copy(int from, int to, size_t *length)
{
	char piece[4096];
	int error = 0;
	*length = 0;
	while (!error) {
		ssize_t n = read(from, piece, sizeof(piece));
		if (n == 0)
			break;
		if (n < 0)
			error = errno == EINTR ? 0 : errno;
		else if (*length + (size_t)n > SEALED_FILE_BYTES)
			error = EFBIG;
		else if (!descriptor_write_all(to, slice_of(piece, (size_t)n)))
			error = errno;
		else
			*length += (size_t)n;
	}
	explicit_bzero(piece, sizeof(piece));
	return error;
}

/* Copies a file of the disk to the position of `to`. Returns 0 or errno. */
static int copy_file(const char *path, int to, size_t *length)
{
	int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (from < 0)
		return errno;
	int error = copy(from, to, length);
	close(from);
	return error;
}

static off_t next_page(off_t at)
{
	off_t page = (off_t)sysconf(_SC_PAGESIZE);
	return (at + page - 1) / page * page;
}

/* Returns 0 or errno. *length: of all parts. */
static int copy_parts(const struct sealed_part *parts, size_t count, int to, size_t *length)
{
	int error = 0;
	*length = 0;
	for (size_t i = 0; i < count && !error; i++) {
		size_t more = parts[i].text.len;
		if (parts[i].path)
			error = copy_file(parts[i].path, to, &more);
		else if (!descriptor_write_all(to, parts[i].text))
			error = errno;
		*length += more;
		if (!error && *length > SEALED_FILE_BYTES)
			error = EFBIG;
	}
	return error;
}

static int read_parts(
    struct sealed *s, const struct sealed_part *parts, size_t count, struct extent *x)
{
	if (s->fd < 0)
		s->fd = make_memory_file("pushgate-start");
	if (s->fd < 0 || lseek(s->fd, s->end, SEEK_SET) < 0)
		return errno;
	int error = copy_parts(parts, count, s->fd, &x->length);
	if (error) {
		(void)!ftruncate(s->fd, s->end);
		return error;
	}
	x->at = s->end;
	s->end = next_page(s->end + (off_t)x->length);
	return 0;
}

int sealed_add_parts(
    struct sealed *s, const char *path, const struct sealed_part *parts, size_t count)
{
	struct entry *e = find(s, path);
	ensure(!s->is_sealed);
	if (e)
		return (int)e->extent.error;
	if (s->count == s->capacity) {
		s->capacity = 2 * s->capacity + 8;
		s->entries = memory_resize(s->entries, s->capacity, sizeof(*s->entries));
	}
	e = &s->entries[s->count++];
	*e = (struct entry){.path = memory_strdup(path)};
	e->extent.error = read_parts(s, parts, count, &e->extent);
	return (int)e->extent.error;
}

int sealed_add(struct sealed *s, const char *path)
{
	const struct sealed_part whole = {.path = path};
	return sealed_add_parts(s, path, &whole, 1);
}

static bool write_table(const struct sealed *s)
{
	bool is_written = lseek(s->fd, s->end, SEEK_SET) >= 0;
	for (size_t i = 0; i < s->count && is_written; i++)
		is_written = descriptor_write_all(
		    s->fd, slice_of(&s->entries[i].extent, sizeof(s->entries[i].extent)));
	return is_written;
}

static void digest(const struct sealed *s, struct entry *e)
{
	struct sealed_view v;
	if (sealed_view_open(s, e->path, &v) == 0)
		e->extent.digest = hash_bytes(0, v.bytes.ptr, v.bytes.len);
	sealed_view_close(&v);
}

void sealed_seal(struct sealed *s)
{
	for (size_t i = 0; i < s->count; i++)
		digest(s, &s->entries[i]);
	ensure(s->fd < 0 || (write_table(s) && fcntl(s->fd, F_ADD_SEALS, SEALS) == 0));
	s->is_sealed = true;
}

/* ---- views ---- */

/* Does not close fd. */
static int map(struct sealed_view *v, int fd, off_t at, size_t length)
{
	v->bytes = slice_of("", 0);
	if (length == 0)
		return 0;
	void *bytes = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, at);
	if (bytes == MAP_FAILED)
		return errno;
	v->bytes = slice_of(bytes, length);
	return 0;
}

/* By way of a memory file too: its bytes lie in no memory that is used again. */
static int map_from_disk(struct sealed_view *v, const char *path)
{
	size_t length = 0;
	int fd = make_memory_file("pushgate-start");
	if (fd < 0)
		return errno;
	int error = copy_file(path, fd, &length);
	if (!error)
		error = map(v, fd, 0, length);
	close(fd);
	return error;
}

int sealed_view_open(const struct sealed *s, const char *path, struct sealed_view *v)
{
	const struct entry *e = s ? find(s, path) : NULL;
	v->bytes = slice_of("", 0);
	if (!e)
		return map_from_disk(v, path);
	if (e->extent.error)
		return (int)e->extent.error;
	return s->fd < 0 ? EBADF : map(v, s->fd, e->extent.at, e->extent.length);
}

void sealed_view_close(struct sealed_view *v)
{
	if (v->bytes.len > 0)
		munmap((void *)(uintptr_t)v->bytes.ptr, v->bytes.len);
	v->bytes = slice_of("", 0);
}

/* ---- all files ---- */

const char *sealed_path(const struct sealed *s, size_t i)
{
	return i < s->count ? s->entries[i].path : NULL;
}

uint64_t sealed_digest(const struct sealed *s, uint64_t seed)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct entry *e = &s->entries[i];
		seed = hash_bytes(seed, e->path, strlen(e->path));
		seed = hash_bytes(seed, &e->extent.digest, sizeof(e->extent.digest));
	}
	return seed;
}

bool sealed_has(const struct sealed *s, const char *path, struct slice bytes)
{
	const struct entry *e = find(s, path);
	return e && !e->extent.error && e->extent.length == bytes.len &&
	       e->extent.digest == hash_bytes(0, bytes.ptr, bytes.len);
}

/* ---- another set of the same paths ---- */

bool sealed_has_changed(const struct sealed *s, const char *path)
{
	const struct entry *e = s ? find(s, path) : NULL;
	return !e || !e->is_as_before;
}

int sealed_descriptor(const struct sealed *s)
{
	return s->fd;
}

/* The table of a memory file that another process has made. */
static bool map_table(struct sealed_view *v, int fd, size_t length, off_t *at)
{
	int seals = fcntl(fd, F_GET_SEALS);
	off_t size = lseek(fd, 0, SEEK_END);
	*at = size - (off_t)length;
	return seals >= 0 && (seals & SEALS) == SEALS && *at >= 0 && map(v, fd, *at, length) == 0;
}

static bool is_good(const struct extent *x, off_t end)
{
	return x->error || (x->at >= 0 && x->at <= end && x->length <= (size_t)(end - x->at));
}

void sealed_settle(struct sealed *s)
{
	s->is_unsettled = false;
}

bool sealed_replace(struct sealed *s, int fd)
{
	struct sealed_view v;
	off_t end;
	if (!map_table(&v, fd, s->count * sizeof(struct extent), &end))
		return false;
	const struct extent *table = (const void *)v.bytes.ptr;
	size_t good = 0;
	while (good < s->count && is_good(&table[good], end))
		good++;
	bool is_whole = good == s->count;
	for (size_t i = 0; is_whole && i < s->count; i++) {
		struct entry *e = &s->entries[i];
		e->is_as_before =
		    e->extent.digest == table[i].digest && (e->is_as_before || !s->is_unsettled);
		e->extent = table[i];
	}
	s->is_unsettled = s->is_unsettled || is_whole;
	sealed_view_close(&v);
	if (!is_whole)
		return false;
	sealed_close(s);
	s->fd = fd;
	return true;
}
