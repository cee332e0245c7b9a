/* SPDX-License-Identifier: MIT */
/* Holds facts about a request against the rules of an [access NAME] section. Pure; see access.h. */
#include "proxy/route/access.h"

#include "proxy/base/glob.h"
#include "proxy/base/global_address.h"
#include "proxy/limits.h"

/* The result of one rule: the condition that does not hold, or one of these. */
enum { TAKES = ACCESS_REASON_COUNT, NEEDS_ADDRESS };

static const char *const reason_names[] = {
#define REASON_NAME(symbol, code, what) code,
    ACCESS_REASONS(REASON_NAME)
#undef REASON_NAME
};

const char *access_reason_name(enum access_reason reason)
{
	return reason_names[reason];
}

/* The state of one judgement, beside the facts. */
struct judging {
	const struct access_facts *facts;
	struct effort own, *effort;
	struct http_host_keys host;
};

/* ---- addresses ---- */

static bool is_in_blocks(const struct conf_blocks *b, const struct address *a)
{
	for (size_t i = 0; i < b->count; i++)
		if (cidr_contains(&b->blocks[i], a))
			return true;
	return false;
}

/* Networks of a household or a company, this machine, and unix sockets. Not 100.64.0.0/10: the customers of a
 * provider do not know each other. */
static bool is_private(const struct address *a)
{
	static const struct cidr blocks[] = {
	    {{{10}, 4}, 8},
	    {{{127}, 4}, 8},
	    {{{169, 254}, 4}, 16},
	    {{{172, 16}, 4}, 12},
	    {{{192, 168}, 4}, 16},
	    {{{[15] = 1}, 6}, 128},
	    {{{0xfc}, 6}, 7},
	    {{{0xfe, 0x80}, 6}, 10},
	};
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		if (cidr_contains(&blocks[i], a))
			return true;
	return a->family == 0;
}

static bool takes_client(const struct conf_access_rule *r, const struct access_facts *f)
{
	uint32_t words = r->clients.words;
	if (!conf_blocks_are_given(&r->clients)) {
		if (!f->is_forward || r->action != CONF_ACCESS_ALLOW)
			return true;
		words = CONF_BLOCKS_PRIVATE;
	}
	return (words & CONF_BLOCKS_ANY) != 0 ||
	       ((words & CONF_BLOCKS_UNIX) != 0 && f->client.family == 0) ||
	       ((words & CONF_BLOCKS_PRIVATE) != 0 && is_private(&f->client)) ||
	       is_in_blocks(&r->clients, &f->client);
}

static enum address_reach reach_of(const struct access_facts *f)
{
	return f->to_is_mapped ? ADDRESS_EMBEDS : address_reach(f->to);
}

/* A line allow takes an address that it names. */
static unsigned allows_address(const struct conf_access_rule *r, const struct access_facts *f)
{
	uint32_t words = r->addresses.words;
	if (!conf_blocks_are_given(&r->addresses))
		words = CONF_BLOCKS_GLOBAL;
	if (words & CONF_BLOCKS_ANY)
		return TAKES;
	if (!f->to_is_mapped && is_in_blocks(&r->addresses, f->to))
		return TAKES;
	if (!(words & CONF_BLOCKS_GLOBAL))
		return ACCESS_REASON_ADDRESS;
	enum address_reach reach = reach_of(f);
	if (reach == ADDRESS_GLOBAL)
		return TAKES;
	return reach == ADDRESS_EMBEDS ? ACCESS_REASON_ADDRESS_EMBEDDED
				       : ACCESS_REASON_ADDRESS_NOT_GLOBAL;
}

/* The others take an address that carries one which they name, too: a translator would lead to that. */
static bool names_address(const struct conf_access_rule *r, const struct access_facts *f)
{
	struct address inner[ADDRESS_EMBEDDED_MOST];
	if ((r->addresses.words & CONF_BLOCKS_ANY) || is_in_blocks(&r->addresses, f->to))
		return true;
	if ((r->addresses.words & CONF_BLOCKS_GLOBAL) && reach_of(f) == ADDRESS_GLOBAL)
		return true;
	size_t count = address_embedded(f->to, inner);
	for (size_t i = 0; i < count; i++)
		if (is_in_blocks(&r->addresses, &inner[i]))
			return true;
	return false;
}

