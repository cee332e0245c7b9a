/* SPDX-License-Identifier: MIT */
/* Queries and answers of the DNS, byte by byte. */
#include "tests/unit/names/dns_rig.h"

static struct dns_answer answer;
static struct wire m;

static void read_as(const char *host, enum dns_type type)
{
	const struct dns_question q = {host, type, 7};
	dns_read_answer(slice_of(m.bytes, m.length), &q, &answer);
}

static void assert_failed(const char *error)
{
	assert_int_equal(answer.outcome, DNS_FAILED);
	assert_string_equal(answer.error, error);
}

static void query_has_id_question_and_recursion(void **state)
{
	(void)state;
	uint8_t bytes[DNS_UDP_BYTES];
	const struct dns_question q = {"www.test", DNS_AAAA, 0x1234};
	static const uint8_t want[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\3www\4test\0\0\x1c\0\1";
	assert_int_equal(dns_write_query(&q, bytes), sizeof(want) - 1);
	assert_memory_equal(bytes, want, sizeof(want) - 1);
	/* RFC 7686: not for the DNS. */
	const struct dns_question onion = {"a.onion", DNS_A, 1};
	assert_int_equal(dns_write_query(&onion, bytes), 0);
}

static void names_are_lower_case_and_have_good_labels(void **state)
{
	(void)state;
	char out[DNS_NAME_BYTES], label[80], whole[300] = "";
	assert_true(dns_name_copy(SLICE("_HTTP._tcp.Example-1.test."), out));
	assert_string_equal(out, "_http._tcp.example-1.test");
	static const char *const bad[] = {"", ".", "a..b", ".a", "a b", "a\\.b", "caf\xc3\xa9", "a/b", "a.."};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(dns_name_copy(slice_of_string(bad[i]), out));
	memset(label, 'a', sizeof(label));
	assert_true(dns_name_copy(slice_of(label, 63), out));
	assert_false(dns_name_copy(slice_of(label, 64), out));
	for (unsigned i = 0; i < 26; i++)
		strcat(whole, "abcdefghi.");
	assert_false(dns_name_copy(slice_of(whole, 254), out));
	assert_true(dns_name_copy(slice_of(whole, 250), out));
}

static void addresses_come_sorted_and_once(void **state)
{
	(void)state;
	put_question(&m, 7, 0x8180, "WWW.test", DNS_A);
	put_address(&m, "www.test", 60, "192.0.2.9");
	put_address(&m, "www.test", 30, "192.0.2.1");
	put_address(&m, "www.test", 90, "192.0.2.9");
	put_address(&m, "other.test", 1, "192.0.2.77");
	put_address(&m, "www.test", 1, "2001:db8::1");
	read_as("www.test", DNS_A);
	assert_int_equal(answer.outcome, DNS_ANSWERED);
	assert_int_equal(answer.count, 2);
	assert_string_equal(show_address(&answer.addresses[0]), "192.0.2.1");
	assert_string_equal(show_address(&answer.addresses[1]), "192.0.2.9");
	assert_int_equal(answer.ttl, 30);
}

/* covers: R430 */
static void another_id_question_type_or_direction_is_foreign(void **state)
{
	(void)state;
	static const struct {
		unsigned id, flags;
		const char *name;
		unsigned type;
	} rows[] = {{8, 0x8180, "www.test", DNS_A}, {7, 0x0100, "www.test", DNS_A},
	    {7, 0xa980, "www.test", DNS_A}, {7, 0x8180, "vww.test", DNS_A},
	    {7, 0x8180, "www.test", DNS_AAAA}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_question(&m, rows[i].id, rows[i].flags, rows[i].name, rows[i].type);
		put_address(&m, "www.test", 1, "192.0.2.1");
		read_as("www.test", DNS_A);
		assert_int_equal(answer.outcome, DNS_FOREIGN);
	}
	put_question(&m, 7, 0x8180, "www.test", DNS_A);
	for (size_t length = 0; length < 26; length++) {
		m.length = length;
		read_as("www.test", DNS_A);
		assert_int_equal(answer.outcome, DNS_FOREIGN);
	}
	put_question(&m, 7, 0x8180, "www.test", DNS_A);
	m.bytes[5] = 2; /* two questions */
	read_as("www.test", DNS_A);
	assert_int_equal(answer.outcome, DNS_FOREIGN);
	put_question(&m, 7, 0x8180, "www.test", DNS_A);
	m.bytes[m.length - 1] = 3; /* another class */
	read_as("www.test", DNS_A);
	assert_int_equal(answer.outcome, DNS_FOREIGN);
}

static void codes_have_their_meaning(void **state)
{
	(void)state;
	static const struct {
		unsigned code;
		const char *error;
	} rows[] = {{1, "the resolver does not understand the query"},
	    {2, "the resolver has failed (SERVFAIL)"},
	    {4, "the resolver does not answer such queries"}, {5, "the resolver refuses to answer"},
	    {9, "the resolver answers with an unknown code"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_question(&m, 7, 0x8180 | rows[i].code, "www.test", DNS_A);
		read_as("www.test", DNS_A);
		assert_failed(rows[i].error);
		/* Whatever its sections hold. */
		put_question(&m, 7, 0x8180 | rows[i].code, "www.test", DNS_A);
		put_address(&m, "www.test", 60, "192.0.2.1");
		read_as("www.test", DNS_A);
		assert_failed(rows[i].error);
		assert_int_equal(answer.count, 0);
	}
	put_question(&m, 7, 0x8380, "www.test", DNS_A);
	read_as("www.test", DNS_A);
	assert_int_equal(answer.outcome, DNS_TRUNCATED);
}

/* covers: R434 */
static void negative_answer_has_the_lesser_ttl_of_the_soa(void **state)
{
	(void)state;
	put_question(&m, 7, 0x8183, "www.test", DNS_A);
	put_soa(&m, 300, 20);
	read_as("www.test", DNS_A);
	assert_int_equal(answer.outcome, DNS_NEGATIVE);
	assert_string_equal(answer.error, "there is no such name");
	assert_int_equal(answer.ttl, 20);
	put_question(&m, 7, 0x8180, "www.test", DNS_AAAA);
	put_soa(&m, 10, 20);
	read_as("www.test", DNS_AAAA);
	assert_int_equal(answer.outcome, DNS_NEGATIVE);
	assert_string_equal(answer.error, "the name has no address");
	assert_int_equal(answer.ttl, 10);
	put_question(&m, 7, 0x8180, "www.test", DNS_SRV);
	read_as("www.test", DNS_SRV);
	assert_string_equal(answer.error, "the name has no SRV record");
	assert_int_equal(answer.ttl, UINT32_MAX);
}

/* covers: R434. Records in an answer that says there is no such name are not of that name; an alias may lead there. */
static void answer_without_the_name_gives_no_record(void **state)
{
	(void)state;
	for (unsigned code = 1; code < 16; code++) {
		put_question(&m, 7, 0x8180 | code, "www.test", DNS_A);
		put_alias(&m, "www.test", 60, "b.test");
		put_address(&m, "www.test", 60, "192.0.2.1");
		put_address(&m, "b.test", 60, "192.0.2.2");
		read_as("www.test", DNS_A);
		assert_int_equal(answer.outcome, code == 3 ? DNS_NEGATIVE : DNS_FAILED);
		assert_int_equal(answer.count, 0);
	}
	put_question(&m, 7, 0x8183, "www.test", DNS_A);
	put_alias(&m, "www.test", 3, "b.test");
	put_soa(&m, 300, 20);
	read_as("www.test", DNS_A);
	assert_int_equal(answer.outcome, DNS_NEGATIVE);
	assert_string_equal(answer.error, "there is no such name");
	assert_int_equal(answer.ttl, 20);
}

/* covers: R433 */
static void aliases_are_followed_in_any_order(void **state)
{
	(void)state;
	put_question(&m, 7, 0x8180, "a.test", DNS_A);
	put_address(&m, "c.test", 60, "192.0.2.3");
	put_alias(&m, "B.test", 5, "c.test");
	put_alias(&m, "a.test", 50, "b.TEST");
	read_as("a.test", DNS_A);
	assert_int_equal(answer.outcome, DNS_ANSWERED);
	assert_int_equal(answer.count, 1);
	assert_int_equal(answer.ttl, 5);
	/* Its end has no address. */
	put_question(&m, 7, 0x8180, "a.test", DNS_A);
	put_alias(&m, "a.test", 50, "b.test");
	put_soa(&m, 9, 9);
	read_as("a.test", DNS_A);
	assert_int_equal(answer.outcome, DNS_NEGATIVE);
	assert_int_equal(answer.ttl, 9);
}

/* covers: R433 */
static void aliases_that_loop_or_lead_nowhere_fail(void **state)
{
	(void)state;
	put_question(&m, 7, 0x8180, "a.test", DNS_A);
	put_alias(&m, "a.test", 1, "b.test");
	put_alias(&m, "b.test", 1, "a.test");
	read_as("a.test", DNS_A);
	assert_failed("the chain of aliases is too long, or loops");
	put_question(&m, 7, 0x8180, "n0.test", DNS_A);
	for (unsigned i = 0; i < LIMIT_CNAME_CHAIN; i++) {
		char from[16], to[16];
		snprintf(from, sizeof(from), "n%u.test", i);
		snprintf(to, sizeof(to), "n%u.test", i + 1);
		put_alias(&m, from, 1, to);
	}
	put_address(&m, "n16.test", 1, "192.0.2.1");
	read_as("n0.test", DNS_A);
	assert_failed("the chain of aliases is too long, or loops");
	m.bytes[13 + 1] = '1'; /* one alias less */
	read_as("n1.test", DNS_A);
	assert_int_equal(answer.outcome, DNS_ANSWERED);
	put_question(&m, 7, 0x8180, "a.test", DNS_A);
	put_alias(&m, "a.test", 1, "b c");
	read_as("a.test", DNS_A);
	assert_failed("an alias leads to something that is no name");
}

/* covers: R436 */
static void services_come_by_priority_with_the_ttl_of_the_answer(void **state)
{
	(void)state;
	put_question(&m, 7, 0x8180, "_http._tcp.test", DNS_SRV);
	put_service(&m, "_http._tcp.test", 40, 2, 1, 8080, "B.test");
	put_service(&m, "_http._tcp.test", 30, 1, 5, 80, "z.test");
	put_service(&m, "_http._tcp.test", 30, 1, 7, 81, "a.test");
	put_service(&m, "_http._tcp.test", 30, 1, 7, 0, "port0.test");
	put_service(&m, "_http._tcp.test", 30, 1, 7, 80, "");
	read_as("_http._tcp.test", DNS_SRV);
	assert_int_equal(answer.outcome, DNS_ANSWERED);
	assert_int_equal(answer.count, 3);
	assert_string_equal(answer.targets[0].host, "a.test");
	assert_int_equal(answer.targets[0].port, 81);
	assert_int_equal(answer.targets[0].weight, 7);
	assert_string_equal(answer.targets[1].host, "z.test");
	assert_string_equal(answer.targets[2].host, "b.test");
	assert_int_equal(answer.targets[2].priority, 2);
	assert_int_equal(answer.ttl, 30);
	/* RFC 2782: the service is decidedly not there. */
	put_question(&m, 7, 0x8180, "_http._tcp.test", DNS_SRV);
	put_service(&m, "_http._tcp.test", 30, 0, 0, 0, "");
	read_as("_http._tcp.test", DNS_SRV);
	assert_int_equal(answer.outcome, DNS_NEGATIVE);
}

static void what_is_too_much_is_left_out(void **state)
{
	(void)state;
	put_question(&m, 7, 0x8180, "a.test", DNS_A);
	for (unsigned i = LIMIT_NAME_ADDRESSES + 10; i > 0; i--) {
		char text[32];
		snprintf(text, sizeof(text), "192.0.2.%u", i);
		put_address(&m, "a.test", 1, text);
	}
	read_as("a.test", DNS_A);
	assert_int_equal(answer.count, LIMIT_NAME_ADDRESSES);
	assert_string_equal(show_address(&answer.addresses[0]), "192.0.2.1");
	assert_string_equal(show_address(&answer.addresses[LIMIT_NAME_ADDRESSES - 1]), "192.0.2.64");
	put_question(&m, 7, 0x8180, "a.test", DNS_A);
	for (unsigned i = 0; i < 1500; i++)
		put_address(&m, i < LIMIT_DNS_RECORDS ? "b.test" : "a.test", 1, "192.0.2.1");
	read_as("a.test", DNS_A);
	assert_int_equal(answer.outcome, DNS_NEGATIVE);
}

static void every_cut_is_malformed_or_foreign(void **state)
{
	(void)state;
	put_question(&m, 7, 0x8180, "a.test", DNS_A);
	size_t question = m.length;
	put_alias(&m, "a.test", 1, "b.test");
	put_address(&m, "b.test", 1, "192.0.2.1");
	put_soa(&m, 9, 9);
	size_t whole = m.length;
	for (size_t length = question; length < whole; length++) {
		m.length = length;
		read_as("a.test", DNS_A);
		assert_failed("the answer of the resolver is malformed");
	}
	m.length = whole;
	read_as("a.test", DNS_A);
	assert_int_equal(answer.outcome, DNS_ANSWERED);
	/* A name that points at itself. */
	put_question(&m, 7, 0x8180, "a.test", DNS_A);
	size_t at = m.length;
	put_address(&m, "a.test", 1, "192.0.2.1");
	m.bytes[at] = 0xc0;
	m.bytes[at + 1] = (uint8_t)at;
	read_as("a.test", DNS_A);
	assert_failed("the answer of the resolver is malformed");
}

static void record_of_a_wrong_length_counts_for_nothing(void **state)
{
	(void)state;
	put_question(&m, 7, 0x8180, "a.test", DNS_A);
	count_record(&m, 6);
	put_record(&m, "a.test", DNS_A, 0x80000000, 5);
	m.length += 5;
	read_as("a.test", DNS_A);
	assert_int_equal(answer.outcome, DNS_NEGATIVE);
	put_question(&m, 7, 0x8180, "a.test", DNS_A);
	put_address(&m, "a.test", 0x80000000, "192.0.2.1");
	read_as("a.test", DNS_A);
	assert_int_equal(answer.ttl, 0); /* RFC 2181 8 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(query_has_id_question_and_recursion),
	    cmocka_unit_test(names_are_lower_case_and_have_good_labels),
	    cmocka_unit_test(addresses_come_sorted_and_once),
	    cmocka_unit_test(another_id_question_type_or_direction_is_foreign),
	    cmocka_unit_test(codes_have_their_meaning),
	    cmocka_unit_test(negative_answer_has_the_lesser_ttl_of_the_soa),
	    cmocka_unit_test(answer_without_the_name_gives_no_record),
	    cmocka_unit_test(aliases_are_followed_in_any_order),
	    cmocka_unit_test(aliases_that_loop_or_lead_nowhere_fail),
	    cmocka_unit_test(services_come_by_priority_with_the_ttl_of_the_answer),
	    cmocka_unit_test(what_is_too_much_is_left_out),
	    cmocka_unit_test(every_cut_is_malformed_or_foreign),
	    cmocka_unit_test(record_of_a_wrong_length_counts_for_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
