/* SPDX-License-Identifier: MIT */
/* Reads /proc/net/tcp, /proc/net/tcp6 and /proc/PID/fd (proc(5)). */
#include "proxy/process/holder.h"
#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the kernel's tables. */
#define STATE_LISTEN 0x0A
/* A pushgate has as many sockets of a port as it has workers (256 at most). */
#define SOCKETS_MOST 256

struct sockets_found {
	unsigned long inodes[SOCKETS_MOST];
	size_t count;
	uid_t owner; /* of the first */
};

/* ---- which sockets listen there ---- */

/* The columns of a row that are read here. */
enum { COLUMN_LOCAL = 1, COLUMN_STATE = 3, COLUMN_OWNER = 7, COLUMN_INODE = 9, COLUMNS };

struct row {
	struct net_address at;
	unsigned long owner, inode;
};

/* "0100007F:20FB", or with 32 digits: words of the machine's byte order. */
static bool parse_address(const char *text, struct net_address *at)
{
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	struct address ip = {.family = length == 8 ? 4 : 6};
	if (length != 8 && length != 32)
		return false;
	for (size_t i = 0; i < length / 8; i++) {
		char digits[9] = "";
		memcpy(digits, text + 8 * i, 8);
		uint32_t word = (uint32_t)strtoul(digits, NULL, 16);
		memcpy(ip.bytes + 4 * i, &word, sizeof(word));
	}
	net_address_set_ip(at, &ip, (uint16_t)strtoul(colon + 1, NULL, 16));
	return true;
}

/* False: the row is of no socket that listens. */
static bool parse_row(char *text, struct row *row)
{
	char *columns[COLUMNS], *rest = NULL;
	size_t n = 0;
	for (char *c = strtok_r(text, " ", &rest); c && n < COLUMNS; c = strtok_r(NULL, " ", &rest))
		columns[n++] = c;
	if (n < COLUMNS || strtoul(columns[COLUMN_STATE], NULL, 16) != STATE_LISTEN)
		return false;
	row->owner = strtoul(columns[COLUMN_OWNER], NULL, 10);
	row->inode = strtoul(columns[COLUMN_INODE], NULL, 10);
	return parse_address(columns[COLUMN_LOCAL], &row->at);
}

static void search_table(
    const char *path, const struct net_address *wanted, struct sockets_found *found)
{
	char text[512];
	FILE *in = fopen(path, "re");
	while (in && found->count < SOCKETS_MOST && fgets(text, sizeof(text), in)) {
		struct row row;
		if (!parse_row(text, &row) || !net_address_overlaps(&row.at, wanted))
			continue;
		if (found->count == 0)
			found->owner = (uid_t)row.owner;
		found->inodes[found->count++] = row.inode;
	}
	if (in)
		fclose(in);
}

/* ---- which process has them open ---- */

struct search {
	const struct sockets_found *sockets; /* NULL: the FIFO below, open for reading */
	dev_t device;
	ino_t inode;
};

static bool is_open_for_reading(pid_t pid, const char *fd)
{
	char path[64], row[64];
	unsigned long flags = O_WRONLY;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.10s", (int)pid, fd);
	FILE *in = fopen(path, "re");
	while (in && fgets(row, sizeof(row), in))
		if (strncmp(row, "flags:", strlen("flags:")) == 0)
			flags = strtoul(row + strlen("flags:"), NULL, 8);
	if (in)
		fclose(in);
	return (flags & O_ACCMODE) != O_WRONLY;
}

static bool is_wanted(const struct search *s, pid_t pid, int folder, const char *fd)
{
	static const char prefix[] = "socket:[";
	char link[64] = "";
	struct stat st;
	if (!s->sockets)
		return fstatat(folder, fd, &st, 0) == 0 && st.st_dev == s->device &&
		       st.st_ino == s->inode && is_open_for_reading(pid, fd);
	if (readlinkat(folder, fd, link, sizeof(link) - 1) < 0 ||
	    strncmp(link, prefix, strlen(prefix)) != 0)
		return false;
	unsigned long inode = strtoul(link + strlen(prefix), NULL, 10);
	for (size_t i = 0; i < s->sockets->count; i++)
		if (s->sockets->inodes[i] == inode)
			return true;
	return false;
}

static bool has_open(pid_t pid, const struct search *s)
{
	char path[64];
	bool has = false;
	const struct dirent *e;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *folder = opendir(path);
	while (folder && !has && (e = readdir(folder)))
		has = e->d_name[0] != '.' && is_wanted(s, pid, dirfd(folder), e->d_name);
	if (folder)
		closedir(folder);
	return has;
}

/* The first in the order of /proc: of a server that has forked, mostly its first process. */
static pid_t find_process(const struct search *s)
{
	pid_t found = 0;
	const struct dirent *e;
	DIR *all = opendir("/proc");
	while (all && !found && (e = readdir(all))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		if (pid > 0 && has_open(pid, s))
			found = pid;
	}
	if (all)
		closedir(all);
	return found;
}

void holder_of_pid(pid_t pid, struct holder *h)
{
	char path[64], name[32] = "";
	h->pid = pid;
	if (pid == HOLDER_ELSEWHERE) {
		snprintf(h->text, sizeof(h->text), "a process of another container");
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	FILE *in = fopen(path, "re");
	if (in && fgets(name, sizeof(name), in))
		name[strcspn(name, "\n")] = '\0';
	if (in)
		fclose(in);
	snprintf(h->text, sizeof(h->text), "%s (pid %d)", name[0] ? name : "a process", (int)pid);
}

bool holder_of_port(const struct net_address *at, pid_t preferred, struct holder *h)
{
	struct sockets_found found = {.count = 0};
	const struct search search = {.sockets = &found};
	*h = (struct holder){.pid = 0};
	search_table("/proc/net/tcp", at, &found);
	search_table("/proc/net/tcp6", at, &found);
	if (found.count == 0)
		return false;
	bool is_preferred = preferred && has_open(preferred, &search);
	pid_t pid = is_preferred ? preferred : find_process(&search);
	if (pid) {
		holder_of_pid(pid, h);
		return true;
	}
	const struct passwd *owner = getpwuid(found.owner);
	snprintf(h->text, sizeof(h->text),
	    "a process of user %.32s that you may not see (sudo ss -ltnp 'sport = :%u' names it)",
	    owner ? owner->pw_name : "unknown", net_address_port(at));
	return true;
}

bool holder_reads_fifo(dev_t device, ino_t inode)
{
	const struct search search = {.device = device, .inode = inode};
	return find_process(&search) != 0;
}
