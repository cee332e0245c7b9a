/* SPDX-License-Identifier: MIT */
/*
 * Reads files into section headers and options. inih splits and trims the lines. The reader that
 * feeds inih counts the lines and refuses those that inih would cut or skip silently (long lines
 * and names, NUL bytes, lines of no known form). It handles section headers itself, because inih
 * does not report them.
 */
#include "proxy/base/memory.h"
#include "proxy/conf/load.h"
#include "proxy/limits.h"
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <ini.h>
#include <sys/stat.h>
#include <unistd.h>

/* A configuration is written by hand: a larger file was named by mistake. */
enum { SOURCE_FILE_BYTES = 4 << 20 };

struct reader {
	struct conf_loader *loader;
	struct slice rest;
};

static void text_behind_header(struct conf_loader *l, struct slice text)
{
	if (text.len > 0 && (text.ptr[0] == ';' || text.ptr[0] == '#'))
		conf_mistake_here(l,
		    "a comment is behind the section header; comments stand on lines of their own");
	else
		conf_mistake_here(
		    l, "there is text after the section header; write it on the next line");
}

static void read_header(struct conf_loader *l, struct slice line)
{
	size_t end = slice_find(line, ']');
	l->is_in_section = true;
	l->current = NULL;
	if (end == line.len)
		conf_mistake_here(l, "the section header has no ']'; write [section NAME]");
	else if (end + 1 != line.len)
		text_behind_header(l, conf_trim(slice_from(line, end + 1)));
	else
		conf_begin_section(l, conf_trim(slice_sub(line, 1, end - 1)));
}

/* True: the line is an option for inih. Handles and reports all other lines. */
static bool check_line(struct conf_loader *l, struct slice line)
{
	if (line.len > LIMIT_CONF_LINE_BYTES)
		return conf_mistake_here(l,
		    "the line is longer than %u bytes; split the list over several lines",
		    LIMIT_CONF_LINE_BYTES);
	if (slice_find(line, '\0') < line.len)
		return conf_mistake_here(
		    l, "the line contains a NUL byte; save the file as plain text");
	line = conf_trim(line);
	if (line.len == 0 || line.ptr[0] == ';' || line.ptr[0] == '#')
		return false;
	if (line.ptr[0] == '[') {
		read_header(l, line);
		return false;
	}
	size_t equals = slice_find(line, '='), colon = slice_find(line, ':');
	size_t end = equals < colon ? equals : colon;
	struct slice key = conf_trim(slice_sub(line, 0, end));
	if (end == line.len || key.len == 0 || conf_lacks_equals(l, line, key)) {
		conf_not_an_option(l, line);
		return false;
	}
	if (key.len > LIMIT_CONF_NAME_BYTES)
		return conf_mistake_here(l,
		    "the option's name is longer than %u bytes; no option has such a name",
		    LIMIT_CONF_NAME_BYTES);
	return true;
}

/* An ini_reader: gives inih the next option line, after handling the lines before it. */
static char *read_line(char *buffer, int size, void *stream)
{
	struct reader *r = stream;

	while (r->rest.len > 0) {
		struct slice line = slice_cut(&r->rest, '\n');
		r->loader->line++;
		r->loader->option = NULL;
		if (!check_line(r->loader, line))
			continue;
		line = conf_trim(line);
		if (line.len + 2 > (size_t)size) {
			conf_mistake(r->loader, r->loader->file, r->loader->line,
			    "the line is too long for the parser; split the list over several "
			    "lines");
			continue;
		}
		memcpy(buffer, line.ptr, line.len);
		memcpy(buffer + line.len, "\n", 2);
		return buffer;
	}
	return NULL;
}

static void include(struct conf_loader *l, const char *pattern)
{
	static const struct conf_option option = {
	    .type = CONF_TYPE_FILE, .key = "include", .example = "conf.d/*.ini"};
	glob_t found;

	if (l->is_in_section) {
		conf_mistake_here(
		    l, "include is inside a section; move it above the first section");
		return;
	}
	if (!l->follows_includes)
		return;
	if (pattern[0] == '\0') {
		conf_mistake_here(l, "include names no file; write include = FILE");
		return;
	}
	if (!conf_check_raw(l, &option, slice_of_string(pattern)))
		return;
	if (l->depth >= LIMIT_CONF_INCLUDE_DEPTH) {
		conf_mistake_here(l,
		    "includes are nested more than %u deep; include the file from a file above",
		    LIMIT_CONF_INCLUDE_DEPTH);
		return;
	}
	const char *path = conf_written_path(l, slice_of_string(pattern));
	/*
	 * With GLOB_NOCHECK a missing plain file is returned too, so that opening it reports the
	 * reason.
	 */
	bool is_plain = strpbrk(path, "*?[") == NULL;
	int failed = glob(path, is_plain ? GLOB_NOCHECK : 0, NULL, &found);
	if (failed && failed != GLOB_NOMATCH)
		conf_mistake_here(
		    l, "the pattern '%s' cannot be searched; name the files one by one", path);
	for (size_t i = 0; !failed && i < found.gl_pathc; i++)
		conf_read_file(l, found.gl_pathv[i]);
	if (!failed)
		globfree(&found);
}

