/* SPDX-License-Identifier: MIT */
/*
 * Which pages may be named in rules, and the text of rules. A browser that loads a page ahead sends an ordinary GET with
 * the user's cookies: a server that does something on GET does it although nobody has followed a link.
 */
#include "proxy/speculation/speculation.h"

#include "proxy/base/ascii.h"

#define SEPARATOR_MARKS "-._~!$&'()*+,=:@/"

/*
 * Words of paths that do something, cost something, or are for few people. Two words that follow each other are looked up
 * as one too: log-out, signOut. Most of what does something on GET is never named anyway, since it answers with a
 * redirect.
 */
static const struct slice acting_words[] = {
    SLICE_INIT("logout"),
    SLICE_INIT("logoff"),
    SLICE_INIT("signout"),
    SLICE_INIT("signoff"),
    SLICE_INIT("login"),
    SLICE_INIT("signin"),
    SLICE_INIT("signup"),
    SLICE_INIT("register"),
    SLICE_INIT("oauth"),
    SLICE_INIT("oauth2"),
    SLICE_INIT("sso"),
    SLICE_INIT("saml"),
    SLICE_INIT("callback"),
    SLICE_INIT("token"),
    SLICE_INIT("session"),
    SLICE_INIT("add"),
    SLICE_INIT("insert"),
    SLICE_INIT("create"),
    SLICE_INIT("edit"),
    SLICE_INIT("update"),
    SLICE_INIT("save"),
    SLICE_INIT("upload"),
    SLICE_INIT("import"),
    SLICE_INIT("delete"),
    SLICE_INIT("remove"),
    SLICE_INIT("destroy"),
    SLICE_INIT("purge"),
    SLICE_INIT("trash"),
    SLICE_INIT("reset"),
    SLICE_INIT("revert"),
    SLICE_INIT("undo"),
    SLICE_INIT("cancel"),
    SLICE_INIT("revoke"),
    SLICE_INIT("enable"),
    SLICE_INIT("disable"),
    SLICE_INIT("activate"),
    SLICE_INIT("deactivate"),
    SLICE_INIT("toggle"),
    SLICE_INIT("approve"),
    SLICE_INIT("reject"),
    SLICE_INIT("accept"),
    SLICE_INIT("decline"),
    SLICE_INIT("confirm"),
    SLICE_INIT("verify"),
    SLICE_INIT("submit"),
    SLICE_INIT("send"),
    SLICE_INIT("cart"),
    SLICE_INIT("basket"),
    SLICE_INIT("checkout"),
    SLICE_INIT("order"),
    SLICE_INIT("buy"),
    SLICE_INIT("purchase"),
    SLICE_INIT("pay"),
    SLICE_INIT("payment"),
    SLICE_INIT("donate"),
    SLICE_INIT("bid"),
    SLICE_INIT("subscribe"),
    SLICE_INIT("unsubscribe"),
    SLICE_INIT("optout"),
    SLICE_INIT("optin"),
    SLICE_INIT("follow"),
    SLICE_INIT("unfollow"),
    SLICE_INIT("like"),
    SLICE_INIT("unlike"),
    SLICE_INIT("vote"),
    SLICE_INIT("upvote"),
    SLICE_INIT("downvote"),
    SLICE_INIT("redeem"),
    SLICE_INIT("admin"),
    SLICE_INIT("administrator"),
    SLICE_INIT("account"),
    SLICE_INIT("password"),
    SLICE_INIT("install"),
    SLICE_INIT("uninstall"),
    SLICE_INIT("upgrade"),
    SLICE_INIT("execute"),
    SLICE_INIT("exec"),
    SLICE_INIT("restart"),
    SLICE_INIT("shutdown"),
    SLICE_INIT("cron"),
    SLICE_INIT("api"),
    SLICE_INIT("ajax"),
    SLICE_INIT("cgi"),
    SLICE_INIT("rpc"),
    SLICE_INIT("download"),
    SLICE_INIT("export"),
    SLICE_INIT("redirect"),
};

/* The longest of these is shorter. */
#define WORD_BYTES 32u

static bool acts(const char *word, size_t length)
{
	return slice_is_among(
	    slice_of(word, length), acting_words, sizeof(acting_words) / sizeof(acting_words[0]));
}

/* Takes the next word, in lower case: letters and digits up to a mark, or up to where a capital follows a small letter.
 * Returns its length; *rest is empty behind the last one. */
static size_t next_word(struct slice *rest, char word[WORD_BYTES])
{
	size_t length = 0;
	while (rest->len > 0 && !ascii_is(rest->ptr[0], ASCII_ALNUM))
		slice_skip(rest, 1);
	bool was_small = false;
	while (rest->len > 0 && ascii_is(rest->ptr[0], ASCII_ALNUM)) {
		bool is_capital = ascii_is(rest->ptr[0], ASCII_UPPER);
		if (is_capital && was_small)
			break;
		was_small = !is_capital;
		if (length < WORD_BYTES)
			word[length++] = ascii_lower(rest->ptr[0]);
		slice_skip(rest, 1);
	}
	return length;
}

bool speculation_may_name(struct slice path)
{
	char word[WORD_BYTES], pair[2 * WORD_BYTES];
	size_t before = 0;
	if (!slice_starts_with(path, SLICE("/")) || slice_starts_with(path, SLICE("//")) ||
	    path.len > SPECULATION_PATH_BYTES)
		return false;
	for (size_t i = 0; i < path.len; i++)
		if (!ascii_is(path.ptr[i], ASCII_ALNUM) &&
		    !memchr(SEPARATOR_MARKS, path.ptr[i], sizeof(SEPARATOR_MARKS) - 1))
			return false;
	for (size_t length; (length = next_word(&path, word)) > 0; before = length) {
		memcpy(pair + before, word, length);
		if (acts(word, length) || acts(pair, before + length))
			return false;
		memcpy(pair, word, length);
	}
	return true;
}

/* The words of the standard. */
static const char *const eagerness_words[] = {"conservative", "moderate", "eager", "immediate"};

/* The tag stands beside the lists: browsers that do not know it in a rule ignore such a rule. */
struct slice speculation_rules(enum speculation_kind kind, enum speculation_eagerness eagerness,
    const struct slice *paths, size_t count, struct arena *a)
{
	struct slice urls = SLICE("");
	for (size_t i = 0; i < count; i++)
		urls = arena_printf(
		    a, "%.*s%s\"%.*s\"", SLICE_ARG(urls), i > 0 ? "," : "", SLICE_ARG(paths[i]));
	if (count == 0)
		return SLICE("{}");
	return arena_printf(a,
	    "{\"tag\":\"pushgate\",\"%s\":[{\"source\":\"list\",\"urls\":[%.*s],\"eagerness\":\"%"
	    "s\"}]}",
	    kind == SPECULATION_PRERENDER ? "prerender" : "prefetch", SLICE_ARG(urls),
	    eagerness_words[eagerness]);
}
