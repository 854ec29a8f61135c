/** Closes a run with one plain line that any tool can read: `N passed, N failed`. */
import type { Reporter, TestModule } from 'vitest/node';

export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    let passed = 0;
    let failed = 0;
    for (const module of modules) {
      let found = 0;
      for (const test of module.children.allTests()) {
        found += 1;
        const { state } = test.result();
        if (state === 'passed') passed += 1;
        else if (state === 'failed') failed += 1;
      }
      if (found === 0 && module.state() === 'failed') failed += 1; // a file that did not load
    }
    process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
  }
}
