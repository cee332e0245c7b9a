/* SPDX-License-Identifier: MIT */
/* The options of [origin] that say which server gets a request: what they become, and their mistakes. */
#include "proxy/limits.h"
#include "tests/unit/conf/load.h"


static struct load origin(const char *options)
{
	char text[1024];
	snprintf(text, sizeof text, LOAD_LISTEN LOAD_ORIGIN "%s" LOAD_ROUTE, options);
	return load_text(text);
}

static void nothing_is_given(void **state)
{
	(void)state;
	struct load load = origin("");
	const struct conf_balance *b = &load.conf->origins[0].balance;
	assert_int_equal(b->kind, CONF_BALANCE_LEAST);
	assert_int_equal(b->hash, CONF_HASH_OFF);
	assert_int_equal(b->slow_start, 0);
	assert_null(b->affinity_cookie);
	load_free(&load);
}

static void each_key_is_read(void **state)
{
	(void)state;
	static const struct {
		const char *value;
		enum conf_hash hash;
		const char *name;
		enum http_token token;
	} rows[] = {
	    {"off", CONF_HASH_OFF, "", HTTP_TOKEN_NONE},
	    {"client", CONF_HASH_CLIENT, "", HTTP_TOKEN_NONE},
	    {"Path", CONF_HASH_PATH, "", HTTP_TOKEN_NONE},
	    {"cookie Session", CONF_HASH_COOKIE, "Session", HTTP_TOKEN_NONE},
	    {"header  X-Tenant", CONF_HASH_HEADER, "x-tenant", HTTP_TOKEN_NONE},
	    {"header User-Agent", CONF_HASH_HEADER, "user-agent", HTTP_TOKEN_USER_AGENT},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char line[100];
		snprintf(line, sizeof line, "hash = %s\n", rows[i].value);
		struct load load = origin(line);
		assert_non_null(load.conf);
		const struct conf_balance *b = &load.conf->origins[0].balance;
		assert_int_equal(b->hash, rows[i].hash);
		assert_true(slice_equal(b->hash_name, slice_of_string(rows[i].name)));
		assert_int_equal(b->hash_token, rows[i].token);
		load_free(&load);
	}
}

static void the_rest_is_read(void **state)
{
	(void)state;
	struct load load =
	    origin("balance = round-robin\nslow-start = 30s\naffinity-cookie = srv\n");
	assert_non_null(load.conf);
	const struct conf_balance *b = &load.conf->origins[0].balance;
	assert_int_equal(b->kind, CONF_BALANCE_ROUND_ROBIN);
	assert_int_equal(b->slow_start, 30 * USEC_PER_SEC);
	assert_string_equal(b->affinity_cookie, "srv");
	load_free(&load);
}

static void refused(const char *options, const char *message)
{
	struct load load = origin(options);
	assert_null(load.conf);
	if (!strstr(load.errors, message))
		fail_msg("%s: %s", options, load.errors);
	load_free(&load);
}

static void mistakes_say_what_would_be_right(void **state)
{
	(void)state;
	static const char *const hashes[] = {
	    "clients", "cookie", "header", "client x", "cookie a=b", "header :path", "cookie a b"};
	for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
		char line[64], message[200];
		snprintf(line, sizeof line, "hash = %s\n", hashes[i]);
		snprintf(message, sizeof message, "bad value '%s' for hash; write off, client, path, "
						  "cookie NAME or header NAME",
		    hashes[i]);
		refused(line, message);
	}
	refused("balance = random\n", "bad value 'random' for balance; write least or round-robin");
	refused("affinity-cookie = a;b\n",
	    "bad value 'a;b' for affinity-cookie; write off or a cookie's name");
	refused("balance = least\nhash = path\n",
	    "hash says which server gets a request, and so does balance; remove one of them");
	refused("hash = cookie a\naffinity-cookie = a\n",
	    "hash and affinity-cookie have the same cookie, and it is pushgate's; let hash name a "
	    "cookie of the origin's");
	refused("affinity-cookie = a\n[server]\ndiary-cookie = a\ndiary-cookie-key = k\n",
	    "affinity-cookie has the name of diary-cookie in [server]; choose another");
}

/* The tables of a balance have room for so many. */
static void an_origin_has_a_bounded_number_of_servers(void **state)
{
	(void)state;
	char *text;
	size_t size;
	for (unsigned most = LIMIT_SERVERS; most <= LIMIT_SERVERS + 1; most++) {
		FILE *out = open_memstream(&text, &size);
		fputs(LOAD_LISTEN LOAD_ROUTE "[origin o]\n", out);
		for (unsigned i = 0; i < most; i++)
			fprintf(out, "server = http://127.0.0.1:%u\n", 1 + i);
		fclose(out);
		struct load load = load_text(text);
		if (most == LIMIT_SERVERS)
			assert_non_null(load.conf);
		else
			assert_string_equal(load.errors, "test.ini:1030: an origin has at most 1024 servers; add an [origin]\n");
		load_free(&load);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_given),
	    cmocka_unit_test(each_key_is_read),
	    cmocka_unit_test(the_rest_is_read),
	    cmocka_unit_test(mistakes_say_what_would_be_right),
	    cmocka_unit_test(an_origin_has_a_bounded_number_of_servers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
