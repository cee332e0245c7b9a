/* SPDX-License-Identifier: MIT */
/*
 * Each state that a connection can be in, and in each of them each thing that its owner or the transport
 * can do: what follows, and which questions have which answers before and after. A row for each state, a
 * column for each deed.
 */
#include "tests/unit/h1/bench.h"

#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n"
#define OLD "GET / HTTP/1.0\r\nHost: a\r\n\r\n"
#define OK "HTTP/1.1 200 OK\r\n"
#define SWITCHED "HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"
#define UPGRADE "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"

/* Takes what there is to send without looking for events. */
static void take(struct bench *b)
{
	struct session_output o;
	while (session_next_output(b->conn, 8, &o))
		session_check(b->conn);
}

/* ---- states ---- */

enum step {
	NOTHING,
	ANSWER,		 /* a server's whole answer, which leaves */
	ANSWER_UNTAKEN,  /* the same, and its end is not an event yet */
	ANSWER_LENGTH,   /* its head and the first byte of three */
	ANSWER_OPEN,     /* a head without length */
	ANSWER_WRONG,    /* fewer bytes than its head says */
	ASK,		 /* a whole request */
	ASK_LENGTH,      /* its head and the first byte of three */
	ASK_WRONG,       /* fewer bytes than its head says */
	OPEN,		 /* a server's 101, which leaves */
	OPEN_ENDED,      /* the same, and our direction has ended */
	ASK_TUNNEL,      /* a request for one */
	OFFER_END,       /* our direction ends */
};

struct state {
	const char *name;
	enum h1_role role;
	enum step before, after; /* what the peer says is between them */
	const char *said;
	/* One letter for each deed in the order of `deeds`. */
	const char *outcome;
};

static void answer_length(struct bench *b, const char *length, size_t offered, bool end)
{
	assert_true(respond(b, 200, length, false));
	session_offer(b->conn, NULL, offered, end);
}

static void ask_length(struct bench *b, size_t offered, bool end)
{
	assert_true(ask(b, "PUT", "3", false));
	session_offer(b->conn, NULL, offered, end);
}

static void answer_open(struct bench *b, bool end)
{
	struct http_head *head = http_head_new(b->heads);
	head->kind = HTTP_RESPONSE;
	head->status = 200;
	head->opens_tunnel = true;
	head->protocol = SLICE("echo");
	assert_true(session_respond(b->conn, NULL, head, end));
	http_head_free(head);
}

static void ask_tunnel(struct bench *b)
{
	struct http_head *head = request_of(b, "CONNECT");
	head->protocol = SLICE("echo");
	assert_true(session_request(b->conn, head, false, b));
	http_head_free(head);
}

static void step(struct bench *b, enum step s)
{
	switch (s) {
	case NOTHING:
		return;
	case ANSWER:
		assert_true(respond(b, 200, "0", true));
		send(b);
		return;
	case ANSWER_UNTAKEN:
		assert_true(respond(b, 200, "0", true));
		take(b);
		return;
	case ANSWER_LENGTH:
		answer_length(b, "3", 1, false);
		break;
	case ANSWER_OPEN:
		answer_length(b, NULL, 1, false);
		break;
	case ANSWER_WRONG:
		answer_length(b, "3", 1, true);
		break;
	case ASK:
		assert_true(ask(b, "GET", NULL, true));
		break;
	case ASK_LENGTH:
		ask_length(b, 1, false);
		break;
	case ASK_WRONG:
		ask_length(b, 1, true);
		break;
	case OPEN:
	case OPEN_ENDED:
		answer_open(b, s == OPEN_ENDED);
		break;
	case ASK_TUNNEL:
		ask_tunnel(b);
		break;
	case OFFER_END:
		session_offer(b->conn, NULL, 0, true);
		break;
	}
	take(b);
}

/* ---- deeds ---- */

static void deed_reset(struct bench *b)
{
	session_reset(b->conn, NULL, SESSION_CANCEL);
}

static void deed_terminate(struct bench *b)
{
	session_terminate(b->conn, SESSION_NO_ERROR, SLICE(""));
}

static void deed_shutdown(struct bench *b)
{
	session_shutdown(b->conn, 0);
}

