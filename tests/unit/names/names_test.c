/* SPDX-License-Identifier: MIT */
/* Names kept up to date, with resolvers that the test plays over loopback sockets. */
#include "proxy/base/chunk.h"
#include "proxy/names/names_private.h"
#include "tests/unit/names/dns_rig.h"
#include <arpa/inet.h>
#include <fcntl.h>

#define UNTIL(condition)                                                                           \
	do {                                                                                       \
		usec since_ = clock_monotonic();                                                   \
		while (!(condition)) {                                                             \
			if (clock_monotonic() - since_ > 20 * USEC_PER_SEC)                        \
				fail_msg("never: %s", #condition);                                 \
			net_run_once(w.loop, USEC_PER_MSEC);                                       \
		}                                                                                  \
	} while (0)

/* ---- a resolver ---- */

struct resolver {
	int udp, tcp;
	struct net_address address;
	struct net_watch *watch, *listening;
	bool is_silent;
	unsigned code;            /* of all answers; 0: as the lists say */
	bool lies_about_id;       /* over UDP */
	bool lies_about_question; /* over UDP */
	bool truncates;           /* over UDP */
	bool truncates_all;
	unsigned copies;   /* of each lie */
	uint32_t ttl, soa; /* seconds */
	const char *addresses[8]; /* of "www.test" */
	size_t giant;             /* so many addresses more */
	const char *services[4];  /* of "_http._tcp.test": targets with port 8080 and up */
	unsigned queries, over_tcp, by_type[40];
	uint16_t ids[700], ports[700];
};

static struct {
	struct chunk_pool *chunks;
	struct net_loop *loop;
	struct resolver resolvers[2];
	struct names *names;
	unsigned reports;
	char last[1024];
	const char *error;
} w;

static void answer_query(struct resolver *r, const char *name, unsigned type, struct wire *m)
{
	if (type == DNS_SRV) {
		for (unsigned i = 0; i < 4 && r->services[i]; i++)
			put_service(m, name, r->ttl, i, 7, 8080 + i, r->services[i]);
	} else if (strcmp(name, "www.test") == 0) {
		for (unsigned i = 0; i < 8 && r->addresses[i]; i++)
			if ((strchr(r->addresses[i], ':') != NULL) == (type == DNS_AAAA))
				put_address(m, name, r->ttl, r->addresses[i]);
		for (unsigned i = 0; i < r->giant && type == DNS_A; i++) {
			char text[32];
			snprintf(text, sizeof(text), "127.7.%u.%u", i / 256, i % 256);
			put_address(m, name, r->ttl, text);
		}
	} else if (strcmp(name, "one.test") == 0 && type == DNS_A) {
		put_address(m, name, r->ttl, "127.0.1.1");
	} else if (strcmp(name, "two.test") == 0 && type == DNS_A) {
		put_address(m, name, r->ttl, "127.0.1.2");
	} else if (strcmp(name, "loop.test") == 0) {
		put_alias(m, name, 1, name);
	}
	if (m->bytes[7] == 0 && m->bytes[6] == 0 && r->soa)
		put_soa(m, r->soa, r->soa);
}

/* Makes the answer to a query. False: there is none. */
static bool respond(struct resolver *r, const uint8_t *query, size_t length, struct wire *m)
{
	char name[256];
	size_t at = 12, n = 0;
	assert_true(length > 16);
	while (query[at]) {
		memcpy(name + n, query + at + 1, query[at]);
		n += query[at];
		name[n++] = '.';
		at += 1u + query[at];
	}
	name[n - 1] = '\0';
	unsigned type = query[at + 2];
	r->ids[r->queries % 700] = (uint16_t)(query[0] << 8 | query[1]);
	r->queries++;
	r->by_type[type]++;
	if (r->is_silent)
		return false;
	put_question(m, (unsigned)(query[0] << 8 | query[1]), 0x8180 | r->code, name, type);
	if (!r->code)
		answer_query(r, name, type, m);
	return true;
}

static void on_query(void *context)
{
	static struct wire m;
	struct resolver *r = context;
	uint8_t query[512];
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	ssize_t n = recvfrom(r->udp, query, sizeof(query), 0, (struct sockaddr *)&from, &size);
	if (n <= 0)
		return;
	r->ports[r->queries % 700] = ntohs(from.sin_port);
	if (!respond(r, query, (size_t)n, &m))
		return;
	if (r->truncates || r->truncates_all || m.length > 512) {
		m.bytes[2] |= 2;
		m.length = (size_t)n;
		m.bytes[7] = 0;
	}
	m.bytes[0] ^= r->lies_about_id;
	m.bytes[13] ^= r->lies_about_question;
	for (unsigned i = 0; i <= r->copies; i++)
		sendto(r->udp, m.bytes, m.length, 0, (struct sockaddr *)&from, size);
}

static void on_connection(void *context)
{
	static struct wire m;
	struct resolver *r = context;
	uint8_t query[514];
	int fd = accept4(r->tcp, NULL, NULL, 0);
	if (fd < 0)
		return;
	r->over_tcp++;
	/* The query comes when the connection opens at the other end, in a later loop pass. */
	for (unsigned i = 0; i < 1000 && recv(fd, query, 2, MSG_PEEK | MSG_DONTWAIT) < 2; i++)
		net_run_once(w.loop, USEC_PER_MSEC);
	ssize_t n = recv(fd, query, sizeof(query), MSG_DONTWAIT);
	if (n > 2 && respond(r, query + 2, (size_t)n - 2, &m)) {
		uint8_t length[2] = {(uint8_t)(m.length >> 8), (uint8_t)m.length};
		m.bytes[2] |= r->truncates_all ? 2 : 0;
		send(fd, length, 1, 0);
		send(fd, length + 1, 1, 0);
		send(fd, m.bytes, m.length, 0);
	}
	close(fd);
}

/* Both sockets have the same port. */
static void resolver_open(struct resolver *r)
{
	for (unsigned attempt = 0; attempt < 50; attempt++) {
		*r = (struct resolver){.ttl = 3600, .soa = 3600};
		struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		socklen_t size = sizeof(at);
		r->tcp = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		r->udp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
		assert_int_equal(bind(r->tcp, (struct sockaddr *)&at, size), 0);
		assert_int_equal(getsockname(r->tcp, (struct sockaddr *)&at, &size), 0);
		r->address.in = at;
		r->address.length = sizeof(at);
		if (bind(r->udp, (struct sockaddr *)&at, size) == 0)
			break;
		close(r->tcp);
		close(r->udp);
	}
	assert_int_equal(listen(r->tcp, 16), 0);
	r->watch = net_watch_new(w.loop, r->udp, on_query, r);
	r->listening = net_watch_new(w.loop, r->tcp, on_connection, r);
}

static void resolver_close(struct resolver *r)
{
	if (!r->watch)
		return;
	net_watch_free(r->watch);
	net_watch_free(r->listening);
	close(r->udp);
	close(r->tcp);
	r->watch = NULL;
}

/* ---- the world ---- */

static void on_changed(void *context, const struct name_answer *answer)
{
	(void)context;
	w.reports++;
	w.error = answer->error;
	w.last[0] = '\0';
	for (size_t i = 0; i < answer->count && i < 16; i++) {
		char text[NET_ADDRESS_TEXT];
		net_address_format(&answer->addresses[i].address, text, sizeof(text));
		strcat(w.last, i > 0 ? " " : "");
		strcat(w.last, text);
	}
	snprintf(w.last + strlen(w.last), 16, "/%zu", answer->count);
}

static bool last_is(const char *want)
{
	return strcmp(w.last, want) == 0;
}

/* A resolver that is silent is given up soon; a test that waits for one thing ends when it has come. */
static void begin(size_t resolvers, usec timeout)
{
	char error[128];
	memset(&w, 0, sizeof(w));
	w.chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 4);
	w.loop = net_loop_new(w.chunks);
	struct net_address list[2];
	for (size_t i = 0; i < resolvers; i++) {
		resolver_open(&w.resolvers[i]);
		list[i] = w.resolvers[i].address;
	}
	const struct names_options o = {.resolvers = list,
	    .resolver_count = resolvers,
	    .min_ttl = 20 * USEC_PER_MSEC,
	    .asked_min_ttl = 20 * USEC_PER_MSEC,
	    .max_ttl = 3600 * USEC_PER_SEC,
	    .negative_ttl = 30 * USEC_PER_MSEC,
	    .timeout = timeout};
	w.names = names_new(w.loop, &o, error, sizeof(error));
	assert_non_null(w.names);
}

