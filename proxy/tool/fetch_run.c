/* SPDX-License-Identifier: MIT */
/*
 * The client of `pushgate fetch`: tries each address until one connects, begins a session in the version of
 * HTTP that was chosen, sends the request, and ends when the response, all pushes and all assets have ended.
 */
#include "proxy/base/hash.h"
#include "proxy/limits.h"
#include "proxy/tool/fetch_state.h"
#include <errno.h>

#define CHUNKS_KEPT 64
#define HEADS_KEPT 8
#define MEMORY_BYTES (64u << 20)
#define CONNECTION_WINDOW_BYTES (16u << 20)
/* How much of a response fetch reads ahead of its output. */
#define STREAM_WINDOW_BYTES (1u << 20)

static void trace(void *context, const char *line)
{
	const struct fetch *f = context;
	fprintf(stderr, "%9.3f ms  %s\n", (double)(clock_monotonic() - f->started) / 1e3, line);
}

void fetch_finish(void *fetch)
{
	struct fetch *f = fetch;
	if (f->is_over)
		return;
	f->is_over = true;
	net_stop(f->loop);
}

usec fetch_since_sent(const struct fetch *f)
{
	usec at = net_now(f->loop) - f->sent;
	return at ? at : 1;
}

/* ---- the connection ---- */

/* Over TLS the server has chosen; one that knows no ALPN speaks HTTP/1.1. */
static bool speaks_http2(const struct fetch *f)
{
	if (f->request->http1)
		return false;
	return !f->tls || f->request->has_proxy ||
	       slice_equal(net_conn_alpn(f->wire.link.net), SLICE("h2"));
}

static void start_session(struct fetch *f)
{
	struct fetch_wire *w = &f->wire;
	w->env =
	    (struct session_env){.heads = f->heads, .seed = hash_random_seed(), .trace = trace};
	const struct session_conn conn = {
	    .budget = &f->budget, .traced = f->request->trace ? f : NULL};
	if (w->is_http2) {
		w->h2 = (struct h2_config){H2_CLIENT, h2_settings_initial, h2_limits_default};
		w->h2.settings.enable_push = !f->request->no_push;
		w->h2.settings.initial_window_size = STREAM_WINDOW_BYTES;
		w->h2.settings.max_concurrent_streams = FETCH_PUSHES_MAX;
		w->h2.limits.connection_window = CONNECTION_WINDOW_BYTES;
		link_start(&w->link, h2_new(&w->h2, &w->env, &conn, net_now(f->loop)));
	} else {
		w->h1 = (struct h1_config){.role = H1_CLIENT, .limits = h1_limits_default};
		w->h1.limits.window_bytes = STREAM_WINDOW_BYTES;
		link_start(&w->link, h1_new(&w->h1, &w->env, &conn, net_now(f->loop)));
	}
}

static void on_opened(void *link)
{
	const struct link *l = link;
	struct fetch *f = l->owner;
	if (f->is_over) /* the time was over in this same loop pass */
		return;
	f->wire.is_http2 = speaks_http2(f);
	start_session(f);
	const char *name = f->wire.is_http2 && !f->tls ? "h2c" : session_name(l->session);
	snprintf(f->result->protocol, sizeof(f->result->protocol), "%s%s%s", name,
	    f->tls ? ", " : "", net_conn_tls_version(l->net));
	f->result->has_no_pushes = !session_can(l->session, SESSION_TAKES_PUSHES);
	fetch_send_request(f);
}

static void connect_next(struct fetch *f);

static void fail_tls(struct fetch *f, enum net_end end, const char *at, const char *text)
{
	const char *advice = "";
	if (end == NET_END_CERTIFICATE && strstr(text, "mismatch"))
		advice = ": the certificate is for other names; --insecure (-k) does without "
			 "verification";
	else if (end == NET_END_CERTIFICATE)
		advice = "; --cacert FILE names the authority to trust, --insecure (-k) does "
			 "without verification";
	else if (strstr(text, "no application protocol"))
		advice = f->request->http1
			     ? ": the server speaks no HTTP/1.1 over TLS (ALPN)"
			     : ": the server speaks neither HTTP/2 nor HTTP/1.1 over TLS (ALPN)";
	else if (strstr(text, "wrong version number"))
		advice = "; is it an http:// server?";
	fetch_fail(f, FETCH_TLS, "TLS with %s failed: %s%s", at, text, advice);
}

