/**
 * The API report: one file for each public entry point, in `api/`, and of the same entry points the reference for readers, in
 * `docs/reference/`. With `--check` it fails when the built package differs from them, so that a change of the public API is always seen.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Extractor, ExtractorConfig, type ExtractorMessage } from '@microsoft/api-extractor';
import { referenceIndex, referencePage, undocumented } from './api-reference.ts';

const check = process.argv.includes('--check');
const root = join(import.meta.dirname, '..');
const entries: Readonly<Record<string, string>> = {
  looprig: 'dist/index.d.ts',
  'looprig-ai': 'dist/ai/index.d.ts',
  'looprig-config': 'dist/config/index.d.ts',
  'looprig-engines': 'dist/engines/index.d.ts',
  'looprig-mcp': 'dist/mcp/index.d.ts',
  'looprig-middleware': 'dist/middleware/index.d.ts',
  'looprig-otel': 'dist/otel/index.d.ts',
  'looprig-postgres': 'dist/journal/postgres/index.d.ts',
  'looprig-report': 'dist/report/index.d.ts',
  'looprig-pg-boss': 'dist/engines/pg-boss/index.d.ts',
  'looprig-restate': 'dist/engines/restate/index.d.ts',
  'looprig-server': 'dist/server/index.d.ts',
  'looprig-sqlite': 'dist/journal/sqlite/index.d.ts',
  'looprig-store': 'dist/journal/index.d.ts',
  'looprig-testing': 'dist/testing/index.d.ts',
  'looprig-workspace': 'dist/workspace/index.d.ts',
};

let failed = false;
for (const [name, entry] of Object.entries(entries)) {
  if (!existsSync(join(root, entry))) throw new Error(`${entry} is not there: run "npm run build" first`);
  for (const folder of ['api', 'temp/api']) mkdirSync(join(root, folder), { recursive: true });
  const config = ExtractorConfig.prepare({
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: join(root, entry),
      apiReport: {
        enabled: true,
        reportFileName: `${name}.api.md`,
        reportFolder: join(root, 'api'),
        reportTempFolder: join(root, 'temp/api'),
        includeForgottenExports: true,
      },
      docModel: { enabled: true, apiJsonFilePath: join(root, 'temp/api', `${name}.api.json`) },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      compiler: { tsconfigFilePath: join(root, 'tsconfig.api.json') },
      messages: {
        compilerMessageReporting: { default: { logLevel: 'error' as never } },
        extractorMessageReporting: {
          default: { logLevel: 'error' as never },
          'ae-missing-release-tag': { logLevel: 'none' as never },
          'ae-unresolved-link': { logLevel: 'none' as never },
          'ae-undocumented': { logLevel: 'none' as never },
          'ae-forgotten-export': { logLevel: 'none' as never },
        },
        tsdocMessageReporting: { default: { logLevel: 'none' as never } },
      },
    },
    configObjectFullPath: join(root, 'api-extractor.json'),
    packageJsonFullPath: join(root, 'package.json'),
  });
  const result = Extractor.invoke(config, {
    localBuild: !check,
    messageCallback: (message: ExtractorMessage) => {
      if (message.messageId === 'console-compiler-version-notice') message.handled = true;
      if (message.category === 'console' && message.logLevel !== 'error') message.handled = true;
    },
  });
  if (result.apiReportChanged)
    console.log(check ? `api/${name}.api.md differs: run "npm run api:update"` : `api/${name}.api.md written`);
  if (!result.succeeded) failed = true;
}

mkdirSync(join(root, 'docs/reference'), { recursive: true });
for (const name of Object.keys(entries)) {
  const silent = undocumented(join(root, 'temp/api', `${name}.api.json`));
  if (silent.length === 0) continue;
  console.log(`${name}: every public name needs a docstring, and these have none: ${silent.join(', ')}`);
  failed = true;
}
const pages = Object.keys(entries).map(name => referencePage(name, join(root, 'temp/api', `${name}.api.json`)));
for (const { file, text } of [...pages, referenceIndex(pages)]) {
  const path = join(root, 'docs/reference', file);
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue;
  console.log(check ? `docs/reference/${file} differs: run "npm run api:update"` : `docs/reference/${file} written`);
  if (check) failed = true;
  else writeFileSync(path, text);
}
rmSync(join(root, 'temp/api'), { recursive: true, force: true });
if (failed) process.exit(1);
