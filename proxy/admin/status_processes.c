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

/* What can be summed up of all of them at any time: none of it is a counter, which would go back when one ends. */
static void print_draining(struct observe_family *f, const struct process_usage *sum)
{
	const struct observe_label *labels = OBSERVE_LABELS({"process", "draining"});
	if (f->id == OBSERVE_FAMILY_PROCESS_RESIDENT)
		observe_count(f, labels, sum->resident_bytes);
	else if (f->id == OBSERVE_FAMILY_PROCESS_VIRTUAL)
		observe_count(f, labels, sum->virtual_bytes);
	else if (f->id == OBSERVE_FAMILY_PROCESS_OPEN_FDS)
		observe_count(f, labels, sum->open_fds);
}

/* Returns how many there are. */
static uint32_t sum_draining(const struct status *s, struct process_usage *sum)
{
	uint32_t count = 0;
	*sum = (struct process_usage){0};
	for (uint32_t i = 0; i < s->process_count; i++) {
		const struct process_usage *u = &s->processes[i].usage;
		if (!s->processes[i].is_draining)
			continue;
		sum->resident_bytes += u->resident_bytes;
		sum->virtual_bytes += u->virtual_bytes;
		sum->open_fds += u->open_fds;
		count++;
	}
	return count;
}

void status_processes_print(const struct status *s, FILE *out)
{
	struct observe_family draining = {.out = out, .id = OBSERVE_FAMILY_DRAINING_WORKERS};
	struct process_usage sum;
	observe_sample(&draining, (const struct observe_label[]){{0}}, "%u", sum_draining(s, &sum));
	for (int id = OBSERVE_FAMILY_PROCESS_UP; id <= OBSERVE_FAMILY_PROCESS_MAX_FDS; id++) {
		struct observe_family f = {.out = out, .id = (enum observe_family_id)id};
		for (uint32_t i = 0; i < s->process_count; i++) {
			const struct status_process *p = &s->processes[i];
			char name[32];
			snprintf(name, sizeof(name), "worker %u", i);
			if (!p->is_draining)
				print_process(
				    &f, p, OBSERVE_LABELS({"process", p->name ? p->name : name}));
		}
		print_draining(&f, &sum);
	}
}
