/* SPDX-License-Identifier: MIT */
/* curl that speaks HTTP/1.1 over TLS, before origins in each version of HTTP. */
import { matrix } from './http1-matrix.mjs';

matrix('h1s');