static void on_ended(void *fetch, enum net_end end, const char *text)
{
	struct fetch *f = fetch;
	char at[NET_ADDRESS_TEXT];
	if (f->wire.link.session) {
		if (f->open > 0)
			fetch_fail_closed(f, text);
		fetch_lose_all(f);
		fetch_finish(f);
		return;
	}
	bool may_try_another = net_end_is_connect(end) && f->next_address < f->address_count;
	net_address_format(&f->addresses[f->next_address - 1], at, sizeof(at));
	if (may_try_another) {
		net_conn_abort(f->wire.link.net);
		f->wire.link.net = NULL;
		connect_next(f);
		return;
	}
	if (net_end_is_connect(end))
		fetch_fail(f, FETCH_CONNECT, "cannot connect to %s: %s", at,
		    text ? text : "unknown error");
	else if (net_end_is_tls(end))
		fail_tls(f, end, at, text ? text : "unknown error");
	else
		fetch_fail(f, FETCH_CONNECT, "%s closed the connection%s%s", at,
		    text && text[0] ? ": " : "", text ? text : "");
	fetch_finish(f);
}

static const struct link_ops link_ops = {fetch_on_event, fetch_copy_body, fetch_finish, on_ended};

/* "HTTP/1." cannot begin a SETTINGS frame, which is the first thing that a server sends. */
static void on_received(void *link, struct chunk *chunk, size_t offset, size_t length)
{
	const struct link *l = link;
	struct fetch *f = l->owner;
	struct status_line *first_line = &f->wire.first_line;
	char at[NET_ADDRESS_TEXT];
	if (f->wire.is_http2 && f->wire.server == FETCH_SERVER_UNKNOWN)
		status_line_add(first_line, chunk->data + offset, length);
	if (f->wire.server != FETCH_SERVER_UNKNOWN || !status_line_is_http1(first_line)) {
		link_received(link, chunk, offset, length);
		return;
	}
	net_address_format(&f->addresses[f->next_address - 1], at, sizeof(at));
	fetch_fail(f, FETCH_PROTOCOL, "%s answered with HTTP/1 (\"%s\")%s", at, first_line->text,
	    f->tls ? " after it had chosen h2 by ALPN"
		   : ": it does not speak h2c with prior knowledge; --http1.1 asks in HTTP/1.1");
	fetch_lose_all(f);
	fetch_finish(f);
}

static const struct net_conn_ops fetch_net_ops = {
    .opened = on_opened,
    .received = on_received,
    .fill = link_fill,
    .ended = link_ended,
};

static void connect_next(struct fetch *f)
{
	const struct net_address *to = &f->addresses[f->next_address++];
	const struct fetch_request *r = f->request;
	const char *name = r->has_proxy ? r->connect_host : r->host;
	struct link *l = &f->wire.link;
	l->net = net_connect(f->loop, to, f->tls, name, &fetch_net_ops, l);
}

/* Over HTTP/1.1 a proxy is asked in another form. */
static const char *alpn_of(const struct fetch_request *r)
{
	if (r->has_proxy)
		return "h2";
	return r->http1 ? "http/1.1" : "h2,http/1.1";
}

