/* SPDX-License-Identifier: MIT */
/* What the balance is asked about a request: the key of each kind of hash, and the server of its cookie. */
#include "proxy/upstream/destination.h"
#include "proxy/upstream/destination.h"
#include "tests/unit/http/heads.h"

static struct address client(const char *text)
{
	struct address a = {0};
	if (text)
		assert_true(address_parse(slice_of_string(text), &a));
	return a;
}

struct asked {
	const char *origin;
	struct conf_balance balance;
	struct address client;
	const char *path, *authority;
};

static struct balance_question ask(const struct asked *a, struct http_head *head)
{
	struct conf_origin origin = {.name = a->origin ? a->origin : "o", .balance = a->balance};
	struct destination d = {.origin.conf = &origin};
	struct exchange x = {.request = head, .facts = {.head = head, .client = a->client}};
	struct balance_member parent = {.id = 5};
	struct balance_question q = {.preferred = &parent};
	attempt_of(&x)->affinity = 77;
	if (a->path)
		head->path = slice_of_string(a->path);
	if (a->authority)
		head->authority = slice_of_string(a->authority);
	balance_ask(&d, &x, &q);
	assert_int_equal(q.affinity, 77);
	assert_ptr_equal(q.preferred, &parent);
	q.preferred = NULL;
	http_head_free(head);
	return q;
}

static uint64_t hash(const struct asked *a, struct http_head *head)
{
	struct balance_question q = ask(a, head);
	assert_true(q.has_hash);
	return q.hash;
}

static void without_a_hash_nothing_is_asked(void **state)
{
	(void)state;
	assert_false(ask(&(struct asked){.client = client("192.0.2.1")}, REQUEST("a: b")).has_hash);
}

static void clients_are_told_apart_by_address(void **state)
{
	(void)state;
	struct asked a = {.balance = {.hash = CONF_HASH_CLIENT}, .client = client("192.0.2.1")};
	struct asked b = a, one = a, neighbour = a, other = a, unix = a, unknown = a;
	b.client = client("192.0.2.2");
	one.client = client("2001:db8:1:2::1");
	neighbour.client = client("2001:db8:1:2:ffff::2");
	other.client = client("2001:db8:1:3::1");
	unix.client = client(NULL);
	unknown.client = (struct address){.family = ADDRESS_UNKNOWN};
	assert_int_equal(hash(&a, REQUEST("a: b")), hash(&a, REQUEST("c: d")));
	assert_int_not_equal(hash(&a, REQUEST("a: b")), hash(&b, REQUEST("a: b")));
	assert_int_equal(hash(&one, REQUEST("a: b")), hash(&neighbour, REQUEST("a: b")));
	assert_int_not_equal(hash(&one, REQUEST("a: b")), hash(&other, REQUEST("a: b")));
	assert_false(ask(&unix, REQUEST("a: b")).has_hash);
	assert_false(ask(&unknown, REQUEST("a: b")).has_hash);
}

static void the_query_is_no_part_of_the_path(void **state)
{
	(void)state;
	struct asked a = {.balance = {.hash = CONF_HASH_PATH}, .path = "/a/b"};
	struct asked query = a, other = a;
	query.path = "/a/b?c";
	other.path = "/a/b/";
	assert_int_equal(hash(&a, REQUEST("a: b")), hash(&query, REQUEST("a: b")));
	assert_int_not_equal(hash(&a, REQUEST("a: b")), hash(&other, REQUEST("a: b")));
}

static void the_cookie_counts_wherever_it_stands(void **state)
{
	(void)state;
	struct asked a = {.balance = {.hash = CONF_HASH_COOKIE, .hash_name = SLICE("sid")}};
	uint64_t key = hash(&a, REQUEST("cookie: sid=1"));
	assert_int_equal(hash(&a, REQUEST("cookie: a=b; sid=1 ;c=d")), key);
	assert_int_equal(hash(&a, REQUEST("cookie: a=b", "x: y", "cookie: sid=1")), key);
	assert_int_not_equal(hash(&a, REQUEST("cookie: sid=2")), key);
	assert_false(ask(&a, REQUEST("cookie: asid=1; SID=1; sid", "x: sid=1")).has_hash);
}

static void the_field_is_found_by_name(void **state)
{
	(void)state;
	struct asked known = {.balance = {.hash = CONF_HASH_HEADER,
				  .hash_name = SLICE("user-agent"),
				  .hash_token = HTTP_TOKEN_USER_AGENT}};
	struct asked other = {
	    .balance = {.hash = CONF_HASH_HEADER, .hash_name = SLICE("x-tenant")}};
	struct asked host = {.balance = {.hash = CONF_HASH_HEADER,
				 .hash_name = SLICE("host"),
				 .hash_token = HTTP_TOKEN_HOST},
	    .authority = "a.example"};
	uint64_t key = hash(&other, REQUEST("x-tenant: t"));
	assert_int_equal(hash(&known, REQUEST("a: b", "user-agent: t")), key);
	assert_int_not_equal(hash(&known, REQUEST("user-agent: u")), key);
	assert_false(ask(&other, REQUEST("x-tenants: t")).has_hash);
	key = hash(&host, REQUEST("a: b"));
	host.authority = "b.example";
	assert_int_not_equal(hash(&host, REQUEST("a: b")), key);
}

static void origins_have_keys_of_their_own(void **state)
{
	(void)state;
	struct asked a = {.balance = {.hash = CONF_HASH_PATH}, .path = "/a", .origin = "one"};
	struct asked b = a;
	b.origin = "other";
	assert_int_not_equal(hash(&a, REQUEST("a: b")), hash(&b, REQUEST("a: b")));
	const struct conf_origin one = {.name = "one"}, other = {.name = "other"};
	uint64_t key = balance_member_key(&one, SLICE("192.0.2.1:80"));
	assert_int_equal(balance_member_key(&one, SLICE("192.0.2.1:80")), key);
	assert_int_not_equal(balance_member_key(&one, SLICE("192.0.2.1:81")), key);
	assert_int_not_equal(balance_member_key(&other, SLICE("192.0.2.1:80")), key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(without_a_hash_nothing_is_asked),
	    cmocka_unit_test(clients_are_told_apart_by_address),
	    cmocka_unit_test(the_query_is_no_part_of_the_path),
	    cmocka_unit_test(the_cookie_counts_wherever_it_stands),
	    cmocka_unit_test(the_field_is_found_by_name),
	    cmocka_unit_test(origins_have_keys_of_their_own),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
