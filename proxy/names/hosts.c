/* SPDX-License-Identifier: MIT */
/* Texts of hosts(5) and resolv.conf(5), line by line; see hosts.h. */
#include "proxy/names/hosts.h"
#include "proxy/base/ascii.h"
#include "proxy/base/hash.h"
#include "proxy/base/map.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/names/dns_message.h"
#include "proxy/names/names.h"

struct entry {
	struct map_node node;
	struct entry *next; /* of all */
	struct slice name;  /* in the copy of the text */
	struct address address;
};

struct hosts {
	struct map entries;
	struct entry *first;
	uint64_t seed;
	char *text; /* lower case */
};

/* Cuts off the next line, without its comment. */
static bool next_line(struct slice *rest, struct slice *line)
{
	if (rest->len == 0)
		return false;
	*line = slice_cut(rest, '\n');
	*line = slice_sub(*line, 0, slice_find(*line, '#'));
	*line = slice_sub(*line, 0, slice_find(*line, ';'));
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static bool next_word(struct slice *line, struct slice *word)
{
	size_t at = 0;
	while (at < line->len && is_blank(line->ptr[at]))
		at++;
	size_t end = at;
	while (end < line->len && !is_blank(line->ptr[end]))
		end++;
	*word = slice_sub(*line, at, end - at);
	*line = slice_from(*line, end);
	return word->len > 0;
}

static void add(struct hosts *h, struct slice name, const struct address *address)
{
	if (name.ptr[name.len - 1] == '.')
		name.len--;
	struct entry *e = memory_new(struct entry);
	e->name = name;
	e->address = *address;
	e->next = h->first;
	h->first = e;
	map_insert(&h->entries, &e->node, hash_bytes(h->seed, name.ptr, name.len));
}

/* Whole lines alone: half a name would be another name. */
static struct slice cut_off(struct slice text)
{
	if (text.len <= LIMIT_NAMES_FILE_BYTES)
		return text;
	text.len = LIMIT_NAMES_FILE_BYTES;
	while (text.len > 0 && text.ptr[text.len - 1] != '\n')
		text.len--;
	return text;
}

struct hosts *hosts_new(struct slice text)
{
	struct hosts *h = memory_new(struct hosts);
	text = cut_off(text);
	h->seed = hash_random_seed();
	h->text = memory_alloc(text.len + 1);
	ascii_lower_copy(h->text, text);
	map_init(&h->entries);
	struct slice rest = slice_of(h->text, text.len), line, word;
	while (next_line(&rest, &line)) {
		struct address address;
		if (!next_word(&line, &word) || !address_parse(word, &address))
			continue;
		while (next_word(&line, &word))
			add(h, word, &address);
	}
	return h;
}

void hosts_free(struct hosts *h)
{
	if (!h)
		return;
	map_fini(&h->entries);
	for (struct entry *e = h->first, *next; e; e = next) {
		next = e->next;
		free(e);
	}
	free(h->text);
	free(h);
}

static bool is_localhost(struct slice host)
{
	const struct slice name = SLICE("localhost");
	return slice_equal(host, name) ||
	       (host.len > name.len && host.ptr[host.len - name.len - 1] == '.' &&
		   slice_equal(slice_from(host, host.len - name.len), name));
}

static bool has(const struct address *list, size_t count, const struct address *a)
{
	for (size_t i = 0; i < count; i++)
		if (memcmp(&list[i], a, sizeof(*a)) == 0)
			return true;
	return false;
}

static const struct address loopback[2] = {{{[15] = 1}, 6}, {{127, 0, 0, 1}, 4}};

static bool is_loopback(const struct address *a)
{
	return a->family == 4 ? a->bytes[0] == 127 : memcmp(a, &loopback[0], sizeof(*a)) == 0;
}

static size_t find(const struct hosts *h, struct slice name, struct address *out, size_t most)
{
	size_t count = 0;
	struct map_node *node = map_find(&h->entries, hash_bytes(h->seed, name.ptr, name.len));
	for (; node && count < most; node = map_next(node)) {
		const struct entry *e = container_of(node, struct entry, node);
		if (slice_equal(e->name, name) && !has(out, count, &e->address))
			out[count++] = e->address;
	}
	return count;
}

static size_t find_loopback(
    const struct hosts *h, struct slice name, struct address *out, size_t most)
{
	size_t all = find(h, name, out, most), count = 0;
	for (size_t i = 0; i < all; i++)
		if (is_loopback(&out[i]))
			out[count++] = out[i];
	return count;
}

size_t hosts_find(const struct hosts *h, const char *host, struct address *out, size_t most)
{
	struct slice name = slice_of_string(host);
	if (!is_localhost(name))
		return find(h, name, out, most);
	size_t count = find_loopback(h, name, out, most);
	if (count == 0)
		count = find_loopback(h, SLICE("localhost"), out, most);
	if (count > 0)
		return count;
	for (; count < 2 && count < most; count++)
		out[count] = loopback[count];
	return count;
}

size_t names_find_in_hosts(struct slice text, const char *host, struct address *out, size_t most)
{
	struct hosts *h = hosts_new(text);
	size_t count = hosts_find(h, host, out, most);
	hosts_free(h);
	return count;
}

size_t resolv_conf_read(struct slice text, struct net_address *out, size_t most)
{
	const struct address here = {{127, 0, 0, 1}, 4};
	struct slice rest = cut_off(text), line, word;
	size_t count = 0;
	while (count < most && next_line(&rest, &line)) {
		struct address address;
		if (next_word(&line, &word) && slice_equal(word, SLICE("nameserver")) &&
		    next_word(&line, &word) && address_parse(word, &address))
			net_address_set_ip(&out[count++], &address, 53);
	}
	if (count == 0)
		net_address_set_ip(&out[count++], &here, 53);
	return count;
}
