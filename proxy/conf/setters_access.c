/* SPDX-License-Identifier: MIT */
/* Setters of [access]: the lines allow, deny and ask, one rule each, in the order of the file. */
#include "proxy/base/ascii.h"
#include "proxy/base/hash.h"
#include "proxy/base/suggest.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include "proxy/limits.h"

/* A rule, and what must be known until its line was read. */
struct draft {
	struct conf_access_rule rule;
	struct slice *hosts;
	size_t host_count;
	bool is_reported; /* a mistake of a file */
};

static const char *add_text(
    struct conf_loader *l, struct slice **items, size_t *count, struct slice text)
{
	conf_append(l, *items, *count, conf_copy_slice(l, text));
	return NULL;
}

/* ---- conditions: each function returns NULL, or what is wrong with the text ---- */

/* words: enum conf_block_word, those that may stand in place of a block. */
static const char *add_block(
    struct conf_loader *l, struct conf_blocks *b, struct slice text, uint32_t words)
{
	struct cidr block;
	int word = value_choice(text, "any private global unix");
	if (word >= 0 && (words >> word & 1) != 0) {
		b->words |= 1u << word;
		return NULL;
	}
	const char *wrong = cidr_parse(text, &block);
	if (!wrong)
		conf_append(l, b->blocks, b->count, block);
	return wrong;
}

static const char *add_client(struct conf_loader *l, struct draft *d, struct slice text)
{
	return add_block(
	    l, &d->rule.clients, text, CONF_BLOCKS_ANY | CONF_BLOCKS_PRIVATE | CONF_BLOCKS_UNIX);
}

static const char *add_address(struct conf_loader *l, struct draft *d, struct slice text)
{
	return add_block(l, &d->rule.addresses, text, CONF_BLOCKS_ANY | CONF_BLOCKS_GLOBAL);
}

static const char *add_user(struct conf_loader *l, struct draft *d, struct slice text)
{
	if (d->rule.action == CONF_ACCESS_ASK)
		return "ask is for requests whose user is not known";
	if (conf_check_user(text))
		return "no name of a user has ':', '=' or '/' here";
	d->rule.any_user = d->rule.any_user || slice_equal(text, SLICE("*"));
	return add_text(l, &d->rule.users, &d->rule.user_count, text);
}

const char *conf_check_cert(struct slice text)
{
	return client_certificate_pattern_is_valid(text)
		   ? NULL
		   : "write * or KIND:PATTERN with subject, issuer, cn, dns, email, uri, ip or "
		     "sha256";
}

/* Names in the form of RFC 2253 have commas. */
static const char *add_cert(struct conf_loader *l, struct draft *d, struct slice text)
{
	bool is_whole =
	    slice_starts_with(text, SLICE("subject:")) || slice_starts_with(text, SLICE("issuer:"));
	struct slice rest = text, member = text;
	while (is_whole ? rest.len > 0 : slice_next_member(&rest, &member)) {
		const char *wrong = conf_check_cert(member);
		if (wrong)
			return wrong;
		add_text(l, &d->rule.certs, &d->rule.cert_count, member);
		if (is_whole)
			break;
	}
	return NULL;
}

static const char *add_method(struct conf_loader *l, struct draft *d, struct slice text)
{
	if (ascii_has(text, ASCII_LOWER))
		return "methods are in upper case";
	if (!ascii_is_token(text) || !ascii_is(text.ptr[0], ASCII_ALPHA))
		return "not a method";
	return add_text(l, &d->rule.methods, &d->rule.method_count, text);
}

static const char *add_path(struct conf_loader *l, struct draft *d, struct slice text)
{
	if (text.ptr[0] != '/' && text.ptr[0] != '*')
		return "a path begins with '/', a pattern with '/' or '*'";
	return add_text(l, &d->rule.paths, &d->rule.path_count, text);
}

