/* SPDX-License-Identifier: MIT */
/*
 * Decides the pushes of an access log again under another configuration. A push's line tells what
 * was promised and decided; its parent's line tells the client and the request. Facts that neither
 * line has are taken from the logged verdict: where a guard about the state of that moment decided
 * (the client accepted no pushes, the connection was full, the resource was known), it decides the
 * same again.
 */
#include "proxy/http/link.h"
#include "proxy/tool/explain.h"
#include "proxy/tool/log_lines.h"

#include <inttypes.h>

struct log_replay {
	const struct conf *conf;
	FILE *out;
	struct log_lines log;
	struct explain_scene scene;
	const struct log_line *now;                      /* the push that is being decided again */
	size_t decided, changed, without_parent, unread; /* pushes */
	uint64_t decided_weight, changed_weight;         /* the same, if the log is a sample */
};

/* ---- facts inferred from the log ---- */

static bool has_reason(const struct log_line *line, const struct policy_reason *reason)
{
	return strcmp(log_line_text(line, "reason"), reason->code) == 0;
}

static bool has_verdict(const struct log_line *line, enum policy_action action)
{
	return strcmp(log_line_text(line, "verdict"), policy_action_name(action)) == 0;
}

static bool was_hinted(const struct log_line *line)
{
	return has_verdict(line, POLICY_HINT) || has_verdict(line, POLICY_HINT_HOLD);
}

/*
 * Infers facts about the client from the pushes of one parent. Their lines are adjacent, from
 * `first` on; only the parent's own line may stand among them.
 */
struct client_inferred {
	bool accepts_pushes, refuses_pushes, navigates, does_not_navigate;
};

static struct client_inferred infer_from_pushes(
    const struct log_replay *r, const struct log_line *first)
{
	struct client_inferred inferred = {0};
	const struct log_line *end = r->log.lines + r->log.count;
	for (const struct log_line *line = first; line < end; line++) {
		if (line == first->parent)
			continue;
		if (line->parent != first->parent)
			break;
		inferred.accepts_pushes |= has_verdict(line, POLICY_FORWARD);
		inferred.refuses_pushes |= has_reason(line, &policy_reason_PUSH_DISABLED);
		inferred.navigates |= was_hinted(line);
		inferred.does_not_navigate |= has_reason(line, &policy_reason_HINT_CLIENT);
	}
	return inferred;
}

/*
 * Fills in what the pushes did not tell. A browser accepts no pushes; a path without an extension,
 * or of a document, is a navigation.
 */
static void infer_from_request(struct client_inferred *inferred, const struct log_line *parent)
{
	bool is_browser = strncmp(log_line_text(parent, "user_agent"), "Mozilla/", 8) == 0;
	struct slice path = slice_of_string(log_line_text(parent, "path"));
	enum policy_type type = policy_type_of_path(path);
	bool is_page = type == POLICY_TYPE_UNKNOWN || type == POLICY_TYPE_DOCUMENT;
	if (!inferred->accepts_pushes)
		inferred->refuses_pushes = inferred->refuses_pushes || is_browser;
	if (!inferred->does_not_navigate)
		inferred->navigates = inferred->navigates || (is_browser && is_page);
}

/*
 * Some guards ask about the state of that moment, which the log does not have: let them decide as
 * logged.
 */
static void correct(void *context, struct policy_offer *offer)
{
	struct log_replay *r = context;
	const struct log_line *line = r->now;
	offer->duplicate |= has_reason(line, &policy_reason_DUPLICATE);
	offer->parent_gone |= has_reason(line, &policy_reason_PARENT_GONE);
	offer->parent_is_push |= has_reason(line, &policy_reason_PARENT_PUSHED);
	offer->client_going_away |= has_reason(line, &policy_reason_CLIENT_GOING_AWAY);
	offer->parent_revalidates |= has_reason(line, &policy_reason_REVALIDATION);
	offer->promise_rate_exceeded |= has_reason(line, &policy_reason_PROMISE_RATE);
	if (has_reason(line, &policy_reason_SPECULATIVE))
		offer->purpose = POLICY_PURPOSE_PREFETCH;
	if (has_reason(line, &policy_reason_NO_STREAMS))
		offer->client_accepts_streams = false;
	if (has_reason(line, &policy_reason_KNOWN))
		offer->known = POLICY_KNOWN;
	if (has_reason(line, &policy_reason_CONNECTION_CAP))
		offer->connection_pushes = UINT32_MAX;
	if (has_reason(line, &policy_reason_BYTES_CAP))
		offer->connection_push_bytes = UINT64_MAX;
	if (has_reason(line, &policy_reason_CLIENT_GOING_AWAY) ||
	    has_reason(line, &policy_reason_HINT_LATE) ||
	    has_reason(line, &policy_reason_HINT_VERSION) ||
	    has_reason(line, &policy_reason_HINT_CAP) ||
	    has_reason(line, &policy_reason_LINK_PUSH_ONLY))
		offer->hint_refusal = policy_reason_find(log_line_text(line, "reason"));
	else if (was_hinted(line))
		offer->hint_refusal = NULL;
	if (has_reason(line, &policy_reason_HOLD_FORWARDED) ||
	    has_reason(line, &policy_reason_HOLD_BYTES))
		offer->hold_refusal = policy_reason_find(log_line_text(line, "reason"));
}

