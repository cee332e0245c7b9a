/* SPDX-License-Identifier: MIT */
/* The command `pushgate reload`: asks for a reload, waits for its end, and prints what was said of it. */
#include "proxy/base/hash.h"
#include "proxy/process/answer.h"
#include "proxy/process/reload_request.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int process_reload(const char *socket_path)
{
	char name[64];
	int n = snprintf(name, sizeof(name), RELOAD_REQUEST "%016" PRIx64, hash_random_seed());
	return answer_ask("reload", socket_path, slice_of(name, (size_t)n),
	    "it does not reload: it runs with --single, or is of an older version");
}

int process_reload_signal(const char *pid_text)
{
	long pid = strtol(pid_text, NULL, 10);
	if (pid <= 1 || kill((pid_t)pid, SIGHUP) != 0) {
		fprintf(stderr, "pushgate reload: cannot send SIGHUP to process %s (MAINPID)\n",
		    pid_text);
		return PROCESS_FAILED;
	}
	fprintf(stderr,
	    "pushgate reload: there is no status-socket to ask for the result; the error log has "
	    "it\n");
	return PROCESS_DONE;
}
