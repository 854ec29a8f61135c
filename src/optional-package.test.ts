import { describe, expect, it } from 'vitest';
import { EngineError, missingPackage } from './engines/engine-error.ts';
import { optionalPackage } from './optional-package.ts';

describe('a package that only those install who use what needs it', () => {
  it('is named, with the command that installs it, where it is missing', async () => {
    const name: string = 'looprig-package-that-is-not-there';
    const loading = optionalPackage('my engine', `${name}@2`, () => import(name), missingPackage);
    const error = await loading.catch((cause: unknown) => cause);
    expect(EngineError.is(error) && error.kind).toBe('missing_package');
    expect(String(error)).toBe(
      `EngineError: my engine needs the package ${name}, which is not installed: npm install ${name}@2`,
    );
  });

  it('is not said to be missing where it is broken', async () => {
    const broken = new SyntaxError('it cannot be read');
    const loading = optionalPackage('my engine', 'broken@1', () => Promise.reject(broken), missingPackage);
    await expect(loading).rejects.toBe(broken);
  });
});
