/* SPDX-License-Identifier: MIT */
/* The part of `pushgate status` about the processes: which run, and what each uses. */
#include "proxy/admin/status.h"

static void print_seconds(
    struct observe_family *f, const struct observe_label *labels, usec time, int digits)
{
	unsigned long long seconds = time / USEC_PER_SEC, rest = time % USEC_PER_SEC;
	for (int i = digits; i < 6; i++)
		rest /= 10;
	observe_sample(f, labels, "%llu.%0*llu", seconds, digits, rest);
}

static void print_process(
    struct observe_family *f, const struct status_process *p, const struct observe_label *labels)
{
	const struct process_usage *u = &p->usage;
	switch ((int)f->id) {
	case OBSERVE_FAMILY_PROCESS_UP:
		observe_sample(f, labels, "%d", p->pid != 0);
		break;
	case OBSERVE_FAMILY_PROCESS_PID:
		observe_sample(f, labels, "%d", (int)p->pid);
		break;
	case OBSERVE_FAMILY_PROCESS_STARTS:
		observe_sample(f, labels, "%u", p->starts);
		break;
	case OBSERVE_FAMILY_PROCESS_START_TIME:
		if (u->started)
			print_seconds(f, labels, u->started, 2);
		break;
	case OBSERVE_FAMILY_PROCESS_CPU:
		if (u->started)
			print_seconds(f, labels, u->cpu, 2);
		break;
	case OBSERVE_FAMILY_PROCESS_RESIDENT:
		observe_count(f, labels, u->resident_bytes);
		break;
	case OBSERVE_FAMILY_PROCESS_VIRTUAL:
		observe_count(f, labels, u->virtual_bytes);
		break;
	case OBSERVE_FAMILY_PROCESS_OPEN_FDS:
		observe_count(f, labels, u->open_fds);
		break;
	case OBSERVE_FAMILY_PROCESS_MAX_FDS:
		observe_count(f, labels, u->max_fds);
		break;
	}
}

void status_processes_print(const struct status *s, FILE *out)
{
	for (int id = OBSERVE_FAMILY_PROCESS_UP; id <= OBSERVE_FAMILY_PROCESS_MAX_FDS; id++) {
		struct observe_family f = {.out = out, .id = (enum observe_family_id)id};
		for (uint32_t i = 0; i < s->process_count; i++) {
			const struct status_process *p = &s->processes[i];
			char name[32];
			snprintf(name, sizeof(name), "worker %u", i);
			print_process(&f, p, OBSERVE_LABELS({"process", p->name ? p->name : name}));
		}
	}
}
