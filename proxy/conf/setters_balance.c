/* SPDX-License-Identifier: MIT */
/* Setters and checks of the options of [origin] that say which server gets a request. */
#include "proxy/base/ascii.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"

static const struct {
	struct slice word;
	enum conf_hash hash;
	bool is_named; /* a name follows */
} keys[] = {
    {SLICE_INIT("off"), CONF_HASH_OFF, false},
    {SLICE_INIT("client"), CONF_HASH_CLIENT, false},
    {SLICE_INIT("path"), CONF_HASH_PATH, false},
    {SLICE_INIT("cookie"), CONF_HASH_COOKIE, true},
    {SLICE_INIT("header"), CONF_HASH_HEADER, true},
};

static bool bad_hash(struct conf_loader *l, struct slice value)
{
	return conf_bad_value(
	    l, value, NULL, "write off, client, path, cookie NAME or header NAME");
}

static bool set_name(
    struct conf_loader *l, struct conf_balance *b, struct slice value, struct slice name)
{
	if (!ascii_is_token(name))
		return bad_hash(l, value);
	char *copy = conf_copy(l, name);
	b->hash_name = slice_of(copy, name.len);
	if (b->hash == CONF_HASH_HEADER) {
		ascii_lower_copy(copy, name);
		b->hash_token = http_token_find(b->hash_name);
	}
	return true;
}

bool conf_set_hash(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_balance *b = &((struct conf_origin *)object)->balance;
	size_t space = slice_find(value, ' ');
	struct slice word = slice_sub(value, 0, space), name = slice_trim(slice_from(value, space));

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (!slice_equal_nocase(word, keys[i].word))
			continue;
		b->hash = keys[i].hash;
		if (keys[i].is_named)
			return set_name(l, b, value, name);
		return name.len == 0 || bad_hash(l, value);
	}
	return bad_hash(l, value);
}

bool conf_set_affinity_cookie(struct conf_loader *l, void *object, struct slice value)
{
	return conf_set_cookie(l, &((struct conf_origin *)object)->balance.affinity_cookie, value);
}

/* The cookie is taken out of requests before hash reads them, and the diary's before that. */
static void check_cookie(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_balance *b = &((const struct conf_origin *)s->object)->balance;
	const char *diary = l->conf->server.diary_cookie;
	struct slice name = slice_of_string(b->affinity_cookie);

	if (b->hash == CONF_HASH_COOKIE && slice_equal(b->hash_name, name))
		conf_mistake(l, s->file, conf_option_line(s, "hash"),
		    "hash and affinity-cookie have the same cookie, and it is pushgate's; let hash "
		    "name a cookie of the origin's");
	if (diary && slice_equal(slice_of_string(diary), name))
		conf_mistake(l, s->file, conf_option_line(s, "affinity-cookie"),
		    "affinity-cookie has the name of diary-cookie in [server]; choose another");
}

void conf_check_balance(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_balance *b = &((const struct conf_origin *)s->object)->balance;

	if (b->hash != CONF_HASH_OFF && conf_option_line(s, "balance"))
		conf_mistake(l, s->file, conf_option_line(s, "balance"),
		    "hash says which server gets a request, and so does balance; remove one of "
		    "them");
	if (b->affinity_cookie)
		check_cookie(l, s);
}