static const char *add_time(struct conf_loader *l, struct draft *d, struct slice text)
{
	uint64_t *minutes = (uint64_t *)(uintptr_t)d->rule.minutes;
	if (!minutes) {
		minutes = arena_alloc(&l->conf->arena, CONF_WEEK_WORDS * sizeof *minutes);
		memset(minutes, 0, CONF_WEEK_WORDS * sizeof *minutes);
		d->rule.minutes = minutes;
	}
	return value_week(text, minutes)
		   ? NULL
		   : "times are written mon-fri/08:00-18:00, sat or 22:00-06:00";
}

static const char *check_host(struct slice member)
{
	return http_host_pattern_is_valid(member)
		   ? NULL
		   : "write a host name without a port, *.NAME, an address or *";
}

static const char *add_host(struct conf_loader *l, struct draft *d, struct slice text)
{
	if (!http_host_pattern_is_valid(text))
		return "a host is a name without a port, *.NAME, an address or *";
	return add_text(l, &d->hosts, &d->host_count, text);
}

static const char *add_host_file(struct conf_loader *l, struct draft *d, struct slice text)
{
	const struct conf_list list = {&d->hosts, &d->host_count, check_host, "host", "host-file",
	    "rules", &l->conf->rules_digest};
	d->is_reported = !conf_read_list(l, &list, text) || d->is_reported;
	return NULL;
}

static const char *add_port(struct conf_loader *l, struct draft *d, struct slice text)
{
	size_t dash = slice_find(text, '-');
	uint64_t first, last;
	if (!slice_to_number(slice_sub(text, 0, dash), UINT16_MAX, &first) || first == 0)
		return "a port is a number from 1 to 65535";
	last = first;
	if (dash < text.len &&
	    (!slice_to_number(slice_from(text, dash + 1), UINT16_MAX, &last) || last < first))
		return "ports are written FIRST-LAST";
	conf_append(l, d->rule.ports, d->rule.port_count,
	    (struct conf_port_range){(uint16_t)first, (uint16_t)last});
	return NULL;
}

static bool suggest_method(struct slice value, char *text, size_t size)
{
	snprintf(text, size, "%.*s", SLICE_ARG(value));
	for (char *c = text; *c; c++)
		if (ascii_is(*c, ASCII_LOWER))
			*c = (char)(*c - 'a' + 'A');
	return true;
}

static const struct condition {
	struct slice name;
	bool is_whole; /* the value may have commas */
	const char *(*add)(struct conf_loader *l, struct draft *d, struct slice text);
	const char *example;
	conf_suggester *suggest; /* or NULL */
} conditions[] = {
    {SLICE_INIT("client"), false, add_client, "192.0.2.0/24,2001:db8::/32", suggest_cidr},
    {SLICE_INIT("user"), false, add_user, "alice,bob", NULL},
    {SLICE_INIT("cert"), true, add_cert, "dns:*.example.com", NULL},
    {SLICE_INIT("path"), false, add_path, "/admin/*", suggest_path},
    {SLICE_INIT("method"), false, add_method, "GET,HEAD", suggest_method},
    {SLICE_INIT("time"), false, add_time, "mon-fri/08:00-18:00", NULL},
    {SLICE_INIT("host"), false, add_host, "www.example.com,*.example.org", suggest_host},
    {SLICE_INIT("host-file"), true, add_host_file, "hosts", NULL},
    {SLICE_INIT("address"), false, add_address, "192.0.2.0/24", suggest_cidr},
    {SLICE_INIT("port"), false, add_port, "80,8000-8999", NULL},
};
#define CONDITION_COUNT (sizeof conditions / sizeof *conditions)
#define RIGHT                                                                                      \
	"write all, or some of client=, user=, cert=, path=, method=, time=, host=, host-file=, "  \
	"address= "                                                                                \
	"and port="

/* ---- lines ---- */

/* Only spaces separate words: commas separate the values of a condition. Quotes keep spaces together. */
static bool next_word(struct slice *rest, struct slice *word)
{
	*rest = slice_trim(*rest);
	if (rest->len == 0)
		return false;
	bool is_quoted =
	    rest->ptr[0] == '"' && slice_find(slice_from(*rest, 1), '"') + 1 < rest->len;
	size_t from = is_quoted, end = from;
	while (end < rest->len && (is_quoted ? rest->ptr[end] != '"'
					     : rest->ptr[end] != ' ' && rest->ptr[end] != '\t'))
		end++;
	*word = slice_sub(*rest, from, end - from);
	*rest = slice_from(*rest, end + is_quoted);
	return true;
}

