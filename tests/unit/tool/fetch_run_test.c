/* SPDX-License-Identifier: MIT */
/*
 * `pushgate fetch` against a server engine of ours in a process of its own, which does as the path
 * says.
 */
#include "proxy/base/memory.h"
#include "proxy/h2/h2.h"
#include "proxy/limits.h"
#include "proxy/tool/fetch.h"
#include "proxy/tool/tool_conn.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the server ---- */

struct server {
	struct chunk_pool *chunks;
	struct net_loop *loop;
	struct http_head_pool *heads;
	struct budget budget;
	struct link wire;
	struct h2_config config;
	struct session_env env;
	uint64_t received;
	struct session_stream *page; /* of /hinted */
};

static struct http_head *response(struct server *v, uint16_t status)
{
	struct http_head *head = http_head_new(v->heads);
	head->kind = HTTP_RESPONSE;
	head->status = status;
	return head;
}

static void respond(struct server *v, struct session_stream *s, uint16_t status, bool end)
{
	struct http_head *head = response(v, status);
	if (status == 103)
		http_head_add_token(head, HTTP_TOKEN_LINK, SLICE("</a.css>; rel=preload"));
	session_respond(v->wire.session, s, head, end);
	http_head_free(head);
}

static struct session_stream *promise(
    struct server *v, const struct session_event *e, struct slice authority, struct slice path)
{
	struct http_head *head = http_head_new(v->heads);
	head->kind = HTTP_PROMISE;
	head->method = SLICE("GET");
	head->method_token = HTTP_METHOD_GET;
	head->scheme = e->head->scheme;
	head->authority = authority.len ? authority : e->head->authority;
	head->path = path;
	struct session_stream *s = session_promise(v->wire.session, e->stream, head, NULL);
	http_head_free(head);
	return s;
}

static void body(struct server *v, struct session_stream *s, uint16_t status)
{
	respond(v, s, status, false);
	session_offer(v->wire.session, s, 5, true);
}

static void act(struct server *v, const struct session_event *e)
{
	struct slice path = e->head->path;
	if (slice_equal(path, SLICE("/push"))) {
		struct session_stream *good = promise(v, e, SLICE(""), SLICE("/good"));
		promise(v, e, SLICE("other.test"), SLICE("/foreign"));
		struct session_stream *gone = promise(v, e, SLICE(""), SLICE("/gone"));
		body(v, e->stream, 200);
		body(v, good, 200);
		session_reset(v->wire.session, gone, SESSION_CANCEL);
	} else if (slice_equal(path, SLICE("/early"))) {
		respond(v, e->stream, 103, false);
		body(v, e->stream, 200);
	} else if (slice_equal(path, SLICE("/reset"))) {
		session_reset(v->wire.session, e->stream, SESSION_ENHANCE_YOUR_CALM);
	} else if (slice_equal(path, SLICE("/goaway"))) {
		session_terminate(v->wire.session, SESSION_INADEQUATE_SECURITY, SLICE("too\x1bweak"));
	} else if (slice_equal(path, SLICE("/broken"))) {
		respond(v, e->stream, 200, false);
		link_wake(&v->wire);
		net_run_once(v->loop, 0);
		link_close(&v->wire);
	} else if (slice_equal(path, SLICE("/upload"))) {
		/* Answered at its end. */
	} else if (slice_equal(path, SLICE("/missing"))) {
		respond(v, e->stream, 404, true);
	} else if (slice_equal(path, SLICE("/hinted"))) {
		v->page = e->stream;
		respond(v, e->stream, 103, false);
	} else if (slice_equal(path, SLICE("/a.css"))) {
		body(v, e->stream, 200);
		/* The page comes only when what was hinted has been requested. */
		if (v->page)
			body(v, v->page, 200);
		v->page = NULL;
	} else if (slice_equal(path, SLICE("/whole")) || slice_equal(path, SLICE("/good"))) {
		body(v, e->stream, 200);
	}
}

