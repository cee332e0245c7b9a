/* SPDX-License-Identifier: MIT */
/* See usage.h. */
#include "proxy/admin/usage.h"

#include "proxy/base/slice.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Words of /proc/PID/stat behind the name of the program, which ends with ")": the state is word 0. */
enum {
	WORD_UTIME = 11,
	WORD_STIME = 12,
	WORD_START = 19,
	WORD_VIRTUAL = 20,
	WORD_PAGES = 21,
	WORDS
};

/* The beginning of a file; false: it cannot be read. */
static bool read_file(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	size_t n = fread(text, 1, size - 1, f);
	text[n] = '\0';
	fclose(f);
	return n > 0;
}

static bool read_words(int stat, uint64_t words[WORDS])
{
	char text[1024];
	/* The kernel makes the text anew for a reader at the begin of the file. */
	ssize_t n =
	    stat >= 0 && lseek(stat, 0, SEEK_SET) == 0 ? read(stat, text, sizeof(text) - 1) : -1;
	text[n > 0 ? n : 0] = '\0';
	const char *end = strrchr(text, ')');
	if (!end)
		return false;
	struct slice rest = slice_of_string(end + strcspn(end, " "));
	slice_cut(&rest, ' ');
	for (size_t i = 0; i < WORDS; i++) {
		words[i] = 0;
		(void)slice_to_number(slice_cut(&rest, ' '), UINT64_MAX, &words[i]);
	}
	return words[WORD_START] > 0;
}

/* The number behind a word at the start of a line; 0: there is none. */
static uint64_t number_behind(const char *text, const char *word)
{
	const char *at = strstr(text, word);
	uint64_t n = 0;
	if (!at)
		return 0;
	at += strlen(word);
	at += strspn(at, " ");
	return slice_to_number(slice_of(at, strspn(at, "0123456789")), UINT64_MAX, &n) ? n : 0;
}

usec process_boot_time(void)
{
	/* The line stands behind one for each processor. */
	FILE *f = fopen("/proc/stat", "re");
	char line[4096];
	uint64_t seconds = 0;
	while (f && seconds == 0 && fgets(line, sizeof(line), f))
		if (strncmp(line, "btime ", 6) == 0)
			seconds = number_behind(line, "btime ");
	if (f)
		fclose(f);
	return seconds * USEC_PER_SEC;
}

/* Those of a process_files of this process itself do not count. */
static uint64_t count_fds(const struct process_files *f)
{
	uint64_t count = 0, none = f->is_own ? 4 : 2; /* the entries . and .., and these */
	if (!f->fds)
		return 0;
	rewinddir(f->fds);
	while (readdir(f->fds))
		count++;
	return count > none ? count - none : 0;
}

static uint64_t read_max_fds(pid_t pid)
{
	char path[64], text[4096];
	snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	return read_file(path, text, sizeof(text)) ? number_behind(text, "Max open files") : 0;
}

void process_files_open(struct process_files *f, pid_t pid)
{
	char path[64];
	*f = (struct process_files){.stat = -1, .is_own = pid == getpid()};
	if (pid <= 0)
		return;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f->stat = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	f->fds = opendir(path);
	f->max_fds = read_max_fds(pid);
}

void process_files_close(struct process_files *f)
{
	if (f->stat >= 0)
		close(f->stat);
	if (f->fds)
		closedir(f->fds);
	*f = (struct process_files){.stat = -1};
}

struct process_usage process_files_read(const struct process_files *f, usec boot_time)
{
	uint64_t words[WORDS];
	if (!read_words(f->stat, words))
		return (struct process_usage){0};
	const usec tick = USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	return (struct process_usage){
	    .started = boot_time + words[WORD_START] * tick,
	    .cpu = (words[WORD_UTIME] + words[WORD_STIME]) * tick,
	    .virtual_bytes = words[WORD_VIRTUAL],
	    .resident_bytes = words[WORD_PAGES] * (uint64_t)sysconf(_SC_PAGESIZE),
	    .open_fds = count_fds(f),
	    .max_fds = f->max_fds,
	};
}

struct process_usage process_usage_read(pid_t pid, usec boot_time)
{
	struct process_files f;
	process_files_open(&f, pid);
	struct process_usage usage = process_files_read(&f, boot_time);
	process_files_close(&f);
	return usage;
}
