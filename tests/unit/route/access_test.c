/* SPDX-License-Identifier: MIT */
/* Which requests the rules of [access NAME] allow: tables, and random rules against a plain model. */
#include "proxy/route/route.h"

#include "proxy/http/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct conf *load(bool is_forward, const char *rules)
{
	char text[8192];
	snprintf(text, sizeof text,
	    "[listen l]\naddress = 127.0.0.1:3128\nmode = %s\naccess = a\n[origin o]\nserver = demo:\n"
	    "[route r]\norigin = o\n[access a]\nusers = /u\n%s",
	    is_forward ? "forward" : "gateway", rules);
	struct conf *c = conf_load_text(slice_of_string(text), "test.ini", false, NULL);
	if (!c)
		fail_msg("%s", rules);
	return c;
}

static struct address address_of(const char *text)
{
	struct address a = {0};
	if (strcmp(text, "unix") != 0)
		assert_true(address_parse(slice_of_string(text), &a));
	return a;
}

/* ---- what is usual ---- */

struct request {
	const char *client, *to; /* to NULL: not known yet */
	const char *host;
	uint16_t port;
	bool is_connect;
	const char *says; /* "allow", "ask", or the reason */
};

static const char *says(const struct conf_access *a, const struct access_facts *f)
{
	struct access_verdict v = access_judge(a, f);
	if (v.answer == ACCESS_DENY)
		assert_string_equal(v.reason, access_reason_name(v.why));
	return v.answer == ACCESS_ALLOW ? "allow" : v.answer == ACCESS_ASK ? "ask" : v.reason;
}

static void check(const struct conf_access *a, const struct request *r, const char *user)
{
	struct address to = address_of(r->to ? r->to : "unix");
	struct access_facts f = {.is_forward = true,
	    .is_connect = r->is_connect,
	    .client = address_of(r->client),
	    .user = slice_of_string(user),
	    .method = r->is_connect ? SLICE("CONNECT") : SLICE("GET"),
	    .path = r->is_connect ? SLICE("") : SLICE("/"),
	    .plain_path = r->is_connect ? SLICE("") : SLICE("/"),
	    .host = slice_of_string(r->host ? r->host : "www.example"),
	    .port = r->port,
	    .to = r->to ? &to : NULL};
	const char *said = says(a, &f);
	if (strcmp(said, r->says) != 0)
		fail_msg("%s %s %s %u: %s", r->client, r->host, r->to, (unsigned)r->port, said);
}

static void forward_mode_has_usual_conditions(void **state)
{
	(void)state;
	static const struct request requests[] = {
	    {"127.0.0.1", "8.8.8.8", NULL, 80, false, "allow"},
	    {"127.0.0.1", NULL, NULL, 80, false, "allow"},
	    {"10.0.0.1", "8.8.8.8", NULL, 443, false, "allow"},
	    {"172.31.0.1", "8.8.8.8", NULL, 443, true, "allow"},
	    {"192.168.0.1", "2001:4860:4860::8888", NULL, 443, true, "allow"},
	    {"169.254.1.1", "8.8.8.8", NULL, 443, true, "allow"},
	    {"::1", "8.8.8.8", NULL, 443, true, "allow"},
	    {"fd00::1", "8.8.8.8", NULL, 443, true, "allow"},
	    {"fe80::1", "8.8.8.8", NULL, 443, true, "allow"},
	    {"unix", "8.8.8.8", NULL, 443, true, "allow"},
	    {"9.9.9.9", "8.8.8.8", NULL, 443, true, "client"},
	    {"100.64.0.1", "8.8.8.8", NULL, 443, true, "client"},
	    {"172.32.0.1", "8.8.8.8", NULL, 443, true, "client"},
	    {"2001:db8::1", "8.8.8.8", NULL, 443, true, "client"},
	    {"127.0.0.1", "8.8.8.8", NULL, 80, true, "port"},
	    {"127.0.0.1", "8.8.8.8", NULL, 25, false, "port"},
	    {"127.0.0.1", NULL, NULL, 8080, false, "port"},
	    {"127.0.0.1", "10.0.0.1", NULL, 80, false, "address-not-global"},
	    {"127.0.0.1", "127.0.0.1", NULL, 443, true, "address-not-global"},
	    {"127.0.0.1", "64:ff9b::10.0.0.1", NULL, 443, true, "address-embedded"},
	    {"127.0.0.1", "64:ff9b::8.8.8.8", NULL, 443, true, "allow"},
	};
	struct conf *c = load(true, "allow = all\n");
	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
		check(&c->accesses[0], &requests[i], "");
		check(&conf_access_built_in, &requests[i], "");
	}
	conf_free(c);
}