static void on_event(void *owner, struct session_event *e)
{
	struct server *v = owner;
	if (e->kind == SESSION_EVENT_HEAD)
		act(v, e);
	if (e->kind == SESSION_EVENT_DATA) {
		v->received += e->piece.length;
		if (e->end)
			respond(v, e->stream, v->received == 200000 ? 201 : 400, true);
		else
			session_credit(v->wire.session, e->stream, e->piece.length);
	}
	http_head_free(e->head);
}

static void on_payload(void *owner, struct net_out *out, const struct session_output *frame)
{
	(void)owner;
	net_out_copy(out, "hello", frame->length);
}

static void on_finished(void *owner)
{
	struct server *v = owner;
	link_close(&v->wire);
}

static void on_ended(void *owner, enum net_end end, const char *text)
{
	(void)end, (void)text;
	struct server *v = owner;
	link_close(&v->wire);
}

static const struct link_ops ops = {on_event, on_payload, on_finished, on_ended};
static const struct net_conn_ops net_ops = {
    .received = link_received, .fill = link_fill, .ended = link_ended};

static void accepted(void *context, int fd, const struct net_address *peer)
{
	(void)peer;
	struct server *v = context;
	link_init(&v->wire, v->loop, &ops, v);
	v->wire.net = net_conn_new(v->loop, fd, NULL, &net_ops, &v->wire);
	v->config = (struct h2_config){H2_SERVER, h2_settings_initial, h2_limits_default};
	v->env = (struct session_env){.heads = v->heads, .seed = 3};
	const struct session_conn conn = {.budget = &v->budget};
	link_start(&v->wire, h2_new(&v->config, &v->env, &conn, net_now(v->loop)));
}

static _Noreturn void serve(int fd)
{
	struct server *v = memory_new(struct server);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	v->chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 8);
	v->loop = net_loop_new(v->chunks);
	v->heads = http_head_pool_new(8);
	budget_init(&v->budget, NULL, 16u << 20);
	net_listener_new(v->loop, fd, accepted, NULL, v);
	net_run(v->loop);
	_exit(0);
}

/* ---- the bench: one server process a test ---- */

struct bench {
	pid_t server;
	char url[64];
	struct fetch_request request;
	struct fetch_result result;
};

static int set_up(void **state)
{
	struct bench *b = memory_new(struct bench);
	struct net_address at;
	const char *error = net_address_parse(SLICE("127.0.0.1:0"), &at);
	int fd = error ? -1 : net_listen(&at, 8, &error);
	struct sockaddr_in bound;
	socklen_t length = sizeof(bound);
	if (fd < 0 || getsockname(fd, (struct sockaddr *)&bound, &length) != 0)
		return -1;
	snprintf(b->url, sizeof(b->url), "http://127.0.0.1:%u", ntohs(bound.sin_port));
	b->server = fork();
	if (b->server == 0)
		serve(fd);
	close(fd);
	*state = b;
	return 0;
}

static void end_server(struct bench *b)
{
	if (b->server) {
		kill(b->server, SIGKILL);
		waitpid(b->server, NULL, 0);
	}
	b->server = 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	end_server(b);
	fetch_result_fini(&b->result);
	fetch_request_fini(&b->request);
	free(b);
	return 0;
}

static const struct fetch_result *fetch(struct bench *b, const char *path)
{
	static char url[128];
	snprintf(url, sizeof(url), "%s%s", b->url, path);
	assert_null(fetch_parse_url(&b->request, url));
	if (!b->request.method)
		b->request.method = "GET";
	if (!b->request.max_time)
		b->request.max_time = 20 * USEC_PER_SEC;
	fetch_run(&b->request, &b->result);
	return &b->result;
}

static const struct fetch_item *item(const struct fetch_result *r, const char *path)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->items[i].path, path) == 0)
			return &r->items[i];
	fail_msg("no item %s", path);
	return NULL;
}

static void whole_response_is_success(void **state)
{
	const struct fetch_result *r = fetch(*state, "/whole");
	assert_int_equal(r->exit_status, FETCH_OK);
	assert_int_equal(r->count, 1);
	assert_int_equal(r->items[0].status, 200);
	assert_int_equal(r->items[0].bytes, 5);
	assert_int_equal(r->items[0].state, FETCH_COMPLETE);
	assert_true(r->items[0].first_byte > 0 && r->items[0].end >= r->items[0].first_byte);
	assert_true(r->total >= r->items[0].end);
	assert_string_equal(r->protocol, "h2c");
}