static void end(void)
{
	assert_int_equal(w.names->query_count, 0);
	names_free(w.names);
	for (size_t i = 0; i < 2; i++)
		resolver_close(&w.resolvers[i]);
	net_loop_free(w.loop);
	chunk_pool_free(w.chunks);
}

static struct name_watch *watch(const char *host)
{
	struct name_watch *watch = names_watch(w.names, host, 80, false, on_changed, NULL);
	assert_int_equal(w.reports, 0); /* never within the call */
	return watch;
}

#define LONG (60 * USEC_PER_SEC)
#define SHORT (50 * USEC_PER_MSEC)

/* ---- answers ---- */

/* covers: R437 */
static void both_families_are_asked_and_come_together(void **state)
{
	(void)state;
	begin(1, LONG);
	struct resolver *r = &w.resolvers[0];
	r->addresses[0] = "127.0.0.2";
	r->addresses[1] = "::1";
	r->addresses[2] = "127.0.0.1";
	struct name_watch *watched = watch("WWW.test.");
	UNTIL(w.reports);
	/* A machine without IPv6 has no route to ::1. */
	assert_true(last_is("[::1]:80 127.0.0.1:80 127.0.0.2:80/3") ||
		    last_is("127.0.0.1:80 127.0.0.2:80/2"));
	assert_null(w.error);
	assert_int_equal(r->by_type[DNS_A], 1);
	assert_int_equal(r->by_type[DNS_AAAA], 1);
	names_unwatch(watched);
	end();
}

