/* SPDX-License-Identifier: MIT */
/* The rows of the request matrix about framing: lengths, codings, chunks and trailers. */
import { requests } from './smuggling-matrices.mjs';

await requests('framing');
