/* SPDX-License-Identifier: MIT */
/* The smuggling matrix before Apache httpd. */
import { smuggle } from './smuggling-origins.mjs';

await smuggle('Apache httpd');
