/* SPDX-License-Identifier: MIT */
/* The Link field's grammar, what its parameters mean, and what a filter leaves of it. */
#include "proxy/http/link.h"
#include "tests/unit/http/heads.h"

#define HOSTILE_BYTES 65536u

/* The only link of the value. */
static struct http_link only(const char *value)
{
	struct slice rest = slice_of_string(value);
	struct http_link link, more;
	if (!http_link_next(&rest, &link))
		fail_msg("no link in %s", value);
	if (http_link_next(&rest, &more))
		fail_msg("a second link in %s: %.*s", value, SLICE_ARG(more.value));
	return link;
}

/* The targets of all links, in one string with a space behind each. */
static void assert_targets(const char *value, const char *want)
{
	struct slice rest = slice_of_string(value);
	struct http_link link;
	char got[1024];
	size_t length = 0;
	while (http_link_next(&rest, &link)) {
		assert_true(length + link.target.len + 1 < sizeof(got));
		memcpy(got + length, link.target.ptr, link.target.len);
		length += link.target.len;
		got[length++] = ' ';
	}
	got[length] = '\0';
	if (strcmp(got, want) != 0)
		fail_msg("%s\n  has:  %s\n  want: %s", value, got, want);
}

static void parameters_are_found_in_any_spacing_and_case(void **state)
{
	(void)state;
	static const char *const forms[] = {
	    "</x>;rel=preload;as=style;type=text/css;crossorigin=anonymous;fetchpriority=high",
	    "</x> ; rel = preload ; as = style ; type = text/css ; crossorigin = anonymous ; "
	    "fetchpriority = high",
	    "\t</x>\t;\tREL\t=\t\"preload\"\t;\tAS=\"style\";Type=\"text/css\";"
	    "CrossOrigin=\"anonymous\";FETCHPRIORITY=high\t",
	    ", ,</x>;;fetchpriority=high; "
	    ";crossorigin=anonymous;type=text/css;as=style;rel=preload;,",
	};
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct http_link link = only(forms[i]);
		assert_slice(link.target, "/x");
		assert_slice(link.rel, "preload");
		assert_slice(link.as, "style");
		assert_slice(link.type, "text/css");
		assert_slice(link.crossorigin, "anonymous");
		assert_slice(link.fetchpriority, "high");
		assert_true(link.is_preload && link.has_crossorigin);
		assert_false(link.is_module || link.has_anchor || link.nopush || link.push_only);
	}
}

static void a_look_at_the_bytes_finds_every_link_for_us_alone(void **state)
{
	(void)state;
	static const char *const with[] = {"</a>; rel=preload; x-http2-push-only",
	    "</2/22.css>; rel=preload, </b>;X-HTTP2-Push-Only;rel=preload",
	    "x-http2x-http2-push-only", "x-http2-push-only"};
	static const char *const without[] = {"", "2", "22", "</style-2.css>; rel=preload",
	    "x-http2-push-onl", "-http2-push-only", "</2>; x-http3-push-only2", "x-http2 push-only"};
	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++)
		assert_true(http_link_may_be_push_only(slice_of_string(with[i])));
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		assert_false(http_link_may_be_push_only(slice_of_string(without[i])));
}

static void every_parameter_has_its_slot(void **state)
{
	(void)state;
	struct http_link link = only("<a>; rel=r; as=b; type=t; crossorigin=c; fetchpriority=f; "
				     "media=m; imagesrcset=\"i 1x, j 2x\"; integrity=sha256-abc=");
	assert_slice(link.rel, "r");
	assert_slice(link.as, "b");
	assert_slice(link.type, "t");
	assert_slice(link.crossorigin, "c");
	assert_slice(link.fetchpriority, "f");
	assert_slice(link.value, "<a>; rel=r; as=b; type=t; crossorigin=c; fetchpriority=f; "
				 "media=m; imagesrcset=\"i 1x, j 2x\"; integrity=sha256-abc=");
	link = only("<a>");
	assert_int_equal(link.rel.len + link.as.len + link.type.len, 0);
	assert_int_equal(link.crossorigin.len + link.fetchpriority.len, 0);
	assert_false(link.is_preload || link.has_crossorigin);
}

