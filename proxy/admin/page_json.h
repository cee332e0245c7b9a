/* SPDX-License-Identifier: MIT */
/* Page records as JSON, and their ids. Private to admin/. */
#ifndef PUSHGATE_ADMIN_PAGE_JSON_H
#define PUSHGATE_ADMIN_PAGE_JSON_H

#include "proxy/admin/json.h"
#include "proxy/waterfall/waterfall.h"

struct conf;

/* "WORKER-NUMBER". */
#define PAGE_ID_TEXT 34u
void page_json_id(char id[PAGE_ID_TEXT], uint32_t worker, uint64_t number);
bool page_json_read_id(struct slice id, uint32_t *worker, uint64_t *number);

/* "h2"; NULL: unknown. */
const char *page_json_protocol(const struct page_record *r);
/* As a member of an array. conf has the names of routes and rules. */
void page_json_line(
    struct json *j, const struct page_record *r, uint32_t worker, const struct conf *conf);
/* With its pushes. */
void page_json_whole(
    struct json *j, const struct page_record *r, uint32_t worker, const struct conf *conf);
/* HAR 1.2, of this page alone or as one of several: its entries, as members of an array. */
void page_json_har_entries(struct json *j, const struct page_record *r, uint32_t worker);
/* The page as a member of `pages`. */
void page_json_har_page(
    struct json *j, const struct page_record *r, uint32_t worker, const struct conf *conf);

#endif