static void one_name_is_asked_once_for_all_its_watches(void **state)
{
	(void)state;
	begin(1, LONG);
	struct resolver *r = &w.resolvers[0];
	r->addresses[0] = "127.0.0.2";
	struct name_watch *first = watch("www.test"), *second = watch("www.test");
	UNTIL(w.reports == 2);
	assert_int_equal(r->queries, 2);
	names_unwatch(first);
	/* A third one is told what is known. */
	first = names_watch(w.names, "www.test", 81, false, on_changed, NULL);
	UNTIL(w.reports == 3);
	assert_true(last_is("127.0.0.2:81/1"));
	assert_int_equal(r->queries, 2);
	names_unwatch(first);
	names_unwatch(second);
	assert_int_equal(w.names->questions.count, 0);
	end();
}

static void watch_that_ends_at_once_is_never_told(void **state)
{
	(void)state;
	begin(1, LONG);
	names_unwatch(watch("www.test"));
	struct name_watch *watched = watch("one.test");
	UNTIL(w.reports);
	assert_true(last_is("127.0.1.1:80/1"));
	names_unwatch(watched);
	end();
}

/* covers: R433 */
static void record_that_changes_is_found_when_its_ttl_is_over(void **state)
{
	(void)state;
	begin(1, LONG);
	struct resolver *r = &w.resolvers[0];
	r->ttl = 0; /* counts for min_ttl */
	r->addresses[0] = "127.0.0.2";
	struct name_watch *watched = watch("www.test");
	UNTIL(w.reports);
	UNTIL(r->by_type[DNS_A] > 5); /* the same again is no report */
	assert_int_equal(w.reports, 1);
	r->addresses[0] = "127.0.0.3";
	UNTIL(last_is("127.0.0.3:80/1"));
	r->addresses[0] = NULL;
	UNTIL(last_is("/0"));
	assert_string_equal(w.error, "the name has no address");
	names_unwatch(watched);
	end();
}

