/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as an access log whose pushes are decided again: whatever stands in it, each line is
 * counted once, and nothing that a terminal would obey is printed.
 */
#include "tests/fuzz/input.h"

#include "proxy/base/ensure.h"
#include "proxy/tool/explain.h"

#include <stdlib.h>

static const char configuration[] =
    "[listen l]\naddress = 127.0.0.1:1\n"
    "[origin a]\nserver = h2c://127.0.0.1:8001\n[route a]\nhost = a.example\norigin = a\n"
    "[push style]\ntype = style\naction = forward\nmax-per-parent = 2\n"
    "[push link]\nsource = link\naction = hint+hold\nhint-clients = all\n"
    "[push rest]\naction = hold\n"
    "[preload all]\nlink = yes\nadd = /app.css as=style\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct conf *conf; /* const, and the same for all inputs */
	char *text = NULL;
	size_t length = 0;
	if (!conf)
		conf = conf_load_text(slice_of_string(configuration), "fuzz.ini", false, stderr);
	if (size == 0) /* fmemopen takes none */
		return 0;
	FILE *log = fmemopen((void *)(uintptr_t)data, size, "r");
	FILE *out = open_memstream(&text, &length);
	ensure(conf && log && out);
	int status = explain_log(conf, log, out, out);
	fclose(log);
	fclose(out);
	ensure(status == EXPLAIN_OK || status == EXPLAIN_DIFFERS || status == EXPLAIN_USAGE);
	ensure(length > 0 && text[length - 1] == '\n');
	for (size_t i = 0; i < length; i++)
		ensure(text[i] == '\n' || ((unsigned char)text[i] >= ' ' && text[i] != 0x7f));
	free(text);
	return 0;
}
