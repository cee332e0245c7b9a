/* SPDX-License-Identifier: MIT */
/*
 * A whole gateway between clients and origins that act at random: the real handlers, engines and relay
 * over sockets in memory, with a clock that the input moves. A peer is an engine of ours whose
 * owner does what it is told, or raw bytes. Whatever happens, engines keep their invariants,
 * everything that was begun ends when its peers are gone and time has passed, and all gauges and
 * budgets return to where they were.
 *
 * An origin may have several servers, some of them by a name whose addresses the input tells. In one configuration
 * the listener is a forward proxy's, and clients choose the destinations, whose peers are all raw; the input also says
 * what the password process answers, and when.
 *
 * Input: one byte chooses the configuration, one what origins are (a bit each, in turn: raw),
 * then steps: a byte for the action, one for the peer, and what the action takes.
 */
#include "tests/fuzz/input.h"
#include "tests/fuzz/told_names.h"
#include "tests/support/destination_check.h"
#include "tests/support/h2_owner.h"
#include "tests/support/memory_net.h"
#include "tests/support/seldom.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/client/client_private.h"
#include "proxy/gateway/gateway_private.h"
#include "proxy/origin/origin_private.h"
#include "proxy/upstream/destination.h"
#include "proxy/limits.h"
#include "proxy/offer/lesson_private.h"
#include "proxy/remembered/remembered_private.h"
#include "proxy/hold/held.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PEERS 12u
#define OUTPUT_BYTES 40000u
/* Loop passes after which no byte in memory moves any more. */
#define PASSES_LEAST 2
#define PASSES_MOST 12
/* More passes than this: the loop spins. */
#define PASSES_PER_TIMEOUT_MOST 5000

/* ---- the clock ---- */

static usec now_usec;

/* In the place of the library's: nothing in here knows another time. */
usec clock_monotonic(void)
{
	return now_usec;
}

usec clock_wall(void)
{
	return UINT64_C(1795262400) * USEC_PER_SEC + now_usec;
}

/* ---- configurations ---- */

// clang-format off
/* The seeds have requests of either scheme. */
#define LISTEN "[listen l]\naddress = 127.0.0.1:1\ntrusted = 0.0.0.0/0 ::/0 unix\n"
#define ORIGINS \
	"[origin a]\nserver = h2c://127.0.0.1:8001\n" \
	"[origin b]\nserver = h2c://127.0.0.1:8002\nhost = hop.example\n" \
	"[route b]\nhost = b.example\norigin = b\n" \
	"[route a]\nhost = a.example *.a.example\norigin = a\n"