static void deed_half_close(struct bench *b)
{
	session_half_close(b->conn, 0);
	session_ended(b->conn, true);
}

static void deed_clean_end(struct bench *b)
{
	session_ended(b->conn, true);
}

static void deed_dirty_end(struct bench *b)
{
	session_ended(b->conn, false);
}

static void deed_late(struct bench *b)
{
	session_tick(b->conn, b->now + 11 * USEC_PER_SEC);
}

/* All that is left of the outgoing message, when some of it is. */
static void deed_finish(struct bench *b)
{
	session_offer(b->conn, NULL, 2, true);
	take(b);
}

static const struct {
	const char *name;
	void (*run)(struct bench *b);
} deeds[] = {
    {"reset", deed_reset},
    {"terminate", deed_terminate},
    {"shutdown", deed_shutdown},
    {"half close", deed_half_close},
    {"clean end", deed_clean_end},
    {"dirty end", deed_dirty_end},
    {"late", deed_late},
    {"finish", deed_finish},
};
#define DEEDS (sizeof(deeds) / sizeof(deeds[0]))

/*
 * What there is afterwards, when all events were taken:
 *   i  idle: open for another exchange        o  the exchange goes on
 *   d  done: nothing is left, a clean end     a  done, and only an abort says that something is missing
 *   l  the exchange goes on, and is the last one
 */
static char outcome_of(const struct bench *b)
{
	if (session_is_done(b->conn))
		return session_must_abort(b->conn) ? 'a' : 'd';
	assert_false(session_must_abort(b->conn));
	if (session_peer(b->conn).is_going_away)
		return 'l';
	return h1_has_stream(b->conn) ? 'o' : 'i';
}

static const struct state states[] = {
    /* The letters: reset, terminate, shutdown, half close, clean end, dirty end, late, finish. */
    {"new", H1_SERVER, NOTHING, NOTHING, "", "iddddddi"},
    {"in a head", H1_SERVER, NOTHING, NOTHING, "GET / HT", "idldddli"},
    {"request", H1_SERVER, NOTHING, NOTHING, GET, "ddlloooo"},
    {"in a body", H1_SERVER, NOTHING, NOTHING, POST "Content-Length: 9\r\n\r\na", "ddlloooo"},
    {"in chunks", H1_SERVER, NOTHING, NOTHING, POST CHUNKED "5\r\na", "ddlloooo"},
    {"in trailers", H1_SERVER, NOTHING, NOTHING, POST CHUNKED "0\r\nX", "ddlloooo"},
    {"refused", H1_SERVER, NOTHING, NOTHING, "FROB\r\n", "ddllllll"},
    {"body refused", H1_SERVER, NOTHING, NOTHING, POST CHUNKED "x", "ddllllll"},
    {"answered", H1_SERVER, NOTHING, ANSWER, GET, "idddddii"},
    {"answered, untold", H1_SERVER, NOTHING, ANSWER_UNTAKEN, GET, "idddddii"},
    {"answer begun", H1_SERVER, NOTHING, ANSWER_LENGTH, GET, "ddlloooi"},
    {"answer without length", H1_SERVER, NOTHING, ANSWER_OPEN, OLD, "aallllld"},
    {"chunked answer", H1_SERVER, NOTHING, ANSWER_OPEN, GET, "ddlloooi"},
    {"answer too short", H1_SERVER, NOTHING, ANSWER_WRONG, GET, "aaaaaaaa"},
    {"another waits", H1_SERVER, NOTHING, ANSWER_LENGTH, GET GET, "ddlloooo"},
    {"upgrade", H1_SERVER, NOTHING, NOTHING, UPGRADE "x", "ddllllll"},
    {"tunnel", H1_SERVER, NOTHING, OPEN, UPGRADE "x", "aallllll"},
    {"tunnel, our end", H1_SERVER, NOTHING, OPEN_ENDED, UPGRADE "x", "aalddlll"},
    {"new", H1_CLIENT, NOTHING, NOTHING, "", "idddddii"},
    {"asked", H1_CLIENT, ASK, NOTHING, "", "aalloooo"},
    {"in a head", H1_CLIENT, ASK, NOTHING, OK "Conte", "aalloooo"},
    {"in a body", H1_CLIENT, ASK, NOTHING, OK "Content-Length: 9\r\n\r\na", "aalloooo"},
    {"in chunks", H1_CLIENT, ASK, NOTHING, OK CHUNKED "5\r\na", "aalloooo"},
    {"in a body without length", H1_CLIENT, ASK, NOTHING, OK "\r\na", "aalddlll"},
    {"answered", H1_CLIENT, ASK, NOTHING, OK "Content-Length: 0\r\n\r\n", "idddddii"},
    {"uploading", H1_CLIENT, ASK_LENGTH, NOTHING, "", "aalloooo"},
    {"answered early", H1_CLIENT, ASK_LENGTH, NOTHING, OK "Content-Length: 0\r\n\r\n", "aalloooi"},
    {"tunnel asked for", H1_CLIENT, ASK_TUNNEL, NOTHING, "", "aalloooo"},
    {"tunnel", H1_CLIENT, ASK_TUNNEL, NOTHING, SWITCHED "a", "aallllll"},
    {"tunnel, our end", H1_CLIENT, ASK_TUNNEL, OFFER_END, SWITCHED, "aalddlll"},
    {"tunnel refused", H1_CLIENT, ASK_TUNNEL, NOTHING, OK "Content-Length: 9\r\n\r\n", "aalloooo"},
    {"request too short", H1_CLIENT, ASK_WRONG, NOTHING, "", "aaaaaaaa"},
};
#define STATES (sizeof(states) / sizeof(states[0]))

