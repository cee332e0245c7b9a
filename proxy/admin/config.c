/* SPDX-License-Identifier: MIT */
/* /api/config: the configuration as it was loaded, each line with its place. Secrets are left out (conf/written.c). */
#include "proxy/admin/admin_private.h"
#include "proxy/admin/json.h"
#include "proxy/base/memory.h"

struct config_answer {
	const struct conf *conf;
	struct conf_walk walk;
	struct json json;
	bool has_begun, is_in_section;
};

static void end_section(struct config_answer *c)
{
	if (!c->is_in_section)
		return;
	put_close(&c->json, ']');
	put_close(&c->json, '}');
}

static void begin_section(struct config_answer *c, const struct conf_written *w)
{
	char title[128];
	end_section(c);
	c->is_in_section = true;
	snprintf(title, sizeof(title), "%s%s%s", w->word, *w->name ? " " : "", w->name);
	put_open(&c->json, NULL, '{');
	put_string(&c->json, "title", title);
	put_string(&c->json, "section", w->word);
	put_string(&c->json, "name", w->name);
	put_string(&c->json, "file", w->at.file);
	put_number(&c->json, "line", w->at.line);
	put_open(&c->json, "options", '[');
}

static void write_option(struct json *j, const struct conf_written *w)
{
	put_open(j, NULL, '{');
	put_string(j, "key", w->key);
	put_slice(j, "value", slice_of_string(w->value));
	put_string(j, "file", w->at.file);
	put_number(j, "line", w->at.line);
	put_close(j, '}');
}

static enum admin_step produce(void *context, struct admin_output *output, FILE *out)
{
	struct config_answer *c = context;
	struct conf_written w;
	(void)output;
	c->json.out = out;
	if (!c->has_begun) {
		put_open(&c->json, NULL, '{');
		put_string(&c->json, "file", c->conf->file);
		put_open(&c->json, "sections", '[');
		c->has_begun = true;
	}
	while (ftell(out) < (long)ADMIN_STEP_BYTES) {
		if (!conf_next_written(c->conf, &c->walk, &w)) {
			end_section(c);
			fputs("]}\n", out);
			return ADMIN_ENDS;
		}
		if (w.key)
			write_option(&c->json, &w);
		else
			begin_section(c, &w);
	}
	return ADMIN_GOES_ON;
}

void admin_config(struct admin_request *r)
{
	static const struct admin_producer producer = {.produce = produce, .free = free};
	struct config_answer *c = memory_new(struct config_answer);
	c->conf = r->admin->env.worker->conf;
	admin_json_type(r);
	admin_answer_with(r, &producer, c);
}
