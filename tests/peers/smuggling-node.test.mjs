/* SPDX-License-Identifier: MIT */
/* The smuggling matrix before Node. */
import { smuggle } from './smuggling-origins.mjs';

await smuggle('Node');