/* An upstream proxy looks the name up: its address is not known here. A condition that names addresses does not
 * hold then; one that is for all that are globally reachable does, as that proxy has rules of its own. */
static bool holds_anywhere(const struct conf_access_rule *r)
{
	return !conf_blocks_are_given(&r->addresses) ||
	       (r->addresses.words & (CONF_BLOCKS_ANY | CONF_BLOCKS_GLOBAL)) != 0;
}

static unsigned judge_address(const struct conf_access_rule *r, const struct access_facts *f)
{
	bool is_allow = r->action == CONF_ACCESS_ALLOW;
	if (!f->is_forward || (!is_allow && !conf_blocks_are_given(&r->addresses)))
		return TAKES;
	if (f->is_looked_up_elsewhere)
		return holds_anywhere(r) ? TAKES : ACCESS_REASON_ADDRESS;
	if (!f->to)
		return r->addresses.words & CONF_BLOCKS_ANY ? TAKES : NEEDS_ADDRESS;
	if (is_allow)
		return allows_address(r, f);
	return names_address(r, f) ? TAKES : ACCESS_REASON_ADDRESS;
}

/* ---- the other conditions ---- */

static bool takes_user(const struct conf_access_rule *r, const struct access_facts *f)
{
	if (r->user_count == 0)
		return true;
	return f->user.len > 0 && (r->any_user || slice_is_among(f->user, r->users, r->user_count));
}

static bool takes_cert(const struct conf_access_rule *r, const struct access_facts *f)
{
	return r->cert_count == 0 ||
	       client_certificate_is_among(f->certificate, r->certs, r->cert_count);
}

static bool takes_method(const struct conf_access_rule *r, const struct access_facts *f)
{
	return r->method_count == 0 || slice_is_among(f->method, r->methods, r->method_count);
}

static bool takes_time(const struct conf_access_rule *r, const struct access_facts *f)
{
	return !r->minutes || (r->minutes[f->minute / 64] >> f->minute % 64 & 1) != 0;
}

/* The server may take "%69nternal.example" or "10.1" for a host that the rule names. */
static bool takes_host(const struct conf_access_rule *r, const struct judging *j)
{
	if (http_host_set_is_empty(&r->hosts))
		return true;
	if (j->facts->host_is_ambiguous)
		return r->action != CONF_ACCESS_ALLOW;
	return http_host_set_has(&r->hosts, &j->host);
}

static bool matches_path(const struct conf_access_rule *r, struct slice path, struct effort *effort)
{
	for (size_t i = 0; i < r->path_count; i++)
		if (path.len > 0 && glob_match_within(r->paths[i], path, false, effort))
			return true;
	return false;
}

/* Whoever decodes the path does not get around a rule: an allow needs both forms, the others one of them. Of a path
 * that has more forms nobody knows which the server sees. Nor is it known whether a pattern takes a path that is too long
 * to be searched for all of them. */
static bool compare_path(const struct conf_access_rule *r, struct judging *j)
{
	const struct access_facts *f = j->facts;
	bool is_allow = r->action == CONF_ACCESS_ALLOW;
	if (f->path_is_ambiguous || j->effort->is_used_up)
		return !is_allow;
	bool takes = matches_path(r, f->path, j->effort);
	if (takes == is_allow)
		takes = matches_path(r, f->plain_path, j->effort);
	return j->effort->is_used_up ? !is_allow : takes;
}

static bool takes_path(const struct conf_access_rule *r, size_t index, struct judging *j)
{
	uint8_t *answers = j->facts->path_answers;
	if (r->path_count == 0)
		return true;
	if (answers && answers[index] != ACCESS_PATH_UNKNOWN)
		return answers[index] == ACCESS_PATH_TAKEN;
	bool takes = compare_path(r, j);
	if (answers)
		answers[index] = takes ? ACCESS_PATH_TAKEN : ACCESS_PATH_OTHER;
	return takes;
}

