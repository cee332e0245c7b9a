/* SPDX-License-Identifier: MIT */
/* The smuggling matrix before HAProxy, which is before Node. */
import { smuggle } from './smuggling-origins.mjs';

await smuggle('HAProxy');