/* covers: R433 */
static void a_name_that_a_request_named_may_count_for_less(void **state)
{
	(void)state;
	begin(1, LONG);
	struct resolver *r = &w.resolvers[0];
	w.names->min_ttl = LONG;
	r->ttl = 0;
	r->addresses[0] = "127.0.0.2";
	struct name_watch *watched = watch("www.test");
	UNTIL(w.reports);
	struct name_question *q = name_question_get(w.names, "www.test", DNS_A);
	assert_true(q->timer.deadline > net_now(w.loop) + LONG / 2);
	names_unwatch(watched);
	w.reports = 0;
	watched = watch("www.test");
	names_set_client_key(watched, 7);
	UNTIL(r->by_type[DNS_A] > 5);
	r->addresses[0] = "127.0.0.3";
	UNTIL(last_is("127.0.0.3:80/1"));
	names_unwatch(watched);
	end();
}

/* covers: R433 */
static void ttl_is_kept_within_its_bounds(void **state)
{
	(void)state;
	begin(1, LONG);
	struct resolver *r = &w.resolvers[0];
	w.names->max_ttl = 40 * USEC_PER_MSEC;
	r->addresses[0] = "127.0.0.2"; /* its TTL is an hour */
	struct name_watch *watched = watch("www.test");
	usec since = clock_monotonic();
	UNTIL(r->by_type[DNS_A] == 4);
	assert_true(clock_monotonic() - since >= 3 * 40 * USEC_PER_MSEC);
	names_unwatch(watched);
	end();
}

/* covers: R434 */
static void name_that_comes_into_being_is_found_soon(void **state)
{
	(void)state;
	begin(1, LONG);
	struct resolver *r = &w.resolvers[0];
	r->code = 3;
	struct name_watch *watched = watch("www.test");
	UNTIL(w.reports);
	assert_true(last_is("/0"));
	assert_string_equal(w.error, "there is no such name");
	r->code = 0;
	r->addresses[0] = "127.0.0.2";
	UNTIL(last_is("127.0.0.2:80/1"));
	names_unwatch(watched);
	end();
}

/* ---- resolvers that fail ---- */

/* covers: R435 */
static void last_good_answer_stays_while_the_resolver_fails(void **state)
{
	(void)state;
	begin(1, SHORT);
	struct resolver *r = &w.resolvers[0];
	r->ttl = 0;
	r->addresses[0] = "127.0.0.2";
	struct name_watch *watched = watch("www.test");
	UNTIL(w.reports);
	r->code = 2;
	UNTIL(w.error);
	assert_string_equal(w.error, "the resolver has failed (SERVFAIL)");
	assert_true(last_is("127.0.0.2:80/1"));
	r->code = 0;
	r->is_silent = true;
	UNTIL(w.error && strcmp(w.error, "the resolver does not answer") == 0);
	assert_true(last_is("127.0.0.2:80/1"));
	r->is_silent = false;
	r->addresses[0] = "127.0.0.3";
	UNTIL(last_is("127.0.0.3:80/1") && !w.error);
	names_unwatch(watched);
	end();
}

static void failing_resolver_is_asked_less_and_less_often(void **state)
{
	(void)state;
	begin(1, SHORT);
	w.resolvers[0].code = 5;
	struct name_watch *watched = watch("www.test");
	UNTIL(w.reports);
	assert_string_equal(w.error, "the resolver refuses to answer");
	struct name_question *q = name_question_get(w.names, "www.test", DNS_A);
	usec before = q->backoff;
	UNTIL(q->backoff >= 8 * before);
	q->backoff = 29 * USEC_PER_SEC;
	name_question_retry(q);
	names_unwatch(watched);
	end();
}

/* covers: R435 */
static void next_resolver_is_asked_and_then_preferred(void **state)
{
	(void)state;
	begin(2, SHORT);
	w.resolvers[0].is_silent = true;
	w.resolvers[1].addresses[0] = "127.0.0.2";
	struct name_watch *watched = watch("www.test");
	UNTIL(last_is("127.0.0.2:80/1") && !w.error);
	unsigned asked = w.resolvers[0].queries;
	struct name_watch *other = names_watch(w.names, "one.test", 80, false, on_changed, NULL);
	UNTIL(last_is("127.0.1.1:80/1"));
	assert_int_equal(w.resolvers[0].queries, asked);
	names_unwatch(watched);
	names_unwatch(other);
	end();
}

