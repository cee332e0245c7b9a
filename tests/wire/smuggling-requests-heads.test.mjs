/* SPDX-License-Identifier: MIT */
/* The rows of the request matrix about heads: the first line, and fields that do not frame a body. */
import { requests } from './smuggling-matrices.mjs';

await requests('heads');