static void a_host_that_is_allowed_opens_no_address(void **state)
{
	(void)state;
	static const struct request requests[] = {
	    {"10.0.0.1", NULL, "a.example", 80, false, "allow"},
	    {"10.0.0.1", "10.0.0.9", "a.example", 80, false, "address-not-global"},
	    {"10.0.0.1", "8.8.8.8", "a.example", 80, false, "allow"},
	    {"10.0.0.1", "10.0.0.9", "b.example", 80, false, "allow"},
	    {"10.0.0.1", "8.8.8.8", "b.example", 80, false, "address"},
	    {"10.0.0.1", "10.0.1.1", "b.example", 80, false, "address"},
	    {"10.0.0.1", NULL, "b.example", 8080, false, "port"},
	    {"10.0.0.1", NULL, "c.example", 22, true, "allow"},
	    {"10.0.0.1", NULL, "c.example", 443, true, "port"},
	    {"10.0.0.1", NULL, "d.example", 443, true, "host"},
	    {"8.8.4.4", NULL, "a.example", 443, true, "client"},
	};
	struct conf *c = load(true,
	    "allow = host=a.example\nallow = host=b.example address=10.0.0.0/24\n"
	    "allow = host=c.example port=22\n");
	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
		check(&c->accesses[0], &requests[i], "");
	conf_free(c);
}

static void denied_addresses_are_denied_in_disguise_too(void **state)
{
	(void)state;
	static const struct request requests[] = {
	    {"10.0.0.1", NULL, NULL, 80, false, "allow"},
	    {"10.0.0.1", "8.8.4.4", NULL, 80, false, "allow"},
	    {"10.0.0.1", "8.8.8.8", NULL, 80, false, "rule"},
	    {"10.0.0.1", "64:ff9b::8.8.8.8", NULL, 80, false, "rule"},
	    {"10.0.0.1", "64:ff9b:1:808:8:800::", NULL, 80, false, "rule"},
	    {"10.0.0.1", "2002:808:808::1", NULL, 80, false, "rule"},
	    {"10.0.0.1", "64:ff9b::8.8.4.4", NULL, 80, false, "allow"},
	};
	struct conf *c = load(true, "deny = address=8.8.8.0/24\nallow = address=any\n");
	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
		check(&c->accesses[0], &requests[i], "");
	conf_free(c);
}

static void users_are_asked_for_in_their_place(void **state)
{
	(void)state;
	struct conf *c = load(true,
	    "allow = host=free.example\nask = all\ndeny = user=bob host=*.bad.example\n"
	    "allow = user=alice client=any\nallow = user=*\n");
	const struct conf_access *a = &c->accesses[0];
	const struct request free_one = {"10.0.0.1", NULL, "free.example", 80, false, "allow"};
	const struct request asked = {"10.0.0.1", NULL, "www.example", 80, false, "ask"};
	const struct request taken = {"10.0.0.1", NULL, "www.example", 80, false, "allow"};
	const struct request bad = {"10.0.0.1", NULL, "x.bad.example", 80, false, "rule"};
	const struct request far = {"8.8.8.8", NULL, "www.example", 80, false, "allow"};
	const struct request too_far = {"8.8.8.8", NULL, "www.example", 80, false, "user"};
	check(a, &free_one, "");
	check(a, &asked, "");
	check(a, &taken, "alice");
	check(a, &taken, "carol");
	check(a, &bad, "bob");
	check(a, &far, "alice");
	check(a, &too_far, "carol");
	conf_free(c);
}

