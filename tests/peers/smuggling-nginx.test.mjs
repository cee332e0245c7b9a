/* SPDX-License-Identifier: MIT */
/* The smuggling matrix before nginx. */
import { smuggle } from './smuggling-origins.mjs';

await smuggle('nginx');