static const char *const configurations[] = {
	LISTEN ORIGINS,

	"[server]\ndefault-action = hold\nhold-shared = yes\nhold-max-count = 4\n"
	"hold-max-bytes = 64k\nhold-max-age = 5s\n"
	LISTEN ORIGINS,

	"[server]\nhint-wait = 20ms\nmax-pushes-per-connection = 3\npromise-refusals = 3\n"
	"reset-rate = 2\ndiary-entries = 8\ndiary-cookie = seen\n"
	"diary-cookie-key = 0123456789abcdef0123456789abcdef\n"
	LISTEN "max-request-body = 500\nmax-concurrent-streams = 4\n"
	ORIGINS
	"[push style]\ntype = style\naction = forward\nurgency = before\n"
	"[push picture]\ntype = image\naction = hint+hold\nhint-clients = all\n"
	"[push half]\npath = /page.html\nshare = 50%\naction = forward\nmax-bytes = 2k\n"
	"status = 2xx\n"
	"[push rest]\nsource = link config remembered\naction = hint\nhint-clients = all\n"
	"[push shadow]\nshadow = yes\naction = drop\n"
	"[preload all]\nlink = yes\nremembered = apply\nadd = /app.css as=style\n"
	"add = /app.js as=script\n",

	"[server]\ndefault-action = forward\nmemory = 16M\nconnection-memory = 1M\n"
	"push-start-timeout = 1s\nhold-max-bytes = 1M\ndiary-entries = 4\n"
	LISTEN "clients = shared\nstream-window = 16k\n"
	"[origin a]\nserver = h2c://127.0.0.1:8001\nmax-connections = 1\nmax-queue = 2\n"
	"push = accept\nqueue-timeout = 2s\nresponse-timeout = 3s\nbody-timeout = 2s\n"
	"upload-linger = 1s\nmax-concurrent-pushes = 4\n"
	"[route a]\norigin = a\nrequest-set = x-a: 1\nresponse-remove = etag\n"
	"response-set = x-b: 2\n"
	"[push own]\nsource = config\naction = forward\nmin-used = 50%\nmin-sample = 1\n"
	"[push all]\naction = forward\n"
	"[preload all]\nadd = /app.css as=style\nadd = /img/1.png as=image\n",

	"[server]\ndefault-action = forward\n"
	LISTEN
	"[origin f]\nserver = h2c://127.0.0.1:8001\nserver = h2c://127.0.0.1:8002 weight=3\n"
	"server = h2c://app.example:8003\nserver = h2c://127.0.0.1:8004 backup\n"
	"max-connections = 2\nmax-requests = 3\nmax-queue = 4\nmax-tunnels = 2\n"
	"eject-failures = 2\neject-time = 1s\nslow-start = 2s\naffinity-cookie = srv\n"
	"queue-timeout = 5s\nresponse-timeout = 3s\n"
	"[route f]\norigin = f\nretry-on = lost late 503 500\nretries = 3\nupgrade = websocket\n"
	"[push all]\naction = forward\n",

	"[server]\ndefault-action = hold\nhold-shared = yes\n"
	LISTEN
	"[origin f]\nserver = h2c://app.example:8003\nbalance = round-robin\n"
	"max-connections = 1\nmax-subscriptions = 2\nmax-queue = 3\nqueue-timeout = 4s\n"
	"health-check = /health\nhealth-interval = 2s\nhealth-fall = 1\nhealth-rise = 1\n"
	"[origin g]\nserver = h2c://127.0.0.1:8001\nserver = h2c://127.0.0.1:8002\n"
	"server = h2c://127.0.0.1:8004\nhash = path\nmax-requests = 1\neject-percent = 20\n"
	"[route b]\nhost = b.example\norigin = f 50, g 50\nretry-on = lost late 503\n"
	"[route s]\nhost = a.example\norigin = f\nsubscription = yes\n"
	"[route g]\norigin = g\nrequest-timeout = 20s\nconnect-timeout = 1s\n",

	"[server]\nmemory = 16M\nconnection-memory = 1M\n"
	LISTEN "mode = forward\naccess = any\nstream-window = 16k\n"
	"[access any]\nusers = /nobody\nask = path=/ask*\nallow = client=any address=any port=1-65535\n"
	"[origin w]\nserver = forward:\ntls-verify = no\nmax-destinations = 16\nmax-tunnels = 3\n"
	"connect-timeout = 1s\nresponse-timeout = 3s\nqueue-timeout = 4s\n"
	"[route w]\norigin = w\nupgrade = websocket\ntunnel-idle-timeout = 20s\n"
	"tunnel-bytes = 50k\nmax-tunnels-per-client = 4\ntunnel-rate = 1k\n",
};
// clang-format on
#define CONFIGURATIONS (sizeof(configurations) / sizeof(configurations[0]))
/* Of these, behind the plain ones: each origin has several servers, and names. The last is a forward proxy. */
#define FLEETS 2u
#define FORWARD (CONFIGURATIONS - 1)
#define BIT_FLEET 0x40u
#define BIT_FORWARD 0x20u /* with BIT_FLEET */
#define BIT_CUT 0x80u /* the world ends while all is under way */

static unsigned configuration_of(uint8_t options)
{
	unsigned plain = CONFIGURATIONS - FLEETS - 1;
	if (options & BIT_FLEET && options & BIT_FORWARD)
		return FORWARD;
	return options & BIT_FLEET ? plain + options % FLEETS : options % plain;
}

/* Const, and the same for all inputs. Of no CA: those of the machine take longer to read than an input. */
static const struct conf *configuration(unsigned i)
{
	static struct conf *loaded[CONFIGURATIONS];
	if (!loaded[i])
		loaded[i] =
		    conf_load_text(slice_of_string(configurations[i]), "fuzz.ini", false, stderr);
	ensure(loaded[i] != NULL);
	return loaded[i];
}

/* ---- the world ---- */

struct peer {
	struct memory_socket *socket;
	struct h2_owner owner;
	bool is_raw, is_origin;
	bool is_lazy; /* says nothing and reads nothing unless it is told to */
};

struct world {
	struct net_loop *loop;
	struct memory_net *net;
	struct chunk_pool *chunks, *peer_chunks;
	struct http_head_pool *heads;
	struct gateway *gateway;
	struct observe observe;
	struct observe_counters counters;
	struct peer peers[PEERS];
	unsigned peer_count;
	uint8_t raw_origins;
	bool has_raw_origins_alone;
	uint64_t asked[LIMIT_PASSWORDS_ASKED]; /* ids of the passwords that were asked about */
	unsigned asked_count;
	bool answers_no_passwords;
	bool is_over; /* nobody comes any more */
	uint32_t steps; /* tests/support/seldom.h */
	uint8_t output[OUTPUT_BYTES];
};