static void without_a_line_that_takes_it_a_request_is_denied(void **state)
{
	(void)state;
	struct conf *c = load(true, "deny = host=a.example\n");
	const struct request any = {"10.0.0.1", NULL, "www.example", 80, false, "no-rule"};
	check(&c->accesses[0], &any, "");
	conf_free(c);
}

static void the_rule_that_decided_is_told(void **state)
{
	(void)state;
	struct conf *c = load(false, "deny = path=/a\nallow = all\n");
	const struct conf_access *a = &c->accesses[0];
	struct access_facts f = {.path = SLICE("/a"), .plain_path = SLICE("/a")};
	assert_string_equal(access_judge(a, &f).rule->text, "deny = path=/a");
	f.path = f.plain_path = SLICE("/b");
	assert_string_equal(access_judge(a, &f).rule->text, "allow = all");
	assert_null(access_judge(&conf_access_built_in, &f).rule);
	conf_free(c);
}

/* What the server makes of "/x%2fy/../a" is not known here. */
static void an_ambiguous_path_is_taken_by_what_denies_alone(void **state)
{
	(void)state;
	struct conf *c = load(false, "deny = path=/a\nallow = all\n");
	struct access_facts f = {.path = SLICE("/x%2fy/../a"), .plain_path = SLICE("/x/a"), .path_is_ambiguous = true};
	assert_int_equal(access_judge(&c->accesses[0], &f).answer, ACCESS_DENY);
	conf_free(c);
	c = load(false, "allow = path=/x*\n");
	assert_int_equal(access_judge(&c->accesses[0], &f).answer, ACCESS_DENY);
	conf_free(c);
}

/* As with paths, also by a pattern that is for each host: "*" is for each that is known. */
static void an_ambiguous_host_is_taken_by_what_denies_alone(void **state)
{
	(void)state;
	static const struct {
		const char *rules, *says;
	} rows[] = {
	    {"deny = host=a.example\nallow = all\n", "rule"},
	    {"deny = host=*\nallow = all\n", "rule"},
	    {"ask = host=a.example\nallow = all\n", "ask"},
	    {"allow = host=a.example,*.example\n", "host"},
	    {"allow = host=*\n", "host"},
	    {"deny = host=a.example method=PUT\nallow = all\n", "allow"},
	    {"allow = all\n", "allow"},
	};
	const struct access_facts f = {.method = SLICE("GET"), .host_is_ambiguous = true};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct conf *c = load(false, rows[i].rules);
		assert_string_equal(says(&c->accesses[0], &f), rows[i].says);
		conf_free(c);
	}
}

/* ---- random rules ---- */