static void first_of_equal_parameters_counts(void **state)
{
	(void)state;
	struct http_link link = only("<a>; rel=next; rel=preload; as=\"\"; as=style; AS=script");
	assert_slice(link.rel, "next");
	assert_false(link.is_preload);
	assert_slice(link.as, "");
	assert_true(only("<a>; rel=preload; rel=next").is_preload);
}

static void relation_types_are_words_without_case(void **state)
{
	(void)state;
	static const char *const preloads[] = {"<a>; rel=preload", "<a>; rel=PreLoad",
	    "<a>; rel=\"preload prefetch\"", "<a>; rel=\"prefetch preload\"",
	    "<a>; rel=\" \tx\t preload \"", "<a>; rel=\"pre\\load\"", "<a>; rel=prefetch preload",
	    "<a>; rel=modulepreload", "<a>; rel=\"x MODULEPRELOAD\""};
	static const char *const others[] = {"<a>", "<a>; rel", "<a>; rel=", "<a>; rel=\"\"",
	    "<a>; rel=preloads", "<a>; rel=prefetch", "<a>; rel=\"pre load\"", "<a>; rel=xpreload",
	    "<a>; rel=\"preload,\"", "<a>; rev=preload", "<a>; rel*=preload",
	    "<a>; title=\"rel=preload\"", "<a>; x=\"; rel=preload\"", "<a;rel=preload>",
	    "<a>; rel=\"preload\\\\\"", "<a>; rel=http://x/preload"};
	for (size_t i = 0; i < sizeof(preloads) / sizeof(preloads[0]); i++) {
		if (!only(preloads[i]).is_preload)
			fail_msg("no preload: %s", preloads[i]);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (only(others[i]).is_preload)
			fail_msg("a preload: %s", others[i]);
	}
	assert_true(only("<a>; rel=modulepreload").is_module);
	assert_true(only("<a>; rel=\"preload modulepreload\"").is_module);
	assert_false(only("<a>; rel=preload").is_module);
}

static void flags_are_parameters_with_or_without_a_value(void **state)
{
	(void)state;
	assert_true(only("<a>;rel=preload;nopush").nopush);
	assert_true(only("<a>;rel=preload; NoPush ;as=x").nopush);
	assert_true(only("<a>;nopush=1").nopush);
	assert_true(only("<a>;x-http2-push-only").push_only);
	assert_true(only("<a>;X-HTTP2-Push-Only=\"\"").push_only);
	assert_true(only("<a>;anchor=\"/p\"").has_anchor);
	assert_true(only("<a>;anchor=#x").has_anchor);
	assert_true(only("<a>;crossorigin").has_crossorigin);
	assert_true(only("<a>;crossorigin;as=font").has_crossorigin);
	struct http_link link = only("<nopush>; title=\"nopush; anchor=x\"; x=x-http2-push-only");
	assert_false(link.nopush || link.push_only || link.has_anchor);
	assert_false(only("<a>;nopushes;xnopush").nopush);
}

static void commas_part_links_outside_of_quotes_and_brackets_only(void **state)
{
	(void)state;
	assert_targets("<a>,<b>, <c> ,\t<d>", "a b c d ");
	assert_targets("<a,b>; rel=x, <c;d=\"e>", "a,b c;d=\"e ");
	assert_targets("<a>; t=\"x, <y>; rel=preload\", <b>", "a b ");
	assert_targets("<a>; t=\"x\\\", <y>\", <b>", "a b ");
	assert_targets("<a>; t=\"x\\\\\", <b>", "a b ");
	assert_targets(",,, <a> ,, , <b>,", "a b ");
	assert_targets("<>", " ");
	assert_targets("", "");
	assert_targets(" \t ", "");
	assert_targets(",", "");
	assert_slice(only("<a>; t=\"q\\\"q\"; as=\"s\\\"t\"").as, "s\\\"t");
}