static void enter(struct bench *b, const struct state *s)
{
	begin(b, s->role);
	step(b, s->before);
	say(b, s->said);
	step(b, s->after);
	b->told[0] = '\0';
}

static void each_deed_in_each_state(void **state)
{
	struct bench *b = *state;
	for (size_t i = 0; i < STATES; i++) {
		char outcomes[DEEDS + 1] = "";
		for (size_t n = 0; n < DEEDS; n++) {
			enter(b, &states[i]);
			session_check(b->conn);
			deeds[n].run(b);
			session_check(b->conn);
			drain(b);
			session_check(b->conn);
			outcomes[n] = outcome_of(b);
		}
		if (strcmp(outcomes, states[i].outcome) != 0)
			fail_msg("%s: %s, not %s", states[i].name, outcomes, states[i].outcome);
	}
}

/* The second one comes before anybody has looked at what the first one did; then the peer goes on. */
static void each_two_deeds_in_each_state(void **state)
{
	struct bench *b = *state;
	for (size_t i = 0; i < STATES * DEEDS * DEEDS; i++) {
		enter(b, &states[i / DEEDS / DEEDS]);
		deeds[i / DEEDS % DEEDS].run(b);
		session_check(b->conn);
		bool must_abort = session_must_abort(b->conn), has_failed = session_has_failed(b->conn);
		bool is_going = session_peer(b->conn).is_going_away;
		deeds[i % DEEDS].run(b);
		session_check(b->conn);
		assert_true(session_must_abort(b->conn) || !must_abort);
		assert_true(session_has_failed(b->conn) || !has_failed);
		assert_true(session_peer(b->conn).is_going_away || !is_going);
		drain(b);
		bool is_done = session_is_done(b->conn);
		b->told[0] = '\0';
		say(b, states[i / DEEDS / DEEDS].role == H1_SERVER ? GET : OK "Content-Length: 0\r\n\r\n");
		session_check(b->conn);
		if (session_has_failed(b->conn)) {
			take(b);
			drain(b);
			assert_false(session_wants_write(b->conn));
			assert_true(is_done || b->told[strlen(b->told) - 1] == 'F');
		}
		if (is_done)
			assert_int_equal(session_request_room(b->conn), 0);
		if (has_failed)
			assert_string_equal(b->told, "");
		/* Two ends at once never make a response complete that was cut off. */
		if (must_abort)
			assert_true(session_is_done(b->conn));
	}
}

/* ---- questions ---- */