enum { VALUES = 6, FORMS = 7 };
/* A condition: its texts (the first is "", nothing), and which values each takes in an allow and in the others. */
static const struct condition {
	enum access_reason reason;
	bool is_forward; /* not in gateways */
	const char *values[VALUES];
	struct {
		const char *text, *allows, *takes; /* a digit for each value; allows NULL: the same */
	} forms[FORMS];
} conditions[] = {
    {ACCESS_REASON_CLIENT, false, {"10.0.0.1", "8.8.8.8", "unix", "fd00::1"},
	{{"", "1011", "1111"}, {"client=any", NULL, "1111"}, {"client=private", NULL, "1011"},
	    {"client=8.8.0.0/16", NULL, "0100"}, {"client=unix,fd00::/8", NULL, "0011"}}},
    {ACCESS_REASON_USER, false, {"", "alice", "bob"},
	{{"", NULL, "111"}, {"user=*", NULL, "011"}, {"user=alice,carol", NULL, "010"}}},
    {ACCESS_REASON_CERT, false, {"", "cn:alice", "dns:b.example"},
	{{"", NULL, "111"}, {"cert=*", NULL, "011"}, {"cert=cn:alice,dns:*.test", NULL, "010"},
	    {"cert=dns:*", NULL, "001"}}},
    {ACCESS_REASON_METHOD, false, {"GET", "POST"},
	{{"", NULL, "11"}, {"method=POST,PUT", NULL, "01"}}},
    {ACCESS_REASON_TIME, false, {"0", "479", "480", "10079"},
	{{"", NULL, "1111"}, {"time=mon/00:00-08:00", NULL, "1100"}, {"time=mon", NULL, "1110"},
	    {"time=23:00-00:01", NULL, "1001"}}},
    {ACCESS_REASON_HOST, false, {"a.example", "x.a.example", "8.8.8.8", ""},
	{{"", NULL, "1111"}, {"host=a.example", "1000", "1001"}, {"host=*.example", "1100", "1101"},
	    {"host=8.8.8.8,*.a.example", "0110", "0111"}, {"host=*", "1110", "1111"}}},
    {ACCESS_REASON_PATH, false, {"/a/x", "/b/../a/x", "/%61/x", "/b", ""},
	{{"", NULL, "11111"}, {"path=/a/*", "10000", "11100"}, {"path=/b*", "00010", "01010"},
	    {"path=/b*,*/x", "11110", "11110"}}},
    {ACCESS_REASON_PORT, true, {"80", "443", "8080", "1"},
	{{"", "1100", "1111"}, {"port=8080", NULL, "0010"}, {"port=1-443", NULL, "1101"}}},
    {ACCESS_REASON_ADDRESS, true,
	{"8.8.8.8", "10.1.1.1", "64:ff9b::10.1.1.1", "64:ff9b::8.8.8.8", "mapped", "unknown"},
	{{"", "100100", "111111"}, {"address=any", NULL, "111111"}, {"address=global", NULL, "100100"},
	    {"address=10.0.0.0/8", "010000", "011000"}, {"address=64:ff9b::/96", NULL, "001100"},
	    {"address=global,10.0.0.0/8", "110100", "111100"},
	    {"address=8.8.8.0/24", "100000", "100110"}}},
};
#define CONDITIONS (sizeof conditions / sizeof *conditions)
#define RULES 5

struct model_rule {
	enum conf_access_action action;
	size_t forms[CONDITIONS];
};

static size_t count_of(const char *const *texts, size_t most)
{
	size_t n = 0;
	while (n < most && texts[n])
		n++;
	return n;
}

static size_t form_count(const struct condition *c)
{
	size_t n = 0;
	while (n < FORMS && c->forms[n].text)
		n++;
	return n;
}

/* In a gateway nothing is usual: an allow takes what it does not name. */
static bool form_takes(
    const struct condition *c, size_t form, enum conf_access_action action, bool is_forward, size_t value)
{
	const char *bits = c->forms[form].takes;
	bool is_usual = form == 0 && !is_forward;
	if (action == CONF_ACCESS_ALLOW && c->forms[form].allows && !is_usual)
		bits = c->forms[form].allows;
	return bits[value] == '1';
}

enum { MODEL_TAKES = -1, MODEL_UNKNOWN = -2 };

/* The condition that fails. */
static int model_rule_says(const struct model_rule *r, bool is_forward, const size_t *values)
{
	for (size_t i = 0; i < CONDITIONS; i++) {
		const struct condition *c = &conditions[i];
		if (c->is_forward && !is_forward)
			continue;
		bool is_address = c->reason == ACCESS_REASON_ADDRESS;
		bool is_unknown = is_address && strcmp(c->values[values[i]], "unknown") == 0;
		bool is_any = strcmp(c->forms[r->forms[i]].text, "address=any") == 0 ||
			      (r->forms[i] == 0 && r->action != CONF_ACCESS_ALLOW);
		if (is_unknown && !is_any)
			return MODEL_UNKNOWN;
		if (!form_takes(c, r->forms[i], r->action, is_forward, values[i]))
			return (int)c->reason;
	}
	return MODEL_TAKES;
}

