/* SPDX-License-Identifier: MIT */
/*
 * Options about pushes: rules, [preload NAME], diary, holds; and the fields that a route changes. What they become,
 * and their mistakes.
 */
#include "tests/unit/conf/load.h"

static void assert_slice(struct slice s, const char *text)
{
	assert_int_equal(s.len, strlen(text));
	assert_memory_equal(s.ptr, text, s.len);
}

static void every_action_and_source_is_read(void **state)
{
	(void)state;
	struct load load =
	    load_fine(LOAD_REST "[push a]\nsource = link manifest\naction = hold\n"
			   "[push b]\nsource = config,remembered\naction = Hint\n"
			   "[push c]\naction = hint+hold\n[server]\ndefault-action = hint\n"
			   "[preload p]\nlink = yes\nadd = /a.css\n", "");
	const struct policy_rule *rule = load.conf->policy.rules;
	assert_int_equal(rule[0].sources, 1u << POLICY_LINK | 1u << POLICY_MANIFEST);
	assert_int_equal(rule[0].action, POLICY_HOLD);
	assert_int_equal(rule[1].sources, 1u << POLICY_CONFIG | 1u << POLICY_REMEMBERED);
	assert_int_equal(rule[1].action, POLICY_HINT);
	assert_int_equal(rule[2].action, POLICY_HINT_HOLD);
	assert_int_equal(load.conf->policy.fallback, POLICY_HINT);
	load_free(&load);
}

static void rule_gets_every_new_condition_and_limit(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST "[push a]\naction = hint+hold\nsave-data = no\nnavigation "
					  "= yes\nrtt = <80ms\nshare = 12.5%\n"
					  "shadow = yes\ncross-origin = yes\non-revalidation = "
					  "yes\nhint-clients = all\ninterim = no\npurpose = none prerender\nmin-used = 20%\n"
					  "min-sample = 7\nurgency = interleaved\n"
					  "[push b]\naction = hold\nrtt = > 1s\nshare = "
					  "0.01%\nmin-used = 0.5%\nurgency = before\npurpose = prefetch\n"
					  "[push c]\naction = forward\nurgency = After\ninterim = yes\n", "");
	const struct policy_rule *rule = load.conf->policy.rules;
	assert_int_equal(rule->save_data, POLICY_NO);
	assert_int_equal(rule->navigation, POLICY_YES);
	assert_int_equal(rule->rtt_compare, POLICY_COMPARE_BELOW);
	assert_int_equal(rule->rtt_usec, 80 * USEC_PER_MSEC);
	assert_int_equal(rule->share, 1250);
	assert_true(
	    rule->shadow && rule->cross_origin && rule->on_revalidation && rule->hint_anyone);
	assert_int_equal(rule->interim, POLICY_NO);
	assert_int_equal(rule[1].interim, POLICY_ANY);
	assert_int_equal(rule[2].interim, POLICY_YES);
	assert_int_equal(rule->purposes, 1u << POLICY_PURPOSE_NONE | 1u << POLICY_PURPOSE_PRERENDER);
	assert_int_equal(rule[1].purposes, 1u << POLICY_PURPOSE_PREFETCH);
	assert_int_equal(rule->min_used, 2000);
	assert_int_equal(rule->min_sample, 7);
	assert_int_equal(rule->urgency, POLICY_URGENCY_INTERLEAVED);
	assert_int_equal(rule[1].rtt_compare, POLICY_COMPARE_ABOVE);
	assert_int_equal(rule[1].rtt_usec, USEC_PER_SEC);
	assert_int_equal(rule[1].share, 1);
	assert_int_equal(rule[1].min_used, 50);
	assert_int_equal(rule[1].urgency, POLICY_URGENCY_BEFORE);
	assert_int_equal(rule[2].urgency, POLICY_URGENCY_AFTER);
	load_free(&load);
}