static struct peer *peer_new(struct world *w, struct memory_socket *s, bool is_origin, bool is_raw)
{
	struct peer *p = &w->peers[w->peer_count++];
	*p = (struct peer){.socket = s, .is_raw = is_raw, .is_origin = is_origin};
	if (is_raw)
		return p;
	struct h2_limits limits = h2_limits_default;
	p->owner.chunks = w->peer_chunks;
	p->owner.heads = w->heads;
	p->owner.gives_credit = true;
	h2_owner_init(&p->owner, is_origin ? H2_SERVER : H2_CLIENT, &h2_settings_initial, &limits,
	    1u << 24, now_usec);
	return p;
}

static bool is_full(const struct world *w)
{
	return w->peer_count == PEERS || w->is_over;
}

static void origins_come(struct world *w)
{
	struct memory_socket *s;
	while ((s = memory_net_next(w->net))) {
		if (is_full(w)) {
			memory_socket_end(s);
			continue;
		}
		bool is_raw = w->raw_origins & 1 || w->has_raw_origins_alone;
		struct peer *p = peer_new(w, s, true, is_raw);
		w->raw_origins = (uint8_t)(w->raw_origins >> 1);
		if (p->is_raw && !w->has_raw_origins_alone) /* else no request ever came */
			memory_socket_put(s, "\0\0\0\4\0\0\0\0\0", 9);
	}
}

/* False: there was nothing to say, on either side. */
static bool exchange_bytes(struct world *w, struct peer *p)
{
	struct memory_socket *s = p->socket;
	bool has_moved = s->out.size > 0;
	if (p->is_raw) {
		memory_socket_read(s);
		return has_moved;
	}
	p->owner.now = now_usec;
	h2_owner_receive(&p->owner, s->out.data, s->out.size);
	memory_socket_read(s);
	session_tick(p->owner.conn, now_usec);
	h2_owner_drain(&p->owner);
	size_t n = h2_owner_output(&p->owner, w->output, OUTPUT_BYTES);
	memory_socket_put(s, w->output, n);
	return has_moved || n > 0;
}

static void check(const struct world *w)
{
	const struct gateway *g = w->gateway;
	list_for_each(&g->clients.conns, c, struct client_conn, link) if (c->session) session_check(c->session);
	list_for_each(&g->upstream.origins.conns, origin, struct origin_conn, all) if (origin->session) session_check(origin->session);
	destinations_check(&g->upstream);
}

static bool loop_pass(struct world *w)
{
	bool has_moved = false;
	origins_come(w);
	for (unsigned i = 0; i < w->peer_count; i++)
		if (!w->peers[i].is_lazy && exchange_bytes(w, &w->peers[i]))
			has_moved = true;
	net_run_once(w->loop, 0);
	return has_moved;
}

/* Runs loop passes until no byte moves any more. */
static void run_until_quiet(struct world *w)
{
	bool has_moved = true;
	for (unsigned i = 0; i < PASSES_LEAST || (has_moved && i < PASSES_MOST); i++)
		has_moved = loop_pass(w);
	if (seldom(&w->steps))
		check(w);
}

/* The loop's own timers go by the machine's clock; these go by ours. */
static void ring(struct world *w, struct net_timer *t)
{
	if (t->deadline > now_usec)
		return;
	w->loop->now = now_usec;
	t->deadline = USEC_NEVER;
	t->expired(t->context);
}

static void pass(struct world *w, usec span)
{
	usec until = now_usec + span;
	unsigned n = 0;
	while (now_usec < until) {
		usec next = w->gateway->env.timer.deadline;
		if (w->loop->closing.deadline < next)
			next = w->loop->closing.deadline;
		if (w->loop->chunk_retry.deadline < next)
			next = w->loop->chunk_retry.deadline;
		if (next > now_usec)
			now_usec = next < until ? next : until;
		ring(w, &w->gateway->env.timer);
		ring(w, &w->loop->closing);
		ring(w, &w->loop->chunk_retry);
		loop_pass(w);
		ensure(n++ < PASSES_PER_TIMEOUT_MOST);
	}
}

/* ---- the password process ---- */

