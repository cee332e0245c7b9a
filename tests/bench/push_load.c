/* SPDX-License-Identifier: MIT */
/*
 * A load client that accepts pushes, on libnghttp2 (so that it shares nothing with the engine
 * under test) over the program's own sockets. Each connection keeps `streams` requests for one page
 * under way; each response must come with `pushes` complete pushes.
 *
 *   push_load [-c connections] [-m streams] [-n requests] [-p pushes] [-w] ADDRESS:PORT AUTHORITY PATH
 *
 * TLS unless -w (plain). Prints one JSON object; exit status 1 when anything was missing.
 */
#include "proxy/base/chunk.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/net/net.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <unistd.h>

struct load {
	struct net_loop *loop;
	const char *authority, *path;
	bool plain;
	unsigned connections, streams, pushes;
	unsigned long requests, started, finished, failed;
	unsigned long pushes_promised, pushes_finished, pushes_failed, pushes_missing;
	unsigned long long bytes;
	unsigned connections_left;
};

struct page {
	int32_t id;
	unsigned pushes_open, pushes_seen;
	bool is_done;
};

struct link {
	struct load *load;
	struct net_conn *net;
	nghttp2_session *session;
	struct page *pages; /* by slot */
};

static void submit(struct link *l, struct page *page);

static nghttp2_nv field(const char *name, const char *value)
{
	return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value),
	    NGHTTP2_NV_FLAG_NONE};
}

static void page_check(struct link *l, struct page *page)
{
	struct load *load = l->load;
	if (!page->is_done || page->pushes_open > 0)
		return;
	load->finished++;
	if (page->pushes_seen < load->pushes)
		load->pushes_missing += load->pushes - page->pushes_seen;
	page->id = 0;
	if (load->started < load->requests)
		submit(l, page);
	else if (load->finished + load->failed >= load->requests)
		net_stop(load->loop);
}

static struct page *page_of(struct link *l, int32_t id)
{
	for (unsigned i = 0; i < l->load->streams; i++)
		if (l->pages[i].id == id)
			return &l->pages[i];
	return NULL;
}

static void submit(struct link *l, struct page *page)
{
	struct load *load = l->load;
	nghttp2_nv fields[] = {
	    field(":method", "GET"),
	    field(":scheme", load->plain ? "http" : "https"),
	    field(":authority", load->authority),
	    field(":path", load->path),
	    field("user-agent", "push-load"),
	};
	load->started++;
	*page = (struct page){.id = nghttp2_submit_request(l->session, NULL, fields, sizeof(fields) / sizeof(fields[0]), NULL, NULL)};
	net_conn_dirty(l->net);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
	struct link *l = context;
	if (frame->hd.type != NGHTTP2_PUSH_PROMISE)
		return 0;
	struct page *page = page_of(l, frame->hd.stream_id);
	if (!page)
		return 0;
	l->load->pushes_promised++;
	page->pushes_open++;
	page->pushes_seen++;
	nghttp2_session_set_stream_user_data(session, frame->push_promise.promised_stream_id, page);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *context)
{
	struct link *l = context;
	(void)session, (void)flags, (void)id, (void)data;
	l->load->bytes += len;
	return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *context)
{
	struct link *l = context;
	struct load *load = l->load;
	struct page *page;
	if (id % 2 == 0) {
		page = nghttp2_session_get_stream_user_data(session, id);
		if (code == NGHTTP2_NO_ERROR)
			load->pushes_finished++;
		else
			load->pushes_failed++;
		if (page)
			page->pushes_open--;
	} else {
		page = page_of(l, id);
		if (page)
			page->is_done = true;
		if (code != NGHTTP2_NO_ERROR) {
			load->failed++;
			load->finished--;
		}
	}
	if (page)
		page_check(l, page);
	return 0;
}

static void opened(void *owner)
{
	struct link *l = owner;
	for (unsigned i = 0; i < l->load->streams && l->load->started < l->load->requests; i++)
		submit(l, &l->pages[i]);
	net_conn_dirty(l->net);
}

static void received(void *owner, struct chunk *chunk, size_t offset, size_t length)
{
	struct link *l = owner;
	if (nghttp2_session_mem_recv(l->session, chunk->data + offset, length) < 0)
		net_stop(l->load->loop);
	net_conn_dirty(l->net);
}

