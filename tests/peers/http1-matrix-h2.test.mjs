/* SPDX-License-Identifier: MIT */
/* curl that speaks HTTP/2 over TLS, before origins in each version of HTTP. */
import { matrix } from './http1-matrix.mjs';

matrix('h2');
