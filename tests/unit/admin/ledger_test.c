/* SPDX-License-Identifier: MIT */
/* The ledger: a forked worker reads what was written, whole or not at all, and can write nothing. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/admin/admin.h"
#include "proxy/base/memory.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEC USEC_PER_SEC

static struct ledger *make(void)
{
	char error[256] = "";
	struct ledger *l = ledger_new(error, sizeof(error));
	assert_string_equal(error, "");
	assert_non_null(l);
	return l;
}

static struct policy_rule rule(const char *name)
{
	return (struct policy_rule){.name = name};
}

/* Runs the test's part in a child, as a worker, and expects that it exits with 0. */
static void in_a_child(void (*work)(void *context), void *context, int signal)
{
	pid_t pid = fork();
	if (pid == 0) {
		work(context);
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (signal > 0)
		assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == signal : WEXITSTATUS(status) == 99);
	else
		assert_int_equal(status, 0);
}

#define IN_CHILD(condition)                                                                        \
	do                                                                                         \
		if (!(condition)) {                                                                \
			fprintf(stderr, "in the child: not %s\n", #condition);                     \
			_exit(1);                                                                  \
		}                                                                                  \
	while (0)

static struct totals *sum_of(struct ledger_status *l)
{
	while (ledger_status_add_up(l))
		;
	return ledger_status_sum(l);
}

struct scene {
	struct ledger *ledger;
	struct ledger_view view;
};

static void what_was_written_is_read(void *context)
{
	struct scene *s = context;
	IN_CHILD(ledger_seclude(s->ledger));
	struct ledger_status *l = ledger_status_new(&s->view, NULL, true, 20 * SEC);
	IN_CHILD(l != NULL);
	const struct status *status = ledger_status_of(l);
	IN_CHILD(status->up == 17 * SEC);
	IN_CHILD(status->started_wall == 1700 * SEC);
	IN_CHILD(status->process_count == 3);
	IN_CHILD(status->processes[0].name == NULL && status->processes[0].pid == 11);
	IN_CHILD(status->processes[0].up == 7 * SEC); /* as written, and since then */
	IN_CHILD(strcmp(status->processes[2].name, "files process") == 0);
	IN_CHILD(status->last_reload && strcmp(status->last_reload->result, STATUS_RELOAD_REFUSED) == 0);
	IN_CHILD(strcmp(status->last_reload->cause, "why") == 0);
	struct totals *sum = sum_of(l);
	/* Of the ended ones, of generation 2 that lives, of the own, and of the master; not of 1, which has ended. */
	IN_CHILD(sum->whole.connections == 1000 + 20 + 3 + 500);
	IN_CHILD(sum->rule_count == 2);
	IN_CHILD(strcmp(sum->rules[0].name, "old") == 0 && sum->rules[0].counts.used_bytes == 70);
	IN_CHILD(strcmp(sum->rules[1].name, "new") == 0 && sum->rules[1].counts.used_bytes == 4);
	ledger_status_free(l);
}

static void a_worker_reads_what_the_master_wrote(void **state)
{
	(void)state;
	struct scene s = {.ledger = make()};
	struct observe_counters *slots = memory_zalloc(5 * sizeof(*slots));
	struct policy_rule old_rules[] = {rule("old")}, new_rules[] = {rule("new"), rule("old")};
	struct conf *old_conf = memory_new(struct conf), *new_conf = memory_new(struct conf);
	old_conf->policy.rules = old_rules;
	old_conf->policy.count = 1;
	new_conf->policy.rules = new_rules;
	new_conf->policy.count = 2;
	struct totals *ended = totals_new();
	ended->whole.connections = 1000;
	totals_rule(ended, "old")->used_bytes = 10;
	slots[0].connections = 100; /* generation 1, which has ended: the 1000 have these */
	slots[1].connections = 20;  /* generation 2 */
	slots[1].rules[0].used_bytes = 60;
	slots[2].connections = 1, slots[3].connections = 2; /* the own */
	slots[2].rules[0].used_bytes = 1, slots[3].rules[0].used_bytes = 3;
	slots[4].connections = 500;
	s.view = (struct ledger_view){.ledger = s.ledger,
	    .own_slot = &slots[4],
	    .regions = {{.generation = 1, .conf = old_conf, .slots = &slots[0], .workers = 1},
		{.generation = 2, .conf = old_conf, .slots = &slots[1], .workers = 1},
		{.generation = 5, .conf = new_conf, .slots = &slots[2], .workers = 2}},
	    .region_count = 3,
	    .own = 2};
	const struct status_process processes[] = {{.pid = 11, .starts = 1, .up = 2 * SEC}, {.pid = 12},
	    {.name = "files process", .pid = 13}};
	const struct status_reload reload = {.at = 1, .generation = 5, .result = STATUS_RELOAD_REFUSED, .cause = "why"};
	const struct ledger_facts facts = {.started = 3 * SEC,
	    .started_wall = 1700 * SEC,
	    .last_reload = &reload,
	    .processes = processes,
	    .process_count = 3,
	    .live = (const uint32_t[]){2, 5},
	    .live_count = 2,
	    .ended = ended};
	ledger_write(s.ledger, &facts, 15 * SEC);
	in_a_child(what_was_written_is_read, &s, 0);
	assert_true(ledger_view_is_complete(&s.view));
	/* What comes later is seen too; and the process that writes may read. */
	ended->whole.connections = 1100;
	ledger_write(s.ledger, &facts, 16 * SEC);
	struct ledger_status *l = ledger_status_new(&s.view, NULL, true, 20 * SEC);
	assert_int_equal(sum_of(l)->whole.connections, 1100 + 20 + 3 + 500);
	ledger_status_free(l);
	/* Generation 6 has taken over, and has counted what this worker cannot see. */
	struct ledger_facts later = facts;
	later.live = (const uint32_t[]){2, 5, 6};
	later.live_count = 3;
	ledger_write(s.ledger, &later, 17 * SEC);
	assert_false(ledger_view_is_complete(&s.view));
	/* Without histograms all else is the same. */
	histogram_count(totals_series(ended, SERIES_TLS, "listen=\"a\""), SEC);
	ledger_write(s.ledger, &facts, 17 * SEC);
	l = ledger_status_new(&s.view, NULL, true, 20 * SEC);
	assert_int_equal(sum_of(l)->series.count, 1);
	ledger_status_free(l);
	l = ledger_status_new(&s.view, NULL, false, 20 * SEC);
	assert_null(ledger_status_of(l)->series);
	struct totals *sum = sum_of(l);
	assert_int_equal(sum->whole.connections, 1100 + 20 + 3 + 500);
	assert_int_equal(sum->series.count, 0);
	assert_int_equal(totals_rule(sum, "old")->used_bytes, 70);
	ledger_status_free(l);
	totals_free(ended);
	ledger_free(s.ledger);
	free(slots);
	free(old_conf);
	free(new_conf);
}

/* Finds the mapping of the memory file by /proc, as a hijacked worker may guess it. */
static void *find_mapping(size_t *length, bool *is_writable)
{
	char line[512];
	void *found = NULL;
	FILE *in = fopen("/proc/self/maps", "re");
	while (in && fgets(line, sizeof(line), in)) {
		unsigned long from, to;
		char mode[8];
		if (strstr(line, "pushgate-ledger") && sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3) {
			found = (void *)from;
			*length = to - from;
			*is_writable = mode[1] == 'w';
		}
	}
	if (in)
		fclose(in);
	return found;
}

static void nothing_makes_it_writable(void *context)
{
	struct ledger *l = context;
	size_t length = 0;
	bool is_writable = true;
	IN_CHILD(ledger_seclude(l));
	void *at = find_mapping(&length, &is_writable);
	IN_CHILD(at && !is_writable);
	IN_CHILD(mprotect(at, length, PROT_READ | PROT_WRITE) != 0);
	IN_CHILD(mmap(at, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, -1, 0) == MAP_FAILED);
}

static void a_worker_cannot_write(void **state)
{
	(void)state; /* covers: R239 */
	struct ledger *l = make();
	in_a_child(nothing_makes_it_writable, l, 0);
	ledger_free(l);
}

static void a_helper_has_none(void *context)
{
	size_t length;
	bool is_writable;
	ledger_leave(context);
	IN_CHILD(!find_mapping(&length, &is_writable));
	ledger_leave(context); /* again: nothing happens */
}

static void helpers_leave_it(void **state)
{
	(void)state;
	struct ledger *l = make();
	in_a_child(a_helper_has_none, l, 0);
	ledger_free(l);
}

/* The child reads without pause while the parent writes totals in which two counters are always equal, and generations that
 * end: the sum never goes back. */
static void reads_until_the_end(void *context)
{
	struct scene *s = context;
	uint64_t last = 0;
	IN_CHILD(ledger_seclude(s->ledger));
	for (unsigned busy = 0; last < 3000;) {
		struct ledger_status *l = ledger_status_new(&s->view, NULL, true, 0);
		if (!l) {
			IN_CHILD(++busy < 1000000);
			usleep(100);
			continue;
		}
		struct totals *sum = sum_of(l);
		IN_CHILD(sum->whole.connections == sum->whole.requests);
		IN_CHILD(sum->whole.connections >= last);
		last = sum->whole.connections;
		ledger_status_free(l);
	}
}

static void no_reader_sees_a_half(void **state)
{
	(void)state; /* covers: R239 */
	struct scene s = {.ledger = make()};
	struct observe_counters *slots =
	    mmap(NULL, 2 * sizeof(*slots), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct conf *conf = memory_new(struct conf);
	struct totals *ended = totals_new();
	s.view = (struct ledger_view){.ledger = s.ledger,
	    .own_slot = NULL,
	    .regions = {{.generation = 1, .conf = conf, .slots = &slots[0], .workers = 1},
		{.generation = 2, .conf = conf, .slots = &slots[1], .workers = 1}},
	    .region_count = 2,
	    .own = 1};
	slots[0].connections = slots[0].requests = 1000;
	struct ledger_facts facts = {.live = (const uint32_t[]){1, 2}, .live_count = 2, .ended = ended};
	ledger_write(s.ledger, &facts, 0);
	pid_t pid = fork();
	if (pid == 0) {
		reads_until_the_end(&s);
		_exit(0);
	}
	for (unsigned i = 0; i < 1000; i++) {
		ended->whole.connections++, ended->whole.requests++;
		ledger_write(s.ledger, &facts, 0);
	}
	/* The first generation ends. */
	ended->whole.connections += 1000, ended->whole.requests += 1000;
	facts.live = (const uint32_t[]){2};
	facts.live_count = 1;
	ledger_write(s.ledger, &facts, 0);
	for (unsigned i = 0; i < 1000; i++) {
		ended->whole.connections++, ended->whole.requests++;
		ledger_write(s.ledger, &facts, 0);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	munmap(slots, 2 * sizeof(*slots));
	totals_free(ended);
	ledger_free(s.ledger);
	free(conf);
}

/* More processes than there is room for, names that are too long, and as many names of totals and of series as there may
 * be. */
static void everything_has_a_bound(void **state)
{
	(void)state;
	struct scene s = {.ledger = make()};
	enum { MANY = 2000 };
	char name[512];
	struct observe_counters *slot = memory_new(struct observe_counters);
	struct conf *conf = memory_new(struct conf);
	struct status_process *processes = memory_zalloc(MANY * sizeof(*processes));
	struct totals *ended = totals_new();
	static const uint64_t limited[2] = {1, 2};
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < MANY; i++) {
		processes[i].name = name;
		snprintf(name, sizeof(name), "%04zu", i);
		name[4] = 'n';
		totals_rule(ended, name)->used_bytes += 1;
		totals_add_pair(&ended->limited, name, limited);
	}
	name[4] = 'n';
	name[TOTALS_LABELS_BYTES - 1] = '\0';
	for (unsigned i = 0; i < TOTALS_SERIES; i++) {
		snprintf(name, sizeof(name), "%05u", i);
		name[5] = 'n';
		histogram_count(totals_series(ended, SERIES_REQUEST, name), SEC);
	}
	s.view = (struct ledger_view){.ledger = s.ledger,
	    .regions = {{.generation = 1, .conf = conf, .slots = slot, .workers = 1}},
	    .region_count = 1};
	const struct ledger_facts facts = {.processes = processes,
	    .process_count = MANY,
	    .live = (const uint32_t[]){1},
	    .live_count = 1,
	    .ended = ended};
	size_t before = ledger_view_bytes(&s.view);
	ledger_write(s.ledger, &facts, 0);
	/* Twice: as it lies in the page, and added up. */
	assert_in_range(ledger_view_bytes(&s.view) - before, 2 * TOTALS_SERIES * TOTALS_LABELS_BYTES, 2 * TOTALS_FLAT_BYTES);
	struct ledger_status *l = ledger_status_new(&s.view, NULL, true, 0);
	const struct status *status = ledger_status_of(l);
	assert_int_equal(status->process_count, 1024);
	assert_int_equal(strlen(status->processes[0].name), 47);
	const struct totals *sum = sum_of(l);
	assert_int_equal(sum->rule_count, TOTALS_NAMES);
	assert_int_equal(sum->limited.count, TOTALS_NAMES);
	assert_string_equal(sum->rules[TOTALS_NAMES - 1].name, ended->rules[TOTALS_NAMES - 1].name);
	assert_int_equal(sum->whole.rules[OBSERVE_RULES].used_bytes, MANY - TOTALS_NAMES);
	assert_int_equal(sum->limited.list[7].n[1], 2);
	assert_int_equal(sum->series.count, TOTALS_SERIES);
	ledger_status_free(l);
	totals_free(ended);
	ledger_free(s.ledger);
	free(processes);
	free(slot);
	free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_worker_reads_what_the_master_wrote),
	    cmocka_unit_test(a_worker_cannot_write),
	    cmocka_unit_test(helpers_leave_it),
	    cmocka_unit_test(no_reader_sees_a_half),
	    cmocka_unit_test(everything_has_a_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
