/* SPDX-License-Identifier: MIT */
/* /api/servers: the servers of all origins, and what their checks and ejections say, from the health table. */
#include "proxy/admin/admin_private.h"
#include "proxy/admin/json.h"
#include "proxy/base/memory.h"

/* Of the table, or of configured servers; each step. */
#define STEP_SERVERS 128u

struct servers_answer {
	struct worker_env *env;
	struct json json;
	size_t origin, at; /* of the configuration; then, in the table */
	bool has_begun;
};

static const char *state_of(uint32_t ejected, const struct server_check *check)
{
	if (ejected > 0)
		return "ejected";
	switch (check->state) {
	case SERVER_CHECK_PASSES:
		return "up";
	case SERVER_CHECK_FAILS:
		return "down";
	default:
		return "unknown";
	}
}

static void write_entry(
    struct json *j, const struct conf_origin *origin, const struct server_entry *e, usec now)
{
	char address[SERVER_ENTRY_TEXT], text[SERVER_CHECK_TEXT];
	struct server_check check = server_entry_check(e);
	uint32_t ejected = server_entry_ejected(e, now);
	bool is_checked = check.state == SERVER_CHECK_PASSES || check.state == SERVER_CHECK_FAILS;
	put_open(j, NULL, '{');
	put_string(j, "origin", origin->name);
	put_string(j, "address", server_entry_text(e, address));
	put_string(j, "state", state_of(ejected, &check));
	if (is_checked) {
		put_string(j, "check", server_check_text(check.result, text));
		put_number(j, "since_seconds", (now - check.since) / USEC_PER_SEC);
	}
	put_number(j, "ejected_in", ejected);
	if (ejected > 0)
		put_string(
		    j, "why", server_verdict_text((enum server_verdict)atomic_load(&e->verdict)));
	put_close(j, '}');
}

/* Servers that the table does not have: they are neither checked nor ejected. */
static bool is_in_table(const struct health_table *t, size_t origin)
{
	size_t of;
	for (size_t i = 0; t && i < t->capacity; i++)
		if (health_table_entry(t, i, &of) && of == origin)
			return true;
	return false;
}

static void write_configured(struct servers_answer *s)
{
	const struct conf_origin *o = &s->env->conf->origins[s->origin];
	bool is_watched = is_in_table(s->env->health_table, s->origin++);
	for (size_t i = 0; !is_watched && i < o->server_count; i++) {
		put_open(&s->json, NULL, '{');
		put_string(&s->json, "origin", o->name);
		put_string(&s->json, "address", o->servers[i].text);
		put_string(&s->json, "state", "unknown");
		put_number(&s->json, "ejected_in", 0);
		put_close(&s->json, '}');
	}
}

static enum admin_step produce(void *context, struct admin_output *output, FILE *out)
{
	struct servers_answer *s = context;
	const struct conf *conf = s->env->conf;
	const struct health_table *t = s->env->health_table;
	usec now = net_now(s->env->loop);
	(void)output;
	s->json.out = out;
	if (!s->has_begun)
		fputs("{\"servers\":[", out);
	s->has_begun = true;
	if (s->origin < conf->origin_count) {
		write_configured(s);
		return ADMIN_GOES_ON;
	}
	for (unsigned i = 0; t && i < STEP_SERVERS && s->at < t->capacity; i++) {
		size_t origin;
		const struct server_entry *e = health_table_entry(t, s->at++, &origin);
		if (e && origin < conf->origin_count)
			write_entry(&s->json, &conf->origins[origin], e, now);
	}
	if (t && s->at < t->capacity)
		return ADMIN_GOES_ON;
	fputs("]}\n", out);
	return ADMIN_ENDS;
}

void admin_servers(struct admin_request *r)
{
	static const struct admin_producer producer = {.produce = produce, .free = free};
	struct servers_answer *s = memory_new(struct servers_answer);
	s->env = r->admin->env.worker;
	admin_json_type(r);
	admin_answer_with(r, &producer, s);
}