static int on_option(void *user, const char *section, const char *name, const char *value)
{
	struct conf_loader *l = ((struct reader *)user)->loader;

	(void)section;
	if (strcmp(name, "include") == 0)
		include(l, value);
	else
		conf_apply(l, slice_of_string(name), slice_of_string(value));
	return 1;
}

static void read_lines(struct conf_loader *l, struct slice text)
{
	struct reader r = {l, text};

	if (slice_starts_with(r.rest, SLICE("\xef\xbb\xbf")))
		r.rest = slice_from(r.rest, 3);
	/*
	 * Debian's inih has these options as variables. The defaults would join indented lines to
	 * the value above, cut values at " ;", and cut lines at 200 bytes.
	 */
	ini_allow_multiline = false;
	ini_allow_inline_comments = false;
	ini_stop_on_first_error = false;
	ini_allow_no_value = false;
	ini_use_stack = true;
	ini_max_line = (int)LIMIT_CONF_LINE_BYTES + 3;
	if (ini_parse_stream(read_line, &r, on_option, &r) < 0)
		conf_mistake_here(l, "out of memory while reading; free some memory");
}

void conf_read_text(struct conf_loader *l, const char *name, struct slice text)
{
	const char *file = l->file;
	uint32_t line = l->line;
	struct conf_section *current = l->current;
	bool is_in_section = l->is_in_section;

	l->file = name;
	l->line = 0;
	l->current = NULL;
	l->is_in_section = false;
	l->depth++;
	if (!conf_is_foreign(l, text))
		read_lines(l, text);
	l->depth--;
	l->file = file;
	l->line = line;
	l->current = current;
	l->is_in_section = is_in_section;
}

/*
 * Reports a mistake about a whole file: at the line that includes it, else at its own first line.
 */
static void file_mistake(struct conf_loader *l, const char *path, int error)
{
	errno = error;
	if (l->file) {
		conf_no_file(l, "included", path, "name a readable file");
		return;
	}
	l->file = path;
	l->line = 1;
	conf_no_file(l, "configuration", path,
	    "name another one with -c FILE, or begin one: pushgate help-config example");
	l->file = NULL;
	l->line = 0;
}

static bool is_new(struct conf_loader *l, const char *path, const struct stat *st)
{
	for (const struct conf_seen *s = l->seen; s; s = s->next) {
		if (s->device != st->st_dev || s->inode != st->st_ino)
			continue;
		if (s->file)
			conf_mistake_here(l,
			    "'%s' is already included at %s:%u; include a file once", path, s->file,
			    s->line);
		else
			conf_mistake_here(l, "'%s' includes itself; include other files", path);
		return false;
	}
	struct conf_seen *s = arena_alloc(&l->conf->arena, sizeof *s);
	*s = (struct conf_seen){l->seen, st->st_dev, st->st_ino, l->file, l->line};
	l->seen = s;
	return true;
}

/* Returns the bytes of fd, which the caller frees; NULL with errno set. */
static char *read_all(int fd, size_t *length)
{
	size_t used = 0, size = 16384;
	char *text = memory_alloc(size);

	for (;;) {
		if (used == size)
			text = memory_resize(text, size *= 2, 1);
		ssize_t n = read(fd, text + used, size - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0) {
			*length = used;
			return text;
		}
		if (n < 0 || (used += (size_t)n) > SOURCE_FILE_BYTES) {
			errno = n < 0 ? errno : EFBIG;
			free(text);
			return NULL;
		}
	}
}

void conf_read_file(struct conf_loader *l, const char *path)
{
	struct stat st;
	size_t length = 0;

	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0) {
		file_mistake(l, path, errno);
	} else if (S_ISDIR(st.st_mode)) {
		file_mistake(l, path, EISDIR);
	} else if (is_new(l, path, &st)) {
		char *text = read_all(fd, &length);
		if (text) {
			conf_digest(&l->conf->digest, path, slice_of(text, length));
			conf_read_text(
			    l, conf_copy(l, slice_of_string(path)), slice_of(text, length));
		} else
			file_mistake(l, path, errno);
		free(text);
	}
	if (fd >= 0)
		close(fd);
}