static void users_and_destinations_are_lists(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_LISTEN "access = a\n[access a]\nusers = /etc/users\nask = all\nallow = user=*\n" LOAD_ORIGIN LOAD_ROUTE
					  "[push a]\naction = drop\nuser = alice, bob\nuser = carol\ndestination = *.example "
					  "[::1]:8443\n[preload p]\nlink = yes\nuser = *\ndestination = a.example:80\n",
	    "");
	const struct policy_rule *rule = load.conf->policy.rules, *when = &load.conf->preloads[0].when;
	assert_int_equal(rule->user_count, 3);
	assert_true(slice_equal(rule->users[2], SLICE("carol")));
	assert_int_equal(rule->destination_count, 2);
	assert_true(slice_equal(rule->destinations[1], SLICE("[::1]:8443")));
	assert_int_equal(when->user_count, 1);
	assert_int_equal(when->destination_count, 1);
	load_free(&load);
	assert_refused(LOAD_REST "[push a]\naction = drop\nuser = a:b\ndestination = a.example:0\ndestination = http://a\n"
			  "destination = ~^a\ndestination = ::1\n",
	    "test.ini:9: bad value 'a:b' for user; write the name of a user, without ':', '=' and '/', such as user = alice bob\n"
	    "test.ini:10: bad value 'a.example:0' for destination; write a port from 1 to 65535 behind the host, such as "
	    "destination = *.example.com example.net:8443\n"
	    "test.ini:11: bad value 'http://a' for destination; write a host name pattern, without scheme and path, such as "
	    "destination = *.example.com example.net:8443\n"
	    "test.ini:12: bad value '~^a' for destination; write a host name pattern, without scheme and path, such as "
	    "destination = *.example.com example.net:8443\n"
	    "test.ini:13: bad value '::1' for destination; write an IPv6 address in brackets, such as "
	    "destination = *.example.com example.net:8443\n");
}

/* Who a client is must be known to a listener whose own rules do not ask. */
static void rule_on_a_user_makes_listeners_look_for_users(void **state)
{
	(void)state;
	static const char *const rules[] = {"", "[push a]\naction = drop\nuser = alice\n", "[preload p]\nlink = yes\nuser = *\n"};
	for (size_t i = 0; i < 3; i++) {
		char text[512];
		snprintf(text, sizeof(text), LOAD_LISTEN "access = a\n[access a]\nusers = /etc/users\nallow = path=/*\n%s" LOAD_ORIGIN
			 LOAD_ROUTE, rules[i]);
		struct load load = load_fine(text, i > 0 ? "" : "test.ini:5: warning: users has no effect, because no rule asks for users or looks at "
								"them; remove it\n");
		assert_int_equal(load.conf->accesses[0].needs & CONF_ACCESS_USER, i > 0);
		load_free(&load);
	}
}

static void user_that_nobody_can_be_is_a_warning(void **state)
{
	(void)state;
	struct load load = load_text(LOAD_REST "[push a]\naction = drop\nuser = alice\n");
	assert_string_equal(load.errors,
	    "test.ini:9: warning: [push a] never matches, because no [access NAME] has users, so that no user is known; add them "
	    "there, or remove the section\n");
	load_free(&load);
}

static void forward_mode_shares_only_where_it_says_so(void **state)
{
	(void)state;
	static const char text[] = "[server]\nhold-shared = yes\ndefault-action = hold\n" LOAD_LISTEN
				   "mode = forward\n%s[preload p]\nremembered = apply\n";
	char full[512];
	snprintf(full, sizeof(full), text, "");
	struct load load = load_text(full);
	assert_string_equal(load.errors,
	    "test.ini:2: warning: hold-shared has no effect, because no [listen NAME] has mode = gateway, or shares = yes; "
	    "remove it\n"
	    "test.ini:8: warning: remembered has no effect, because no [listen NAME] has mode = gateway, or shares = yes; "
	    "remove it\n");
	assert_false(conf_listen_shares(&load.conf->listens[0]));
	load_free(&load);
	snprintf(full, sizeof(full), text, "shares = yes\n");
	load = load_fine(full, "");
	assert_true(conf_listen_shares(&load.conf->listens[0]));
	load_free(&load);
	load = load_text(LOAD_LISTEN "shares = yes\n" LOAD_ORIGIN LOAD_ROUTE);
	assert_string_equal(
	    load.errors, "test.ini:3: warning: shares has no effect, because mode is gateway; remove it\n");
	assert_true(conf_listen_shares(&load.conf->listens[0]));
	load_free(&load);
}

