/* SPDX-License-Identifier: MIT */
/* curl that speaks HTTP/1.1 in cleartext, before origins in each version of HTTP. */
import { matrix } from './http1-matrix.mjs';

matrix('h1');
