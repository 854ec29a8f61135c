/** The checks of web standards alone, for a page or an edge runtime: whoever loads it calls what it leaves in `globalThis`. */
import { play } from './check.ts';
import { WEB_CHECKS } from './checks.ts';

Object.assign(globalThis, { playChecks: () => play(WEB_CHECKS) });