static void fifty_links_come_out_of_one_field(void **state)
{
	(void)state;
	char value[4096];
	size_t length = 0;
	for (int i = 0; i < 50; i++)
		length += (size_t)snprintf(value + length, sizeof(value) - length,
		    "%s</%d.css>; rel=preload; t=\"%d,\"", i ? ", " : "", i, i);
	struct slice rest = slice_of(value, length);
	struct http_link link;
	for (int i = 0; i < 50; i++) {
		char want[32];
		snprintf(want, sizeof(want), "/%d.css", i);
		assert_true(http_link_next(&rest, &link));
		assert_slice(link.target, want);
		assert_true(link.is_preload);
	}
	assert_false(http_link_next(&rest, &link));
}

static void malformed_links_are_skipped_and_the_next_one_counts(void **state)
{
	(void)state;
	static const char *const bad[] = {"x", "x<a>", "/a; rel=preload", "a>", ">", "\"<a>\"",
	    "<a>x", "<a> rel=preload", "<a>; =x", "<a>; (x)=y", "<a>; re l=x", "<a>; rel=\"x\"y",
	    "<a>; rel=x\"y\"", "<a>; rel=x<y>", "<a>; rel=\"x\" as=y", "<a>; \"rel\"=x", "<a><b>",
	    "<a>; r\xc3\xa4l=x", "<a>; x=\x01", "<a\x7f>", "<a>; t=\"\n\"", "<a>; x=\"\r\""};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char value[128];
		snprintf(value, sizeof(value), "<1>, %s, <2>", bad[i]);
		assert_targets(value, "1 2 ");
		assert_targets(bad[i], "");
	}
	struct slice rest = slice_of("<a\0>, <b>", 9);
	struct http_link link;
	assert_true(http_link_next(&rest, &link));
	assert_slice(link.target, "b");
}

static void what_never_ends_swallows_the_rest(void **state)
{
	(void)state;
	assert_targets("<1>, <a; rel=preload, x", "1 ");
	assert_targets("<1>, <", "1 ");
	assert_targets("<1>, <a>; t=\"x, <b>; rel=preload", "1 ");
	assert_targets("<1>, <a>; t=\"", "1 ");
	assert_targets("<1>, <a>; t=\"x\\", "1 ");
	assert_targets("<1>, <a>; t=\"x\\\"", "1 ");
	assert_targets("<1>, \", <b>", "1 ");
}

static void odd_but_harmless_forms_are_read(void **state)
{
	(void)state;
	assert_targets("<a>;, <b>; ;, <c>;;;rel=x", "a b c ");
	assert_targets("<a>; t=\"\xc3\xa4\", <b>; t*=UTF-8''%c3%a4", "a b ");
	assert_slice(only("<a>; as=").as, "");
	assert_slice(only("<a>; as = ; rel=preload").as, "");
	assert_slice(only("<a>; type=text/html ; rel=x").type, "text/html");
	assert_slice(only("< /a >").target, " /a ");
}

/* Every byte belongs to at most one value, and each call gets on. */
static size_t count_links(struct slice value)
{
	struct slice rest = value;
	struct http_link link;
	const char *after = value.ptr;
	size_t links = 0;
	while (http_link_next(&rest, &link)) {
		assert_true(link.value.ptr >= after && link.value.len >= 2);
		after = link.value.ptr + link.value.len;
		assert_true(after <= rest.ptr && rest.ptr + rest.len == value.ptr + value.len);
		links++;
	}
	assert_int_equal(rest.len, 0);
	return links;
}

