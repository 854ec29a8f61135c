/** The layers of DESIGN.md: nothing depends upwards, and the core runs without Node's built-ins. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const source = fileURLToPath(new URL('../src', import.meta.url));

/** From the bottom up. A file may import what is written values of its own layer and of those below. */
const LAYERS: readonly (readonly string[])[] = [
  ['errors.ts', 'clock.ts', 'show.ts', 'model'],
  ['define'],
  ['journal', 'events'],
  ['bind'],
  ['run'],
  ['session'],
  ['index.ts'],
  ['testing', 'workspace'],
  ['cli'],
];

/** A definition has a `bind` method. */
const ALLOWED = new Set(['define/loop.ts → bind/bind.ts']);

/** Each import of a file under `src` that exists when the program runs: types are gone by then. */
const imports = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.ts') && !/\.test(-d)?\.ts$/.test(path))
  .flatMap(path => {
    const text = readFileSync(join(source, path), 'utf8');
    const statements = text.matchAll(/^(?:import|export)\s(?!type\s)([^;]*?)\sfrom\s'([^']+)';|^import\s'([^']+)';/gms);
    return [...statements].flatMap(([, names, from, bare]) => {
      const onlyTypes =
        names !== undefined && /^\{[^}]*\}$/s.test(names) && namesOf(names).every(name => name.startsWith('type '));
      const target = from ?? bare ?? '';
      return onlyTypes || target === '' ? [] : [{ path: path.replaceAll('\\', '/'), target }];
    });
  });

function namesOf(braces: string): string[] {
  return braces
    .slice(1, -1)
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '');
}

function layerOf(path: string): number {
  const top = path.split('/')[0]!;
  const layer = LAYERS.findIndex(names => names.includes(top));
  if (layer === -1) throw new Error(`src/${path} belongs to no layer: add it to this test and to DESIGN.md`);
  return layer;
}

it('finds the imports that there are', () => {
  expect(imports.length).toBeGreaterThan(200);
  expect(imports).toContainEqual({ path: 'run/turn.ts', target: './batch.ts' });
});

it('nothing depends upwards', () => {
  const upwards = imports.flatMap(({ path, target }) => {
    if (!target.startsWith('.')) return [];
    const to = relative(source, join(source, path, '..', target)).replaceAll('\\', '/');
    return layerOf(to) > layerOf(path) && !ALLOWED.has(`${path} → ${to}`) ? [`${path} → ${to}`] : [];
  });
  expect(upwards).toEqual([]);
});

it('the core and the testing kit import no built-in of Node when they load', () => {
  const builtIns = imports.filter(({ path, target }) => target.startsWith('node:') && !/^(cli|workspace)\//.test(path));
  expect(builtIns).toEqual([]);
});

it('the core needs its dependencies and nothing else', () => {
  const manifest = JSON.parse(readFileSync(join(source, '../package.json'), 'utf8'));
  const known = new Set(Object.keys(manifest.dependencies));
  const nameOf = (target: string): string =>
    target
      .split('/')
      .slice(0, target.startsWith('@') ? 2 : 1)
      .join('/');
  const others = imports.filter(({ target }) => !/^(\.|node:)/.test(target) && !known.has(nameOf(target)));
  expect(others).toEqual([]);
});
