/* SPDX-License-Identifier: MIT */
/* A page record as JSON (docs/ADMIN.md): a line of the list, and the whole with its pushes. */
#include "proxy/admin/page_json.h"

#include "proxy/admin/admin.h"

/* What the memory of another process has may be out of range. */
static const struct policy_reason *reason_of(uint16_t place)
{
	return place > 0 && place <= POLICY_REASON_COUNT ? policy_reason_table[place - 1u] : NULL;
}

static const char *outcome_of(uint8_t outcome)
{
	return outcome < OBSERVE_OUTCOME_COUNT ? observe_outcome_name((enum observe_outcome)outcome)
					       : NULL;
}

static const char *verdict_of(const struct page_push *p)
{
	return p->verdict < POLICY_ACTION_COUNT ? policy_action_name((enum policy_action)p->verdict)
						: NULL;
}

static const char *source_of(const struct page_push *p)
{
	return p->source < POLICY_SOURCE_COUNT ? policy_source_name((enum policy_source)p->source)
					       : NULL;
}

void page_json_id(char id[PAGE_ID_TEXT], uint32_t worker, uint64_t number)
{
	snprintf(id, PAGE_ID_TEXT, "%u-%llu", worker, (unsigned long long)number);
}

bool page_json_read_id(struct slice id, uint32_t *worker, uint64_t *number)
{
	uint64_t w;
	struct slice rest = id, first = slice_cut(&rest, '-');
	if (!slice_to_number(first, UINT32_MAX, &w) || !slice_to_number(rest, UINT64_MAX, number))
		return false;
	*worker = (uint32_t)w;
	return *number > 0;
}

const char *page_json_protocol(const struct page_record *r)
{
	return r->request.version <= HTTP_VERSION_2
		   ? http_version_name((enum http_version)r->request.version)
		   : NULL;
}

/* ---- sums ---- */

struct sums {
	uint32_t verdicts[POLICY_ACTION_COUNT], used, wasted;
	uint64_t pushed_bytes, wasted_bytes;
};

static struct sums sum_up(const struct page_record *r)
{
	struct sums s = {0};
	for (uint32_t i = 0; i < r->push_count; i++) {
		const struct page_push *p = &r->pushes[i];
		if (p->verdict < POLICY_ACTION_COUNT)
			s.verdicts[p->verdict]++;
		s.used += p->use == PAGE_USED;
		s.wasted += p->use == PAGE_WASTED;
		s.pushed_bytes += p->bytes;
		s.wasted_bytes += p->wasted_bytes;
	}
	return s;
}

static void write_sums(struct json *j, const struct page_record *r)
{
	struct sums s = sum_up(r);
	put_number(j, "offers", r->offers);
	put_open(j, "verdicts", '{');
	for (int i = 0; i < POLICY_ACTION_COUNT; i++)
		if (s.verdicts[i] > 0)
			put_number(j, policy_action_name((enum policy_action)i), s.verdicts[i]);
	put_close(j, '}');
	put_number(j, "used", s.used);
	put_number(j, "wasted", s.wasted);
	put_number(j, "pushed_bytes", s.pushed_bytes);
	put_number(j, "wasted_bytes", s.wasted_bytes);
}

/* ---- pages ---- */

/* Names of the configuration; a number that is none of its has no name. */
static void write_place(struct json *j, const struct page_place *p, const struct conf *conf)
{
	if (p->listen > 0 && p->listen <= conf->listen_count)
		put_string(j, "listen", conf->listens[p->listen - 1].name);
	if (p->route > 0 && p->route <= conf->route_count)
		put_string(j, "route", conf->routes[p->route - 1].name);
	if (p->origin > 0 && p->origin <= conf->origin_count)
		put_string(j, "origin", conf->origins[p->origin - 1].name);
}