static void hostile_lengths_are_walked_once(void **state)
{
	(void)state;
	static const struct {
		const char *unit;
		size_t links_a_unit; /* or one in all, or none */
		size_t links;
	} rows[] = {{",", 0, 0}, {"<", 0, 0}, {">", 0, 0}, {"\"", 0, 0}, {"\\", 0, 0},
	    {"\",", 0, 0}, {"<,", 0, 0}, {"<a>", 0, 0}, {"<a>,", 1, 0}, {"<a>;", 0, 0},
	    {"<a,", 0, 0}, {"<a>;x=\"\",", 1, 0}, {";x", 0, 0}, {"<a>;x=\",", 0, 0}, {" ", 0, 0},
	    {" ,", 0, 0}, {"\\\",", 0, 0}, {"<>,", 1, 0}};
	char *text = malloc(HOSTILE_BYTES);
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		size_t unit = strlen(rows[r].unit), units = HOSTILE_BYTES / unit;
		for (size_t i = 0; i < units; i++)
			memcpy(text + i * unit, rows[r].unit, unit);
		size_t got = count_links(slice_of(text, units * unit));
		if (strcmp(rows[r].unit, "<a>;x=\",") != 0) /* its quotes pair up as they like */
			assert_int_equal(got, rows[r].links_a_unit * units + rows[r].links);
	}
	/* One link with a parameter, a relation type, a space or a quoted pair for each byte. */
	static const char *const tails[] = {";", ";a", "; rel=x", " ", "\\a", "a "};
	for (size_t t = 0; t < sizeof(tails) / sizeof(tails[0]); t++) {
		bool is_quoted = t >= 4;
		size_t unit = strlen(tails[t]), length = is_quoted ? 9 : 3;
		memcpy(text, "<a>;rel=\"", length);
		while (length + unit < HOSTILE_BYTES) {
			memcpy(text + length, tails[t], unit);
			length += unit;
		}
		if (is_quoted)
			text[length++] = '"';
		assert_int_equal(count_links(slice_of(text, length)), 1);
	}
	free(text);
}

struct dropper {
	char targets[64]; /* drops what stands in it */
	uint32_t asked;
};

static bool is_listed(const struct http_link *link, void *context)
{
	struct dropper *d = context;
	d->asked++;
	return link->target.len == 1 && strchr(d->targets, link->target.ptr[0]);
}

static void check_filter(const char *value, const char *drop, const char *want, uint32_t dropped)
{
	struct http_head *head = http_head_new(pool);
	struct dropper d = {.asked = 0};
	snprintf(d.targets, sizeof(d.targets), "%s", drop);
	http_head_add(head, SLICE("a"), SLICE("1"));
	http_head_add(head, SLICE("link"), slice_of_string(value));
	http_head_add(head, SLICE("z"), SLICE("2"));
	head->fields[1].hash = 7;
	assert_int_equal(http_link_filter(head, is_listed, &d), dropped);
	assert_int_equal(head->count, want ? 3 : 2);
	assert_slice(head->fields[0].value, "1");
	assert_slice(head->fields[head->count - 1].value, "2");
	if (want) {
		assert_slice(head->fields[1].value, want);
		assert_int_equal(head->fields[1].hash, dropped ? 0 : 7);
	}
	http_head_free(head);
}

static void filter_removes_what_is_dropped_and_nothing_else(void **state)
{
	(void)state;
	check_filter("<a>, <b>, <c>", "a", "<b>, <c>", 1);
	check_filter("<a>, <b>, <c>", "b", "<a>, <c>", 1);
	check_filter("<a>, <b>, <c>", "c", "<a>, <b>", 1);
	check_filter("<a>, <b>, <c>", "ac", "<b>", 2);
	check_filter("<a>, <b>, <c>", "abc", NULL, 3);
	check_filter("<a>", "a", NULL, 1);
	check_filter(" , <a> ,,", "a", NULL, 1);
	check_filter("<a>;rel=\"x, <b>\" ,\t<b> ;  x = y,<c>", "a", "<b> ;  x = y, <c>", 1);
	check_filter("<c>  ,,<b>;x=\"\\\",\",<a>", "a", "<c>  ,,<b>;x=\"\\\",\"", 1);
	check_filter(
	    "<b>,<a>,<c>,<d>,<e>,<f>,<g>,<h>", "a", "<b>, <c>, <d>, <e>, <f>, <g>, <h>", 1);
}

