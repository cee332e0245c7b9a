/* SPDX-License-Identifier: MIT */
#include "tests/support/files_process.h"

#include "proxy/process/child_message.h"
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ROWS_BYTES (OBSERVE_REMEMBERED_PAGES * sizeof(struct observe_remembered))

void write_text_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

void files_process_init(struct files_process *p, const char *pages, const char *more)
{
	char text[512];
	snprintf(text, sizeof(text),
	    "[server]\nremembered-file = %s\n[listen l]\naddress = 127.0.0.1:1\n[origin a]\nserver = demo:\n"
	    "[route r]\norigin = a\n[preload p]\nremembered = apply\n%s",
	    pages, more);
	*p = (struct files_process){.control = -1, .links = {-1, -1}, .said = -1};
	p->conf = conf_load_text(slice_of_string(text), "test.ini", true, stderr);
	assert_non_null(p->conf);
	p->rows = mmap(NULL, ROWS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(p->rows, MAP_FAILED);
	files_contents_init(&p->contents, p->conf);
}

void files_process_connect(struct files_process *p, uint32_t worker)
{
	int pair[2];
	const struct message m = {.kind = MESSAGE_LINK, .helper = HELPER_FILES, .worker = worker};
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_true(message_send(p->control, &m, pair[1]));
	close(pair[1]);
	if (p->links[worker] >= 0)
		close(p->links[worker]);
	p->links[worker] = pair[0];
}

void files_process_start(struct files_process *p, bool is_first)
{
	int control[2], said[2];
	pid_t master = getpid();
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	p->process = fork();
	if (p->process == 0) {
		static const struct identity stays = {.name = NULL};
		struct logs logs = logs_none;
		logs.error.path = "-";
		logs.error.file = said[1];
		const struct helper_env env = {.conf = p->conf,
		    .identity = &stays,
		    .logs = &logs,
		    .contents = &p->contents,
		    .remembered_rows = p->rows,
		    .remembered_seed = p->seed,
		    .workers = FILES_PROCESS_WORKERS,
		    .control = control[1],
		    .is_first = is_first,
		    .master = master};
		close(control[0]);
		_exit(files_run(&env));
	}
	close(control[1]);
	close(said[1]);
	p->control = control[0];
	p->said = said[0];
}

int files_process_end(struct files_process *p)
{
	int status;
	close(p->control);
	p->control = -1;
	for (int i = 0; i < FILES_PROCESS_WORKERS; i++) {
		if (p->links[i] >= 0)
			close(p->links[i]);
		p->links[i] = -1;
	}
	assert_int_equal(waitpid(p->process, &status, 0), p->process);
	p->process = 0;
	close(p->said);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void files_process_fini(struct files_process *p)
{
	if (p->process) {
		kill(p->process, SIGKILL);
		files_process_end(p);
	}
	munmap(p->rows, ROWS_BYTES);
	files_contents_fini(&p->contents);
	conf_free(p->conf);
}
