/* SPDX-License-Identifier: MIT */
/*
 * /api/connections: the open connections of all workers. They write them each second while they are asked for; the answer
 * waits for that, but not for a worker that does not come to it.
 */
#include "proxy/admin/admin_private.h"
#include "proxy/admin/json.h"
#include "proxy/base/memory.h"

/* Workers go on writing so long after the last request. */
#define WANTED_USEC (5 * USEC_PER_SEC)
#define FRESH_USEC (2 * USEC_PER_SEC)
#define WAIT_USEC (2500 * USEC_PER_MSEC)
#define LOOK_USEC (100 * USEC_PER_MSEC)

struct connections_answer {
	struct worker_env *env;
	struct connection_lane *lanes;
	uint32_t workers, at; /* at: the lane that is written next */
	usec begun;
	uint64_t left_out;
	struct json json;
	struct connection_list list;
};

static bool all_are_fresh(struct connections_answer *c, usec now)
{
	for (uint32_t i = 0; i < c->workers; i++) {
		const struct connection_list *l = &c->lanes[i].list;
		if (l->written == 0 || l->written + FRESH_USEC < now)
			return false;
	}
	return true;
}

static void write_settings(struct json *j, const char *key, const struct hop_settings *s)
{
	if (!s->is_known) {
		put_null(j, key);
		return;
	}
	put_open(j, key, '{');
	put_bool(j, "enable_push", s->enable_push != 0);
	if (s->max_concurrent_streams != UINT32_MAX)
		put_number(j, "max_concurrent_streams", s->max_concurrent_streams);
	put_number(j, "initial_window_size", s->initial_window_size);
	put_number(
	    j, "connection_window", s->connection_window > 0 ? (uint64_t)s->connection_window : 0);
	put_close(j, '}');
}

static void write_row(struct json *j, uint32_t worker, const struct connection_row *r, usec now)
{
	put_open(j, NULL, '{');
	put_number(j, "worker", worker);
	put_number(j, "id", r->id);
	put_string(j, "side", r->is_origin ? "origin" : "client");
	put_slice(j, "peer", slice_of_string(r->peer));
	put_slice(j, "name", slice_of_string(r->name));
	put_slice(j, "protocol", slice_of_string(r->protocol));
	put_thousandths(j, "age_seconds", now > r->opened ? (now - r->opened) / USEC_PER_MSEC : 0);
	put_number(j, "open", r->open);
	write_settings(j, "ours", &r->ours);
	write_settings(j, "theirs", &r->theirs);
	put_close(j, '}');
}

static void write_lane(struct connections_answer *c, usec now)
{
	uint32_t worker = c->at++;
	if (!connection_lane_read(&c->lanes[worker], &c->list) ||
	    c->list.written + WAIT_USEC + FRESH_USEC < now)
		return;
	for (uint32_t i = 0; i < c->list.count; i++)
		write_row(&c->json, worker, &c->list.rows[i], now);
	c->left_out += c->list.left_out;
}

static enum admin_step produce(void *context, struct admin_output *output, FILE *out)
{
	struct connections_answer *c = context;
	usec now = net_now(c->env->loop);
	c->json.out = out;
	if (c->at == 0 && !all_are_fresh(c, now) && now < c->begun + WAIT_USEC) {
		admin_output_wake_at(output, now + LOOK_USEC);
		return ADMIN_SLEEPS;
	}
	if (c->at == 0)
		fputs("{\"connections\":[", out);
	if (c->at < c->workers) {
		write_lane(c, now);
		return ADMIN_GOES_ON;
	}
	fprintf(out, "],\"left_out\":%llu}\n", (unsigned long long)c->left_out);
	return ADMIN_ENDS;
}

void admin_connections(struct admin_request *r)
{
	static const struct admin_producer producer = {.produce = produce, .free = free};
	const struct admin_env *env = &r->admin->env;
	admin_json_type(r);
	if (!env->connections) {
		r->answer->body = SLICE("{\"connections\":[],\"left_out\":0}\n");
		return;
	}
	struct connections_answer *c = memory_new(struct connections_answer);
	c->env = env->worker;
	c->lanes = env->connections;
	c->workers = env->connection_lanes;
	c->begun = net_now(env->worker->loop);
	for (uint32_t i = 0; i < c->workers; i++)
		connection_lane_want(&c->lanes[i], c->begun + WANTED_USEC);
	admin_answer_with(r, &producer, c);
}
