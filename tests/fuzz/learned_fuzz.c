/* SPDX-License-Identifier: MIT */
/*
 * The learned table: any bytes as its file, and any sequence of views, requests and outcomes.
 * Counts and bytes stay within their bounds, what is proposed has what a proposal needs, and all
 * memory comes back.
 *
 * Input: one byte; even: what follows is a file. Odd: steps of four bytes.
 */
#include "tests/fuzz/input.h"

#include "proxy/base/ensure.h"
#include "proxy/offer/offer.h"
#include "tests/support/learned_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 6, CLIENTS = 8, VIEWS = 6, TABLE_BYTES = 400000 };

static void check_item(const struct offer_learned_item *item, void *context)
{
	size_t *count = context;
	(*count)++;
	ensure(item->authority.len > 0 && item->path.len > 0 && item->page.len > 0);
	ensure(item->authority.len <= OFFER_LEARNED_AUTHORITY_BYTES);
	ensure(item->path.len <= OFFER_LEARNED_PATH_BYTES && item->page.len <= OFFER_LEARNED_PATH_BYTES);
	ensure(item->path.ptr[0] == '/' && item->page.ptr[0] == '/');
	ensure(item->numbers.hits >= 0 && item->numbers.hits <= item->numbers.views + 1e-6);
	ensure(item->confidence <= 10000 && item->numbers.came_true <= item->numbers.proposed);
	if (!item->is_proposed)
		return;
	/* What was proposed once may have one hit and a fifth of the confidence less. */
	ensure(item->numbers.clients >= 2 && item->numbers.hits >= 0.5 && item->confidence >= 2800);
}

static void check(const struct offer_learned *t, usec now)
{
	struct offer_learned_stats s = offer_learned_stats(t);
	struct offer_learned_item items[OFFER_LEARNED_RESOURCES];
	size_t known = 0, proposed = 0;
	ensure(s.pages <= PAGES && s.clients <= CLIENTS && s.views <= VIEWS);
	ensure(s.bytes <= TABLE_BYTES && s.peak_bytes >= s.bytes);
	offer_learned_each(t, false, check_item, &known, now);
	offer_learned_each(t, true, check_item, &proposed, now);
	ensure(known == s.resources && proposed <= known);
	char lines[OFFER_LEARNED_LINES][OFFER_LEARNED_LINE];
	size_t line_count = offer_learned_lines(t, lines, now);
	ensure(line_count <= s.pages && line_count <= OFFER_LEARNED_LINES);
	for (size_t i = 0; i < line_count; i++)
		ensure(strnlen(lines[i], OFFER_LEARNED_LINE) < OFFER_LEARNED_LINE && strstr(lines[i], " so far; "));
	size_t n = offer_learned_offers(
	    t, SLICE("a.example"), SLICE("/"), items, now);
	for (size_t i = 0; i < n; i++)
		ensure(items[i].is_proposed &&
		       (i == 0 || items[i - 1].confidence >= items[i].confidence));
}

static void read_file(struct offer_learned *t, const struct input *in)
{
	char path[64], *text = NULL;
	size_t length = 0;
	int fd = memfd_create("learned", MFD_CLOEXEC);
	FILE *errors = open_memstream(&text, &length);
	ensure(fd >= 0 && errors && write(fd, in->at, in->left) == (ssize_t)in->left);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	bool is_loaded = offer_learned_load(t, path, USEC_PER_SEC, errors);
	fclose(errors);
	close(fd);
	ensure(is_loaded == (length == 0));
	ensure(is_loaded || offer_learned_stats(t).pages == 0);
	free(text);
}

static void step(struct offer_learned *t, struct input *in, usec *now)
{
	static const char *const paths[] = {
	    "/", "/a.css", "/b.js", "/c.png?q", "/page", "/d", "/e/f", "/index.html"};
	uint8_t action = input_byte(in), page = input_byte(in), who = input_byte(in);
	char client[2] = {(char)('a' + who % 12), 0}, referer[64];
	const char *authority = who & 128 ? "b.example" : "a.example";
	snprintf(referer, sizeof(referer), "http://%s%s", authority, paths[page / 8 % 8]);
	const struct offer_learned_request request = {
	    .authority = slice_of_string(authority),
	    .path = slice_of_string(paths[page % 8]),
	    .referer = slice_of_string(page & 64 ? "" : referer),
	    .client = slice_of_string(client),
	    .is_get = action < 240,
	    .is_navigation = action % 8 == 0,
	    .has_credentials = action == 200,
	    .status = action == 201 ? 304 : 200,
	    .is_unfit = action == 202,
	    .is_unanswered = action % 16 == 0,
	};
	uint8_t argument = input_byte(in);
	*now += (usec)argument * argument * USEC_PER_MSEC * 10;
	if (action % 8 == 0)
		offer_learned_on_navigation(t, &request, *now);
	else if (action % 8 < 6)
		offer_learned_on_request(t, &request, *now);
	else if (action % 8 == 6)
		offer_learned_on_outcome(t, &request, slice_of_string(paths[page / 8 % 8]),
		    (enum offer_learned_outcome)(action / 8 % 4), *now);
	else if (action % 16 == 7)
		offer_learned_on_page(t, &request, *now);
	else
		offer_learned_tick(t, *now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct offer_learned_options options = {.pages = PAGES,
	    .clients = CLIENTS,
	    .views = VIEWS,
	    .bytes = TABLE_BYTES,
	    .half_life_usec = 3600 * USEC_PER_SEC,
	    .hits = 2,
	    .support = 2};
	struct input in = {data, size};
	usec now = USEC_PER_SEC;
	struct budget budget;
	budget_init(&budget, NULL, 2 * TABLE_BYTES);
	struct offer_learned *t = offer_learned_new(&options, 1, &budget);
	if (input_byte(&in) % 2 == 0)
		read_file(t, &in);
	else
		while (in.left > 0)
			step(t, &in, &now);
	check(t, now);
	offer_learned_tick(t, now + 3600 * USEC_PER_SEC);
	check(t, now + 3600 * USEC_PER_SEC);
	offer_learned_free(t);
	budget_fini(&budget);
	return 0;
}