/* "allow", "ask", or the reason; all reasons by the address are "address" here. */
static const char *model_says(
    const struct model_rule *rules, size_t count, bool is_forward, const size_t *values)
{
	int nearest = ACCESS_REASON_NO_RULE;
	bool has_user = values[1] != 0;
	for (size_t i = 0; i < count; i++) {
		int said = model_rule_says(&rules[i], is_forward, values);
		if (rules[i].action == CONF_ACCESS_ALLOW && said < 0)
			return "allow";
		if (rules[i].action == CONF_ACCESS_ALLOW && said > nearest)
			nearest = said;
		if (rules[i].action == CONF_ACCESS_DENY && said == MODEL_TAKES)
			return "rule";
		if (rules[i].action == CONF_ACCESS_ASK && said == MODEL_TAKES && !has_user)
			return "ask";
	}
	return access_reason_name((enum access_reason)nearest);
}

static const struct client_certificate *certificate_of(size_t value)
{
	static const struct client_certificate alice = {.names = SLICE_INIT("cn:alice\n")};
	static const struct client_certificate b = {.names = SLICE_INIT("dns:b.example\n")};
	return value == 0 ? NULL : value == 1 ? &alice : &b;
}

static void facts_of(struct access_facts *f, struct address *to, char *plain, const size_t *values)
{
	const char *path = conditions[6].values[values[6]], *address = conditions[8].values[values[8]];
	f->client = address_of(conditions[0].values[values[0]]);
	f->user = slice_of_string(conditions[1].values[values[1]]);
	f->certificate = certificate_of(values[2]);
	f->method = slice_of_string(conditions[3].values[values[3]]);
	f->minute = (uint32_t)atoi(conditions[4].values[values[4]]);
	f->host = slice_of_string(conditions[5].values[values[5]]);
	f->host_is_ambiguous = f->host.len == 0;
	f->path = slice_of_string(path);
	f->plain_path = http_path_plain(f->path, plain);
	f->port = (uint16_t)atoi(conditions[7].values[values[7]]);
	f->to_is_mapped = strcmp(address, "mapped") == 0;
	*to = address_of(strcmp(address, "unknown") == 0 ? "unix" : f->to_is_mapped ? "8.8.8.8" : address);
	f->to = to->family == 0 ? NULL : to;
}

static void play(unsigned *seed, bool is_forward)
{
	static const char *const actions[] = {"allow", "deny", "ask"};
	struct model_rule rules[RULES];
	char text[RULES * 256] = "";
	size_t count = 1 + (size_t)rand_r(seed) % RULES, used = 0;
	for (size_t i = 0; i < count; i++) {
		struct model_rule *r = &rules[i];
		r->action = (enum conf_access_action)(rand_r(seed) % 3);
		used += (size_t)snprintf(text + used, sizeof text - used, "%s =", actions[r->action]);
		size_t named = 0;
		for (size_t k = 0; k < CONDITIONS; k++) {
			const struct condition *c = &conditions[k];
			bool is_named = rand_r(seed) % 3 == 0 && (is_forward || !c->is_forward) &&
					!(c->reason == ACCESS_REASON_USER && r->action == CONF_ACCESS_ASK);
			r->forms[k] = is_named ? (size_t)rand_r(seed) % form_count(c) : 0;
			named += r->forms[k] != 0;
			used += (size_t)snprintf(
			    text + used, sizeof text - used, " %s", c->forms[r->forms[k]].text);
		}
		used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", named ? "" : "all");
	}
	struct conf *c = load(is_forward, text);
	for (int i = 0; i < 200; i++) {
		size_t values[CONDITIONS];
		struct access_facts f = {.is_forward = is_forward};
		struct address to;
		char plain[64];
		for (size_t k = 0; k < CONDITIONS; k++)
			values[k] = (size_t)rand_r(seed) % count_of(conditions[k].values, VALUES);
		facts_of(&f, &to, plain, values);
		const char *said = says(&c->accesses[0], &f);
		if (strncmp(said, "address", 7) == 0)
			said = "address";
		const char *expected = model_says(rules, count, is_forward, values);
		if (strcmp(said, expected) != 0)
			fail_msg("%s\nclient %s user %s host %s path %s to %s: %s, not %s", text,
			    conditions[0].values[values[0]], conditions[1].values[values[1]],
			    conditions[5].values[values[5]], conditions[6].values[values[6]],
			    conditions[8].values[values[8]], said, expected);
	}
	conf_free(c);
}

