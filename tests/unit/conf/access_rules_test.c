/* SPDX-License-Identifier: MIT */
/* [access NAME]: what its lines mean, and what is refused. */
#include "proxy/http/host.h"
#include "tests/unit/conf/load.h"

#define GATEWAY LOAD_LISTEN "access = a\n" LOAD_ORIGIN LOAD_ROUTE
#define FORWARD "[listen l]\naddress = 127.0.0.1:3128\nmode = forward\naccess = a\n"

static struct load with_rule(const char *mode, const char *line)
{
	char text[4096];
	snprintf(text, sizeof text, "%s[access a]\nusers = /u\n%s\nask = all\nallow = all\n", mode, line);
	return load_text(text);
}

static void lines_are_rules_in_the_order_of_the_file(void **state)
{
	(void)state;
	struct load load = load_fine(GATEWAY
	    "[access a]\nusers = /etc/users\ndeny = client=192.0.2.1\nallow = path=/a\nask = path=/b\n"
	    "deny = path=/c\nallow = all\n", "");
	const struct conf_access *a = load.conf->listens[0].access;
	assert_ptr_equal(a, &load.conf->accesses[0]);
	assert_string_equal(a->name, "a");
	assert_string_equal(a->users, "/etc/users");
	assert_string_equal(a->realm, "pushgate");
	static const char *const texts[] = {"deny = client=192.0.2.1", "allow = path=/a",
	    "ask = path=/b", "deny = path=/c", "allow = all"};
	static const enum conf_access_action actions[] = {CONF_ACCESS_DENY, CONF_ACCESS_ALLOW,
	    CONF_ACCESS_ASK, CONF_ACCESS_DENY, CONF_ACCESS_ALLOW};
	assert_int_equal(a->rule_count, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(a->rules[i].text, texts[i]);
		assert_int_equal(a->rules[i].action, actions[i]);
		assert_string_equal(a->rules[i].file, "test.ini");
	}
	assert_int_equal(a->rules[1].line, a->rules[0].line + 1);
	assert_int_equal(a->needs, CONF_ACCESS_USER | CONF_ACCESS_PATH);
	load_free(&load);
}

static bool has_host(const struct http_host_set *s, struct slice host)
{
	struct http_host_keys keys;
	http_host_keys_init(&keys, host, http_host_set_seed(s));
	return http_host_set_has(s, &keys);
}

static void each_condition_is_read(void **state)
{
	(void)state;
	struct load load = with_rule(FORWARD,
	    "allow = client=10.0.0.0/8,2001:db8::/32,unix  user=alice,bob\tpath=/a*,*b "
	    "method=GET,HEAD time=mon/08:00-08:02 host=A.example.,*.b.example,192.0.2.1,[::1] "
	    "address=192.168.0.0/16,global port=80,8000-8010");
	assert_string_equal(load.errors, "");
	const struct conf_access_rule *r = &load.conf->accesses[0].rules[0];
	assert_int_equal(r->clients.count, 2);
	assert_int_equal(r->clients.words, CONF_BLOCKS_UNIX);
	assert_int_equal(r->user_count, 2);
	assert_false(r->any_user);
	assert_int_equal(r->path_count, 2);
	assert_int_equal(r->method_count, 2);
	assert_int_equal(r->minutes[480 / 64] >> 480 % 64 & 7, 3);
	assert_int_equal(r->addresses.count, 1);
	assert_int_equal(r->addresses.words, CONF_BLOCKS_GLOBAL);
	assert_int_equal(r->port_count, 2);
	assert_int_equal(r->ports[0].last, 80);
	assert_int_equal(r->ports[1].first, 8000);
	assert_int_equal(r->ports[1].last, 8010);
	static const char *const in[] = {"a.example", "x.b.example", "y.x.b.example", "192.0.2.1", "::1"};
	static const char *const out[] = {"b.example", "x.a.example", "example", "192.0.2.2", "::2", "xb.example", ""};
	for (size_t i = 0; i < sizeof in / sizeof *in; i++)
		assert_true(has_host(&r->hosts, slice_of_string(in[i])));
	for (size_t i = 0; i < sizeof out / sizeof *out; i++)
		assert_false(has_host(&r->hosts, slice_of_string(out[i])));
	assert_int_equal(load.conf->accesses[0].needs,
	    CONF_ACCESS_USER | CONF_ACCESS_PATH | CONF_ACCESS_TIME | CONF_ACCESS_DESTINATION |
		CONF_ACCESS_HOST);
	load_free(&load);
}

