/* SPDX-License-Identifier: MIT */
/* [routes]: what routes take from it, what they do not take, and what is said of it. */
#include "tests/unit/conf/load.h"
#include <unistd.h>

/* Four lines; [routes] begins in line 5. */
#define TOP "[listen l]\naddress = 127.0.0.1:1\n[origin a]\nserver = http://127.0.0.1:2\n"
#define FORWARD "[listen f]\naddress = 127.0.0.1:3\nmode = forward\naccess = x\n[access x]\nallow = all\n"

static const struct conf_route *route_of(const struct load *load, const char *name)
{
	for (size_t i = 0; i < load->conf->route_count; i++)
		if (strcmp(load->conf->routes[i].name, name) == 0)
			return &load->conf->routes[i];
	fail_msg("no route %s", name);
	return NULL;
}

static void routes_take_what_they_do_not_say(void **state)
{
	(void)state; /* covers: R499 */
	struct load load = load_fine(TOP "[routes]\norigin = a\nhost = a.example b.example\nupgrade = websocket\n"
					 "forwarded = remove\nretry-on = off\nretries = 2\ntunnel-age = 2h\nlimit-requests = 5/s\n"
					 "[route plain]\n"
					 "[route own]\nhost = c.example\nupgrade = x y\nforwarded = keep\ntunnel-age = 0\n"
					 "limit-requests = 7/s\nlimit-requests = 9/s by=all\n",
	    "");
	const struct conf_route *plain = route_of(&load, "plain"), *own = route_of(&load, "own");
	assert_string_equal(plain->origin->name, "a");
	assert_string_equal(plain->origin_text, "a");
	assert_int_equal(plain->host_count, 2);
	assert_int_equal(plain->upgrade_count, 1);
	assert_int_equal(plain->forwarded, CONF_FORWARDED_REMOVE);
	assert_false(plain->retry_on.lost);
	assert_int_equal(plain->tunnel_age, 7200 * USEC_PER_SEC);
	assert_int_equal(plain->request_limit_count, 1);
	assert_string_equal(own->origin->name, "a");
	assert_int_equal(own->host_count, 1);
	assert_true(slice_equal(own->hosts[0], SLICE("c.example")));
	assert_int_equal(own->upgrade_count, 2);
	assert_int_equal(own->forwarded, CONF_FORWARDED_KEEP);
	assert_int_equal(own->tunnel_age, 0);
	assert_int_equal(own->request_limit_count, 2);
	assert_int_equal(load.conf->request_limit_count, 3);
	for (size_t i = 0; i < 2; i++)
		assert_true(own->request_limits[i].index < 3 && own->request_limits[i].index != plain->request_limits[0].index);
	assert_true(load.conf->listens[0].takes_tunnels);
	load_free(&load);
}

static void the_section_may_stand_behind_its_routes(void **state)
{
	(void)state;
	struct load load = load_fine(TOP "[route r]\norigin = a\n[routes]\nupgrade = websocket\n", "");
	assert_int_equal(load.conf->routes[0].upgrade_count, 1);
	load_free(&load);
}

static void a_line_without_value_takes_a_default_away(void **state)
{
	(void)state;
	struct load load = load_fine(TOP "[routes]\norigin = a\nupgrade = websocket\nresponse-timeout = 5s\n"
					 "[route r]\npath = /r\nupgrade =\nresponse-timeout =\n[route s]\n",
	    "");
	assert_int_equal(load.conf->routes[0].upgrade_count, 0);
	assert_int_equal(load.conf->routes[0].response_timeout, 0);
	assert_int_equal(load.conf->routes[1].upgrade_count, 1);
	load_free(&load);
	assert_refused(TOP "[routes]\nretries = 1\n[route r]\norigin = a\nupgrade =\n",
	    "test.ini:9: upgrade has no value; remove the line or give one, such as upgrade = websocket\n");
	assert_refused(TOP "[routes]\norigin = a\n[route r]\norigin =\n",
	    "test.ini:8: origin has no value; remove the line or give one, such as origin = app\n");
	assert_refused(TOP "[routes]\nupgrade =\n[route r]\norigin = a\n",
	    "test.ini:6: upgrade has no value; remove the line or give one, such as upgrade = websocket\n");
}

