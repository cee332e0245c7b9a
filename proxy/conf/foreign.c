/* SPDX-License-Identifier: MIT */
/*
 * Files of other programs. One hint on the first line that gives the program away is worth more than
 * a mistake for each line. Only lines above the first section header are looked at, and each pattern
 * is one that no good line of a pushgate configuration has.
 */
#include "proxy/conf/load.h"
#include <fnmatch.h>

/* The beginning of a file gives it away, and a short line does. */
enum { FOREIGN_LINES = 200, FOREIGN_LINE_BYTES = 127, BINARY_BYTES = 4096 };

/* The first row that matches a line counts. */
static const struct foreign {
	const char *what, *pattern;
} rows[] = {
    {"a PEM file", "-----BEGIN *"},
    {"an XML or HTML file", "<[?!]*"},
    {"an XML or HTML file", "<html*"},
    {"an Apache configuration", "<*>"},
    {"an Apache configuration", "ServerRoot *"},
    {"an Apache configuration", "ServerName *"},
    {"an Apache configuration", "LoadModule *"},
    {"an Apache configuration", "Listen [0-9]*"},
    {"an Apache configuration", "ProxyPass *"},
    {"an nghttpx configuration", "frontend=*"},
    {"an nghttpx configuration", "frontend *=*"},
    {"an nghttpx configuration", "backend=*"},
    {"an nghttpx configuration", "backend *=*"},
    {"an nghttpx configuration", "private-key-file*=*"},
    {"an nghttpx configuration", "certificate-file*=*"},
    {"a HAProxy configuration", "global"},
    {"a HAProxy configuration", "defaults"},
    {"a HAProxy configuration", "frontend [!=]*"},
    {"a HAProxy configuration", "backend [!=]*"},
    {"a Varnish configuration", "vcl [0-9]*;"},
    {"a Squid configuration", "http_port *"},
    {"a Squid configuration", "https_port *"},
    {"a Squid configuration", "http_access *"},
    {"a Squid configuration", "acl [!=]*"},
    {"a tinyproxy configuration", "Port [0-9]*"},
    {"a tinyproxy configuration", "Allow [0-9a-f]*"},
    {"a tinyproxy configuration", "MaxClients [0-9]*"},
    {"a lighttpd configuration", "server.*=*"},
    {"an nginx configuration", "http*{"},
    {"an nginx configuration", "events*{"},
    {"an nginx configuration", "stream*{"},
    {"an nginx configuration", "server*{"},
    {"an nginx configuration", "upstream *{"},
    {"an nginx configuration", "location *{"},
    {"an nginx configuration", "user [!=]*;"},
    {"an nginx configuration", "worker_processes [!=]*;"},
    {"an nginx configuration", "load_module [!=]*;"},
    {"an nginx configuration", "listen [!=]*;"},
    {"an nginx configuration", "pid [!=]*;"},
    {"an nginx configuration", "include [!=]*;"},
    {"an nginx configuration", "error_log [!=]*;"},
    {"a Caddyfile", "[!{]*{"},
    {"JSON", "{*"},
    {"JSON", "[[]"},
    {"JSON", "[[]{*"},
    {"TOML", "[[][[]*"},
    {"a Traefik configuration", "[[]entryPoints*"},
    {"a systemd unit", "[[]Unit]"},
    {"a systemd unit", "[[]Service]"},
    {"a systemd unit", "[[]Socket]"},
    {"an Envoy configuration", "static_resources:*"},
    {"an Envoy configuration", "dynamic_resources:*"},
    {"an h2o configuration", "hosts:"},
    {"an h2o configuration", "listen:"},
    {"an h2o configuration", "proxy.reverse.url:*"},
    {"a Traefik configuration", "entryPoints:"},
    {"YAML", "---*"},
    {"YAML", "- *"},
    {"YAML", "?*:"},
};

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_own_header(struct slice line)
{
	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++) {
		struct slice word = slice_of_string(conf_section_types[kind].word);
		if (line.len > word.len + 1 && line.ptr[0] == '[' &&
		    slice_starts_with(slice_from(line, 1), word) &&
		    (line.ptr[word.len + 1] == ']' || is_space(line.ptr[word.len + 1])))
			return true;
	}
	return false;
}