static void closed_port_is_noticed_at_once(void **state)
{
	(void)state;
	begin(2, LONG);
	close(w.resolvers[0].udp);
	w.resolvers[0].udp = open("/dev/null", O_RDONLY);
	net_watch_free(w.resolvers[0].watch);
	w.resolvers[0].watch = net_watch_new(w.loop, w.resolvers[0].tcp, on_connection, &w.resolvers[0]);
	w.resolvers[1].addresses[0] = "127.0.0.2";
	struct name_watch *watched = watch("www.test");
	UNTIL(last_is("127.0.0.2:80/1"));
	names_unwatch(watched);
	end();
}

/* covers: R437 */
static void addresses_of_one_family_wait_briefly_for_the_other(void **state)
{
	(void)state;
	begin(2, LONG);
	/* The first resolver does not answer for AAAA: the question type decides. */
	struct resolver *r = &w.resolvers[0];
	r->addresses[0] = "127.0.0.2";
	struct name_watch *watched = watch("www.test");
	struct name_question *aaaa = name_question_get(w.names, "www.test", DNS_AAAA);
	name_query_stop(&aaaa->query); /* as if it took for ever */
	UNTIL(last_is("127.0.0.2:80/1"));
	assert_false(aaaa->is_settled);
	names_unwatch(watched);
	end();
}

/* ---- lies ---- */

/* covers: R430 */
static void answer_with_another_id_or_question_is_passed_over(void **state)
{
	(void)state;
	for (unsigned lie = 0; lie < 2; lie++) {
		begin(2, SHORT);
		w.resolvers[0].lies_about_id = lie == 0;
		w.resolvers[0].lies_about_question = lie == 1;
		w.resolvers[0].addresses[0] = "127.0.0.66";
		w.resolvers[1].addresses[0] = "127.0.0.2";
		struct name_watch *watched = watch("www.test");
		UNTIL(w.reports && !w.error);
		assert_true(last_is("127.0.0.2:80/1"));
		names_unwatch(watched);
		end();
	}
}

static void many_foreign_answers_make_it_ask_over_tcp(void **state)
{
	(void)state;
	begin(1, LONG);
	w.resolvers[0].lies_about_id = true;
	w.resolvers[0].copies = LIMIT_DNS_STRANGERS;
	w.resolvers[0].addresses[0] = "127.0.0.2";
	struct name_watch *watched = watch("www.test");
	UNTIL(last_is("127.0.0.2:80/1"));
	assert_true(w.resolvers[0].over_tcp >= 1);
	names_unwatch(watched);
	end();
}

