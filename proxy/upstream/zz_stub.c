#include "proxy/upstream/private.h"
void health_init(struct server *s)
{
	(void)s;
}
void health_fini(struct server *s)
{
	(void)s;
}
void health_report(struct server *s, enum health_result r)
{
	(void)s;
	(void)r;
}
enum server_state health_state(const struct server *s)
{
	return s->conf->is_down ? SERVER_DOWN : s->is_leaving ? SERVER_LEAVING : SERVER_UP;
}
struct name_watch *names_watch(struct names *n, const char *host, uint16_t port, bool is_srv,
    void (*changed)(void *context, const struct name_answer *answer), void *context)
{
	(void)n;
	(void)host;
	(void)port;
	(void)is_srv;
	(void)changed;
	(void)context;
	return NULL;
}
void names_unwatch(struct name_watch *w)
{
	(void)w;
}
void balance_ask(const struct destination *d, struct exchange *x, struct balance_question *q)
{
	(void)d;
	(void)x;
	(void)q;
}