static void fill(void *owner, struct net_out *out)
{
	struct link *l = owner;
	const uint8_t *data;
	ssize_t n;
	while (net_out_room(out) > 0 && (n = nghttp2_session_mem_send(l->session, &data)) > 0)
		net_out_copy(out, data, (size_t)n);
}

static void ended(void *owner, enum net_end end, const char *text)
{
	struct link *l = owner;
	(void)end;
	fprintf(stderr, "push_load: connection ended: %s\n", text ? text : "closed");
	net_conn_abort(l->net);
	l->net = NULL;
	if (--l->load->connections_left == 0)
		net_stop(l->load->loop);
}

static const struct net_conn_ops ops = {
    .opened = opened,
    .received = received,
    .fill = fill,
    .ended = ended,
};

static void link_open(struct load *load, struct link *l, const struct net_address *to, struct net_tls *tls)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_settings_entry settings[] = {
	    {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1000},
	    {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20},
	};
	*l = (struct link){.load = load, .pages = calloc(load->streams, sizeof(struct page))};
	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	nghttp2_session_client_new(&l->session, callbacks, l);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_submit_settings(l->session, NGHTTP2_FLAG_NONE, settings, 2);
	nghttp2_session_set_local_window_size(l->session, NGHTTP2_FLAG_NONE, 0, 1 << 24);
	l->net = net_connect(load->loop, to, tls, tls ? "localhost" : NULL, &ops, l);
}

int main(int argc, char **argv)
{
	struct load load = {.connections = 32, .streams = 8, .requests = 1000, .pushes = 8};
	int option;
	while ((option = getopt(argc, argv, "c:m:n:p:w")) != -1) {
		switch (option) {
		case 'c': load.connections = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'm': load.streams = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'n': load.requests = strtoul(optarg, NULL, 10); break;
		case 'p': load.pushes = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'w': load.plain = true; break;
		default: return 2;
		}
	}
	if (argc - optind != 3) {
		fprintf(stderr, "usage: push_load [-c N] [-m N] [-n N] [-p N] [-w] ADDRESS:PORT AUTHORITY PATH\n");
		return 2;
	}
	struct net_address to;
	const char *bad = net_address_parse(slice_of_string(argv[optind]), &to);
	if (bad) {
		fprintf(stderr, "push_load: %s: %s\n", argv[optind], bad);
		return 2;
	}
	load.authority = argv[optind + 1];
	load.path = argv[optind + 2];
	struct chunk_pool *chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 64);
	char error[256];
	struct net_tls *tls = NULL;
	if (!load.plain) {
		const struct net_tls_client_options o = {.verify = false, .alpn = "h2"};
		tls = net_tls_client_new(&o, error, sizeof(error));
		if (!tls) {
			fprintf(stderr, "push_load: %s\n", error);
			return 2;
		}
	}
	load.loop = net_loop_new(chunks);
	load.connections_left = load.connections;
	struct link *links = calloc(load.connections, sizeof(*links));
	usec begin = clock_monotonic();
	for (unsigned i = 0; i < load.connections; i++)
		link_open(&load, &links[i], &to, tls);
	net_run(load.loop);
	double seconds = (double)(clock_monotonic() - begin) / 1e6;
	for (unsigned i = 0; i < load.connections; i++) {
		if (links[i].net)
			net_conn_abort(links[i].net);
		nghttp2_session_del(links[i].session);
		free(links[i].pages);
	}
	free(links);
	net_run_once(load.loop, 0);
	net_loop_free(load.loop);
	net_tls_free(tls);
	chunk_pool_free(chunks);
	printf("{\"requests\":%lu,\"finished\":%lu,\"failed\":%lu,\"promised\":%lu,\"pushed\":%lu,\"push_failed\":%lu,"
	       "\"missing\":%lu,\"bytes\":%llu,\"seconds\":%.3f}\n",
	    load.requests, load.finished, load.failed, load.pushes_promised, load.pushes_finished, load.pushes_failed,
	    load.pushes_missing, load.bytes, seconds);
	return load.finished == load.requests && load.failed == 0 && load.pushes_missing == 0 && load.pushes_failed == 0 ? 0 : 1;
}