static const struct condition *find_condition(struct slice name)
{
	return conf_first(c, conditions, CONDITION_COUNT, slice_equal_nocase(name, c->name));
}

static bool next_value(const struct condition *c, struct slice *rest, struct slice *value)
{
	if (!c->is_whole)
		return slice_next_member(rest, value);
	*value = *rest;
	*rest = SLICE("");
	return value->len > 0;
}

/* The condition that was probably meant; NULL: none is like it. */
static const struct condition *nearest_condition(struct slice name)
{
	struct suggestion s = suggest_for(name);
	for (size_t i = 0; i < CONDITION_COUNT; i++)
		suggest_compare(&s, conditions[i].name, &conditions[i]);
	return s.item;
}

/* Files are not looked for. */
static bool is_accepted(struct conf_loader *l, const struct condition *c, struct slice value)
{
	struct draft d = {0};
	struct slice rest = value, member;
	if (c->is_whole && c->add == add_host_file)
		return value.len > 0;
	while (next_value(c, &rest, &member))
		if (c->add(l, &d, member))
			return false;
	return value.len > 0;
}

/* "10.0.0.0/8" or "any" alone. Empty: nothing is certain enough. */
static struct slice meant_condition(struct conf_loader *l, struct slice word)
{
	struct cidr block;
	size_t equals = slice_find(word, '=');
	struct slice value = slice_from(word, equals + 1);
	if (equals == word.len && !cidr_parse(word, &block))
		return arena_printf(&l->conf->arena, "client=%.*s", SLICE_ARG(word));
	if (equals == word.len)
		return value_choice(word, "any *") >= 0 ? SLICE("all") : SLICE("");
	const struct condition *near = nearest_condition(slice_sub(word, 0, equals));
	if (!near || !is_accepted(l, near, value))
		return SLICE("");
	return arena_printf(&l->conf->arena, "%s=%.*s", near->name.ptr, SLICE_ARG(value));
}

/* Reports it and returns false. */
static bool unknown_condition(struct conf_loader *l, struct slice word)
{
	struct slice meant = meant_condition(l, word);
	if (meant.len == 0)
		return conf_bad_value(l, word, NULL, RIGHT);
	return conf_mistake_here(l,
	    "bad value '%.*s' for %s: there is no such condition; did you mean %s = %.*s?",
	    CONF_SHOWN(word), l->option->key, l->option->key, SLICE_ARG(slice_sub(meant, 0, 100)));
}

/* "user=bob,path=/x" is meant to be "user=bob path=/x". False: such a word would be wrong too. */
static bool meant_words(struct conf_loader *l, struct slice word, char *meant, size_t size)
{
	bool is_changed = false;
	if (word.len >= size)
		return false;
	for (size_t i = 0; i < word.len; i++) {
		struct slice behind = slice_from(word, i + 1);
		bool begins = word.ptr[i] == ',' &&
			      find_condition(slice_sub(behind, 0, slice_find(behind, '=')));
		meant[i] = begins ? ' ' : word.ptr[i];
		is_changed = is_changed || begins;
	}
	struct slice rest = slice_of(meant, word.len), part;
	meant[word.len] = '\0';
	while (is_changed && next_word(&rest, &part)) {
		size_t equals = slice_find(part, '=');
		const struct condition *c = find_condition(slice_sub(part, 0, equals));
		is_changed = c && is_accepted(l, c, slice_from(part, equals + 1));
	}
	return is_changed;
}

