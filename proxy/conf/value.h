/* SPDX-License-Identifier: MIT */
/* Private to conf/: converts texts to values and back. Pure: reports nothing. */
#ifndef PUSHGATE_CONF_VALUE_H
#define PUSHGATE_CONF_VALUE_H

#include "proxy/base/rate.h"
#include "proxy/base/slice.h"

/* "65536", "64k", "1M", "1MiB", "2g": powers of 1024. */
bool value_size(struct slice text, uint64_t *bytes);
/* "0", "500ms", "10s", "2m", "1h". */
bool value_time(struct slice text, usec *span);
/*
 * "100/s" or "100/s burst 500", neither number above `most`. The default burst is twice the rate,
 * but at most `most`.
 */
bool value_rate(struct slice text, uint32_t most, struct rate *rate);
/* "10%" or "0.5%", in parts of 10000. */
bool value_percent(struct slice text, uint32_t *share);
/*
 * Cuts an amount with its unit off a text, as people write them: "1.5 min", "10MB". The fraction has at most three
 * digits. unit: the factor of the unit.
 */
bool value_cut_amount(struct slice *rest, bool is_time, uint64_t *amount, uint64_t *unit);
/* The text that value_size or value_time would read, in the largest unit that divides the value. */
#define VALUE_TEXT 32
char *value_size_format(uint64_t bytes, char *buffer, size_t size);
char *value_time_format(usec span, char *buffer, size_t size);

/*
 * "mon-fri/08:00-18:00", "sat", "22:00-06:00": sets the minutes of such times in a week (CONF_WEEK_WORDS). An interval
 * that ends before it begins goes over midnight into the next day.
 */
bool value_week(struct slice text, uint64_t *minutes);

/* Room for a suggested value or an example, in messages. */
#define VALUE_SUGGESTED 160

/*
 * Position of the word among choices (separated by spaces), ignoring case; -1 if it is none of
 * them.
 */
int value_choice(struct slice word, const char *choices);

enum value_word { VALUE_WORD, VALUE_END, VALUE_UNCLOSED };
/*
 * Cuts the next word off a list that spaces, tabs or commas separate. A word in double quotes may
 * contain separators. A backslash protects a quote; it stays in the word.
 */
enum value_word value_next_word(struct slice *rest, struct slice *word);

/* Whether the text has one of these bytes. */
bool value_has_any(struct slice text, const char *bytes);
/* Letters, digits, '.', '_', '-'; at least one. */
bool value_is_name(struct slice text);
/* RFC 1035 2.3.4: whether the labels of a name are such that it could be looked up. */
bool value_is_dns_name(struct slice name);

#endif
