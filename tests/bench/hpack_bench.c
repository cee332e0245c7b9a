/* SPDX-License-Identifier: MIT */
/*
 * Nanoseconds for decoding and encoding one head, as a relay does it: a block is decoded and
 * settled, and encoded for the next hop; the best of all rounds. "steady" is the same message again and again; "varied"
 * has another path, length and validator each time. Usage: hpack_bench [rounds]
 */
#include "proxy/hpack/hpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define VARIANTS 1000
#define WARM_UP 10

struct line {
	const char *name, *value; /* "%d" in the value is the message's number */
};

static const struct line request[] = {
    {":method", "GET"},
    {":scheme", "https"},
    {":authority", "www.example.com"},
    {":path", "/static/app/main.css"},
    {"user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"},
    {"accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
    {"accept-language", "en-US,en;q=0.5"},
    {"accept-encoding", "gzip, deflate, br"},
    {"referer", "https://www.example.com/index.html"},
    {"cookie", "session=0123456789abcdef0123456789abcdef"},
    {NULL, NULL},
};

static const struct line request_varied[] = {
    {":method", "GET"},
    {":scheme", "https"},
    {":authority", "www.example.com"},
    {":path", "/articles/2024/%d?ref=front"},
    {"user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"},
    {"accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
    {"accept-language", "en-US,en;q=0.5"},
    {"accept-encoding", "gzip, deflate, br"},
    {"referer", "https://www.example.com/index.html"},
    {"cookie", "session=0123456789abcdef0123456789abcdef"},
    {NULL, NULL},
};

static const struct line response[] = {
    {":status", "200"},
    {"date", "Mon, 21 Oct 2013 20:13:21 GMT"},
    {"content-type", "text/html; charset=utf-8"},
    {"content-length", "10240"},
    {"cache-control", "public, max-age=3600"},
    {"etag", "\"5f3c-2a1b9c\""},
    {"last-modified", "Sun, 20 Oct 2013 10:00:00 GMT"},
    {"server", "origin/1.2"},
    {"vary", "accept-encoding"},
    {NULL, NULL},
};

static const struct line response_varied[] = {
    {":status", "200"},
    {"date", "Mon, 21 Oct 2013 20:13:21 GMT"},
    {"content-type", "text/html; charset=utf-8"},
    {"content-length", "1%d"},
    {"cache-control", "public, max-age=3600"},
    {"etag", "\"5f3c-%d\""},
    {"last-modified", "Sun, 20 Oct 2013 10:00:00 GMT"},
    {"server", "origin/1.2"},
    {"vary", "accept-encoding"},
    {NULL, NULL},
};

static double now_nsec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void fail(const char *why)
{
	fprintf(stderr, "hpack_bench: %s\n", why);
	exit(1);
}

/* What a peer sends: VARIANTS blocks that one decoder can read in this order. */
static struct slice *peer_blocks(
    struct http_head_pool *pool, const struct line *lines, enum http_head_kind kind)
{
	struct hpack_encoder *peer = hpack_encoder_new(4096, 1);
	struct slice *blocks = calloc(VARIANTS, sizeof(*blocks));

	if (!blocks)
		fail("no memory");
	for (int i = 0; i < VARIANTS; i++) {
		struct http_head *head = http_head_new(pool);
		for (const struct line *l = lines; l->name; l++) {
			const char *mark = strstr(l->value, "%d");
			struct slice value = slice_of_string(l->value);
			if (mark)
				value = arena_printf(&head->arena, "%.*s%d%s",
				    (int)(mark - l->value), l->value, i, mark + 2);
			http_head_add(head, slice_of_string(l->name), value);
		}
		if (http_head_validate(head, kind))
			fail("malformed head");
		uint8_t *out = malloc(hpack_encode_bound(head));
		if (!out)
			fail("no memory");
		blocks[i] = slice_of(out, hpack_encode(peer, head, out));
		http_head_free(head);
	}
	hpack_encoder_free(peer);
	return blocks;
}

struct sums {
	double decode, settle, encode;
	size_t in, out;
};

static void relay(struct hpack_decoder *d, struct hpack_encoder *e, struct http_head_pool *pool,
    struct slice block, enum http_head_kind kind, struct sums *sums)
{
	static uint8_t out[65536];
	struct http_head *head = http_head_new(pool);
	double t0 = now_nsec();
	if (hpack_decode(d, block, 65536, head) != HPACK_OK)
		fail("cannot decode");
	double t1 = now_nsec();
	if (http_head_validate(head, kind))
		fail("malformed head");
	double t2 = now_nsec();
	if (hpack_encode_bound(head) > sizeof(out))
		fail("too long");
	sums->out += hpack_encode(e, head, out);
	double t3 = now_nsec();
	sums->in += block.len;
	sums->decode += t1 - t0;
	sums->settle += t2 - t1;
	sums->encode += t3 - t2;
	http_head_free(head);
}

/* The least over many short runs: what others do on the machine counts for neither. */
static double clock_cost(void)
{
	double least = 1e9;

	for (int run = 0; run < 100; run++) {
		double from = now_nsec();
		for (int i = 0; i < 1000; i++)
			(void)now_nsec();
		double each = (now_nsec() - from) / 1000;
		least = each < least ? each : least;
	}
	return least;
}

static double lesser(double a, double b)
{
	return a < b ? a : b;
}

static void run(const char *what, const struct line *lines, enum http_head_kind kind, long rounds)
{
	struct http_head_pool *pool = http_head_pool_new(4);
	struct slice *blocks = peer_blocks(pool, lines, kind);
	double clock = clock_cost(), n = VARIANTS - WARM_UP;
	struct sums best = {1e18, 1e18, 1e18, 0, 0};

	for (long round = 0; round < rounds; round++) {
		struct hpack_decoder *d = hpack_decoder_new(4096, 2);
		struct hpack_encoder *e = hpack_encoder_new(4096, 2);
		struct sums warm = {0}, sums = {0};
		for (int i = 0; i < VARIANTS; i++)
			relay(d, e, pool, blocks[i], kind, i < WARM_UP ? &warm : &sums);
		best.decode = lesser(best.decode, sums.decode);
		best.settle = lesser(best.settle, sums.settle);
		best.encode = lesser(best.encode, sums.encode);
		best.in = sums.in;
		best.out = sums.out;
		hpack_decoder_free(d);
		hpack_encoder_free(e);
	}
	printf(
	    "%-16s decode %4.0f ns  settle %4.0f ns  encode %4.0f ns  in %5.1f  out %5.1f bytes\n",
	    what, best.decode / n - clock, best.settle / n - clock, best.encode / n - clock,
	    (double)best.in / n, (double)best.out / n);
	for (int i = 0; i < VARIANTS; i++)
		free((void *)blocks[i].ptr);
	free(blocks);
	http_head_pool_free(pool);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 300;

	run("request steady", request, HTTP_REQUEST, rounds);
	run("request varied", request_varied, HTTP_REQUEST, rounds);
	run("response steady", response, HTTP_RESPONSE, rounds);
	run("response varied", response_varied, HTTP_RESPONSE, rounds);
	return 0;
}