static void room_for_a_request_is_between_two_exchanges(void **state)
{
	struct bench *b = *state;
	begin(b, H1_SERVER);
	assert_int_equal(session_request_room(b->conn), 0);
	begin(b, H1_CLIENT);
	assert_int_equal(session_request_room(b->conn), 1);
	put_bytes(b, "x", 1); /* a byte too many, which nobody has looked at */
	assert_int_equal(session_request_room(b->conn), 0);
	assert_false(session_is_done(b->conn));
	drain(b);
	assert_string_equal(b->told, "RF");
	assert_string_equal(b->fault, "response-unasked");
	begin(b, H1_CLIENT);
	session_ended(b->conn, true);
	assert_int_equal(session_request_room(b->conn), 0);
	assert_false(ask(b, "GET", NULL, true));
	begin(b, H1_CLIENT);
	session_shutdown(b->conn, 0);
	assert_int_equal(session_request_room(b->conn), 0);
}

static void the_user_of_a_stream_is_told_with_its_events(void **state)
{
	struct bench *b = *state;
	struct session_event e;
	int other;
	begin(b, H1_CLIENT);
	assert_true(ask(b, "GET", NULL, true));
	take(b);
	put_bytes(b, OK "Content-Length: 1\r\n\r\nx", 39);
	assert_true(session_next_event(b->conn, &e));
	assert_ptr_equal(e.user, b);
	http_head_free(e.head);
	session_set_user(e.stream, &other);
	assert_true(session_next_event(b->conn, &e));
	assert_ptr_equal(e.user, &other);
	assert_true(session_next_event(b->conn, &e));
	assert_true(e.kind == SESSION_EVENT_CLOSED && e.user == &other);
	assert_false(h1_has_stream(b->conn));
}

/* An answer of failure says whether the connection goes on: it does if all of the request is here. */
static void a_failure_in_front_of_a_body_that_is_here_keeps_the_connection(void **state)
{
	struct bench *b = *state;
	b->limits.window_bytes = 1;
	b->keeps_credit = true;
	for (int is_here = 0; is_here < 2; is_here++) {
		begin(b, H1_SERVER);
		say(b, POST "Content-Length: 3\r\n\r\na");
		say(b, is_here ? "bc" : "b");
		assert_true(respond(b, 403, "0", true));
		send(b);
		assert_int_equal(session_peer(b->conn).is_going_away, !is_here);
	}
	/* A client that has said all gets its answer as the last one. */
	begin(b, H1_SERVER);
	say(b, GET);
	session_ended(b->conn, true);
	assert_true(respond(b, 200, "0", true));
	send(b);
	assert_non_null(strstr(b->sent, "connection: close"));
}

/* The owner gives up a request that it has answered: what is here of it is skipped, and what is not here ends the
 * connection. */
static void an_answered_request_that_is_given_up_keeps_the_connection_if_it_is_here(void **state)
{
	struct bench *b = *state;
	b->limits.window_bytes = 1;
	b->keeps_credit = true;
	for (int is_here = 0; is_here < 2; is_here++) {
		begin(b, H1_SERVER);
		say(b, POST "Content-Length: 3\r\n\r\na");
		say(b, is_here ? "bc" GET : "b");
		assert_true(respond(b, 200, "0", true));
		take(b);
		session_reset(b->conn, NULL, SESSION_CANCEL);
		drain(b);
		assert_string_equal(b->told, is_here ? "HaH." : "Ha");
		assert_int_equal(session_is_done(b->conn), !is_here);
		assert_false(session_must_abort(b->conn));
	}
}

/* No counter has to be there for a fault. */
static void faults_need_no_listener(void **state)
{
	struct bench *b = *state;
	const struct session_conn conn = {.budget = &b->budget};
	b->config = (struct h1_config){.role = H1_SERVER, .limits = b->limits};
	b->env = (struct session_env){.heads = b->heads};
	b->conn = h1_new(&b->config, &b->env, &conn, b->now);
	say(b, "FROB\r\n");
	assert_string_equal(b->told, "H.");
	assert_int_equal(b->faults, 0);
	session_free(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(each_deed_in_each_state),
	    TEST(each_two_deeds_in_each_state),
	    TEST(room_for_a_request_is_between_two_exchanges),
	    TEST(the_user_of_a_stream_is_told_with_its_events),
	    TEST(a_failure_in_front_of_a_body_that_is_here_keeps_the_connection),
	    TEST(an_answered_request_that_is_given_up_keeps_the_connection_if_it_is_here),
	    TEST(faults_need_no_listener),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