static bool takes_port(const struct conf_access_rule *r, const struct access_facts *f)
{
	if (!f->is_forward)
		return true;
	for (size_t i = 0; i < r->port_count; i++)
		if (f->port >= r->ports[i].first && f->port <= r->ports[i].last)
			return true;
	if (r->port_count > 0)
		return false;
	return r->action != CONF_ACCESS_ALLOW || f->port == 443 ||
	       (f->port == 80 && !f->is_connect);
}

/* ---- rules ---- */

static unsigned judge_rule(const struct conf_access_rule *r, size_t index, struct judging *j)
{
	const struct access_facts *f = j->facts;
	if (!takes_client(r, f))
		return ACCESS_REASON_CLIENT;
	if (!takes_user(r, f))
		return ACCESS_REASON_USER;
	if (!takes_cert(r, f))
		return ACCESS_REASON_CERT;
	if (!takes_method(r, f))
		return ACCESS_REASON_METHOD;
	if (!takes_time(r, f))
		return ACCESS_REASON_TIME;
	if (!takes_host(r, j))
		return ACCESS_REASON_HOST;
	if (!takes_path(r, index, j))
		return ACCESS_REASON_PATH;
	if (!takes_port(r, f))
		return ACCESS_REASON_PORT;
	return judge_address(r, f);
}

/* A rule that is about clients and nothing else. */
static bool is_about_clients(const struct conf_access_rule *r)
{
	return r->user_count + r->cert_count + r->method_count + r->path_count + r->port_count ==
		   0 &&
	       !r->any_user && !r->minutes && http_host_set_is_empty(&r->hosts) &&
	       !conf_blocks_are_given(&r->addresses);
}

bool access_takes_client(const struct conf_access *a, const struct address *client)
{
	const struct access_facts facts = {.is_forward = true, .client = *client};
	for (size_t i = 0; i < a->rule_count; i++) {
		const struct conf_access_rule *r = &a->rules[i];
		if (!takes_client(r, &facts))
			continue;
		if (r->action != CONF_ACCESS_DENY)
			return true;
		if (is_about_clients(r))
			return false;
	}
	return false;
}

static struct access_verdict denied(enum access_reason why, const struct conf_access_rule *rule)
{
	return (struct access_verdict){ACCESS_DENY, reason_names[why], rule, why};
}

static void begin(struct judging *j, const struct conf_access *a, const struct access_facts *f)
{
	j->facts = f;
	j->own = effort_of(LIMIT_EFFORT_OF_REQUEST);
	j->effort = f->effort ? f->effort : &j->own;
	if (a->needs & CONF_ACCESS_HOST)
		http_host_keys_init(&j->host, f->host, a->host_seed);
}

struct access_verdict access_judge(const struct conf_access *a, const struct access_facts *f)
{
	unsigned nearest = ACCESS_REASON_NO_RULE;
	struct judging j;
	begin(&j, a, f);
	for (size_t i = 0; i < a->rule_count; i++) {
		const struct conf_access_rule *r = &a->rules[i];
		const struct conf_access_rule *shown = a->name ? r : NULL;
		unsigned answer = judge_rule(r, i, &j);
		switch (r->action) {
		case CONF_ACCESS_ALLOW:
			if (answer == TAKES || answer == NEEDS_ADDRESS)
				return (struct access_verdict){
				    .answer = ACCESS_ALLOW, .rule = shown};
			if (answer > nearest)
				nearest = answer;
			break;
		case CONF_ACCESS_DENY:
			if (answer == TAKES)
				return denied(ACCESS_REASON_RULE, shown);
			break;
		case CONF_ACCESS_ASK:
			if (answer == TAKES && f->user.len == 0)
				return (struct access_verdict){
				    .answer = ACCESS_ASK, .reason = "ask", .rule = shown};
			break;
		}
	}
	return denied((enum access_reason)nearest, NULL);
}