static void random_rules_are_as_the_model_says(void **state)
{
	(void)state;
	unsigned seed = 1;
	for (int i = 0; i < 2000; i++)
		play(&seed, i % 2 == 0);
}

/* An upstream proxy looks the name up, so that no condition about addresses can hold but one for all of them. */
static void a_name_that_is_looked_up_elsewhere_meets_no_range(void **state)
{
	(void)state;
	static const struct {
		const char *rules, *says;
	} rows[] = {
	    {"allow = all\n", "allow"},
	    {"allow = host=*.example\n", "allow"},
	    {"allow = address=any\n", "allow"},
	    {"allow = address=global\n", "allow"},
	    {"allow = address=8.0.0.0/8\n", "address"},
	    {"deny = address=8.0.0.0/8\nallow = all\n", "allow"},
	    {"deny = address=any\nallow = all\n", "rule"},
	    {"deny = address=global\nallow = all\n", "rule"},
	    {"ask = address=10.0.0.0/8\nallow = all\n", "allow"},
	    {"ask = address=global\nallow = all\n", "ask"},
	    {"allow = port=80\n", "port"},
	};
	const struct access_facts f = {.is_forward = true,
	    .client = address_of("10.0.0.1"),
	    .method = SLICE("GET"),
	    .host = SLICE("www.example"),
	    .port = 443,
	    .is_looked_up_elsewhere = true};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct conf *c = load(true, rows[i].rules);
		assert_string_equal(says(&c->accesses[0], &f), rows[i].says);
		conf_free(c);
	}
}

/* ---- of a request ---- */

/* What is said of a request to a forward listener; protocol "": it is no extended CONNECT. */
static const char *says_of(const char *rules, const char *method, const char *protocol, const char *authority)
{
	bool is_plain_connect = strcmp(method, "CONNECT") == 0 && !*protocol;
	struct conf *c = load(true, rules);
	struct http_head_pool *heads = http_head_pool_new(1);
	struct http_head *head = http_head_new(heads);
	head->version = HTTP_VERSION_2;
	head->allows_protocol = true;
	http_head_add(head, SLICE(":method"), slice_of_string(method));
	if (!is_plain_connect) {
		http_head_add(head, SLICE(":scheme"), SLICE("http"));
		http_head_add(head, SLICE(":path"), SLICE("/"));
	}
	http_head_add(head, SLICE(":authority"), slice_of_string(authority));
	if (*protocol)
		http_head_add(head, SLICE(":protocol"), slice_of_string(protocol));
	const char *fault = http_head_validate(head, HTTP_REQUEST);
	if (fault)
		fail_msg("%s %s: %s", method, authority, fault);
	struct effort effort = effort_of(1000);
	const struct request_facts f = {.listener = &c->listens[0], .client = address_of("10.0.0.1"), .head = head};
	struct access_verdict v = access_may_ask(&f, &effort);
	http_head_free(head);
	http_head_pool_free(heads);
	conf_free(c);
	return v.answer == ACCESS_ALLOW ? "allow" : v.reason;
}

