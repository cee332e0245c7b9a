/* SPDX-License-Identifier: MIT */
/* The files of users, read again when they change, and the passwords that were right lately. */
#include "proxy/process/passwords.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool passwords_are_needed(const struct conf *conf)
{
	for (size_t i = 0; i < conf->access_count; i++)
		if (conf->accesses[i].users)
			return true;
	return false;
}

void passwords_open(struct passwords *p, const struct conf *conf)
{
	*p = (struct passwords){.count = conf->access_count};
	p->files = memory_zalloc((p->count + 1) * sizeof(*p->files));
	p->known = memory_zalloc(PASSWORDS_KNOWN * sizeof(*p->known));
	p->known_usec = conf->server.users_cache_time;
	hash_random(p->key, sizeof(p->key));
	for (size_t i = 0; i < p->count; i++)
		p->files[i].file.path = conf->accesses[i].users;
}

void passwords_close(struct passwords *p)
{
	for (size_t i = 0; i < p->count; i++)
		htpasswd_free(p->files[i].users);
	free(p->files);
	free(p->known);
	explicit_bzero(p->key, sizeof(p->key));
	*p = (struct passwords){0};
}

/* The users in the file; NULL with the error in line. */
static struct htpasswd *read_users(const struct watched_file *f, char line[512])
{
	const char *path = f->path;
	struct htpasswd_mistake m;
	size_t length = 0;
	char *bytes = watched_file_read(f, HTPASSWD_FILE_BYTES, &length);
	if (!bytes) {
		snprintf(line, 512,
		    "%s cannot be read: %s; name a file that the user of the workers may read",
		    path, strerror(errno));
		return NULL;
	}
	struct htpasswd *users = htpasswd_parse(slice_of(bytes, length), &m);
	explicit_bzero(bytes, length);
	free(bytes);
	if (!users && m.line > 0)
		snprintf(line, 512, "%s:%u: %s", path, m.line, m.text);
	else if (!users)
		snprintf(line, 512, "%s: %s", path, m.text);
	return users;
}

static void forget(struct passwords *p, size_t access)
{
	for (size_t i = 0; i < PASSWORDS_KNOWN; i++)
		if (p->known[i].access == access)
			p->known[i].until = 0;
}

enum watched_change passwords_check(struct passwords *p, size_t access, char line[512])
{
	struct passwords_file *f = &p->files[access];
	if (!watched_file_has_changed(&f->file))
		return WATCHED_SAME;
	struct htpasswd *users = read_users(&f->file, line);
	if (!users)
		return WATCHED_UNUSABLE;
	htpasswd_free(f->users);
	f->users = users;
	forget(p, access);
	snprintf(line, 512, "%s: read %u user%s", f->file.path, htpasswd_count(users),
	    htpasswd_count(users) == 1 ? "" : "s");
	return WATCHED_READ;
}

void passwords_check_all(struct passwords *p, struct observe *o,
    void (*changed)(void *context, uint32_t access), void *context)
{
	for (size_t i = 0; i < p->count; i++) {
		char line[512] = "";
		enum watched_change change = passwords_check(p, i, line);
		if (change == WATCHED_UNUSABLE)
			observe_log(o, OBSERVE_ERROR,
			    "users: %s; the users that were read before stay", line);
		if (change != WATCHED_READ)
			continue;
		observe_log(o, OBSERVE_INFO, "users: %s", line);
		changed(context, (uint32_t)i);
	}
}

/* ---- passwords ---- */

/* A name has no colon, so that no two pairs have the same text. */
static void make_mac(const struct passwords *p, size_t access, struct slice name,
    struct slice password, uint8_t mac[NET_HMAC_BYTES])
{
	char text[sizeof(access) + 2 * HTPASSWD_TEXT_BYTES + 1], *at = text;
	memcpy(at, &access, sizeof(access));
	at += sizeof(access);
	memcpy(at, name.ptr, name.len);
	at += name.len;
	*at++ = ':';
	memcpy(at, password.ptr, password.len);
	at += password.len;
	net_hmac(slice_of((const char *)p->key, sizeof(p->key)),
	    slice_of(text, (size_t)(at - text)), mac);
	explicit_bzero(text, sizeof(text));
}

bool passwords_are_right(
    const struct passwords *p, size_t access, struct slice name, struct slice password, usec now)
{
	uint8_t mac[NET_HMAC_BYTES];
	uint32_t place;
	if (access >= p->count || !p->files[access].users || name.len > HTPASSWD_TEXT_BYTES ||
	    password.len > HTPASSWD_TEXT_BYTES)
		return false;
	make_mac(p, access, name, password, mac);
	memcpy(&place, mac, sizeof(place));
	struct passwords_known *known = &p->known[place % PASSWORDS_KNOWN];
	if (now < known->until && memcmp(known->mac, mac, sizeof(mac)) == 0)
		return true;
	if (!htpasswd_is_right(p->files[access].users, name, password))
		return false;
	*known = (struct passwords_known){.access = (uint32_t)access, .until = now + p->known_usec};
	memcpy(known->mac, mac, sizeof(mac));
	return true;
}
