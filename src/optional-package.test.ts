import { describe, expect, it } from 'vitest';
import { EngineError, missingPackage } from './engines/engine-error.ts';
import { optionalPackage } from './optional-package.ts';

describe('a package that only those install who need it', () => {
  it('is named, with the command that installs it, where it is missing', async () => {
    const name: string = 'looprig-package-that-is-not-there';
    const error = await optionalPackage('my engine', `${name}@2`, () => import(name), missingPackage).catch(
      (cause: unknown) => cause,
    );
    expect(EngineError.is(error) && error.kind).toBe('missing_package');
    expect(String(error)).toBe(
      `EngineError: my engine needs the package ${name}, which is not installed: npm install ${name}@2`,
    );
  });

  it('is not said to be missing where it is broken', async () => {
    const broken = new SyntaxError('it cannot be read');
    const bring = () => Promise.reject(broken);
    await expect(optionalPackage('my engine', 'broken@1', bring, missingPackage)).rejects.toBe(broken);
  });
});