/* CONNECT is for 443 alone; what Upgrade asks for in HTTP/1.1, and an extended CONNECT in HTTP/2, is a GET. */
static void a_request_is_judged_by_its_method_and_its_port(void **state)
{
	(void)state;
	static const struct {
		const char *rules, *method, *protocol, *authority, *says;
	} rows[] = {
	    {"allow = all\n", "CONNECT", "", "www.example:443", "allow"},
	    {"allow = all\n", "CONNECT", "", "www.example:80", "port"},
	    {"allow = all\n", "CONNECT", "websocket", "www.example:80", "allow"},
	    {"allow = all\n", "GET", "", "www.example", "allow"},
	    {"allow = all\n", "GET", "", "www.example:8080", "port"},
	    {"allow = method=GET\n", "CONNECT", "websocket", "www.example", "allow"},
	    {"allow = method=GET\n", "CONNECT", "", "www.example:443", "method"},
	    {"allow = method=GET\n", "POST", "", "www.example", "method"},
	    {"allow = method=CONNECT\n", "CONNECT", "", "www.example:443", "allow"},
	    {"allow = method=CONNECT\n", "CONNECT", "websocket", "www.example", "method"},
	    {"allow = host=www.example\n", "GET", "", "www.example", "allow"},
	    {"allow = host=www.example\n", "GET", "", "other.example", "host"},
	    {"deny = port=443\nallow = host=www.example port=1-65535\n", "GET", "", "www.example:1", "allow"},
	    {"deny = port=443\nallow = host=www.example port=1-65535\n", "GET", "", "www.example:443", "rule"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *said = says_of(rows[i].rules, rows[i].method, rows[i].protocol, rows[i].authority);
		if (strcmp(said, rows[i].says) != 0)
			fail_msg("%s%s %s %s: %s", rows[i].rules, rows[i].method, rows[i].protocol, rows[i].authority, said);
	}
}

static void a_target_is_read_with_its_port(void **state)
{
	(void)state;
	static const struct {
		const char *scheme, *authority, *host;
		uint16_t port; /* 0: it has none */
		bool is_tls;
	} rows[] = {
	    {"http", "www.example", "www.example", 80, false},
	    {"https", "WWW.example", "www.example", 443, true},
	    {"https", "www.example:8443", "www.example", 8443, true},
	    {"HTTP", "192.0.2.1:81", "192.0.2.1", 81, false},
	    {"ftp", "www.example", NULL, 0, false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct request_target target;
		const struct http_head head = {.method = SLICE("GET"), .scheme = slice_of_string(rows[i].scheme),
		    .authority = slice_of_string(rows[i].authority)};
		assert_int_equal(route_read_target(&head, &target), rows[i].port != 0);
		if (rows[i].port == 0)
			continue;
		assert_string_equal(target.host, rows[i].host);
		assert_int_equal(target.port, rows[i].port);
		assert_int_equal(target.is_tls, rows[i].is_tls);
		assert_false(target.is_tunnel);
		assert_int_equal(target.is_address, rows[i].port == 81);
	}
}

static void client_that_some_rule_might_allow_is_taken(void **state)
{
	(void)state;
	static const struct {
		const char *rules, *client;
		bool is_taken;
	} rows[] = {
	    {"allow = all\n", "192.168.0.1", true},
	    {"allow = all\n", "9.9.9.9", false},
	    {"allow = client=any host=a.example\n", "9.9.9.9", true},
	    {"ask = client=9.0.0.0/8\n", "9.9.9.9", true},
	    {"deny = client=9.9.9.9\nallow = client=any\n", "9.9.9.9", false},
	    {"deny = client=9.9.9.9 method=PUT\nallow = client=any\n", "9.9.9.9", true},
	    {"allow = client=any user=anna\ndeny = client=any\n", "9.9.9.9", true},
	    {"deny = host=a.example\n", "10.0.0.1", false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct conf *c = load(true, rows[i].rules);
		struct address client = address_of(rows[i].client);
		assert_int_equal(access_takes_client(&c->accesses[0], &client), rows[i].is_taken);
		conf_free(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(forward_mode_has_usual_conditions),
	    cmocka_unit_test(a_host_that_is_allowed_opens_no_address),
	    cmocka_unit_test(denied_addresses_are_denied_in_disguise_too),
	    cmocka_unit_test(users_are_asked_for_in_their_place),
	    cmocka_unit_test(without_a_line_that_takes_it_a_request_is_denied),
	    cmocka_unit_test(the_rule_that_decided_is_told),
	    cmocka_unit_test(an_ambiguous_path_is_taken_by_what_denies_alone),
	    cmocka_unit_test(an_ambiguous_host_is_taken_by_what_denies_alone),
	    cmocka_unit_test(a_name_that_is_looked_up_elsewhere_meets_no_range),
	    cmocka_unit_test(a_request_is_judged_by_its_method_and_its_port),
	    cmocka_unit_test(a_target_is_read_with_its_port),
	    cmocka_unit_test(client_that_some_rule_might_allow_is_taken),
	    cmocka_unit_test(random_rules_are_as_the_model_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
