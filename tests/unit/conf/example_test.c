/* SPDX-License-Identifier: MIT */
/* The examples in etc/ do what their comments say. */
#include "tests/support/decide.h"
#include "tests/unit/conf/load.h"

struct client {
	const char *address, *user_agent, *path, *promised;
	bool is_browser; /* loads a page, and refuses pushes */
	bool save_data;
};

static struct http_head *request(
    struct http_head_pool *pool, const char *path, const char *user_agent)
{
	struct http_head *head = http_head_new(pool);
	http_head_add(head, SLICE(":method"), SLICE("GET"));
	http_head_add(head, SLICE(":scheme"), SLICE("https"));
	http_head_add(head, SLICE(":authority"), SLICE("example.com"));
	http_head_add(head, SLICE(":path"), slice_of_string(path));
	http_head_add(head, SLICE("user-agent"), slice_of_string(user_agent));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	return head;
}

/* The rule that decides ("" = none), and what it decides. */
static void assert_example(
    const char *file, struct client c, enum policy_action action, const char *rule, bool wants)
{
	struct load load = load_file(file, false);
	struct http_head_pool *pool = http_head_pool_new(2);
	struct policy_offer offer = {.parent = request(pool, c.path, c.user_agent),
	    .promised = request(pool, c.promised, ""),
	    .origin_may_promise = true,
	    .listener_covers = true,
	    .client_push_enabled = !c.is_browser,
	    .client_accepts_streams = true,
	    .navigation = c.is_browser ? POLICY_NAVIGATION_YES : POLICY_NAVIGATION_UNKNOWN,
	    .save_data = c.save_data};
	assert_non_null(load.conf);
	assert_true(address_parse(slice_of_string(c.address), &offer.client));
	struct policy_verdict v = policy_decide(&load.conf->policy, &offer);
	assert_string_equal(v.rule ? v.rule->name : "", rule);
	assert_int_equal(v.action, action);
	assert_int_equal(policy_wants_pushes(&load.conf->policy, &offer), wants);
	http_head_free((struct http_head *)offer.parent);
	http_head_free((struct http_head *)offer.promised);
	http_head_pool_free(pool);
	load_free(&load);
}

static void strip_drops_for_constrained_clients_alone(void **state)
{
	(void)state;
	static const char file[] = "etc/strip.ini";
	assert_example(file, (struct client){"198.51.100.9", "Example/1", "/", "/a.css", false, false},
	    POLICY_DROP, "satellite", false);
	assert_example(file, (struct client){"2001:db8:5a7::1", "Example/1", "/", "/a.css", false, false},
	    POLICY_DROP, "satellite", false);
	assert_example(file, (struct client){"192.0.2.1", "curl/8.0", "/", "/a.css", false, false}, POLICY_DROP,
	    "tools", false);
	assert_example(file, (struct client){"192.0.2.1", "X/1 (lowmemory os 2)", "/", "/a.css", false, false},
	    POLICY_DROP, "tools", false);
	assert_example(file, (struct client){"192.0.2.1", "Example/1", "/", "/a.css", false, false},
	    POLICY_FORWARD, "others", true);
}

static void per_path_chooses_by_page_and_kind(void **state)
{
	(void)state;
	static const struct {
		const char *path, *promised, *rule;
		enum policy_action action;
		bool wants;
	} rows[] = {
	    {"/admin", "/a.css", "admin", POLICY_DROP, false},
	    {"/admin/x", "/a.css", "admin", POLICY_DROP, false},
	    {"/shop/1", "/a.css", "shop-style", POLICY_FORWARD, true},
	    {"/shop/1", "/img/a.png", "shop-pictures", POLICY_FORWARD, true},
	    {"/shop/1", "/other/a.png", "", POLICY_DROP, true},
	    {"/", "/a.mp4", "start-media", POLICY_DROP, true},
	    {"/", "/a.js", "start", POLICY_FORWARD, true},
	    {"/elsewhere", "/a.css", "", POLICY_DROP, false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_example("etc/per-path.ini",
		    (struct client){"192.0.2.1", "Example/1", rows[i].path, rows[i].promised, false, false},
		    rows[i].action, rows[i].rule, rows[i].wants);
}

static void gateway_forwards_by_default(void **state)
{
	(void)state;
	assert_example("etc/gateway.ini", (struct client){"192.0.2.1", "Example/1", "/", "/a.css", false, false},
	    POLICY_FORWARD, "", true);
}

static void browsers_get_what_the_file_is_named_for(void **state)
{
	(void)state;
	static const struct client browser = {"192.0.2.1", "Mozilla/5.0", "/", "/a.css", true, false},
				   program = {"192.0.2.1", "Example/1", "/", "/a.css", false, false},
				   saver = {"192.0.2.1", "Mozilla/5.0", "/", "/a.css", true, true};
	assert_example("etc/hold.ini", browser, POLICY_HINT_HOLD, "browsers", true);
	assert_example("etc/hold.ini", saver, POLICY_DROP, "data-savers", false);
	assert_example("etc/hold.ini", program, POLICY_FORWARD, "", true);
	assert_example("etc/hint.ini", browser, POLICY_HINT, "browsers", true);
	assert_example("etc/hint.ini", program, POLICY_FORWARD, "", true);
	assert_example("etc/preload.ini", browser, POLICY_HINT, "browsers", true);
	assert_example("etc/preload.ini", program, POLICY_FORWARD, "", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(strip_drops_for_constrained_clients_alone),
	    cmocka_unit_test(per_path_chooses_by_page_and_kind),
	    cmocka_unit_test(gateway_forwards_by_default),
	    cmocka_unit_test(browsers_get_what_the_file_is_named_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