static void bad_conditions_are_refused_with_what_would_be_right(void **state)
{
	(void)state;
	assert_refused(LOAD_REST
	    "[push a]\naction = drop\nsave-data = on\nnavigation = maybe\nrtt = 80ms\nshare = 0%\n"
	    "shadow = perhaps\nmin-used = 101%\nmin-sample = 0\n[push b]\naction = drop\nrtt = "
	    "<2m\nrtt = <\n"
	    "share = 1.234%\n[push c]\naction = drop\nshare = 10\nrtt = <1\nmin-used = 0.%\n",
	    "test.ini:9: bad value 'on' for save-data; write any, no or yes; did you mean "
	    "save-data = yes?\n"
	    "test.ini:10: bad value 'maybe' for navigation; write any, no or yes, such as "
	    "navigation = no\n"
	    "test.ini:11: bad value '80ms' for rtt; write <TIME | >TIME; did you mean rtt = <80ms?\n"
	    "test.ini:12: bad value '0%' for share; write 0.01% ... 100%, such as share = 10%\n"
	    "test.ini:13: bad value 'perhaps' for shadow; write no or yes, such as shadow = yes\n"
	    "test.ini:14: bad value '101%' for min-used; write 0% ... 100%, such as min-used = 20%\n"
	    "test.ini:15: bad value '0' for min-sample; give a whole number from 1 to 1000000, such "
	    "as min-sample = 100\n"
	    "test.ini:18: bad value '<2m' for rtt; write <TIME | >TIME, such as rtt = <80ms\n"
	    "test.ini:19: duplicate option 'rtt', first at test.ini:18; remove one of them\n"
	    "test.ini:20: bad value '1.234%' for share; write 0.01% ... 100%, such as share = 10%\n"
	    "test.ini:23: bad value '10' for share; write 0.01% ... 100%; did you mean share = 10%?\n"
	    "test.ini:24: bad value '<1' for rtt; write <TIME | >TIME; did you mean rtt = <1ms?\n"
	    "test.ini:25: bad value '0.%' for min-used; write 0% ... 100%, such as min-used = 20%\n");
}

static void server_gets_diary_hold_and_hint_options(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST
	    "[server]\ndiary-entries = 1000\ndiary-cookie = known\ndiary-cookie-key = "
	    "a\ndiary-cookie-key = b\n"
	    "diary-cookie-age = 24h\nhold-max-count = 5\nhold-max-bytes = 128k\nhold-max-age = 1s\n"
	    "hold-shared = yes\nhint-wait = 20ms\ndefault-action = hint+hold\n", "");
	const struct conf_server *s = &load.conf->server;
	assert_int_equal(s->diary_entries, 1000);
	assert_string_equal(s->diary_cookie, "known");
	assert_int_equal(s->diary_key_count, 2);
	assert_int_equal(s->diary_keys[0].len, 0); /* files are not opened here */
	assert_int_equal(s->diary_cookie_age, 24 * 3600 * USEC_PER_SEC);
	assert_int_equal(s->hold_max_count, 5);
	assert_int_equal(s->hold_max_bytes, 128 << 10);
	assert_int_equal(s->hold_max_age, USEC_PER_SEC);
	assert_true(s->hold_shared);
	assert_int_equal(s->hint_wait, 20 * USEC_PER_MSEC);
	load_free(&load);
}

static void cookie_needs_a_key_a_name_and_a_diary(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[server]\ndiary-cookie = known\ndiary-entries = 0\n",
	    "test.ini:8: diary-cookie has no key; add diary-cookie-key = FILE\n"
	    "test.ini:8: diary-cookie needs a diary; set diary-entries to more than 0\n");
	assert_refused(LOAD_REST
	    "[server]\ndiary-cookie = a=b\ndiary-cookie-key = a\ndiary-cookie-key = b\n"
	    "diary-cookie-key = c\n",
	    "test.ini:8: bad value 'a=b' for diary-cookie; write off or a cookie's name, such as diary-cookie = pushgate-diary\n"
	    "test.ini:11: there are more than 2 diary-cookie-key options; keep the newest two\n");
}

static void key_file(const char *path, size_t bytes)
{
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	for (size_t i = 0; i < bytes; i++)
		fputc('k', out);
	fputc('\n', out);
	fclose(out);
}