static bool ask_password(void *context, const struct password_question *q)
{
	struct world *w = context;
	if (w->answers_no_passwords)
		return false;
	ensure(w->asked_count < LIMIT_PASSWORDS_ASKED && q->name.len > 0 && q->password.len > 0);
	w->asked[w->asked_count++] = q->id;
	return true;
}

static void answer_password(struct world *w, bool is_right)
{
	uint64_t id = w->asked[0];
	if (w->asked_count == 0)
		return;
	memmove(w->asked, w->asked + 1, --w->asked_count * sizeof(*w->asked));
	ensure(users_password_answer(gateway_users(w->gateway), id, is_right));
}

static void change_passwords(struct world *w, uint8_t argument)
{
	if (!gateway_users(w->gateway))
		return;
	switch (argument % 8) {
	case 0:
		w->asked_count = 0;
		w->answers_no_passwords = true;
		users_passwords_lost(gateway_users(w->gateway));
		break;
	case 1:
		w->answers_no_passwords = false;
		users_passwords_open(gateway_users(w->gateway));
		break;
	case 2:
		ensure(users_passwords_changed(gateway_users(w->gateway), 0));
		break;
	default:
		answer_password(w, argument & 1);
		break;
	}
}

/* ---- steps ---- */

static void dial(struct world *w, uint8_t argument)
{
	if (is_full(w))
		return;
	struct memory_socket *s = memory_net_dial(w->net);
	if (!s)
		return;
	struct peer *p = peer_new(w, s, false, argument & 1);
	if (p->is_raw && !(argument & 2)) {
		memory_socket_put(s, H2_PREFACE, H2_PREFACE_LEN);
		memory_socket_put(s, "\0\0\0\4\0\0\0\0\0", 9);
	}
}

static void put_frame(struct peer *p, struct input *in, uint8_t type)
{
	uint8_t frame[9 + 256] = {0};
	frame[3] = type;
	frame[4] = input_byte(in);
	frame[8] = input_byte(in);
	struct slice content = input_take(in, input_byte(in));
	frame[2] = (uint8_t)content.len;
	memcpy(frame + 9, content.ptr, content.len);
	memory_socket_put(p->socket, frame, 9 + content.len);
}

static void change_transport(struct world *w, struct peer *p, uint8_t argument)
{
	switch (argument % 8) {
	case 0:
		memory_socket_end(p->socket);
		break;
	case 1:
		memory_socket_fail(p->socket, ECONNRESET);
		break;
	case 2:
		p->socket->room = (size_t)(argument / 8) * 100;
		break;
	case 3:
		p->socket->room = SIZE_MAX;
		break;
	case 4:
		p->is_lazy = !p->is_lazy;
		break;
	case 5:
		w->net->connect_errno = argument & 8 ? ECONNREFUSED : EINPROGRESS;
		w->net->errno_port = argument & 0x40 ? (uint16_t)(8001 + argument / 16 % 4) : 0;
		break;
	case 6:
		w->net->connect_errno = 0;
		break;
	case 7:
		p->owner.gives_credit = !p->owner.gives_credit;
		break;
	}
}

enum {
	STEP_DIAL = H2_OWNER_ACTION_COUNT,
	STEP_BYTES,
	STEP_FRAME,
	STEP_TRANSPORT,
	STEP_PASS,
	STEP_TURN,  /* one only */
	STEP_SHORT, /* of memory, later */
	STEP_COUNT
};

static void step(struct world *w, struct input *in)
{
	uint8_t byte = input_byte(in), which = input_byte(in);
	unsigned action = byte % STEP_COUNT;
	if (action == STEP_DIAL) {
		dial(w, which);
		return;
	}
	if (action == STEP_PASS) {
		pass(w, (usec)which * which * USEC_PER_MSEC);
		return;
	}
	if (action == STEP_TURN) {
		if (w->gateway->names && which & 0x80)
			names_tell(w->gateway->names, which);
		else if (which & 0x40)
			change_passwords(w, which);
		loop_pass(w);
		return;
	}
	if (action == STEP_SHORT) {
		if (which & 1)
			chunk_pool_fail_nth(w->chunks, which / 2u);
		else
			budget_fail_nth(&w->gateway->env.budget, which / 2u);
		return;
	}
	if (w->peer_count == 0)
		return;
	struct peer *p = &w->peers[(which & 15) % w->peer_count];
	if (action == STEP_TRANSPORT) {
		change_transport(w, p, input_byte(in));
	} else if (action == STEP_BYTES) {
		struct slice bytes = input_take(in, (size_t)input_byte(in) + 1);
		memory_socket_put(p->socket, bytes.ptr, bytes.len);
	} else if (action == STEP_FRAME) {
		put_frame(p, in, which >> 4);
	} else if (!p->is_raw) {
		h2_owner_act(&p->owner, (enum h2_owner_action)action, which >> 4, input_byte(in));
	}
}

