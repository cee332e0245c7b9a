/* SPDX-License-Identifier: MIT */
/*
 * Reads pages from standard input, and writes what it finds: a test compares that with what a parser of
 * documents finds (tests/peers/parse5.test.mjs).
 *
 * A page is 8 bytes, its length and the seed of its pieces in the machine's order, and then the page. Each resource
 * is a line of fields with a tab between them: uses, marks, target, and attributes. A line with a dot ends a page.
 *
 * With an argument, pieces have so many bytes, as those of a connection; callgrind counts what reading costs:
 *
 *   valgrind --tool=callgrind --toggle-collect=markup_head_read build/release/tests/bench/markup_read 16384 <pages
 */
#include "proxy/markup/markup.h"

#include <stdio.h>
#include <stdlib.h>

static void write_value(struct slice s)
{
	putchar('\t');
	for (size_t i = 0; i < s.len; i++)
		printf("%02x", (unsigned char)s.ptr[i]);
}

static void write_resource(const struct markup_resource *r, void *context)
{
	const struct slice values[] = {r->as, r->rel, r->type, r->media, r->crossorigin,
	    r->fetchpriority, r->integrity, r->imagesrcset, r->imagesizes};
	(void)context;
	printf("%u\t%u\t%.*s://%.*s%.*s", r->uses, r->marks, SLICE_ARG(r->target.scheme),
	    SLICE_ARG(r->target.authority), SLICE_ARG(r->target.path));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		write_value(values[i]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	size_t fixed = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	const struct http_target page = {
	    SLICE("https"), SLICE("www.example.com"), SLICE("/dir/page?q=1")};
	const struct markup_sink sink = {write_resource, NULL};
	uint32_t head[2];
	while (fread(head, sizeof(head), 1, stdin) == 1) {
		char *text = malloc(head[0] + 1);
		if (!text || fread(text, 1, head[0], stdin) != head[0])
			return 1;
		struct slice rest = slice_of(text, head[0]);
		struct markup_head *reader = markup_head_new(&page, sink);
		while (rest.len > 0) {
			head[1] = head[1] * 1103515245u + 12345;
			size_t bytes = fixed > 0
					   ? fixed
					   : 1 + (head[1] >> 16) % (head[1] & 0x100000 ? 8 : 200);
			/* A piece of its own: what reads beyond it is found. */
			struct slice piece = slice_sub(rest, 0, bytes);
			char *copy = malloc(piece.len);
			if (!copy)
				return 1;
			memcpy(copy, piece.ptr, piece.len);
			markup_head_read(reader, slice_of(copy, piece.len));
			free(copy);
			slice_skip(&rest, piece.len);
		}
		markup_head_free(reader);
		free(text);
		puts(".");
	}
	return 0;
}