static void pushes_are_taken_from_the_same_origin_alone(void **state)
{
	const struct fetch_result *r = fetch(*state, "/push");
	assert_int_equal(r->exit_status, FETCH_OK);
	assert_int_equal(r->count, 4);
	const struct fetch_item *good = item(r, "/good");
	assert_int_equal(good->state, FETCH_COMPLETE);
	assert_int_equal(good->bytes, 5);
	assert_true(good->is_push && good->start > 0 && good->start <= good->first_byte);
	assert_int_equal(item(r, "/foreign")->state, FETCH_REFUSED);
	assert_string_equal(item(r, "/foreign")->why, "another origin");
	assert_int_equal(item(r, "/gone")->state, FETCH_RESET);
	assert_string_equal(item(r, "/gone")->why, "CANCEL");
}

static void no_push_means_no_promise(void **state)
{
	struct bench *b = *state;
	b->request.no_push = true;
	const struct fetch_result *r = fetch(b, "/whole");
	assert_int_equal(r->exit_status, FETCH_OK);
	assert_int_equal(r->count, 1);
}

static void interim_response_is_kept_with_its_links(void **state)
{
	const struct fetch_result *r = fetch(*state, "/early");
	assert_int_equal(r->items[0].interim_count, 1);
	assert_int_equal(r->items[0].interims[0].status, 103);
	assert_string_equal(r->items[0].interims[0].link, "</a.css>; rel=preload");
	assert_int_equal(r->items[0].status, 200);
	assert_int_equal(r->exit_status, FETCH_OK);
}

static void assets_are_requested_with_the_page_or_when_a_link_names_them(void **state)
{
	struct bench *b = *state;
	static const char *const assets[] = {"/a.css", "/good"};
	b->request.assets = assets;
	b->request.asset_count = 2;
	b->request.no_push = true;
	const struct fetch_result *r = fetch(b, "/hinted");
	assert_int_equal(r->exit_status, FETCH_OK);
	assert_int_equal(r->count, 3);
	const struct fetch_item *page = item(r, "/hinted"), *hinted = item(r, "/a.css"),
				*other = item(r, "/good");
	assert_true(!hinted->is_push && !other->is_push);
	assert_int_equal(hinted->state, FETCH_COMPLETE);
	assert_int_equal(other->state, FETCH_COMPLETE);
	assert_int_equal(other->bytes, 5);
	assert_true(hinted->start <= page->first_byte);
	assert_true(other->start >= page->first_byte);
}

static void comparison_gets_what_was_pushed_without_pushes(void **state)
{
	struct bench *b = *state;
	struct fetch_result results[2];
	char url[128], *text;
	size_t size;
	snprintf(url, sizeof(url), "%s/push", b->url);
	assert_null(fetch_parse_url(&b->request, url));
	b->request.method = "GET";
	b->request.max_time = 20 * USEC_PER_SEC;
	/* The server makes the promises of /push in any case, and fetch refuses them: no second run's
	 * result matters here but the request for what was pushed. */
	assert_int_equal(fetch_compare(&b->request, results), 2);
	assert_int_equal(results[0].exit_status, FETCH_OK);
	assert_true(item(&results[0], "/good")->is_push);
	FILE *out = open_memstream(&text, &size);
	fetch_show_comparison(&b->request, results, 2, 100, out);
	fclose(out);
	assert_non_null(strstr(text, "pushes not accepted (ENABLE_PUSH=0)"));
	free(text);
	fetch_result_fini(&results[0]);
	fetch_result_fini(&results[1]);
}

static void nothing_pushed_is_nothing_to_compare(void **state)
{
	struct bench *b = *state;
	struct fetch_result results[2];
	char url[128], *text;
	size_t size;
	snprintf(url, sizeof(url), "%s/whole", b->url);
	assert_null(fetch_parse_url(&b->request, url));
	b->request.method = "GET";
	b->request.max_time = 20 * USEC_PER_SEC;
	assert_int_equal(fetch_compare(&b->request, results), 1);
	FILE *out = open_memstream(&text, &size);
	fetch_show_comparison(&b->request, results, 1, 100, out);
	fclose(out);
	assert_non_null(strstr(text, "nothing was pushed"));
	free(text);
	fetch_result_fini(&results[0]);
}