static void keys_are_read_from_their_files(void **state)
{
	(void)state;
	char path[] = "/tmp/pushgate-key-XXXXXX", text[512], errors[512];
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	snprintf(text, sizeof text, LOAD_REST "[server]\ndiary-cookie = c\ndiary-cookie-key = %s\n",
	    path);
	static const struct {
		size_t bytes;
		const char *wrong;
	} rows[] = {
	    {16, NULL}, {1024, NULL}, {15, "too few"}, {1025, "too many"}, {100000, "too many"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		key_file(path, rows[i].bytes);
		struct load load = load_bytes(slice_of_string(text), true);
		snprintf(errors, sizeof errors,
		    "test.ini:9: the diary-cookie-key file '%s' has %s bytes; write 16 to 1024 random bytes into it\n",
		    path, rows[i].wrong ? rows[i].wrong : "");
		assert_string_equal(load.errors, rows[i].wrong ? errors : "");
		if (load.conf)
			assert_int_equal(load.conf->server.diary_keys[0].len, rows[i].bytes);
		load_free(&load);
	}
	unlink(path);
	struct load load = load_bytes(slice_of_string(text), true);
	assert_non_null(strstr(load.errors, "cannot be read: No such file"));
	load_free(&load);
}

static void route_changes_fields_in_the_order_of_the_file(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_LISTEN LOAD_ORIGIN
	    "[route r]\norigin = o\nrequest-set = X-Gate: a: b = c\nrequest-remove = Cookie\n"
	    "request-add = x-gate:\tsecond  \nresponse-set = Server: gate\nresponse-remove = "
	    "x-powered-by\n"
	    "response-add = X-Empty:\n", "");
	const struct conf_route *r = &load.conf->routes[0];
	assert_int_equal(r->request_fields.count, 3);
	const struct conf_field *f = r->request_fields.fields;
	assert_int_equal(f[0].change, CONF_FIELD_SET);
	assert_slice(f[0].name, "x-gate");
	assert_slice(f[0].value, "a: b = c");
	assert_int_equal(f[0].token, HTTP_TOKEN_NONE);
	assert_int_equal(f[1].change, CONF_FIELD_REMOVE);
	assert_int_equal(f[1].token, HTTP_TOKEN_COOKIE);
	assert_int_equal(f[2].change, CONF_FIELD_ADD);
	assert_slice(f[2].value, "second");
	assert_int_equal(r->response_fields.count, 3);
	f = r->response_fields.fields;
	assert_int_equal(f[0].token, HTTP_TOKEN_SERVER);
	assert_slice(f[2].name, "x-empty");
	assert_slice(f[2].value, "");
	load_free(&load);
}

#define SET ", such as request-set = X-Gate: pushgate\n"
#define REMOVE ", such as request-remove = X-Debug\n"
#define ADDED ", such as response-add = X-Served-For: example.com\n"

static void fields_that_are_not_ours_to_change_are_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_LISTEN LOAD_ORIGIN
	    "[route r]\norigin = o\nrequest-set = :path: /x\nrequest-set = Connection: close\n"
	    "request-remove = Transfer-Encoding\nresponse-set = Content-Length: 1\nrequest-set = "
	    "host: a\n"
	    "request-set = X-A\nrequest-remove = X-A: b\nresponse-add = X A: b\nresponse-add = "
	    "x-a: \001\n"
	    "request-remove = a b\nrequest-remove = Transfer_Encoding\n",
	    "test.ini:7: bad value ':path: /x' for request-set; pseudo-fields cannot be changed; name a field" SET
	    "test.ini:8: bad value 'Connection: close' for request-set; pushgate itself sets the fields of one hop: name another field" SET
	    "test.ini:9: bad value 'Transfer-Encoding' for request-remove; pushgate itself sets the fields of one hop: name another field" REMOVE
	    "test.ini:10: bad value 'Content-Length: 1' for response-set; pushgate itself sets the length of a message: name another field, such as response-set = Referrer-Policy: same-origin\n"
	    "test.ini:11: bad value 'host: a' for request-set; set host of [origin NAME], and name another field here" SET
	    "test.ini:12: bad value 'X-A' for request-set; write NAME: VALUE" SET
	    "test.ini:13: bad value 'X-A: b' for request-remove; write the field's NAME alone" REMOVE
	    "test.ini:14: bad value 'X A: b' for response-add; write NAME: VALUE" ADDED
	    "test.ini:15: bad value 'x-a: ?' for response-add; the value has control characters; remove them" ADDED
	    "test.ini:16: bad value 'a b' for request-remove; write the field's NAME alone" REMOVE
	    "test.ini:17: bad value 'Transfer_Encoding' for request-remove; pushgate itself sets the fields of one hop: name another field" REMOVE);
}