static void assert_field(const struct conf_fields *f, size_t i, enum conf_field_change change, struct slice name)
{
	assert_true(i < f->count);
	assert_int_equal(f->fields[i].change, change);
	assert_true(slice_equal(f->fields[i].name, name));
}

static void fields_of_the_defaults_come_first(void **state)
{
	(void)state;
	struct load load = load_fine(TOP "[route r]\norigin = a\nrequest-set = X-A: 1\nresponse-add = X-B: 1\n"
					 "[routes]\nrequest-remove = X-A\nrequest-set = X-C: 2\nresponse-remove = X-B\n",
	    "test.ini:11: warning: no route takes this request-set: each has its own or is for mode = forward; remove it\n");
	const struct conf_route *r = load.conf->routes;
	assert_int_equal(r->request_fields.count, 2);
	assert_field(&r->request_fields, 0, CONF_FIELD_REMOVE, SLICE("x-a"));
	assert_field(&r->request_fields, 1, CONF_FIELD_SET, SLICE("x-a"));
	assert_int_equal(r->response_fields.count, 2);
	assert_field(&r->response_fields, 0, CONF_FIELD_REMOVE, SLICE("x-b"));
	assert_field(&r->response_fields, 1, CONF_FIELD_ADD, SLICE("x-b"));
	load_free(&load);
}

/* A list may come from a file: either way of giving it replaces the default. */
static void a_list_from_a_file_stands_for_the_list(void **state)
{
	(void)state;
	char folder[] = "/tmp/defaults.XXXXXX", hosts[64], text[600];
	assert_non_null(mkdtemp(folder));
	snprintf(hosts, sizeof hosts, "%s/hosts", folder);
	FILE *f = fopen(hosts, "w");
	assert_non_null(f);
	fputs("x.example\ny.example\n", f);
	fclose(f);
	snprintf(text, sizeof text, TOP "[routes]\norigin = a\nhost = a.example\npath = /a\n[route r]\nhost-file = %s\n[route s]\npath = /b\n"
				       "[route t]\npath = /c\n", hosts);
	struct load load = load_bytes(slice_of_string(text), true);
	assert_non_null(load.conf);
	assert_int_equal(route_of(&load, "r")->host_count, 2);
	assert_true(slice_equal(route_of(&load, "r")->paths[0], SLICE("/a")));
	assert_int_equal(route_of(&load, "s")->host_count, 1);
	assert_int_equal(route_of(&load, "s")->path_count, 1);
	assert_true(slice_equal(route_of(&load, "s")->paths[0], SLICE("/b")));
	load_free(&load);
	unlink(hosts);
	rmdir(folder);
}

static void defaults_that_a_route_cannot_use_are_no_mistake(void **state)
{
	(void)state;
	struct load load = load_fine(TOP "[routes]\norigin = a\nupgrade = websocket\nretries = 1\nrewrite = /app /\nsubscription = no\n"
					 "request-timeout = 5s\n"
					 "[route r]\npath = /app\n[route old]\npath = /old\nredirect = /new\n[route gone]\npath = "
					 "/gone\nanswer = 410\n[route z]\npath = /z\n",
	    "test.ini:8: warning: retries has no effect in any route (in [route z], because its origin has one server, and a request is not "
	    "sent to the same one again); remove it\n");
	assert_true(route_of(&load, "r")->rewrite.is_given);
	assert_false(route_of(&load, "z")->rewrite.is_given);
	assert_int_equal(route_of(&load, "old")->side_count, 0);
	assert_int_equal(route_of(&load, "gone")->answer.status, 410);
	load_free(&load);
	load = load_fine(TOP "[routes]\nanswer = 503\n[route r]\npath = /r\n[route s]\npath = /s\norigin = a\n", "");
	assert_int_equal(load.conf->routes[0].answer.status, 503);
	assert_int_equal(load.conf->routes[1].answer.status, 0);
	load_free(&load);
}