static void words_stand_for_addresses(void **state)
{
	(void)state;
	struct load load = with_rule(FORWARD, "deny = client=ANY address=any host=* user=*");
	assert_string_equal(load.errors, "");
	const struct conf_access_rule *r = &load.conf->accesses[0].rules[0];
	assert_int_equal(r->clients.words, CONF_BLOCKS_ANY);
	assert_int_equal(r->addresses.words, CONF_BLOCKS_ANY);
	assert_true(r->any_user);
	assert_true(http_host_set_has_any(&r->hosts));
	assert_true(has_host(&r->hosts, SLICE("x")));
	load_free(&load);
}

static void what_cannot_be_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *line, *error;
	} rows[] = {
	    {"allow = host", "bad value 'host' for allow; write a value behind the '='"},
	    {"allow = host=", "write a value behind the '='"},
	    {"allow = host=,", "write a value behind the '='"},
	    {"allow = frobnicate=1", "write all, or some of client=, user=, cert=, path="},
	    {"allow = 10.0.0.0/8", "bad value '10.0.0.0/8' for allow: there is no such condition; did you mean allow = client=10.0.0.0/8?"},
	    {"allow = hosts=a", "there is no such condition; did you mean allow = host=a?"},
	    {"allow = SRC=10.0.0.0/8", "write all, or some of client=, user=, cert=, path="},
	    {"allow = cliant=10.0.0.0/8", "did you mean allow = client=10.0.0.0/8?"},
	    {"allow = dstdomain=.a.example", "write all, or some of client=, user=, cert=, path="},
	    {"allow = hostfile=x", "did you mean allow = host-file=x?"},
	    {"allow = any", "did you mean allow = all?"},
	    {"allow = none", "write all, or some of client=, user=, cert=, path="},
	    {"allow = all host=a", "write all alone, or conditions without it"},
	    {"allow = host=a host=b", "give each condition once, with commas"},
	    {"allow = client=10.0.0.1/8", "the address has bits set behind the prefix; did you mean allow = client=10.0.0.0/8?"},
	    {"allow = client=global", "not an IPv4 or IPv6 address"},
	    {"allow = address=private", "not an IPv4 or IPv6 address"},
	    {"allow = address=10.0.0.0/33", "the prefix length is not a number from 0 to 32"},
	    {"ask = user=alice", "ask is for requests whose user is not known"},
	    {"allow = user=a:b", "no name of a user has ':', '=' or '/' here"},
	    {"allow = user=bob,path=/public", "bad value 'user=bob,path=/public' for allow: conditions are separated by spaces; "
					      "did you mean allow = user=bob path=/public?"},
	    {"deny = user=bob,anna,PATH=/a,/b,host=a,b method=GET",
		"did you mean deny = user=bob,anna PATH=/a,/b host=a,b?"},
	    {"allow = user=bob,path=public", "no name of a user has"},
	    {"allow = user=bob,/public", "correct it, such as allow = user=alice,bob"},
	    {"allow = user=bob;path=/public", "no name of a user has"},
	    {"allow = user==", "no name of a user has"},
	    {"allow = host=a,method=GET", "did you mean allow = host=a method=GET?"},
	    {"allow = method=GET,path=/x", "did you mean allow = method=GET path=/x?"},
	    {"allow = path=/x,user=bob", "did you mean allow = path=/x user=bob?"},
	    {"allow = client=10.0.0.1,user=bob", "did you mean allow = client=10.0.0.1 user=bob?"},
	    {"allow = time=sat,path=/x", "did you mean allow = time=sat path=/x?"},
	    {"allow = address=10.0.0.1,port=1", "did you mean allow = address=10.0.0.1 port=1?"},
	    {"allow = port=1,host=a", "did you mean allow = port=1 host=a?"},
	    {"allow = method=get", "methods are in upper case; did you mean allow = method=GET?"},
	    {"allow = method=GET,head", "methods are in upper case; correct it, such as allow = method=GET,HEAD"},
	    {"allow = method=G:T", "not a method"},
	    {"allow = path=admin", "a path begins with '/', a pattern with '/' or '*'; did you mean allow = path=/admin?"},
	    {"allow = time=monday", "times are written mon-fri/08:00-18:00"},
	    {"allow = time=mon/8:00-9:00", "times are written"},
	    {"allow = time=mon/", "times are written"},
	    {"allow = time=/08:00-09:00", "times are written"},
	    {"allow = time=08:00", "times are written"},
	    {"allow = time=08:00-08:00", "times are written"},
	    {"allow = time=08:60-09:00", "times are written"},
	    {"allow = time=08:00-24:01", "times are written"},
	    {"allow = time=24:00-08:00", "times are written"},
	    {"allow = time=mon-", "times are written"},
	    {"allow = host=127.1", "a host is a name without a port"},
	    {"allow = host=a.example:80", "a host is a name without a port, *.NAME, an address or *; did you mean allow = host=a.example?"},
	    {"allow = host=*.127.0.0.1", "a host is a name without a port"},
	    {"allow = host=a.*.example", "a host is a name without a port"},
	    {"deny = host=.example", "an address or *; did you mean deny = host=*.example?"},
	    {"allow = port=0", "a port is a number from 1 to 65535; correct it, such as allow = port=80,8000-8999"},
	    {"allow = port=65536", "a port is a number from 1 to 65535"},
	    {"allow = port=80-", "ports are written FIRST-LAST"},
	    {"allow = port=90-80", "ports are written FIRST-LAST"},
	    {"allow =", "allow has no value"},
	    {"realm = a\"b", "write a text without quotes and backslashes"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct load load = with_rule(FORWARD, rows[i].line);
		if (load.conf || !strstr(load.errors, rows[i].error))
			fail_msg("'%s' says: %s", rows[i].line, load.errors);
		load_free(&load);
	}
}

