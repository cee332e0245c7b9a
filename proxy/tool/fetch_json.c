/* SPDX-License-Identifier: MIT */
/* `pushgate fetch --json`: the waterfall for programs. Times are whole microseconds. */
#include "proxy/tool/fetch.h"
#include <jansson.h>

static json_t *time_or_null(usec at)
{
	return at ? json_integer((json_int_t)at) : json_null();
}

static json_t *interims_of(const struct fetch_item *i)
{
	json_t *list = json_array();
	for (uint32_t n = 0; n < i->interim_count; n++)
		json_array_append_new(
		    list, json_pack("{s:i, s:I, s:s?}", "status", (int)i->interims[n].status,
			      "at_us", (json_int_t)i->interims[n].at, "link", i->interims[n].link));
	return list;
}

static json_t *stream_of(const struct fetch_item *i)
{
	return json_pack("{s:i, s:s, s:s, s:o, s:s, s:s?, s:I, s:o, s:o, s:I, s:o}", "id",
	    (int)i->id, "kind", i->is_push ? "pushed" : "requested", "path", i->path, "status",
	    i->status ? json_integer(i->status) : json_null(), "state", fetch_state_name(i->state),
	    "why", i->why, "start_us", (json_int_t)i->start, "first_byte_us",
	    time_or_null(i->first_byte), "end_us", time_or_null(i->end), "bytes",
	    (json_int_t)i->bytes, "interims", interims_of(i));
}

static json_t *run_of(
    const struct fetch_request *r, const struct fetch_result *result, bool takes_pushes)
{
	json_t *streams = json_array();
	for (size_t i = 0; i < result->count; i++)
		json_array_append_new(streams, stream_of(&result->items[i]));
	return json_pack("{s:s, s:s, s:b, s:s?, s:i, s:s?, s:I, s:o}", "method", r->method, "url",
	    r->url, "takes_pushes", (int)takes_pushes, "protocol",
	    result->protocol[0] ? result->protocol : NULL, "exit_status", result->exit_status,
	    "error", result->error[0] ? result->error : NULL, "total_us", (json_int_t)result->total,
	    "streams", streams);
}

void fetch_show_json(
    const struct fetch_request *r, const struct fetch_result *results, size_t runs, FILE *out)
{
	json_t *list = json_array();
	for (size_t i = 0; i < runs; i++)
		json_array_append_new(list,
		    run_of(r, &results[i], i == 0 && !r->no_push && !results[i].has_no_pushes));
	json_t *all = json_pack("{s:o}", "runs", list);
	json_dumpf(all, out, JSON_INDENT(1));
	fputc('\n', out);
	json_decref(all);
}