/* By default where a route takes fields away from its clients' requests, and as written elsewhere. */
static void underscores_are_decided_with_the_whole_route(void **state)
{
	(void)state;
	static const struct {
		const char *lines;
		enum conf_underscores wanted;
	} rows[] = {
	    {"", CONF_UNDERSCORES_PASS},
	    {"[routes]\nrequest-set = X-A: b\n", CONF_UNDERSCORES_DROP},
	    {"[routes]\nforwarded = remove\n", CONF_UNDERSCORES_DROP},
	    {"[routes]\nunderscores = drop\n", CONF_UNDERSCORES_DROP},
	    {"[routes]\nunderscores = pass\nrequest-remove = X-A\n", CONF_UNDERSCORES_PASS},
	    {"[routes]\nrequest-add = X-A: b\nforwarded = keep\n", CONF_UNDERSCORES_PASS},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512];
		snprintf(text, sizeof(text), LOAD_REST "%s", rows[i].lines);
		struct load load = load_fine(text, "");
		assert_int_equal(load.conf->routes[0].underscores, rows[i].wanted);
		load_free(&load);
	}
}

static void preload_gets_its_conditions_and_sources(void **state)
{
	(void)state;
	struct load load =
	    load_fine(LOAD_REST "[preload shop]\nhost = *.example\npath = /shop/* ~^/s[0-9]$\nclient = "
			   "192.0.2.0/24\nuser-agent = a*\n"
			   "navigation = yes\nversion = 1.0\nlink = yes\nremembered = apply\nmanifest = "
			   "m1.json\nmanifest = /m2.json\n"
			   "add = /app.css?v=1 as=style type=text/css fetchpriority=high\n"
			   "add = /f.woff2 as=font crossorigin=anonymous \"media=(min-width: "
			   "600px)\"\n[preload rest]\nadd = /x\n", "");
	assert_int_equal(load.conf->preload_count, 2);
	const struct conf_preload *p = load.conf->preloads;
	assert_int_equal(p->when.paths.count, 2);
	assert_non_null(p->when.paths.regexes[1]);
	assert_int_equal(p->when.client_count, 1);
	assert_int_equal(p->when.navigation, POLICY_YES);
	assert_int_equal(p->when.versions, 1u << HTTP_VERSION_1_0);
	assert_true(p->link);
	assert_int_equal(p->remembered, CONF_REMEMBERED_APPLY);
	assert_int_equal(p->manifest_count, 2);
	assert_string_equal(p->manifests[0], "m1.json");
	assert_string_equal(p->manifests[1], "/m2.json");
	assert_int_equal(p->add_count, 2);
	assert_slice(p->adds[0].path, "/app.css?v=1");
	assert_slice(p->adds[0].as, "style");
	assert_slice(p->adds[0].type, "text/css");
	assert_slice(p->adds[0].fetchpriority, "high");
	assert_slice(p->adds[1].crossorigin, "anonymous");
	assert_slice(p->adds[1].media, "(min-width: 600px)");
	assert_false(p[1].link);
	assert_int_equal(p[1].remembered, CONF_REMEMBERED_OFF);
	assert_slice(p[1].adds[0].as, "");
	load_free(&load);
}

static void memory_of_pages_has_options(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST "[preload p]\nremembered = propose\n", "");
	const struct conf_remembered *r = &load.conf->server.remembered;
	assert_true(conf_remembers(load.conf));
	assert_int_equal(load.conf->preloads[0].remembered, CONF_REMEMBERED_PROPOSE);
	assert_int_equal(load.conf->preloads[0].scripts, CONF_SCRIPTS_BLOCKING);
	assert_null(r->file);
	assert_int_equal(r->clients, 3);
	assert_int_equal(r->ignored_count, 15);
	assert_slice(r->ignored[0], "utm_*");
	load_free(&load);
	load = load_fine(LOAD_REST "[preload p]\nremembered = apply\nremembered-scripts = all\n[server]\n"
				   "remembered-file = /p.json\nremembered-clients = 2\n"
				   "remembered-ignored-query = ref s_*\n", "");
	r = &load.conf->server.remembered;
	assert_int_equal(load.conf->preloads[0].remembered, CONF_REMEMBERED_APPLY);
	assert_int_equal(load.conf->preloads[0].scripts, CONF_SCRIPTS_ALL);
	assert_string_equal(r->file, "/p.json");
	assert_int_equal(r->clients, 2);
	assert_int_equal(r->ignored_count, 2);
	assert_slice(r->ignored[0], "ref");
	assert_slice(r->ignored[1], "s_*");
	load_free(&load);
	load = load_fine(LOAD_REST "[preload p]\nremembered = apply\n[server]\n"
				   "remembered-ignored-query = none\n", "");
	assert_int_equal(load.conf->server.remembered.ignored_count, 0);
	load_free(&load);
	load = load_fine(LOAD_REST "[preload p]\nlink = yes\n", "");
	assert_false(conf_remembers(load.conf));
	load_free(&load);
}

