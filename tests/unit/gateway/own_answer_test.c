/* SPDX-License-Identifier: MIT */
/* What the configuration has for pushgate's own answers: files for errors, redirects, Strict-Transport-Security. */
#include "tests/support/gateway_world.h"
#include "tests/unit/conf/pem.h"

#include <stdlib.h>
#include <unistd.h>

static struct slice field(const struct gate_stream *s, enum http_token token)
{
	const struct http_field *f = http_head_find(s->head, token);
	return f ? f->value : SLICE("");
}

static void field_is(const struct gate_stream *s, enum http_token token, const char *wanted)
{
	struct slice value = field(s, token);
	if (!slice_equal(value, slice_of_string(wanted)))
		fail_msg("%s: %.*s, not %s", http_token_name(token).ptr, SLICE_ARG(value), wanted);
}

static void answered(struct gate_world *w, struct gate_stream *s, unsigned status)
{
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, status);
}

static void a_status_has_its_own_body_or_the_one_of_all_others(void **state)
{
	(void)state;
	struct conf_error_body bodies[] = {
	    {.status = 0, .body = SLICE("any"), .content_type = "text/plain"},
	    {.status = 404, .body = SLICE("<p>none"), .content_type = "text/html"},
	    {.status = 204, .body = SLICE("never"), .content_type = "text/plain"},
	};
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, "[route a]\norigin = a\npath = /here\n");
	w->conf->error_bodies = bodies;
	w->conf->error_body_count = 3;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/there");
	answered(w, s, 404);
	assert_memory_equal(s->text, "<p>none", 7);
	field_is(s, HTTP_TOKEN_CONTENT_TYPE, "text/html");
	s = gate_request(c, "TRACE", "example.com", "/here", true, "max-forwards", "0", NULL);
	answered(w, s, 501);
	assert_memory_equal(s->text, "any", 3);
	field_is(s, HTTP_TOKEN_CONTENT_LENGTH, "3");
	s = gate_request(c, "OPTIONS", "example.com", "/here", true, "max-forwards", "0", NULL);
	answered(w, s, 204);
	assert_int_equal(s->received, 0);
	s = gate_request(c, "GET", "example.com", "/there", true, "accept", "application/json", NULL);
	answered(w, s, 404);
	field_is(s, HTTP_TOKEN_CONTENT_TYPE, "application/problem+json");
	w->conf->error_body_count = 0;
	s = gate_get(c, "/there");
	answered(w, s, 404);
	field_is(s, HTTP_TOKEN_CONTENT_TYPE, "text/plain");
	gate_world_free(w);
}

static void a_redirect_keeps_host_path_and_query(void **state)
{
	(void)state;
	static const struct {
		const char *method, *authority, *path, *location;
		uint16_t port;
	} rows[] = {
	    {"GET", "a.test", "/", "https://a.test/", 443},
	    {"POST", "a.test:80", "/p?q", "https://a.test/p?q", 443},
	    {"GET", "[2001:db8::1]:8080", "//b.test", "https://[2001:db8::1]:8443//b.test", 8443},
	    {"OPTIONS", "a.test", "*", "https://a.test:1", 1},
	    {"OPTIONS", "a.test", "*", "https://a.test", 443},
	};
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct conf_listen *l = &w->conf->listens[0];
	l->redirect_to_https = true;
	struct gate_peer *c = gate_client(w, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		l->redirect_port = rows[i].port;
		struct gate_stream *s =
		    gate_request(c, rows[i].method, rows[i].authority, rows[i].path, true, NULL);
		answered(w, s, 308);
		field_is(s, HTTP_TOKEN_LOCATION, rows[i].location);
		assert_int_equal(s->received, 0);
	}
	assert_int_equal(w->sites[0].peer_count, 0);
	gate_world_free(w);
}

static void hsts_is_added_over_tls_alone(void **state)
{
	(void)state;
	char chain[] = "/tmp/pushgate-answer-XXXXXX", key[] = "/tmp/pushgate-answer-XXXXXX", listen[256], error[128];
	int files[] = {mkstemp(chain), mkstemp(key)};
	assert_true(write(files[0], PEM_CERTIFICATE_1, strlen(PEM_CERTIFICATE_1)) > 0);
	assert_true(write(files[1], PEM_KEY_1, strlen(PEM_KEY_1)) > 0);
	close(files[0]);
	close(files[1]);
	snprintf(listen, sizeof(listen), "certificate = %s\nkey = %s", chain, key);
	const struct net_tls_client_options o = {.verify = false, .alpn = "h2"};
	struct net_tls *tls = net_tls_client_new(&o, error, sizeof(error));
	const struct gate_peer_options options = {.tls = tls, .server_name = "test1.invalid"};
	for (int is_tls = 0; is_tls < 2; is_tls++) {
		const char *wanted = is_tls ? "max-age=9" : "";
		struct gate_world *w = gate_world_new(NULL, is_tls ? listen : NULL, NULL, "[route a]\norigin = a\npath = /here\n");
		w->conf->listens[0].hsts = "max-age=9";
		struct gate_peer *c = gate_client(w, is_tls ? &options : NULL);
		struct gate_stream *s = gate_request(c, "GET", "test1.invalid", "/there", true, NULL);
		answered(w, s, 404);
		field_is(s, HTTP_TOKEN_STRICT_TRANSPORT_SECURITY, wanted);
		for (int has_own = 0; has_own < 2; has_own++) {
			const char *path = has_own ? "/here/own" : "/here";
			s = gate_request(c, "GET", "test1.invalid", path, true, NULL);
			UNTIL(w, gate_find(w, path));
			gate_answer_fields(gate_find(w, path), 200, true, "x-a", "b",
			    has_own ? "strict-transport-security" : NULL, "max-age=0", NULL);
			answered(w, s, 200);
			field_is(s, HTTP_TOKEN_STRICT_TRANSPORT_SECURITY, has_own ? "max-age=0" : wanted);
		}
		gate_world_free(w);
	}
	unlink(chain);
	unlink(key);
	net_tls_free(tls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_status_has_its_own_body_or_the_one_of_all_others),
	    cmocka_unit_test(a_redirect_keeps_host_path_and_query),
	    cmocka_unit_test(hsts_is_added_over_tls_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