/* What is meant for an origin must not go to every host. */
static void routes_of_forward_mode_take_none(void **state)
{
	(void)state;
	struct load load = load_fine(TOP FORWARD "[origin every]\nserver = forward:\n"
						 "[routes]\norigin = a\nhost = a.example\nrequest-set = X-Key: secret\nforwarded = append\n"
						 "[route r]\n[route f]\norigin = every\n",
	    "");
	assert_int_equal(route_of(&load, "r")->request_fields.count, 1);
	assert_int_equal(route_of(&load, "f")->request_fields.count, 0);
	assert_int_equal(route_of(&load, "f")->host_count, 0);
	assert_int_equal(route_of(&load, "f")->forwarded, CONF_FORWARDED_AUTO);
	load_free(&load);
	load = load_fine(TOP FORWARD "[routes]\norigin = a\nhost = a.example\nrequest-set = X-Key: secret\n[route r]\n", "");
	assert_int_equal(route_of(&load, "forward")->request_fields.count, 0);
	assert_int_equal(route_of(&load, "forward")->host_count, 0);
	load_free(&load);
	assert_refused(TOP FORWARD "[origin every]\nserver = forward:\n[routes]\norigin = every\n[route r]\n[route s]\npath = /s\n",
	    "test.ini:14: an origin with server = forward: is no default, because it is for listeners with mode = forward alone; "
	    "name it in a [route NAME]\n");
	load = load_fine(FORWARD "[routes]\nupgrade = websocket\n",
	    "test.ini:8: warning: no route takes this upgrade: each has its own or is for mode = forward; remove it\n");
	load_free(&load);
}

static void mistakes_are_told_once(void **state)
{
	(void)state;
	assert_refused(TOP "[routes]\nretries = 99\norigin = b\nupgrde = x\n[route r]\n[route s]\npath = /s\n",
	    "test.ini:6: bad value '99' for retries; give a whole number from 0 to 7, such as retries = 1\n"
	    "test.ini:8: [routes] has no option 'upgrde'; did you mean 'upgrade'?\n"
	    "test.ini:7: there is no [origin b]; did you mean origin = a?\n");
	assert_refused(TOP "[routes]\norigin = a\nredirect = /x\n[route r]\n",
	    "test.ini:7: [routes] has origin and redirect; keep one of them\n");
	assert_refused(TOP "[routes]\nretries = 1\nretries = 2\n[routes]\nretries = 3\n[route r]\norigin = a\n",
	    "test.ini:7: duplicate option 'retries', first at test.ini:6; remove one of them\n"
	    "test.ini:8: duplicate section [routes], first at test.ini:5; put its options there\n");
	assert_refused(TOP "[routes]\nretries = 1\n[route r]\n",
	    "test.ini:7: [route r] has no origin; add a line such as origin = a\n");
	assert_refused(TOP "[routes app]\norigin = a\n[route r]\norigin = a\n",
	    "test.ini:5: [routes] takes no name; write [routes], or for one route [route app]\n");
	assert_refused(TOP "[rotes]\n[route r]\norigin = a\n",
	    "test.ini:5: unknown section [rotes]; did you mean [routes]?\n");
}

/* Vary names the fields that conditions of routes look at: those of defaults that a route takes. */
static void conditions_may_be_defaults(void **state)
{
	(void)state;
	struct load load = load_fine(TOP "[routes]\norigin = a\nfield = X-T: 1\nmethod = GET\n[route r]\n[route all]\nfield =\nmethod =\n", "");
	assert_true(slice_equal(load.conf->condition_fields, SLICE("x-t")));
	assert_true(conf_route_has_conditions(&load.conf->routes[0]));
	assert_false(conf_route_has_conditions(&load.conf->routes[1]));
	load_free(&load);
	load = load_fine(TOP "[routes]\norigin = a\nfield = X-T: 1\n[route r]\nfield = X-U\n",
	    "test.ini:7: warning: no route takes this field: each has its own or is for mode = forward; remove it\n");
	assert_true(slice_equal(load.conf->condition_fields, SLICE("x-u")));
	load_free(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(routes_take_what_they_do_not_say),
	    cmocka_unit_test(the_section_may_stand_behind_its_routes),
	    cmocka_unit_test(a_line_without_value_takes_a_default_away),
	    cmocka_unit_test(fields_of_the_defaults_come_first),
	    cmocka_unit_test(a_list_from_a_file_stands_for_the_list),
	    cmocka_unit_test(defaults_that_a_route_cannot_use_are_no_mistake),
	    cmocka_unit_test(routes_of_forward_mode_take_none),
	    cmocka_unit_test(mistakes_are_told_once),
	    cmocka_unit_test(conditions_may_be_defaults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