static bool prepare(struct fetch *f)
{
	const struct fetch_request *r = f->request;
	const char *host = r->connect_host ? r->connect_host : r->host;
	const char *why = NULL;
	f->address_count = net_resolve(host, r->connect_host ? r->connect_port : r->port,
	    f->addresses, FETCH_ADDRESSES_MAX, &why);
	if (f->address_count == 0)
		return fetch_fail(f, FETCH_RESOLVE, "cannot resolve %s: %s", host, why);
	if (r->has_proxy ? r->proxy_is_https : r->is_https) {
		const struct net_tls_client_options o = {
		    .ca_file = r->cacert, .verify = !r->insecure, .alpn = alpn_of(r)};
		char error[400];
		f->tls = net_tls_client_new(&o, error, sizeof(error));
		if (!f->tls)
			return fetch_fail(f, FETCH_TLS, "%s: %s",
			    r->cacert ? "--cacert"
				      : "the system's authorities cannot be read (--cacert FILE "
					"names others)",
			    error);
	}
	if (r->output) {
		f->output = strcmp(r->output, "-") == 0 ? stdout : fopen(r->output, "wb");
		if (!f->output)
			return fetch_fail(
			    f, FETCH_WRITE, "cannot write %s: %s", r->output, strerror(errno));
	}
	return true;
}

/* Names the part that has not come yet. */
static const char *missing(const struct fetch *f)
{
	if (!f->wire.link.session)
		return f->tls ? "no connection with TLS" : "no connection";
	if (f->result->count == 0 || f->result->items[0].status == 0)
		return f->wire.is_http2 && f->wire.server == FETCH_SERVER_UNKNOWN
			   ? "not even HTTP/2's first frame has come from the server"
			   : "no response";
	return f->result->items[0].end ? "a push was not complete"
				       : "the response was not complete";
}

static void on_timeout(void *context)
{
	struct fetch *f = context;
	fetch_fail(f, FETCH_TIMEOUT, "%s after %g s (--max-time)", missing(f),
	    (double)f->request->max_time / (double)USEC_PER_SEC);
	fetch_lose_all(f);
	fetch_finish(f);
}

/* Runs the loop so that the last words leave before the connection is closed. In HTTP/1.1 its end says it. */
static void close_connection(struct fetch *f)
{
	struct link *l = &f->wire.link;
	if (l->session && net_conn_is_open(l->net)) {
		if (f->wire.is_http2)
			session_terminate(l->session, SESSION_NO_ERROR, SLICE(""));
		net_conn_dirty(l->net);
		net_run_once(f->loop, 0);
	}
	link_close(l);
	net_run_once(f->loop, 0);
}

static void set_exit_status(struct fetch *f)
{
	struct fetch_result *result = f->result;
	if (f->output && (f->output == stdout ? fflush(f->output) : fclose(f->output)) != 0)
		fetch_fail(
		    f, FETCH_WRITE, "cannot write %s: %s", f->request->output, strerror(errno));
	const struct fetch_item *main_item = result->items;
	if (result->count == 0 || main_item->state != FETCH_COMPLETE)
		fetch_fail(f, FETCH_PROTOCOL, "the response is incomplete");
	else if (main_item->status < 200 || main_item->status > 399)
		fetch_fail(f, FETCH_STATUS, "the server answered %u", main_item->status);
	/* A failed push does not make a complete response a failure. */
	else if (result->exit_status == FETCH_PROTOCOL)
		result->exit_status = FETCH_OK;
}

void fetch_run(const struct fetch_request *r, struct fetch_result *result)
{
	struct fetch f = {.request = r, .result = result, .started = clock_monotonic()};
	*result = (struct fetch_result){.items = NULL};
	f.chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, CHUNKS_KEPT);
	f.heads = http_head_pool_new(HEADS_KEPT);
	f.loop = net_loop_new(f.chunks);
	budget_init(&f.budget, NULL, MEMORY_BYTES);
	net_timer_init(&f.limit, f.loop, on_timeout, &f);
	link_init(&f.wire.link, f.loop, &link_ops, &f);
	if (prepare(&f)) {
		net_timer_set(&f.limit, clock_after(f.started, r->max_time));
		connect_next(&f);
		net_run(f.loop);
		result->total = f.sent ? fetch_since_sent(&f) : 0;
		close_connection(&f);
	}
	set_exit_status(&f);
	link_fini(&f.wire.link);
	net_timer_fini(&f.limit);
	net_tls_free(f.tls);
	net_loop_free(f.loop);
	budget_fini(&f.budget);
	http_head_pool_free(f.heads);
	chunk_pool_free(f.chunks);
}
