/* SPDX-License-Identifier: MIT */
/* See suggest.h. */
#include "proxy/conf/suggest.h"
#include "proxy/base/ascii.h"

unsigned suggest_most(struct slice word)
{
	return word.len < 6 ? 1 : 2;
}

struct suggestion suggest_for(struct slice word)
{
	return (struct suggestion){.word = word, .distance = suggest_most(word) + 1};
}

bool suggest_compare(struct suggestion *s, struct slice name, const void *item)
{
	unsigned distance = slice_distance(s->word, name, s->distance);

	if (distance >= s->distance)
		return false;
	s->distance = distance;
	s->item = item;
	return true;
}

struct slice suggest_fold(struct slice word, char buffer[SUGGEST_NAME_BYTES])
{
	word = slice_sub(word, 0, SUGGEST_NAME_BYTES);
	ascii_lower_copy(buffer, word);
	for (size_t i = 0; i < word.len; i++)
		if (buffer[i] == '_')
			buffer[i] = '-';
	return slice_of(buffer, word.len);
}
