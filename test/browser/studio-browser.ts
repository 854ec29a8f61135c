/** The browser of a file of tests of the studio, and the studio's files, for as long as its tests run. */
import { afterAll, beforeAll } from 'vitest';
import type { StaticFiles } from '../../src/server/static-files.ts';
import { startBrowser, type TestBrowser } from './browser.ts';
import { builtStudio } from './studio-stage.ts';

/** How long a test of the studio may take. */
export const TIME = { timeout: 60_000 };

/** Starts a browser before the tests of the file, and ends it after them. What is given is there in the tests alone. */
export function studioBrowser(): { readonly browser: TestBrowser; readonly files: StaticFiles } {
  let started: TestBrowser | undefined;
  let built: StaticFiles | undefined;
  beforeAll(async () => {
    built = await builtStudio();
    started = await startBrowser();
  }, 120_000);
  afterAll(() => started?.[Symbol.asyncDispose]());
  const there = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error('the browser is started by beforeAll: use it in a test');
    return value;
  };
  return {
    get browser() {
      return there(started);
    },
    get files() {
      return there(built);
    },
  };
}
