/* SPDX-License-Identifier: MIT */
/* The addresses of a server: one that the configuration has, or those of its name, which is looked up again and again. */
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/process/files.h"
#include "proxy/process/helper.h"
#include "proxy/process/helper_http.h"

static void changed(void *context, const struct name_answer *answer)
{
	struct helper_names *n = context;
	n->error = answer->error;
	n->count = 0;
	n->next = 0;
	for (size_t i = 0; i < answer->count && n->count < HELPER_ADDRESSES; i++)
		n->addresses[n->count++] = answer->addresses[i].address;
	if (n->changed)
		n->changed(n->context);
}

static void check_texts(void *context)
{
	struct helper_names *n = context;
	static const size_t names[] = {FILES_HOSTS, FILES_RESOLV_CONF};
	char line[512];
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct files_text *t = &n->texts[names[i]];
		/* The files process reports what cannot be read, if servers have names; here the last content stays. */
		if (!t->file.path || files_check_text(t, line, sizeof(line)) != WATCHED_READ)
			continue;
		size_t most = LIMIT_NAMES_FILE_BYTES;
		const struct slice text = slice_of(t->bytes, t->length < most ? t->length : most);
		if (names[i] == FILES_HOSTS)
			names_set_hosts(n->names, text);
		else
			names_set_resolv_conf(n->names, text);
	}
	net_timer_set(&n->timer, net_now(n->timer.loop) + HELPER_CHECK_USEC);
}

bool helper_names_open(struct helper_names *n, struct net_loop *loop, const struct conf *conf,
    const struct conf_origin_server *server, char *error, size_t error_size)
{
	const struct conf_server *s = &conf->server;
	n->conf = conf;
	n->server = server;
	net_timer_init(&n->timer, loop, check_texts, n);
	if (!conf_server_is_name(server)) {
		n->addresses[n->count++] = server->address;
		return true;
	}
	const struct names_options o = {.resolvers = s->resolvers,
	    .resolver_count = s->resolver_count,
	    .min_ttl = conf_dns_min_ttl(s, false),
	    .asked_min_ttl = conf_dns_min_ttl(s, true),
	    .max_ttl = s->dns_max_ttl,
	    .negative_ttl = s->dns_negative_ttl,
	    .timeout = s->dns_timeout};
	n->texts = memory_zalloc(FILES_TEXTS * sizeof(*n->texts));
	n->texts[FILES_HOSTS].file.path = s->hosts_file;
	n->texts[FILES_RESOLV_CONF].file.path = s->resolver_count > 0 ? NULL : s->resolv_conf;
	n->names = names_new(loop, &o, error, error_size);
	return n->names != NULL;
}

void helper_names_close(struct helper_names *n)
{
	if (n->watch)
		names_unwatch(n->watch);
	if (n->names)
		names_free(n->names);
	for (size_t i = 0; n->texts && i < FILES_TEXTS; i++)
		free(n->texts[i].bytes);
	free(n->texts);
	net_timer_fini(&n->timer);
}

void helper_names_begin(struct helper_names *n)
{
	if (!n->names)
		return;
	check_texts(n);
	n->watch = names_watch(n->names, n->server->host, n->server->port, false, changed, n);
}

const struct net_address *helper_names_current(const struct helper_names *n)
{
	return n->count > 0 ? &n->addresses[n->next % n->count] : NULL;
}

void helper_names_next(struct helper_names *n)
{
	n->next++;
}
