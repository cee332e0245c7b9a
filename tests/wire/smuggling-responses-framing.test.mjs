/* SPDX-License-Identifier: MIT */
/* The rows of the response matrix about framing: lengths, codings, chunks and trailers. */
import { responses } from './smuggling-matrices.mjs';

await responses('framing');