/*
 * The reason came neither from a rule nor from a guard that can be asked again: the verdict stays.
 */
static bool is_beyond_policy(const struct log_line *line)
{
	static const struct policy_reason *const reasons[] = {
	    &policy_reason_LINK_NOPUSH,
	    &policy_reason_LINK_ANCHOR,
	    &policy_reason_LINK_SELF,
	    &policy_reason_LINK_TARGET,
	    &policy_reason_BUDGET,
	    &policy_reason_RESET_BUDGET,
	    &policy_reason_MALFORMED,
	    &policy_reason_BODY,
	    &policy_reason_REMEMBERED_PROPOSAL,
	};
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (has_reason(line, reasons[i]))
			return true;
	return false;
}

/*
 * After the rule, something that the log does not have changed the verdict: the response, or the
 * rule's feedback.
 */
static bool was_changed_later(const struct log_line *line)
{
	return has_reason(line, &policy_reason_PAUSED) || has_reason(line, &policy_reason_STATUS) ||
	       has_reason(line, &policy_reason_CONTENT_TYPE) ||
	       has_reason(line, &policy_reason_TOO_LARGE) ||
	       has_reason(line, &policy_reason_NOT_STORABLE) ||
	       has_reason(line, &policy_reason_HOLD_NOT_FRESH) ||
	       (has_verdict(line, POLICY_HINT) && log_line_text(line, "end_reason")[0]);
}

/* ---- deciding again ---- */

/* "drop (rule NAME" */
static void print_verdict(FILE *out, const char *action, const char *reason, const char *rule)
{
	explain_print_string(out, action);
	fputs(" (", out);
	explain_print_string(out, reason);
	fputs(rule[0] ? " " : "", out);
	explain_print_string(out, rule);
}

static void print_difference(struct log_replay *r, struct policy_verdict v)
{
	const struct log_line *line = r->now;
	FILE *out = r->out;
	explain_print_string(out, log_line_text(line, "source"));
	fputc(' ', out);
	explain_print_string(out, log_line_text(line, "scheme"));
	fputs("://", out);
	explain_print_string(out, log_line_text(line, "authority"));
	explain_print_string(out, log_line_text(line, "path"));
	fputs(" for ", out);
	explain_print_string(out, log_line_text(line->parent, "path"));
	fputs("\n    ", out);
	print_verdict(out, log_line_text(line, "verdict"), log_line_text(line, "reason"),
	    log_line_text(line, "rule"));
	fputs(") -> ", out);
	print_verdict(
	    out, policy_action_name(v.action), v.reason->code, v.rule ? v.rule->name : "");
	fprintf(out, ")  line %zu\n", line->number);
}

static void on_decided(void *context, const struct explain_offer *offer)
{
	struct log_replay *r = context;
	const struct log_line *line = r->now;
	const struct policy_verdict v = offer->verdict;
	const char *rule = v.rule ? v.rule->name : "";
	bool is_same = strcmp(policy_action_name(v.action), log_line_text(line, "verdict")) == 0 &&
		       has_reason(line, v.reason);
	r->decided++;
	r->decided_weight += line->weight;
	if ((is_same || was_changed_later(line)) && strcmp(rule, log_line_text(line, "rule")) == 0)
		return;
	r->changed++;
	r->changed_weight += line->weight;
	print_difference(r, v);
}