/* covers: R430 */
static void stranger_cannot_answer_from_another_port(void **state)
{
	(void)state;
	begin(1, LONG);
	struct resolver *r = &w.resolvers[0];
	r->is_silent = true;
	struct name_watch *watched = watch("www.test");
	UNTIL(r->queries == 2);
	struct wire *m = memory_new(struct wire);
	int other = socket(AF_INET, SOCK_DGRAM, 0);
	for (unsigned i = 0; i < 2; i++) {
		struct sockaddr_in to = {.sin_family = AF_INET,
		    .sin_port = htons(r->ports[i]),
		    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		put_question(m, r->ids[i], 0x8180, "www.test", DNS_A);
		put_address(m, "www.test", 60, "127.0.0.66");
		sendto(other, m->bytes, m->length, 0, (struct sockaddr *)&to, sizeof(to));
	}
	for (unsigned i = 0; i < 50; i++)
		net_run_once(w.loop, USEC_PER_MSEC);
	assert_int_equal(w.reports, 0);
	close(other);
	free(m);
	names_unwatch(watched);
	end();
}

/* covers: R432 */
static void truncated_answer_comes_over_tcp(void **state)
{
	(void)state;
	begin(1, LONG);
	struct resolver *r = &w.resolvers[0];
	r->giant = 2700; /* nearly 64 KiB; the highest addresses are left out */
	struct name_watch *watched = watch("www.test");
	UNTIL(w.reports);
	assert_true(r->over_tcp >= 1);
	assert_true(strstr(w.last, "/64") != NULL);
	names_unwatch(watched);
	end();
}

static void answer_that_is_truncated_over_tcp_is_a_failure(void **state)
{
	(void)state;
	begin(1, LONG);
	w.resolvers[0].truncates_all = true;
	struct name_watch *watched = watch("www.test");
	UNTIL(w.reports);
	assert_string_equal(w.error, "the resolver cuts off its answer");
	names_unwatch(watched);
	end();
}

static void resolver_that_ends_its_connection_is_a_failure(void **state)
{
	(void)state;
	begin(1, LONG);
	w.resolvers[0].truncates = true;
	struct name_watch *watched = watch("www.test");
	UNTIL(w.resolvers[0].queries > 0);
	w.resolvers[0].is_silent = true;
	close(w.resolvers[0].tcp);
	net_watch_free(w.resolvers[0].listening);
	w.resolvers[0].tcp = open("/dev/null", O_RDONLY);
	w.resolvers[0].listening = net_watch_new(w.loop, w.resolvers[0].udp, on_query, &w.resolvers[0]);
	w.names->timeout = SHORT;
	w.resolvers[0].code = 0;
	w.resolvers[0].is_silent = false;
	UNTIL(w.reports);
	assert_string_equal(w.error, "the resolver does not answer over TCP");
	names_unwatch(watched);
	end();
}

static void alias_that_loops_is_a_failure(void **state)
{
	(void)state;
	begin(1, LONG);
	struct name_watch *watched = watch("loop.test");
	UNTIL(w.reports);
	assert_string_equal(w.error, "the chain of aliases is too long, or loops");
	names_unwatch(watched);
	end();
}

/* ---- ids and ports ---- */

static int compare16(const void *a, const void *b)
{
	return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

static unsigned repeats(const uint16_t *list, unsigned count)
{
	uint16_t sorted[700];
	unsigned n = 0;
	memcpy(sorted, list, count * sizeof(*list));
	qsort(sorted, count, sizeof(*sorted), compare16);
	for (unsigned i = 1; i < count; i++)
		n += sorted[i] == sorted[i - 1];
	return n;
}

/* Of 600 random ids among 65536, 2.7 repeat on average; of 600 ports among 28232, 6.3. */
/* covers: R431 */
static void ids_and_ports_are_random(void **state)
{
	(void)state;
	begin(1, LONG);
	struct name_watch *watched[300];
	for (unsigned i = 0; i < 300; i++) {
		char host[32];
		snprintf(host, sizeof(host), "n%u.test", i);
		watched[i] = names_watch(w.names, host, 80, false, on_changed, NULL);
		assert_true(w.names->query_count <= LIMIT_DNS_QUERIES);
	}
	UNTIL(w.reports >= 300);
	const struct resolver *r = &w.resolvers[0];
	assert_true(repeats(r->ids, 600) < 20);
	assert_true(repeats(r->ports, 600) < 60);
	unsigned close_ids = 0, close_ports = 0;
	for (unsigned i = 1; i < 600; i++) {
		close_ids += abs(r->ids[i] - r->ids[i - 1]) <= 16;
		close_ports += abs(r->ports[i] - r->ports[i - 1]) <= 16;
	}
	assert_true(close_ids < 20);
	assert_true(close_ports < 60);
	for (unsigned i = 0; i < 300; i++)
		names_unwatch(watched[i]);
	end();
}

static bool is_asked(const char *host)
{
	return name_question_get(w.names, host, DNS_A)->query.is_active &&
	       name_question_get(w.names, host, DNS_AAAA)->query.is_active;
}

/* Names that no resolver answers, one client's: those of others are asked for all the same. */
/* covers: R440 */
static void names_of_one_client_leave_room_for_others(void **state)
{
	(void)state;
	begin(1, LONG);
	struct name_watch *watched[42];
	w.resolvers[0].is_silent = true;
	for (unsigned i = 0; i < 40; i++) {
		char host[32];
		snprintf(host, sizeof(host), "n%u.test", i);
		watched[i] = names_watch(w.names, host, 80, false, on_changed, NULL);
		names_set_client_key(watched[i], 7);
	}
	UNTIL(w.names->query_count == LIMIT_DNS_QUERIES_OF_ONE);
	watched[40] = names_watch(w.names, "other.test", 80, false, on_changed, NULL);
	names_set_client_key(watched[40], 9);
	watched[41] = names_watch(w.names, "own.test", 80, false, on_changed, NULL);
	UNTIL(is_asked("other.test") && is_asked("own.test"));
	assert_int_equal(w.names->query_count, LIMIT_DNS_QUERIES_OF_ONE + 4);
	assert_int_equal(w.names->client_count, 2);
	/* A place that becomes free is the next one's of the same client. */
	names_unwatch(watched[0]);
	UNTIL(w.names->query_count == LIMIT_DNS_QUERIES_OF_ONE + 4);
	for (unsigned i = 1; i < 42; i++)
		names_unwatch(watched[i]);
	assert_int_equal(w.names->query_count, 0);
	assert_int_equal(w.names->client_count, 0);
	end();
}

/* ---- hosts, SRV, odd names ---- */

/* covers: R438 */
static void hosts_win_and_may_change(void **state)
{
	(void)state;
	begin(1, LONG);
	struct resolver *r = &w.resolvers[0];
	names_set_hosts(w.names, SLICE("127.0.0.9 www.test\n"));
	struct name_watch *watched = watch("www.test");
	UNTIL(w.reports);
	assert_true(last_is("127.0.0.9:80/1"));
	assert_null(w.error);
	assert_int_equal(r->queries, 0);
	names_set_hosts(w.names, SLICE("127.0.0.10 www.test\n"));
	UNTIL(last_is("127.0.0.10:80/1"));
	r->addresses[0] = "127.0.0.2";
	names_set_hosts(w.names, SLICE(""));
	UNTIL(last_is("127.0.0.2:80/1"));
	assert_int_equal(r->queries, 2);
	r->is_silent = true;
	names_set_hosts(w.names, SLICE("127.0.0.11 www.test\n"));
	UNTIL(last_is("127.0.0.11:80/1"));
	names_unwatch(watched);
	end();
}

/* covers: R438 */
static void localhost_is_not_asked_for(void **state)
{
	(void)state;
	begin(1, LONG);
	struct name_watch *watched = watch("api.localhost");
	UNTIL(w.reports);
	assert_true(last_is("[::1]:80 127.0.0.1:80/2") || last_is("127.0.0.1:80/1"));
	assert_int_equal(w.resolvers[0].queries, 0);
	names_unwatch(watched);
	end();
}

/* covers: R436 */
static void service_has_the_addresses_and_ports_of_its_targets(void **state)
{
	(void)state;
	begin(1, LONG);
	struct resolver *r = &w.resolvers[0];
	r->ttl = 0;
	r->services[0] = "one.test";
	r->services[1] = "two.test";
	r->services[2] = "gone.test";
	struct name_watch *watched =
	    names_watch(w.names, "_http._tcp.test", 0, true, on_changed, NULL);
	UNTIL(w.reports);
	assert_true(last_is("127.0.1.1:8080 127.0.1.2:8081/2"));
	assert_null(w.error);
	r->services[0] = "two.test";
	r->services[1] = NULL;
	UNTIL(last_is("127.0.1.2:8080/1"));
	assert_int_equal(w.names->questions.count, 3);
	r->services[0] = NULL;
	UNTIL(last_is("/0"));
	assert_string_equal(w.error, "the name has no SRV record");
	/* A second watch of the service learns what is known. */
	r->services[0] = "one.test";
	UNTIL(last_is("127.0.1.1:8080/1"));
	struct name_watch *second =
	    names_watch(w.names, "_http._tcp.test", 0, true, on_changed, NULL);
	unsigned before = w.reports;
	UNTIL(w.reports > before);
	names_unwatch(second);
	names_unwatch(watched);
	end();
}

static void name_that_cannot_be_one_is_reported(void **state)
{
	(void)state;
	begin(1, LONG);
	struct name_watch *watched = watch("a..b");
	UNTIL(w.reports);
	assert_true(last_is("/0"));
	assert_string_equal(w.error, "it cannot be the name of a host");
	names_unwatch(watched);
	w.reports = 0;
	watched = watch("www.onion");
	UNTIL(w.reports);
	assert_string_equal(w.error, "it cannot be asked for such a name");
	names_unwatch(watched);
	assert_int_equal(w.resolvers[0].queries, 0);
	end();
}

static void resolvers_of_resolv_conf_are_used_and_may_change(void **state)
{
	(void)state;
	begin(0, SHORT);
	assert_int_equal(w.names->resolver_count, 1);
	names_set_resolv_conf(w.names, SLICE("nameserver 127.0.0.7\nnameserver fe80::1\n"));
	assert_int_equal(w.names->resolver_count, 2);
	w.names->resolver_count = 1;
	struct name_watch *watched = watch("www.test");
	UNTIL(w.reports && w.error);
	w.error = NULL;
	w.last[0] = '\0';
	struct name_question *q = name_question_get(w.names, "www.test", DNS_A);
	net_timer_set(&q->timer, USEC_NEVER);
	names_set_resolv_conf(w.names, SLICE("nameserver 127.0.0.8\n"));
	assert_true(q->is_asking);
	names_unwatch(watched);
	/* A resolver without a route. */
	names_set_resolv_conf(w.names, SLICE("nameserver fe80::1\n"));
	w.reports = 0;
	watched = watch("www.test");
	UNTIL(w.reports);
	assert_string_equal(w.error, "there is no route to the resolver");
	names_unwatch(watched);
	end();
}

static void own_resolvers_count_before_resolv_conf(void **state)
{
	(void)state;
	begin(1, LONG);
	names_set_resolv_conf(w.names, SLICE("nameserver 127.0.0.7\nnameserver 127.0.0.8\n"));
	assert_int_equal(w.names->resolver_count, 1);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(both_families_are_asked_and_come_together),
	    cmocka_unit_test(one_name_is_asked_once_for_all_its_watches),
	    cmocka_unit_test(watch_that_ends_at_once_is_never_told),
	    cmocka_unit_test(record_that_changes_is_found_when_its_ttl_is_over),
	    cmocka_unit_test(a_name_that_a_request_named_may_count_for_less),
	    cmocka_unit_test(ttl_is_kept_within_its_bounds),
	    cmocka_unit_test(name_that_comes_into_being_is_found_soon),
	    cmocka_unit_test(last_good_answer_stays_while_the_resolver_fails),
	    cmocka_unit_test(failing_resolver_is_asked_less_and_less_often),
	    cmocka_unit_test(next_resolver_is_asked_and_then_preferred),
	    cmocka_unit_test(closed_port_is_noticed_at_once),
	    cmocka_unit_test(addresses_of_one_family_wait_briefly_for_the_other),
	    cmocka_unit_test(answer_with_another_id_or_question_is_passed_over),
	    cmocka_unit_test(many_foreign_answers_make_it_ask_over_tcp),
	    cmocka_unit_test(stranger_cannot_answer_from_another_port),
	    cmocka_unit_test(truncated_answer_comes_over_tcp),
	    cmocka_unit_test(answer_that_is_truncated_over_tcp_is_a_failure),
	    cmocka_unit_test(resolver_that_ends_its_connection_is_a_failure),
	    cmocka_unit_test(alias_that_loops_is_a_failure),
	    cmocka_unit_test(ids_and_ports_are_random),
	    cmocka_unit_test(names_of_one_client_leave_room_for_others),
	    cmocka_unit_test(hosts_win_and_may_change),
	    cmocka_unit_test(localhost_is_not_asked_for),
	    cmocka_unit_test(service_has_the_addresses_and_ports_of_its_targets),
	    cmocka_unit_test(name_that_cannot_be_one_is_reported),
	    cmocka_unit_test(resolvers_of_resolv_conf_are_used_and_may_change),
	    cmocka_unit_test(own_resolvers_count_before_resolv_conf),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