static const struct foreign *row_of(struct slice line)
{
	char text[FOREIGN_LINE_BYTES + 1];

	if (line.len > FOREIGN_LINE_BYTES)
		return NULL;
	memcpy(text, line.ptr, line.len);
	text[line.len] = '\0';
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (fnmatch(rows[i].pattern, text, FNM_NOESCAPE) == 0)
			return &rows[i];
	return NULL;
}

/* UTF-16 and UTF-32 begin with a byte order mark, or have NUL bytes among the first letters. */
static bool is_wide(struct slice text)
{
	if (slice_starts_with(text, SLICE("\xff\xfe")) ||
	    slice_starts_with(text, SLICE("\xfe\xff")))
		return true;
	return text.len >= 4 && (text.ptr[0] == '\0') != (text.ptr[1] == '\0') &&
	       (text.ptr[2] == '\0') != (text.ptr[3] == '\0');
}

/* What a file without lines begins with. */
static const struct {
	const char *what;
	struct slice begin;
} magics[] = {
    {"a program", SLICE_INIT("\x7f"
			     "ELF")},
    {"compressed (gzip)", SLICE_INIT("\x1f\x8b")},
    {"compressed (zstd)", SLICE_INIT("\x28\xb5\x2f\xfd")},
    {"compressed (xz)", SLICE_INIT("\xfd"
				   "7zXZ")},
    {"a zip file", SLICE_INIT("PK\x03\x04")},
    {"a certificate or a key in DER", SLICE_INIT("\x30\x82")},
};

/* Text has no control characters but those of lines. Of random bytes one in ten is one. */
static bool is_binary(struct slice text)
{
	size_t controls = 0;

	text = slice_sub(text, 0, BINARY_BYTES);
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		controls += (c < ' ' && !is_space((char)c) && c != 0x1b) || c == 0x7f;
	}
	return controls > 1 && controls > text.len / 32;
}

static void tell_binary(struct conf_loader *l, struct slice text)
{
	const char *what = "binary";

	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
		if (slice_starts_with(text, magics[i].begin))
			what = magics[i].what;
	l->is_foreign = true;
	conf_mistake(l, l->file, 1,
	    "the file is %s, not a text with lines; name a configuration, or begin one: pushgate "
	    "help-config example",
	    what);
}

bool conf_is_foreign(struct conf_loader *l, struct slice text)
{
	if (is_wide(text)) {
		l->is_foreign = true;
		conf_mistake(l, l->file, 1, "the file is UTF-16 or UTF-32; save it as UTF-8");
		return true;
	}
	if (is_binary(text)) {
		tell_binary(l, text);
		return true;
	}
	for (uint32_t number = 1; text.len > 0 && number <= FOREIGN_LINES; number++) {
		struct slice line = slice_sub(text, 0, slice_find(text, '\n'));
		text = slice_from(text, line.len + 1);
		while (line.len > 0 && is_space(line.ptr[0]))
			line = slice_from(line, 1);
		while (line.len > 0 && is_space(line.ptr[line.len - 1]))
			line.len--;
		if (line.len == 0 || line.ptr[0] == ';' || line.ptr[0] == '#')
			continue;
		if (is_own_header(line))
			break;
		const struct foreign *row = row_of(line);
		/* A misspelt header: the lines below it are the section's. */
		if (!row && line.ptr[0] == '[' && conf_is_like_section(slice_from(line, 1)))
			break;
		if (!row)
			continue;
		l->is_foreign = true;
		conf_mistake(l, l->file, number,
		    "this looks like %s ('%.*s'), not like a configuration of pushgate; write "
		    "[section NAME] headers with key = value lines below them: docs/MOVING.md "
		    "translates, and pushgate help-config example prints a whole file",
		    row->what, SLICE_ARG(slice_sub(line, 0, 60)));
		return true;
	}
	return false;
}