/* Minutes of Monday 0:00, and so on. */
#define AT(day, hour, minute) ((day) * 1440u + (hour) * 60u + (minute))

static void times_are_minutes_of_a_week(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		unsigned count, first, last; /* one of them, and one */
	} rows[] = {
	    {"mon", 1440, AT(0, 0, 0), AT(0, 23, 59)},
	    {"Mon-Fri", 5 * 1440, AT(0, 0, 0), AT(4, 23, 59)},
	    {"sat-mon", 3 * 1440, AT(5, 0, 0), AT(0, 23, 59)},
	    {"mon-fri/08:00-18:00", 5 * 600, AT(2, 8, 0), AT(2, 17, 59)},
	    {"22:00-06:00", 7 * 480, AT(3, 22, 0), AT(3, 5, 59)},
	    {"sun/22:00-06:00", 480, AT(6, 22, 0), AT(0, 5, 59)},
	    {"fri/23:59-00:01", 2, AT(4, 23, 59), AT(5, 0, 0)},
	    {"00:00-24:00", 7 * 1440, AT(0, 0, 0), AT(6, 23, 59)},
	    {"tue/00:00-00:01,wed/00:00-00:01", 2, AT(1, 0, 0), AT(2, 0, 0)},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char line[128];
		unsigned count = 0;
		snprintf(line, sizeof line, "deny = user=x time=%s", rows[i].text);
		struct load load = with_rule(GATEWAY, line);
		assert_string_equal(load.errors, "");
		const uint64_t *minutes = load.conf->accesses[0].rules[0].minutes;
		for (unsigned m = 0; m < CONF_WEEK_MINUTES; m++)
			count += (unsigned)(minutes[m / 64] >> m % 64 & 1);
		assert_int_equal(count, rows[i].count);
		assert_true(minutes[rows[i].first / 64] >> rows[i].first % 64 & 1);
		assert_true(minutes[rows[i].last / 64] >> rows[i].last % 64 & 1);
		unsigned after = (rows[i].last + 1) % CONF_WEEK_MINUTES;
		if (count < CONF_WEEK_MINUTES && rows[i].count != 2)
			assert_false(minutes[after / 64] >> after % 64 & 1);
		load_free(&load);
	}
}