static void filter_keeps_every_byte_when_nothing_goes(void **state)
{
	(void)state;
	static const char *const values[] = {
	    "<a>  ,,\t<b>;x=\"\\\"\"  ,", ",", "", " ", "x", "<a", "<a>;x=\"", "x,<a>;;,<b>,<"};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		check_filter(values[i], "z", values[i], 0);
}

static void filter_leaves_malformed_values_alone(void **state)
{
	(void)state;
	check_filter("junk, <a>, \"x,y\"z, <b", "a", "junk, \"x,y\"z, <b", 1);
	check_filter("<a>, <a>x, <a", "a", "<a>x, <a", 1);
	check_filter("x,<a>", "a", "x", 1);
	/* Many short values grow by a space each. */
	check_filter("<a>,x,x,x,x,x,x,x,x,x,x", "a", "x, x, x, x, x, x, x, x, x, x", 1);
}

static void filter_goes_through_all_fields_and_asks_once_a_link(void **state)
{
	(void)state;
	struct http_head *head = http_head_new(pool);
	struct dropper d = {.targets = "a"};
	http_head_add(head, SLICE("link"), SLICE("<a>"));
	http_head_add(head, SLICE("link"), SLICE("<b>, <a>, <c>, <a>, bad"));
	http_head_add(head, SLICE("x-link"), SLICE("<a>"));
	http_head_add(head, SLICE("link"), SLICE("<a>, <a>"));
	http_head_add(head, SLICE("link"), SLICE("<d>"));
	assert_int_equal(http_link_filter(head, is_listed, &d), 5);
	assert_int_equal(d.asked, 8);
	assert_int_equal(head->count, 3);
	assert_slice(head->fields[0].value, "<b>, <c>, bad");
	assert_slice(head->fields[1].name, "x-link");
	assert_slice(head->fields[2].value, "<d>");
	assert_int_equal(http_link_filter(head, is_listed, &d), 0);
	http_head_free(head);
}

static bool is_push_only(const struct http_link *link, void *context)
{
	(void)context;
	return link->push_only;
}

static void filter_of_hostile_length_keeps_to_its_bound(void **state)
{
	(void)state;
	struct http_head *head = http_head_new(pool);
	char *text = malloc(HOSTILE_BYTES);
	for (size_t i = 0; i < HOSTILE_BYTES; i += 2)
		memcpy(text + i, "x,", 2);
	memcpy(text, "<>;x-http2-push-only,x,", 23);
	http_head_add(head, SLICE("link"), slice_of(text, HOSTILE_BYTES));
	assert_int_equal(http_link_filter(head, is_push_only, NULL), 1);
	assert_true(head->arena.heap_bytes < 4 * HOSTILE_BYTES);
	free(text);
	http_head_free(head);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(parameters_are_found_in_any_spacing_and_case),
	    cmocka_unit_test(a_look_at_the_bytes_finds_every_link_for_us_alone),
	    cmocka_unit_test(every_parameter_has_its_slot),
	    cmocka_unit_test(first_of_equal_parameters_counts),
	    cmocka_unit_test(relation_types_are_words_without_case),
	    cmocka_unit_test(flags_are_parameters_with_or_without_a_value),
	    cmocka_unit_test(commas_part_links_outside_of_quotes_and_brackets_only),
	    cmocka_unit_test(fifty_links_come_out_of_one_field),
	    cmocka_unit_test(malformed_links_are_skipped_and_the_next_one_counts),
	    cmocka_unit_test(what_never_ends_swallows_the_rest),
	    cmocka_unit_test(odd_but_harmless_forms_are_read),
	    cmocka_unit_test(hostile_lengths_are_walked_once),
	    cmocka_unit_test(filter_removes_what_is_dropped_and_nothing_else),
	    cmocka_unit_test(filter_keeps_every_byte_when_nothing_goes),
	    cmocka_unit_test(filter_leaves_malformed_values_alone),
	    cmocka_unit_test(filter_goes_through_all_fields_and_asks_once_a_link),
	    cmocka_unit_test(filter_of_hostile_length_keeps_to_its_bound),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