static void set_field(struct http_head *head, enum http_token token, const char *text)
{
	if (text[0])
		http_head_add_token(head, token, slice_of_string(text));
}

/*
 * Makes a request head from a line. The caller validates it, which fails if the line lacks a part.
 */
static struct http_head *head_of(struct log_replay *r, const struct log_line *line)
{
	struct http_head *head = http_head_new(r->scene.heads);
	set_field(head, HTTP_TOKEN_PSEUDO_METHOD, log_line_text(line, "method"));
	set_field(head, HTTP_TOKEN_PSEUDO_SCHEME, log_line_text(line, "scheme"));
	set_field(head, HTTP_TOKEN_PSEUDO_AUTHORITY, log_line_text(line, "authority"));
	set_field(head, HTTP_TOKEN_PSEUDO_PATH, log_line_text(line, "path"));
	set_field(head, HTTP_TOKEN_USER_AGENT, log_line_text(line, "user_agent"));
	set_field(head, HTTP_TOKEN_REFERER, log_line_text(line, "referer"));
	return head;
}

static const struct conf_listen *find_listen(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->listen_count; i++)
		if (strcmp(conf->listens[i].name, name) == 0)
			return &conf->listens[i];
	return conf->listen_count > 0 ? &conf->listens[0] : NULL;
}

/* Lines of before HTTP/1.1 was served have no such field. */
static enum http_version version_of(const struct log_line *line)
{
	const char *protocol = log_line_text(line, "protocol");
	if (strcmp(protocol, "http/1.1") == 0)
		return HTTP_VERSION_1_1;
	return strcmp(protocol, "http/1.0") == 0 ? HTTP_VERSION_1_0 : HTTP_VERSION_2;
}

/* The line has the addresses of the peers where they are not the client's. */
static void set_addresses(struct explain_scene *s, const struct log_line *parent)
{
	const struct conf_listen *l = s->listen;
	bool is_claimed = l && l->proxy_protocol.is_required;
	struct slice client = slice_of_string(log_line_text(parent, "client"));
	if (!address_parse(client, &s->client.address) && slice_equal(client, SLICE("unknown")))
		s->client.address.family = ADDRESS_UNKNOWN;
	s->peer = s->client.address;
	address_parse(
	    slice_of_string(log_line_text(parent, is_claimed ? "claimed_peer" : "tcp_peer")),
	    &s->peer);
}

/* The log has two of its names. NULL: the client has shown none. */
static struct client_certificate *certificate_of(const struct log_line *line)
{
	char names[1024];
	const char *subject = log_line_text(line, "client_cert");
	int length = snprintf(names, sizeof(names), "subject:%s\nsha256:%s\n", subject,
	    log_line_text(line, "client_cert_sha256"));
	if (!subject[0] || length >= (int)sizeof(names))
		return NULL;
	return client_certificate_new(slice_of(names, (size_t)length), SLICE(""), SLICE(""));
}

/*
 * Repeats the parent's request as far as the log has it. False: the gateway would not forward it
 * now, so it has no offers.
 */
static bool send_parent_request(struct log_replay *r, const struct log_line *first)
{
	const struct log_line *parent = first->parent;
	struct client_inferred inferred = infer_from_pushes(r, first);
	const char *detail;
	infer_from_request(&inferred, parent);
	struct client_facts *client = &r->scene.client;
	enum http_version version = version_of(parent);
	bool is_http2 = version == HTTP_VERSION_2;
	*client = (struct client_facts){
	    .push_enabled = is_http2 && (inferred.accepts_pushes || !inferred.refuses_pushes),
	    .hints_expected = is_http2,
	    .accepts_streams = true,
	    .takes_interim = version != HTTP_VERSION_1_0,
	};
	r->scene.listen = find_listen(r->conf, log_line_text(parent, "listen"));
	set_addresses(&r->scene, parent);
	explain_end(&r->scene);
	explain_set_user(&r->scene, log_line_text(parent, "user"));
	explain_set_certificate(&r->scene, certificate_of(parent));
	struct http_head *head = head_of(r, parent);
	head->version = (uint8_t)version;
	if (inferred.navigates)
		http_head_add_token(head, HTTP_TOKEN_SEC_FETCH_MODE, SLICE("navigate"));
	if (http_head_validate(head, HTTP_REQUEST)) {
		http_head_free(head);
		return false;
	}
	if (explain_ask(&r->scene, head, &detail))
		return false;
	exchange_dispatch(r->scene.x);
	return true;
}