static void listeners_find_their_access(void **state)
{
	(void)state;
	assert_refused(LOAD_LISTEN "access = hme\n" LOAD_ORIGIN LOAD_ROUTE "[access home]\nallow = all\n",
	    "test.ini:3: there is no [access hme]; did you mean access = home?\n"
	    "test.ini:8: warning: [access home] is used by no listener; add access = home to one, or "
	    "remove the section\n");
	assert_refused(LOAD_LISTEN "access = x\n" LOAD_ORIGIN LOAD_ROUTE,
	    "test.ini:3: there is no [access x]; add the section or name another\n");
	assert_refused(GATEWAY "[access a]\nallow = port=80\n",
	    "test.ini:3: [access a] has a rule with port= at test.ini:9, but only forward mode has "
	    "destinations; give [listen l] rules without it\n");
	assert_refused(GATEWAY "[access a]\ndeny = address=10.0.0.0/8\nallow = all\n",
	    "test.ini:3: [access a] has a rule with address= at test.ini:9, but only forward mode has "
	    "destinations; give [listen l] rules without it\n");
	assert_refused(GATEWAY "[access a]\nask = all\nallow = all\n",
	    "test.ini:9: [access a] has no users, so that nobody has a name; add users = FILE\n");
	assert_refused(GATEWAY "[access a]\nallow = user=*\n",
	    "test.ini:9: [access a] has no users, so that nobody has a name; add users = FILE\n");
	struct load load = load_fine(LOAD_REST, "");
	assert_null(load.conf->listens[0].access);
	load_free(&load);
	load = load_fine("[listen l]\naddress = 127.0.0.1:3128\nmode = forward\n", "");
	assert_ptr_equal(load.conf->listens[0].access, &conf_access_built_in);
	load_free(&load);
}

static void what_does_nothing_is_a_warning(void **state)
{
	(void)state;
	struct load load = load_fine(GATEWAY "[access a]\ndeny = all\n",
	    "test.ini:8: warning: [access a] has no allow, so that every request is denied; add one\n");
	load_free(&load);
	load = load_fine(GATEWAY "[access a]\nallow = all\ndeny = path=/a\n",
	    "test.ini:10: warning: the rule is never reached, because that at test.ini:9 takes all "
	    "requests; put it before that one\n");
	load_free(&load);
	load = load_fine(FORWARD "[access a]\nallow = path=/a\ndeny = all\nallow = path=/b\n",
	    "test.ini:8: warning: the rule is never reached, because that at test.ini:7 takes all "
	    "requests; put it before that one\n");
	load_free(&load);
	/* It allows what is usual, and the next one more. */
	load = load_fine(FORWARD "[access a]\nallow = all\nallow = address=10.0.0.0/8\n", "");
	load_free(&load);
	/* What is not taken is denied anyway, so that these come too late. */
	load = load_fine(FORWARD "[access a]\nallow = all\ndeny = host=a.example\n",
	    "test.ini:7: warning: deny has no effect, because no allow is behind it, and what no line "
	    "takes is denied; put it before that at test.ini:6\n");
	load_free(&load);
	load = load_fine(FORWARD "[access a]\nusers = /u\nallow = all\nask = all\n",
	    "test.ini:8: warning: ask lets nobody in, because no allow is behind it; put it before that at "
	    "test.ini:7\n");
	load_free(&load);
	load = load_fine(FORWARD "[access a]\nallow = host=a.example\ndeny = all\n", "");
	load_free(&load);
	load = load_fine(FORWARD "[access a]\nallow = all\ndeny = host=a.example\nallow = port=8080\n", "");
	load_free(&load);
}

static void users_whom_nobody_asks_are_a_warning(void **state)
{
	(void)state;
	struct load load = load_fine(FORWARD "[access a]\nusers = /u\nallow = host=a.example\nallow = user=*\n",
	    "test.ini:8: warning: nobody is asked for a password, and browsers send none that was not asked "
	    "for; put ask = all before this line\n");
	load_free(&load);
	load = load_fine(FORWARD "[access a]\nusers = /u\nask = all\nallow = user=*\n", "");
	load_free(&load);
	load = load_fine(FORWARD "[access a]\nusers = /u\ndeny = user=bob\nallow = all\n", "");
	load_free(&load);
}