static void error_status_has_an_exit_status_of_its_own(void **state)
{
	const struct fetch_result *r = fetch(*state, "/missing");
	assert_int_equal(r->exit_status, FETCH_STATUS);
	assert_string_equal(r->error, "the server answered 404");
}

static void reset_request_names_the_code(void **state)
{
	const struct fetch_result *r = fetch(*state, "/reset");
	assert_int_equal(r->exit_status, FETCH_PROTOCOL);
	assert_string_equal(r->error, "the server reset the request: ENHANCE_YOUR_CALM (it was asked for too much, or too fast)");
	assert_int_equal(r->items[0].state, FETCH_RESET);
}

static void goaway_tells_code_and_debug_text_without_controls(void **state)
{
	const struct fetch_result *r = fetch(*state, "/goaway");
	assert_int_equal(r->exit_status, FETCH_PROTOCOL);
	assert_string_equal(
	    r->error, "the server ends the connection: GOAWAY INADEQUATE_SECURITY (the TLS connection is "
		      "not safe enough for it); it says: too?weak");
	assert_int_equal(r->items[0].state, FETCH_LOST);
}

static void connection_lost_in_the_middle_is_an_error(void **state)
{
	const struct fetch_result *r = fetch(*state, "/broken");
	assert_int_equal(r->exit_status, FETCH_PROTOCOL);
	assert_int_equal(r->items[0].status, 200);
	assert_int_equal(r->items[0].state, FETCH_LOST);
}

static void silence_ends_at_max_time(void **state)
{
	struct bench *b = *state;
	b->request.max_time = 200 * USEC_PER_MSEC;
	const struct fetch_result *r = fetch(b, "/silence");
	assert_int_equal(r->exit_status, FETCH_TIMEOUT);
	if (r->count > 0) /* on a slow machine the time is over before the connection is open */
		assert_int_equal(r->items[0].state, FETCH_LOST);
}

static void refused_connection_is_told_in_words(void **state)
{
	struct bench *b = *state;
	end_server(b);
	const struct fetch_result *r = fetch(b, "/whole");
	assert_int_equal(r->exit_status, FETCH_CONNECT);
	assert_non_null(strstr(r->error, "Connection refused"));
	assert_int_equal(r->count, 0);
}

static void upload_arrives_whole(void **state)
{
	struct bench *b = *state;
	static char upload[200000];
	b->request.has_body = true;
	b->request.body = slice_of(upload, sizeof(upload));
	b->request.method = "POST";
	const struct fetch_result *r = fetch(b, "/upload");
	assert_int_equal(r->items[0].status, 201);
	assert_int_equal(r->exit_status, FETCH_OK);
}

static void body_is_written_to_the_output_file(void **state)
{
	struct bench *b = *state;
	char path[] = "/tmp/pushgate-test-XXXXXX", text[16] = "";
	int fd = mkstemp(path);
	b->request.output = path;
	assert_int_equal(fetch(b, "/whole")->exit_status, FETCH_OK);
	assert_int_equal(read(fd, text, sizeof(text)), 5);
	assert_string_equal(text, "hello");
	close(fd);
	unlink(path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(whole_response_is_success),
	    TEST(pushes_are_taken_from_the_same_origin_alone),
	    TEST(no_push_means_no_promise),
	    TEST(interim_response_is_kept_with_its_links),
	    TEST(assets_are_requested_with_the_page_or_when_a_link_names_them),
	    TEST(comparison_gets_what_was_pushed_without_pushes),
	    TEST(nothing_pushed_is_nothing_to_compare),
	    TEST(error_status_has_an_exit_status_of_its_own),
	    TEST(reset_request_names_the_code),
	    TEST(goaway_tells_code_and_debug_text_without_controls),
	    TEST(connection_lost_in_the_middle_is_an_error),
	    TEST(silence_ends_at_max_time),
	    TEST(refused_connection_is_told_in_words),
	    TEST(upload_arrives_whole),
	    TEST(body_is_written_to_the_output_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