static void bad_options_of_the_memory_are_refused(void **state)
{
	(void)state;
	static const char *const names[] = {"a=b", "a*b", "*", "x&y"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char text[512], errors[512];
		snprintf(text, sizeof(text),
		    LOAD_REST "[server]\nremembered-ignored-query = ok %s\n[preload p]\nremembered = apply\n",
		    names[i]);
		snprintf(errors, sizeof(errors),
		    "test.ini:8: bad value '%s' for remembered-ignored-query; write names of members, such as "
		    "ref, or beginnings, such as utm_*, such as remembered-ignored-query = utm_* ref\n",
		    names[i]);
		assert_refused(text, errors);
	}
	assert_refused(LOAD_REST "[server]\nremembered-clients = 1\n[preload p]\nremembered = yes\n",
	    "test.ini:8: bad value '1' for remembered-clients; give a whole number from 2 to 8, such as "
	    "remembered-clients = 3\n"
	    "test.ini:10: bad value 'yes' for remembered; write off, propose or apply, such as remembered = "
	    "propose\n");
}

static void preload_takes_the_requests_of_its_conditions(void **state)
{
	(void)state;
	struct load load =
	    load_fine(LOAD_REST "[preload a]\nlink = yes\npath = /shop/*\nnavigation = yes\n", "");
	struct http_head_pool *pool = http_head_pool_new(1);
	struct http_head *head = http_head_new(pool);
	http_head_add(head, SLICE(":method"), SLICE("GET"));
	http_head_add(head, SLICE(":scheme"), SLICE("https"));
	http_head_add(head, SLICE(":authority"), SLICE("a.example"));
	http_head_add(head, SLICE(":path"), SLICE("/shop/1"));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	struct policy_offer facts = {.parent = head, .navigation = POLICY_NAVIGATION_YES};
	const struct policy_rule *when = &load.conf->preloads[0].when;
	assert_true(policy_rule_takes(when, &facts));
	facts.navigation = POLICY_NAVIGATION_UNKNOWN;
	assert_false(policy_rule_takes(when, &facts));
	facts.navigation = POLICY_NAVIGATION_YES;
	head->path = SLICE("/other");
	assert_false(policy_rule_takes(when, &facts));
	http_head_free(head);
	http_head_pool_free(pool);
	load_free(&load);
}

#define ADD ", such as add = /app.css as=style\n"

static void bad_adds_are_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[preload a]\nadd = app.css\nadd = //other/x\nadd = /a#b\nadd = /a "
			  "as=css\nadd = /a type=css\n"
			  "add = /a fetchpriority=urgent\nadd = /a as=style as=style\nadd = /a "
			  "rel=preload\nadd = /a \"media=x\n"
			  "remembered = yes\nadd = /a media=a\\b\n",
	    "test.ini:8: bad value 'app.css' for add; write a path that begins with '/'" ADD
	    "test.ini:9: bad value '//other/x' for add; write a path that begins with '/'" ADD
	    "test.ini:10: bad value '/a#b' for add; write a path that begins with '/'" ADD
	    "test.ini:11: bad value 'as=css' for add; write as=style, as=script, as=font, "
	    "as=image, as=fetch or another destination" ADD
	    "test.ini:12: bad value 'type=css' for add; write a media type (type=text/css)" ADD
	    "test.ini:13: bad value 'fetchpriority=urgent' for add; write fetchpriority=high, "
	    "fetchpriority=low or fetchpriority=auto" ADD
	    "test.ini:14: bad value 'as=style' for add; give each parameter once" ADD
	    "test.ini:15: bad value 'rel=preload' for add; write as=, type=, crossorigin=, "
	    "fetchpriority= or media= after the path" ADD
	    "test.ini:16: bad value '\"media=x' for add; close the quotation with a '\"'" ADD
	    "test.ini:17: bad value 'yes' for remembered; write off, propose or apply, such as "
	    "remembered = propose\n"
	    "test.ini:18: bad value 'media=a\\b' for add; write a media query "
	    "(\"media=(min-width: 600px)\")" ADD);
}

