/* SPDX-License-Identifier: MIT */
/* `pushgate check`: the configuration, and what a start needs of the machine. Changes nothing. */
#include "proxy/base/hash.h"
#include "proxy/offer/offer.h"
#include "proxy/process/process.h"
#include "proxy/process/start.h"
#include "proxy/process/start_needs.h"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* Everything from here on is as if this user had started pushgate. */
static bool become(const char *user)
{
	struct identity identity;
	char error[256];
	if (identity_find(&identity, user, error, sizeof(error)) &&
	    identity_assume(&identity, error, sizeof(error)))
		return true;
	fprintf(stderr, "pushgate check: --as %s: %s\n", user, error);
	return false;
}

static void print_number(FILE *out, const char *before, size_t n, const char *what)
{
	if (n > 0)
		fprintf(out, "%s%zu %s%s", before, n, what, n == 1 ? "" : "s");
}

static int sum_up(const char *path, size_t mistakes, size_t warnings, bool strict)
{
	bool is_good = mistakes == 0 && !(strict && warnings > 0);
	FILE *out = is_good ? stdout : stderr;
	fprintf(out, "%s: ", path);
	if (is_good)
		fputs("ok", out);
	print_number(out, "", mistakes, "mistake");
	print_number(out, is_good || mistakes > 0 ? ", " : "", warnings, "warning");
	fputc('\n', out);
	return is_good ? PROCESS_DONE : PROCESS_BAD_CONF;
}

int process_check(const char *conf_path, const char *as_user, bool strict)
{
	struct conf_counts counts;
	if (as_user && !become(as_user))
		return PROCESS_BAD_CONF;
	signal(SIGPIPE, SIG_IGN);
	struct conf *conf = conf_load(conf_path, true, stderr, &counts);
	if (!conf)
		return sum_up(conf_path, counts.mistakes, counts.warnings, strict);
	offer_seed(hash_random_seed());
	struct start_needs needs = {
	    .conf = conf,
	    .out = stderr,
	    .is_check = true,
	    .workers = start_count_workers(conf, false),
	};
	(void)start_needs_walk(&needs);
	conf_free(conf);
	return sum_up(conf_path, needs.count[NEED_FAULT],
	    counts.warnings + needs.count[NEED_WARNING] + needs.count[NEED_PASSING], strict);
}