static void decide_relayed(struct log_replay *r)
{
	struct http_head *head = head_of(r, r->now);
	if (http_head_validate(head, HTTP_REQUEST) == NULL)
		explain_promise(&r->scene, head);
	else
		http_head_free(head);
}

static void decide_own(struct log_replay *r, enum policy_source source)
{
	struct exchange *x = r->scene.x;
	const struct log_line *line = r->now;
	struct http_resource resource = {
	    .target = {slice_of_string(log_line_text(line, "scheme")),
		slice_of_string(log_line_text(line, "authority")),
		slice_of_string(log_line_text(line, "path"))},
	};
	enum policy_type type = policy_type_of_path(resource.target.path);
	resource.as = slice_of_string(policy_type_as(type));
	exchange_offer(x, source, &resource, offer_place(x, &resource.target));
}

static void decide_again(struct log_replay *r, const struct log_line *line)
{
	size_t before = r->decided;
	r->now = line;
	if (!is_beyond_policy(line) && r->scene.x && !exchange_is_over(r->scene.x)) {
		unsigned source = 0;
		while (source < POLICY_SOURCE_COUNT &&
		       strcmp(policy_source_name(source), log_line_text(line, "source")) != 0)
			source++;
		if (source == POLICY_RELAYED)
			decide_relayed(r);
		else if (source < POLICY_SOURCE_COUNT)
			decide_own(r, source);
	}
	if (r->decided == before && is_beyond_policy(line)) {
		r->decided++;
		r->decided_weight += line->weight;
	} else if (r->decided == before)
		r->unread++;
}

static void decide_group(struct log_replay *r, size_t first, size_t end)
{
	const struct log_line *asked = NULL;
	for (size_t i = first; i < end; i++) {
		const struct log_line *line = &r->log.lines[i];
		if (!line->is_push)
			continue;
		if (!line->parent) {
			r->without_parent++;
			continue;
		}
		if (line->parent != asked && !send_parent_request(r, line))
			explain_end(&r->scene);
		asked = line->parent;
		decide_again(r, line);
	}
}

static bool has_push(const struct log_replay *r, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (r->log.lines[i].is_push)
			return true;
	return false;
}

static void decide_all(struct log_replay *r)
{
	for (size_t i = 0, end; i < r->log.count; i = end) {
		end = log_lines_group(&r->log, i);
		if (!has_push(r, i, end))
			continue;
		log_lines_load(&r->log, i, end);
		decide_group(r, i, end);
		explain_end(&r->scene);
		log_lines_unload(&r->log, i, end);
	}
}

static void print_sum(const struct log_replay *r)
{
	fprintf(r->out, "%zu pushes decided again, %zu differ\n", r->decided, r->changed);
	if (r->decided_weight > r->decided)
		fprintf(r->out,
		    "the log is a sample: these stand for about %" PRIu64 " and %" PRIu64 "\n",
		    r->decided_weight, r->changed_weight);
	if (r->without_parent > 0)
		fprintf(
		    r->out, "%zu left out: their request is not in the log\n", r->without_parent);
	size_t unread = r->unread + r->log.unread;
	if (unread > 0)
		fprintf(
		    r->out, "%zu lines left out: not understood, or not served any more\n", unread);
}

int explain_log(const struct conf *conf, FILE *log, FILE *out, FILE *errors)
{
	struct log_replay r = {.conf = conf, .out = out};
	log_lines_read(&r.log, log);
	const char *lack = log_lines_lack(&r.log, conf->listen_count > 1);
	if (lack) {
		fprintf(errors,
		    "pushgate explain: no line of the log has the field '%s', and without it "
		    "pushes cannot be decided again; name it in log-fields\n",
		    lack);
		log_lines_free(&r.log);
		return EXPLAIN_USAGE;
	}
	r.scene = (struct explain_scene){
	    .conf = conf,
	    .correct = correct,
	    .decided = on_decided,
	    .context = &r,
	};
	explain_scene_init(&r.scene);
	decide_all(&r);
	explain_scene_fini(&r.scene);
	print_sum(&r);
	log_lines_free(&r.log);
	return r.changed > 0 ? EXPLAIN_DIFFERS : EXPLAIN_OK;
}