static void open_proxies_are_a_warning(void **state)
{
	(void)state;
	static const struct {
		const char *rules;
		bool warns;
	} rows[] = {
	    {"allow = client=any\n", true},
	    {"allow = client=0.0.0.0/0\n", true},
	    {"allow = client=10.0.0.0/8,::/0 address=any\n", true},
	    {"deny = path=/x\nallow = client=any port=443\n", true},
	    {"allow = all\n", false},
	    {"allow = client=any user=*\n", false},
	    {"allow = client=any host=*.example\n", false},
	    {"ask = all\nallow = client=any\n", false},
	    {"allow = client=192.0.2.0/24\n", false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[1024];
		snprintf(text, sizeof text, FORWARD "[access a]\nusers = /u\n%s", rows[i].rules);
		struct load load = load_text(text);
		assert_non_null(load.conf);
		if ((strstr(load.errors, "is an open proxy by this rule") != NULL) != rows[i].warns)
			fail_msg("%s: %s", rows[i].rules, load.errors);
		load_free(&load);
	}
	struct load gateway = load_fine(GATEWAY "[access a]\nallow = client=any\n", "");
	load_free(&gateway);
}

/* ---- host-file ---- */

#define HOSTS 100000u

static void write_file(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void host_files_are_read_whole(void **state)
{
	(void)state;
	char folder[] = "/tmp/access_test.XXXXXX", path[64], conf[64];
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/host s", folder);
	snprintf(conf, sizeof conf, "%s/a.ini", folder);
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	for (unsigned i = 1; i < HOSTS; i++)
		fprintf(out, "%sh%u.Example\n", i % 2 ? "*." : "", i);
	fclose(out);
	write_file(conf, GATEWAY "[access a]\ndeny = host=one.example \"host-file=host s\"\nallow = all\n");
	struct load load = load_file(conf, false);
	assert_string_equal(load.errors, "");
	const struct http_host_set *hosts = &load.conf->accesses[0].rules[0].hosts;
	for (unsigned i = 1; i < HOSTS; i++) {
		char name[64];
		snprintf(name, sizeof name, "%sh%u.example", i % 2 ? "x." : "", i);
		assert_true(has_host(hosts, slice_of_string(name)));
		snprintf(name, sizeof name, "%sh%u.example", i % 2 ? "" : "x.", i);
		assert_false(has_host(hosts, slice_of_string(name)));
	}
	assert_true(has_host(hosts, SLICE("one.example")));
	load_free(&load);

	write_file(path, "a.example\n127.1\n");
	load = load_file(conf, false);
	assert_non_null(strstr(load.errors, "host s:2: bad host '127.1'; write a host name without a port"));
	load_free(&load);
	write_file(path, "# nothing\n");
	load = load_file(conf, false);
	assert_non_null(strstr(load.errors, "the host-file file"));
	load_free(&load);
	unlink(path);
	load = load_file(conf, false);
	assert_non_null(strstr(load.errors, "host-file"));
	assert_null(load.conf);
	load_free(&load);
	unlink(conf);
	rmdir(folder);
}

static void a_section_has_at_most_1000_rules(void **state)
{
	(void)state;
	size_t size = 64 + sizeof GATEWAY + 1001 * sizeof "deny = path=/a\n";
	char *text = malloc(size), *at = text;
	at += sprintf(at, GATEWAY "[access a]\n");
	for (int i = 0; i < 1000; i++)
		at += sprintf(at, i < 999 ? "deny = path=/a\n" : "allow = all\n");
	struct load load = load_text(text);
	assert_non_null(load.conf);
	assert_int_equal(load.conf->accesses[0].rule_count, 1000);
	load_free(&load);
	sprintf(at, "allow = all\n");
	load = load_text(text);
	assert_non_null(strstr(load.errors, "the section has 1000 rules"));
	load_free(&load);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_are_rules_in_the_order_of_the_file),
	    cmocka_unit_test(each_condition_is_read),
	    cmocka_unit_test(words_stand_for_addresses),
	    cmocka_unit_test(what_cannot_be_is_refused),
	    cmocka_unit_test(times_are_minutes_of_a_week),
	    cmocka_unit_test(listeners_find_their_access),
	    cmocka_unit_test(what_does_nothing_is_a_warning),
	    cmocka_unit_test(users_whom_nobody_asks_are_a_warning),
	    cmocka_unit_test(open_proxies_are_a_warning),
	    cmocka_unit_test(host_files_are_read_whole),
	    cmocka_unit_test(a_section_has_at_most_1000_rules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