static void preload_without_a_source_is_a_warning(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST "[preload a]\npath = /x\n",
	    "test.ini:7: warning: [preload a] offers nothing; add "
	    "link = yes, add = /PATH or another source\n");
	load_free(&load);
}

/* It may come later: process/start_needs.c warns of it. */
static void manifest_that_is_not_there_is_no_mistake(void **state)
{
	(void)state;
	struct load load = load_bytes(SLICE(LOAD_REST "[preload a]\nmanifest = /nowhere/m.json\n"), true);
	assert_string_equal(load.errors, "");
	assert_non_null(load.conf);
	load_free(&load);
}

static void share_of_a_preload_makes_two_arms(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST
	    "[preload a]\nlink = yes\n[preload b]\nlink = yes\nshare = 12.5%\n"
	    "[preload c]\nlink = yes\nshare = 0%\n[preload d]\nlink = yes\nshare = off\n",
	    "");
	const struct conf_preload *p = load.conf->preloads;
	assert_true(load.conf->has_arms);
	assert_int_equal(p[0].share, CONF_SHARE_OFF);
	assert_int_equal(p[1].share, 1250);
	assert_int_equal(p[2].share, 0);
	assert_int_equal(p[3].share, CONF_SHARE_OFF);
	assert_string_equal(p[1].arms[0].text, "b=off");
	assert_string_equal(p[1].arms[1].text, "b=on");
	assert_true(p[1].arms[1].is_on && !p[1].arms[0].is_on);
	assert_int_equal(p[2].arms[1].preload, 2);
	load_free(&load);
	load = load_fine(LOAD_REST "[preload a]\nlink = yes\n", "");
	assert_false(load.conf->has_arms);
	load_free(&load);
}

static void share_that_is_none_is_a_mistake(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[preload a]\nlink = yes\nshare = 101%\n",
	    "test.ini:9: bad value '101%' for share; write off, or a share of the clients from 0% "
	    "to 100%, such as share = 50%\n");
	assert_refused(LOAD_REST "[preload a]\nlink = yes\nshare = half\n",
	    "test.ini:9: bad value 'half' for share; write off, or a share of the clients from 0% "
	    "to 100%, such as share = 50%\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(share_of_a_preload_makes_two_arms),
	    cmocka_unit_test(share_that_is_none_is_a_mistake),
	    cmocka_unit_test(every_action_and_source_is_read),
	    cmocka_unit_test(rule_gets_every_new_condition_and_limit),
	    cmocka_unit_test(users_and_destinations_are_lists),
	    cmocka_unit_test(rule_on_a_user_makes_listeners_look_for_users),
	    cmocka_unit_test(user_that_nobody_can_be_is_a_warning),
	    cmocka_unit_test(forward_mode_shares_only_where_it_says_so),
	    cmocka_unit_test(bad_conditions_are_refused_with_what_would_be_right),
	    cmocka_unit_test(server_gets_diary_hold_and_hint_options),
	    cmocka_unit_test(cookie_needs_a_key_a_name_and_a_diary),
	    cmocka_unit_test(keys_are_read_from_their_files),
	    cmocka_unit_test(route_changes_fields_in_the_order_of_the_file),
	    cmocka_unit_test(fields_that_are_not_ours_to_change_are_refused),
	    cmocka_unit_test(underscores_are_decided_with_the_whole_route),
	    cmocka_unit_test(preload_gets_its_conditions_and_sources),
	    cmocka_unit_test(memory_of_pages_has_options),
	    cmocka_unit_test(bad_options_of_the_memory_are_refused),
	    cmocka_unit_test(preload_takes_the_requests_of_its_conditions),
	    cmocka_unit_test(bad_adds_are_refused),
	    cmocka_unit_test(preload_without_a_source_is_a_warning),
	    cmocka_unit_test(manifest_that_is_not_there_is_no_mistake),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
