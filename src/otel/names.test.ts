/** `docs/telemetry.md` says what is told, and nothing else; what is told has a name that it can have. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ATTRIBUTES, ERRORS, METRICS, OPERATIONS, SPAN_EVENTS } from './names.ts';
import { openTelemetry } from './observer.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/telemetry.md'), 'utf8');

/** The first cells of the tables of a section. */
function rows(section: string): string[] {
  const text = page.split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '';
  return [...text.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name = '']) => name);
}

describe('docs/telemetry.md', () => {
  it('has every span', () => {
    expect(rows('Spans').map(name => name.split(' ')[0])).toEqual(Object.values(OPERATIONS));
  });

  it('has every attribute once', () => {
    expect(rows('Attributes').sort()).toEqual(Object.values(ATTRIBUTES).sort());
  });

  it('has every event of a span', () => {
    expect(rows('Events of spans')).toEqual(Object.values(SPAN_EVENTS));
  });

  it('has every metric', () => {
    expect(rows('Metrics')).toEqual(Object.values(METRICS));
  });

  it('has every option, in its order', () => {
    const taken = expect.stringContaining(`it takes ${rows('Options').join(', ')}`);
    expect(() => openTelemetry({ unheardOf: 1 } as never)).toThrow(expect.objectContaining({ message: taken }));
  });

  it('has every error type of its own', () => {
    expect(rows('Errors')).toEqual(expect.arrayContaining(Object.values(ERRORS)));
  });
});

it('names are in the name space of the conventions or of looprig', () => {
  const names = [ATTRIBUTES, METRICS, SPAN_EVENTS].flatMap(record => Object.values(record));
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^(gen_ai|looprig|error)\.[a-z_]+(\.[a-z_]+)*$|^looprig\.step$/);
});

it('nothing outside of this folder imports OpenTelemetry, or this folder', () => {
  const source = join(import.meta.dirname, '..');
  const files = globSync('**/*.ts', { cwd: source });
  expect(files.length).toBeGreaterThan(100);
  const importing = files
    .filter(file => !file.startsWith('otel'))
    .filter(file => /from '(@opentelemetry\/|[./]+\/otel\/)/.test(readFileSync(join(source, file), 'utf8')));
  expect(importing).toEqual([]);
});
