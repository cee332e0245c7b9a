/* SPDX-License-Identifier: MIT */
/* `pushgate explain`: prints which decisions would be made, and why, without serving anything. */
#include "proxy/tool/explain.h"
#include "proxy/tool/tool.h"
#include <errno.h>

static int explain_file(const struct explain_options *o, const struct conf *conf)
{
	FILE *log = strcmp(o->log, "-") == 0 ? stdin : fopen(o->log, "r");
	if (!log) {
		fprintf(stderr, "pushgate explain: cannot read %s: %s\n", o->log, strerror(errno));
		return EXPLAIN_USAGE;
	}
	int status = explain_log(conf, log, stdout, stderr);
	if (log != stdin)
		fclose(log);
	return status;
}

int tool_explain(int argc, char **argv)
{
	struct explain_options o;
	int status = explain_parse(&o, argc, argv);
	if (status != EXPLAIN_OK)
		return status == COMMAND_HELPED ? EXPLAIN_OK : status;
	struct conf *conf = conf_load(o.conf, false, &(struct conf_findings){.text = stderr});
	if (!conf)
		return EXPLAIN_USAGE;
	status = o.log ? explain_file(&o, conf) : explain_url(&o, conf, stdout, stderr);
	conf_free(conf);
	return status;
}
