/* SPDX-License-Identifier: MIT */
/* The rows of the response matrix about heads: the first line, and fields that do not frame a body. */
import { responses } from './smuggling-matrices.mjs';

await responses('heads');
