/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a page or a stylesheet, in one piece and in small ones: both ways find the same resources in the same
 * order, all within their bounds, and the targets are ones that a request may have.
 *
 * Input: a byte that says how large the pieces are, from 128 on of a stylesheet; then the text.
 */
#include "tests/fuzz/input.h"

#include "proxy/base/ensure.h"
#include "proxy/http/authority.h"
#include "proxy/limits.h"
#include "proxy/markup/markup.h"

struct sum {
	uint32_t count;
	uint64_t mix;
};

static void add(struct sum *sum, struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		sum->mix = (sum->mix ^ (unsigned char)s.ptr[i]) * UINT64_C(0x100000001b3);
	sum->mix = (sum->mix ^ s.len) * UINT64_C(0x100000001b3);
}

static void note(const struct markup_resource *r, void *context)
{
	struct sum *sum = context;
	struct http_authority authority;
	const struct slice parts[] = {r->target.scheme, r->target.authority, r->target.path, r->as,
	    r->rel, r->type, r->media, r->crossorigin, r->fetchpriority, r->integrity,
	    r->imagesrcset, r->imagesizes};
	ensure(++sum->count <= LIMIT_MARKUP_RESOURCES && r->uses != 0);
	ensure(http_authority_parse(r->target.authority, r->target.scheme, &authority));
	ensure(slice_peek(r->target.path) == '/');
	for (size_t i = 0; i < r->target.path.len; i++)
		ensure(r->target.path.ptr[i] > ' ' && r->target.path.ptr[i] < 0x7f);
	sum->mix = (sum->mix ^ r->uses << 8 ^ r->marks) * UINT64_C(0x100000001b3);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		add(sum, parts[i]);
}

static const struct http_target page = {
    SLICE_INIT("https"), SLICE_INIT("a.example"), SLICE_INIT("/dir/page?q")};

static enum markup_state read_head(struct slice text, size_t piece, struct sum *sum)
{
	enum markup_state state = MARKUP_READS;
	struct markup_head *head = markup_head_new(&page, (struct markup_sink){note, sum});
	for (size_t at = 0; at < text.len; at += piece)
		state = markup_head_read(head, slice_sub(text, at, piece));
	markup_head_free(head);
	return state;
}

static enum markup_state read_css(struct slice text, size_t piece, struct sum *sum)
{
	enum markup_state state = MARKUP_READS;
	struct markup_css *css = markup_css_new(&page, (struct markup_sink){note, sum});
	for (size_t at = 0; at < text.len; at += piece)
		state = markup_css_read(css, slice_sub(text, at, piece));
	markup_css_free(css);
	return state;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t first = input_byte(&in);
	size_t piece = 1u + first % 64;
	struct slice text = input_take(&in, in.left);
	struct sum whole = {0, 0}, cut = {0, 0};
	enum markup_state (*read)(struct slice, size_t, struct sum *) =
	    first < 128 ? read_head : read_css;
	ensure(read(text, text.len + 1, &whole) == read(text, piece, &cut));
	ensure(whole.count == cut.count && whole.mix == cut.mix);
	return 0;
}