static void write_members(
    struct json *j, const struct page_record *r, uint32_t worker, const struct conf *conf)
{
	char id[PAGE_ID_TEXT], client[48];
	const struct page_request *q = &r->request;
	page_json_id(id, worker, r->number);
	put_string(j, "id", id);
	put_number(j, "worker", worker);
	put_number(j, "exchange", r->exchange);
	put_thousandths(j, "started", r->started_wall);
	put_string(j, "method", q->method);
	put_string(j, "scheme", q->scheme);
	put_slice(j, "authority", slice_of_string(q->authority));
	put_slice(j, "path", slice_of_string(q->path));
	put_string(j, "client", address_format(&q->client, client, sizeof(client)));
	put_string(j, "protocol", page_json_protocol(r));
	write_place(j, &r->place, conf);
	put_bool(j, "over", r->result.is_over);
	put_number(j, "status", r->result.status);
	if (r->result.is_over)
		put_string(j, "outcome", outcome_of(r->result.outcome));
	put_span(j, "duration_us", r->result.at[PAGE_END]);
	put_span(j, "first_byte_us", r->result.at[PAGE_HEAD]);
	put_number(j, "bytes", r->result.bytes);
	if (r->is_cut)
		put_bool(j, "cut", true);
	write_sums(j, r);
}

void page_json_line(
    struct json *j, const struct page_record *r, uint32_t worker, const struct conf *conf)
{
	put_open(j, NULL, '{');
	write_members(j, r, worker, conf);
	put_close(j, '}');
}

static void write_times(struct json *j, const char *const *names, const usec *at, unsigned count)
{
	put_open(j, "times", '{');
	for (unsigned i = 0; i < count; i++)
		put_span(j, names[i], at[i]);
	put_close(j, '}');
}

static void write_push(struct json *j, const struct page_push *p, const struct conf *conf)
{
	static const char *const names[PAGE_PUSH_TIME_COUNT] = {
	    [PAGE_PUSH_DECIDED] = "decided",
	    [PAGE_PUSH_PROMISE] = "promise",
	    [PAGE_PUSH_HOLD] = "hold",
	    [PAGE_PUSH_HINT] = "hint",
	    [PAGE_PUSH_HEAD] = "head",
	    [PAGE_PUSH_SENT] = "sent",
	    [PAGE_PUSH_COMPLETE] = "complete",
	    [PAGE_PUSH_CLAIM] = "claim",
	    [PAGE_PUSH_END] = "end",
	};
	static const char *const uses[] = {
	    [PAGE_USE_UNKNOWN] = "unknown", [PAGE_USED] = "used", [PAGE_WASTED] = "wasted"};
	const struct policy_reason *reason = reason_of(p->reason), *end = reason_of(p->end_reason);
	put_open(j, NULL, '{');
	put_slice(j, "path", slice_of_string(p->path));
	put_string(j, "authority", p->authority);
	put_number(j, "exchange", p->exchange);
	put_string(j, "source", source_of(p));
	put_string(j, "verdict", verdict_of(p));
	if (p->rule > 0 && p->rule <= conf->policy.count)
		put_string(j, "rule", conf->policy.rules[p->rule - 1].name);
	put_string(j, "reason", reason ? reason->code : NULL);
	put_string(j, "sentence", reason ? reason->sentence : NULL);
	put_string(j, "end_reason", end ? end->code : NULL);
	put_string(j, "end_sentence", end ? end->sentence : NULL);
	put_number(j, "status", p->status);
	put_string(j, "outcome", outcome_of(p->outcome));
	put_string(j, "use", uses[p->use <= PAGE_WASTED ? p->use : PAGE_USE_UNKNOWN]);
	put_number(j, "bytes", p->bytes);
	put_number(j, "wasted_bytes", p->wasted_bytes);
	put_string(j, "missed", p->missed);
	write_times(j, names, p->at, PAGE_PUSH_TIME_COUNT);
	put_close(j, '}');
}

void page_json_whole(
    struct json *j, const struct page_record *r, uint32_t worker, const struct conf *conf)
{
	static const char *const names[PAGE_TIME_COUNT] = {
	    [PAGE_SENT] = "sent",
	    [PAGE_ANSWERED] = "answered",
	    [PAGE_HEAD] = "head",
	    [PAGE_END] = "end",
	};
	put_open(j, NULL, '{');
	write_members(j, r, worker, conf);
	put_number(j, "connection", r->connection);
	put_string(j, "server", r->place.server);
	put_string(j, "user_agent", r->request.user_agent);
	put_string(j, "detail", r->result.detail);
	write_times(j, names, r->result.at, PAGE_TIME_COUNT);
	put_open(j, "pushes", '[');
	for (uint32_t i = 0; i < r->push_count; i++)
		write_push(j, &r->pushes[i], conf);
	put_close(j, ']');
	put_close(j, '}');
}
