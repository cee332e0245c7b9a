/* SPDX-License-Identifier: MIT */
/* Users and their hashes; see htpasswd.h. */
#include "proxy/process/htpasswd.h"

#include "proxy/base/ascii.h"
#include "proxy/base/hash.h"
#include "proxy/base/map.h"
#include "proxy/base/memory.h"
#include <crypt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define RIGHT "make it with htpasswd -B or mkpasswd -m yescrypt"

struct htpasswd_user {
	struct map_node node;
	struct slice name;
	const char *hash;
	uint32_t line;
};

struct htpasswd {
	char *text; /* the file; names and hashes lie in it */
	struct htpasswd_user *users;
	uint32_t count;
	uint64_t seed;
	struct map by_name;
};

static bool fail(struct htpasswd_mistake *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool fail(struct htpasswd_mistake *m, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(m->text, sizeof(m->text), format, arguments);
	va_end(arguments);
	return false;
}

/* ---- hashes: crypt(5) ---- */

/* The alphabet of crypt(3). */
static bool is_hash_text(struct slice s, size_t least, size_t most)
{
	for (size_t i = 0; i < s.len; i++)
		if (!ascii_is(s.ptr[i], ASCII_ALNUM) && s.ptr[i] != '.' && s.ptr[i] != '/')
			return false;
	return s.len >= least && s.len <= most;
}

static bool check_bcrypt(struct slice rest, struct htpasswd_mistake *m)
{
	uint64_t cost;
	struct slice text = slice_cut(&rest, '$');
	if (text.len != 2 || !slice_to_number(text, 99, &cost) || !is_hash_text(rest, 53, 53))
		return fail(m, "the bcrypt hash is malformed; " RIGHT);
	if (cost < 4 || cost > HTPASSWD_BCRYPT_COST)
		return fail(m,
		    "a bcrypt hash of cost %u is not used; make it with a cost from 4 to %u "
		    "(htpasswd -B -C 12)",
		    (unsigned)cost, HTPASSWD_BCRYPT_COST);
	return true;
}

static bool check_sha(struct slice rest, size_t hash_length, struct htpasswd_mistake *m)
{
	static const char word[] = "rounds=";
	uint64_t rounds = 0;
	bool is_good = true;
	if (slice_starts_with(rest, SLICE("rounds="))) {
		struct slice text = slice_from(slice_cut(&rest, '$'), sizeof(word) - 1);
		is_good = slice_to_number(text, 999999999, &rounds);
	}
	struct slice salt = slice_cut(&rest, '$');
	if (!is_good || salt.len > 16 || !is_hash_text(rest, hash_length, hash_length))
		return fail(m, "the SHA hash is malformed; " RIGHT);
	if (rounds > HTPASSWD_SHA_ROUNDS)
		return fail(m, "a SHA hash of %u rounds is not used; make it with at most %u",
		    (unsigned)rounds, HTPASSWD_SHA_ROUNDS);
	return true;
}

/*
 * The parameters that crypt_gensalt(3) writes: 'j', then the logarithm of the number of blocks and the blocks' size,
 * a character each. Up to 'B' and 'T' a hash takes at most 64 MiB.
 */
static bool check_yescrypt(struct slice rest, struct htpasswd_mistake *m)
{
	struct slice parameters = slice_cut(&rest, '$'), salt = slice_cut(&rest, '$');
	if (!is_hash_text(salt, 0, 86) || !is_hash_text(rest, 43, 43))
		return fail(m, "the yescrypt hash is malformed; " RIGHT);
	if (parameters.len != 3 || parameters.ptr[0] != 'j' || parameters.ptr[1] > 'B' ||
	    parameters.ptr[2] > 'T')
		return fail(m,
		    "a yescrypt hash with the parameters %.*s is not used; make it with a cost "
		    "from 1 to 7 (mkpasswd -m yescrypt -R 5)",
		    SLICE_ARG(slice_sub(parameters, 0, 16)));
	return true;
}

/* The first characters of a hash say how it was made. */
static bool check_hash(struct slice hash, struct htpasswd_mistake *m)
{
	if (slice_starts_with(hash, SLICE("$2a$")) || slice_starts_with(hash, SLICE("$2b$")) ||
	    slice_starts_with(hash, SLICE("$2y$")))
		return check_bcrypt(slice_from(hash, 4), m);
	if (slice_starts_with(hash, SLICE("$6$")))
		return check_sha(slice_from(hash, 3), 86, m);
	if (slice_starts_with(hash, SLICE("$5$")))
		return check_sha(slice_from(hash, 3), 43, m);
	if (slice_starts_with(hash, SLICE("$y$")))
		return check_yescrypt(slice_from(hash, 3), m);
	if (slice_starts_with(hash, SLICE("$apr1$")) || slice_starts_with(hash, SLICE("{SHA}")))
		return fail(m, "a hash of this kind is quick to guess; " RIGHT);
	return fail(m, "what stands behind the name is no hash of yescrypt, bcrypt, SHA-512 or "
		       "SHA-256; " RIGHT);
}

/* ---- lines ---- */

/* Bytes that the access log would have to write otherwise are in no name. */
static bool is_name(struct slice name)
{
	return name.len > 0 && name.len <= HTPASSWD_TEXT_BYTES && !ascii_has(name, ASCII_CONTROL) &&
	       slice_find(name, '\t') == name.len;
}

static struct htpasswd_user *find(const struct htpasswd *h, struct slice name)
{
	struct map_node *n = map_find(&h->by_name, hash_bytes(h->seed, name.ptr, name.len));
	for (; n; n = map_next(n)) {
		struct htpasswd_user *u = container_of(n, struct htpasswd_user, node);
		/* uncovered: another name with the same 64 bits of a hash with a random seed */
		if (slice_equal(u->name, name))
			return u;
	}
	return NULL;
}

/* line: in h->text, and writable. */
static bool add_line(
    struct htpasswd *h, struct slice line, uint32_t number, struct htpasswd_mistake *m)
{
	size_t colon = slice_find(line, ':');
	struct slice name = slice_sub(line, 0, colon);
	if (colon == line.len)
		return fail(m, "there is no colon; write NAME:HASH, as htpasswd -B does");
	if (!is_name(name))
		return fail(m, "the name is empty, longer than %u bytes or has a control character",
		    HTPASSWD_TEXT_BYTES);
	struct slice hash = slice_from(line, colon + 1);
	const struct htpasswd_user *before = find(h, name);
	if (before)
		return fail(m, "the user is given twice: line %u has it too", before->line);
	if (!check_hash(hash, m))
		return false;
	if (h->count == HTPASSWD_USERS)
		return fail(m, "there are more than %u users", HTPASSWD_USERS);
	struct htpasswd_user *u = &h->users[h->count++];
	*u = (struct htpasswd_user){.name = name, .hash = hash.ptr, .line = number};
	((char *)(uintptr_t)hash.ptr)[hash.len] = '\0';
	map_insert(&h->by_name, &u->node, hash_bytes(h->seed, name.ptr, name.len));
	return true;
}

static uint32_t count_lines(struct slice text)
{
	uint32_t count = 1;
	for (size_t i = 0; i < text.len; i++)
		count += text.ptr[i] == '\n';
	return count < HTPASSWD_USERS ? count : HTPASSWD_USERS;
}

static bool add_lines(struct htpasswd *h, struct slice rest, struct htpasswd_mistake *m)
{
	for (m->line = 1; rest.len > 0; m->line++) {
		struct slice line = slice_cut(&rest, '\n');
		if (line.len > 0 && line.ptr[line.len - 1] == '\r')
			line.len--;
		bool is_empty = line.len == 0 || line.ptr[0] == '#';
		if (!is_empty && !add_line(h, line, m->line, m))
			return false;
	}
	return true;
}

struct htpasswd *htpasswd_parse(struct slice text, struct htpasswd_mistake *m)
{
	*m = (struct htpasswd_mistake){0};
	if (text.len > HTPASSWD_FILE_BYTES) {
		(void)fail(m, "the file is larger than %u MiB", HTPASSWD_FILE_BYTES >> 20);
		return NULL;
	}
	struct htpasswd *h = memory_new(struct htpasswd);
	h->seed = hash_random_seed();
	map_init(&h->by_name);
	h->text = memory_alloc(text.len + 1);
	if (text.len > 0)
		memcpy(h->text, text.ptr, text.len);
	h->users = memory_zalloc(count_lines(text) * sizeof(*h->users));
	if (memchr(h->text, '\0', text.len))
		(void)fail(m, "the file has a NUL byte: it is no text");
	else if (add_lines(h, slice_of(h->text, text.len), m))
		return h;
	htpasswd_free(h);
	return NULL;
}

void htpasswd_free(struct htpasswd *h)
{
	if (!h)
		return;
	map_fini(&h->by_name);
	free(h->users);
	free(h->text);
	free(h);
}

uint32_t htpasswd_count(const struct htpasswd *h)
{
	return h->count;
}

bool htpasswd_has(const struct htpasswd *h, struct slice name)
{
	return find(h, name) != NULL;
}

/* ---- passwords ---- */

/* Takes the same time wherever the two differ. */
static bool is_same(const char *a, const char *b)
{
	size_t length = strlen(b);
	unsigned char difference = 0;
	if (strlen(a) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		difference |= (unsigned char)(a[i] ^ b[i]);
	return difference == 0;
}

/* crypt_r(3) reads the password as a string. A length tells nothing about the users. */
static bool can_be_right(struct slice password)
{
	return password.len <= HTPASSWD_TEXT_BYTES && !memchr(password.ptr, '\0', password.len);
}

bool htpasswd_is_right(const struct htpasswd *h, struct slice name, struct slice password)
{
	struct crypt_data work = {0}; /* 32 KiB */
	char text[HTPASSWD_TEXT_BYTES + 1];
	if (h->count == 0 || password.len == 0 || !can_be_right(password))
		return false;
	const struct htpasswd_user *known = find(h, name);
	uint64_t any = hash_bytes(~h->seed, name.ptr, name.len) % h->count;
	const char *hash = known ? known->hash : h->users[any].hash;
	memcpy(text, password.ptr, password.len);
	text[password.len] = '\0';
	const char *made = crypt_r(text, hash, &work);
	bool is_right = made && is_same(made, hash) && known;
	explicit_bzero(text, sizeof(text));
	explicit_bzero(&work, sizeof(work));
	return is_right;
}