/* Reports it and returns false. With what the value was probably meant to be, if the condition takes that. */
static bool bad_condition(struct conf_loader *l, const struct condition *c, struct slice word,
    struct slice member, const char *wrong)
{
	char meant[VALUE_SUGGESTED];
	if (meant_words(l, word, meant, sizeof meant))
		return conf_mistake_here(l,
		    "bad value '%.*s' for %s: conditions are separated by spaces; did you mean %s "
		    "= %s?",
		    CONF_SHOWN(word), l->option->key, l->option->key, meant);
	bool is_alone = word.len == c->name.len + 1 + member.len && member.len < 100;
	bool is_meant = is_alone && c->suggest && c->suggest(member, meant, sizeof meant) &&
			is_accepted(l, c, slice_of_string(meant));
	return conf_mistake_here(l, "bad value '%.*s' for %s: %s; %s %s = %s=%s%s",
	    CONF_SHOWN(word), l->option->key, wrong,
	    is_meant ? "did you mean" : "correct it, such as", l->option->key, c->name.ptr,
	    is_meant ? meant : c->example, is_meant ? "?" : "");
}

/* False: a mistake has been reported. */
static bool add_condition(struct conf_loader *l, struct draft *d, struct slice word, unsigned *seen)
{
	size_t equals = slice_find(word, '=');
	const struct condition *c = find_condition(slice_sub(word, 0, equals));
	struct slice rest = slice_from(word, equals + 1), member;
	if (!c)
		return unknown_condition(l, word);
	unsigned bit = 1u << (c - conditions);
	if (*seen & bit)
		return conf_bad_value(l, word, NULL, "give each condition once, with commas");
	*seen |= bit;
	size_t count = 0;
	while (next_value(c, &rest, &member)) {
		const char *wrong = c->add(l, d, member);
		if (wrong)
			return bad_condition(l, c, word, member, wrong);
		count++;
	}
	if (count == 0)
		return conf_bad_value(l, word, NULL, "write a value behind the '='");
	return !d->is_reported;
}

static void note_needs(struct conf_access *a, const struct conf_access_rule *r)
{
	if (r->action == CONF_ACCESS_ASK || r->user_count > 0)
		a->needs |= CONF_ACCESS_USER;
	if (r->path_count > 0)
		a->needs |= CONF_ACCESS_PATH;
	if (!http_host_set_is_empty(&r->hosts))
		a->needs |= CONF_ACCESS_HOST;
	if (r->minutes)
		a->needs |= CONF_ACCESS_TIME;
	if (r->port_count > 0 || conf_blocks_are_given(&r->addresses))
		a->needs |= CONF_ACCESS_DESTINATION;
}

static enum conf_access_action action_of(const struct conf_option *o)
{
	if (strcmp(o->key, "ask") == 0)
		return CONF_ACCESS_ASK;
	return strcmp(o->key, "deny") == 0 ? CONF_ACCESS_DENY : CONF_ACCESS_ALLOW;
}

bool conf_set_access_rule(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_access *a = object;
	struct draft d = {
	    .rule = {.action = action_of(l->option), .file = l->file, .line = l->line}};
	struct slice rest = value, word;
	unsigned seen = 0, words = 0;
	bool is_all = false;

	while (next_word(&rest, &word)) {
		words++;
		bool is_this_all = slice_equal_nocase(word, SLICE("all"));
		if (!is_this_all && !add_condition(l, &d, word, &seen))
			return false;
		is_all = is_all || is_this_all;
	}
	if (is_all && words > 1)
		return conf_bad_value(l, value, NULL, "write all alone, or conditions without it");
	if (a->rule_count == LIMIT_ACCESS_RULES)
		return conf_bad_value(
		    l, value, "the section has 1000 rules", "put hosts into a host-file");
	if (a->host_seed == 0)
		a->host_seed = hash_random_seed();
	if (d.host_count > 0)
		http_host_set_fill(
		    &d.rule.hosts, &l->conf->arena, a->host_seed, d.hosts, d.host_count);
	d.rule.text =
	    arena_printf(&l->conf->arena, "%s = %.*s", l->option->key, SLICE_ARG(value)).ptr;
	note_needs(a, &d.rule);
	conf_append(l, a->rules, a->rule_count, d.rule);
	return true;
}

const char *conf_check_realm(struct slice text)
{
	return conf_is_quotable(text) ? NULL : "write a text without quotes and backslashes";
}