static void run(struct world *w, struct input *in)
{
	while (in->left > 0) {
		bool goes_on = *in->at >= 0x80; /* the next step comes in the same loop pass */
		step(w, in);
		if (!goes_on)
			run_until_quiet(w);
	}
}

/* ---- life ---- */

static void open_world(struct world *w, const struct conf *conf)
{
	char error[256];
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	now_usec = USEC_PER_SEC;
	w->chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 16);
	w->peer_chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 4);
	w->heads = http_head_pool_new(16);
	w->loop = net_loop_new(w->chunks);
	w->net = memory_net_new();
	w->observe = (struct observe){.counters = &w->counters,
	    .access_fd = nowhere,
	    .error_fd = nowhere,
	    .level = OBSERVE_DEBUG};
	const struct gateway_env env = {.loop = w->loop,
	    .chunks = w->chunks,
	    .conf = conf,
	    .observe = &w->observe,
	    .ask_password = ask_password,
	    .ask_context = w,
	    .via_suffix = 0x12345678,
	    .seed = 42};
	w->gateway = gateway_new(&env, error, sizeof(error));
	ensure(w->gateway != NULL);
	gateway_listen(w->gateway, &conf->listens[0], w->net->listener);
	ensure(w->gateway->env.budget.used_bytes == 0);
}

/* What the memory of pages keeps, it keeps for the next visitors. */
static size_t remembered_bytes(const struct world *w)
{
	const struct offer_lessons *l = w->gateway->lessons.offers;
	const struct remembered *m = w->gateway->lessons.memory;
	size_t bytes = m ? m->budget.used_bytes : 0;
	for (size_t i = 0; l && i < LESSON_VIEWS; i++)
		bytes += l->views[i] ? l->views[i]->charged : 0;
	return bytes;
}

/* Everybody has gone, and so has everything that they began. */
static void end_all(struct world *w)
{
	w->is_over = true;
	for (unsigned i = 0; i < w->peer_count; i++)
		memory_socket_end(w->peers[i].socket);
	run_until_quiet(w);
	check(w);
	/* A client that waits for its answer is given up after write-timeout, and so is one that does not read
	 * what then comes. One that reads slowly gets what its windows allow (64 KiB), at min-rate (100 B/s). */
	pass(w, 1000 * USEC_PER_SEC);
	ensure(list_is_empty(&w->gateway->clients.conns));
	ensure(origins_are_idle(&w->gateway->upstream.origins));
	ensure(w->gateway->relay.live_count == 0); /* what was held is too old, too */
	ensure(w->gateway->hold_budget.used_bytes == 0);
	destinations_check_idle(&w->gateway->upstream);
	health_close(&w->gateway->upstream); /* checks never end */
	loop_pass(w);
	/* Notes of what is not held for a while, or not for all, outlive those that missed it. */
	hold_pauses_fini(&w->gateway->hold);
	hold_collapse_fini(&w->gateway->hold);
	ensure(w->gateway->env.budget.used_bytes == remembered_bytes(w));
}

static void close_world(struct world *w)
{
	char text[4096];
	(void)gateway_describe(w->gateway, text, sizeof(text));
	gateway_free(w->gateway);
	const struct observe_counters *c = &w->counters;
	ensure(c->connections_open == 0 && c->requests_open == 0 && c->pushes_open == 0);
	ensure(c->upstream_connections_open == 0 && c->destinations == 0 && c->tunnels_open == 0);
	ensure(c->pushes_offered ==
	       c->pushes_forwarded + c->pushes_dropped + c->pushes_held + c->pushes_hinted);
	for (unsigned i = 0; i < w->peer_count; i++)
		if (!w->peers[i].is_raw)
			h2_owner_fini(&w->peers[i].owner);
	net_loop_free(w->loop);
	memory_net_free(w->net);
	http_head_pool_free(w->heads);
	chunk_pool_free(w->chunks);
	chunk_pool_free(w->peer_chunks);
	close(w->observe.access_fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t options = input_byte(&in);
	struct world *w = memory_new(struct world);
	w->raw_origins = input_byte(&in);
	w->has_raw_origins_alone = configuration_of(options) == FORWARD;
	open_world(w, configuration(configuration_of(options)));
	run(w, &in);
	if (!(options & BIT_CUT))
		end_all(w);
	close_world(w);
	free(w);
	return 0;
}
