/** What may import what: the layers of DESIGN.md, read from the sources. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const source = fileURLToPath(new URL('../src/', import.meta.url));

/** From the bottom up: a file imports from its own layer and from those below it. Single files stand under their name. */
const LAYERS: readonly (readonly string[])[] = [
  [
    'looprig-error.ts',
    'quietly.ts',
    'overlaid.ts',
    'errors.ts',
    'optional-package.ts',
    'clock.ts',
    'guarded-signal.ts',
    'ids.ts',
    'show.ts',
    'reason.ts',
    'freeze.ts',
    'json-kinds.ts',
    'depth.ts',
    'node',
    'model',
  ],
  ['define'],
  ['journal', 'events'],
  ['bind'],
  ['run'],
  ['session'],
  ['index.ts'],
  ['config', 'testing', 'workspace', 'middleware', 'ai', 'mcp', 'otel', 'engines', 'report'],
  ['server'],
  ['cli', 'studio'],
];

/** A definition has a method that binds it: the one way up. */
const WAYS_UP: ReadonlySet<string> = new Set([
  'define/loop.ts -> bind/bind.ts',
  'define/loop.ts -> bind/bound-loop.ts',
]);

/** The stores on databases: entries of their own, which whoever needs one imports. */
const DATABASES: readonly string[] = ['journal/postgres/index.ts', 'journal/sqlite/index.ts'];

/** The part of the package that runs on any platform. */
const isCore = (file: string): boolean =>
  !/^(cli|studio|workspace|testing|mcp|node|server\/node|journal\/(postgres|sqlite)|engines\/(restate|pg-boss))\//.test(
    file,
  );

interface Import {
  /** Paths from `src`, with forward slashes; `to` is as written where it is a package. */
  readonly from: string;
  readonly to: string;
  readonly kind: 'value' | 'type' | 'dynamic';
}

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .map(file => file.replaceAll('\\', '/'))
  .filter(file => /\.tsx?$/.test(file) && !/\.(test(-d)?|d)\.ts$/.test(file));

const texts = new Map(files.map(file => [file, withoutComments(readFileSync(join(source, file), 'utf8'))]));

const imports: readonly Import[] = files.flatMap(file => importsOf(file, texts.get(file) ?? ''));

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

function importsOf(from: string, text: string): Import[] {
  const target = (specifier: string): string => {
    if (!specifier.startsWith('.')) return specifier;
    return relative(source, normalize(join(source, dirname(from), specifier))).replaceAll('\\', '/');
  };
  const statements = [...text.matchAll(/^(?:import|export)\s([^;]*?)from\s+'([^']+)';/gm)].map(
    ([, clause = '', specifier = '']): Import => ({
      from,
      to: target(specifier),
      kind: isTypeOnly(clause) ? 'type' : 'value',
    }),
  );
  const bare = [...text.matchAll(/^import\s+'([^']+)';/gm)].map(([, specifier = '']): Import => {
    return { from, to: target(specifier), kind: 'value' };
  });
  const dynamic = [...text.matchAll(/(typeof\s+)?\bimport\('([^']+)'\)/g)].map(([, isType, specifier = '']): Import => {
    return { from, to: target(specifier), kind: isType === undefined ? 'dynamic' : 'type' };
  });
  return [...statements, ...bare, ...dynamic];
}

function isTypeOnly(clause: string): boolean {
  if (/^type\s/.test(clause)) return true;
  const names = /\{([^}]*)\}/.exec(clause)?.[1]?.split(',') ?? [];
  const listed = names.map(name => name.trim()).filter(name => name !== '');
  return listed.length > 0 && /^\s*\{/.test(clause) && listed.every(name => name.startsWith('type '));
}

function layerOf(file: string): number {
  const name = file.includes('/') ? file.slice(0, file.indexOf('/')) : file;
  return LAYERS.findIndex(layer => layer.includes(name));
}

describe('the sources', () => {
  it('are found, and each stands in a layer', () => {
    expect(files.length).toBeGreaterThan(60);
    expect(imports.length).toBeGreaterThan(200);
    expect(files.filter(file => layerOf(file) === -1)).toEqual([]);
    const unknown = imports.filter(({ to }) => to.endsWith('.ts') && !texts.has(to));
    expect(unknown).toEqual([]);
  });

  it('import nothing from a layer above their own', () => {
    const upwards = imports
      .filter(({ from, to }) => to.endsWith('.ts') && layerOf(to) > layerOf(from))
      .map(({ from, to, kind }) => ({ edge: `${from} -> ${to}`, kind }))
      .filter(({ edge }) => !WAYS_UP.has(edge))
      .map(({ edge, kind }) => `${edge} (${kind})`);
    expect(upwards).toEqual([]);
  });

  it('say in one place what the reason of something thrown is: it may be no error, and reading it may throw', () => {
    const again =
      /instanceof Error\s*(&&[^?]*)?\?\s*(String\()?[\w.]+\.message|\bString\((cause|error|failure|reason|thrown)\)|function (messageFrom|rawMessage|reasonOf)\(\w+: unknown/;
    const found = [...texts].filter(([, text]) => again.test(text)).map(([file]) => file);
    expect(found).toEqual(['reason.ts']);
  });

  it('of adapters know definitions and contracts, not how turns are run', () => {
    const tooDeep = imports.filter(
      ({ from, to }) => /^(testing|workspace|mcp|otel)\//.test(from) && /^(bind|run|session|cli)\//.test(to),
    );
    expect(tooDeep).toEqual([]);
  });

  it('of the ready-made middlewares know definitions, the clock and errors, and one another only by what they share', () => {
    const own = imports.filter(({ from }) => from.startsWith('middleware/'));
    expect(own.length).toBeGreaterThan(20);
    const foreign = own
      .filter(
        ({ to }) =>
          !/^(define\/|middleware\/|(clock|errors|show|reason|freeze|json-kinds)\.ts$|model\/copy\.ts$)/.test(to),
      )
      .map(({ from, to }) => `${from} -> ${to}`);
    expect(foreign).toEqual([]);
    const folder = (file: string): string => file.split('/').slice(1, -1).join('/');
    const across = own
      .filter(({ from, to }) => from !== 'middleware/index.ts' && to.startsWith('middleware/'))
      .filter(({ from, to }) => folder(to) !== '' && folder(to) !== folder(from))
      .map(({ from, to }) => `${from} -> ${to}`);
    expect(across).toEqual([]);
  });

  it('of the AI SDK adapter use what a user can import, and what decides about calls and makes their results as a turn does', () => {
    const own = imports.filter(({ from }) => from.startsWith('ai/'));
    expect(own.length).toBeGreaterThan(20);
    const foreign = own
      .filter(
        ({ to }) =>
          !/^(ai\/|ai$|(guarded-signal|ids|index|reason)\.ts$|define\/(gate|options)\.ts$|model\/model\.ts$|run\/result\.ts$)/.test(
            to,
          ),
      )
      .map(({ from, to }) => `${from} -> ${to}`);
    expect(foreign).toEqual([]);
    expect(imports.filter(({ from, to }) => !/^(ai|server)\//.test(from) && /^ai(\/|$)/.test(to))).toEqual([]);
  });

  it('of the MCP adapter know definitions and errors; its package is loaded in one file, and what needs Node where a server is started', () => {
    const own = imports.filter(({ from }) => from.startsWith('mcp/'));
    expect(own.length).toBeGreaterThan(20);
    const isTheirs = (to: string): boolean => to.startsWith('@modelcontextprotocol/') || to.startsWith('node:');
    const foreign = own
      .filter(
        ({ to }) =>
          !/^(mcp\/|define\/|(errors|looprig-error|optional-package|show|reason|depth)\.ts$|node\/process-group\.ts$|@noble\/)/.test(
            to,
          ) && !isTheirs(to),
      )
      .map(({ from, to }) => `${from} -> ${to}`);
    expect(foreign).toEqual([]);
    const atRuntime = own.filter(({ to, kind }) => isTheirs(to) && kind !== 'type');
    expect([...new Set(atRuntime.map(({ from }) => from))].sort()).toEqual(['mcp/child.ts', 'mcp/sdk.ts']);
    expect(own.filter(({ to }) => to === 'mcp/stdio.ts').map(({ kind }) => kind)).toEqual(['dynamic']);
    expect(imports.filter(({ from, to }) => !/^(mcp|cli)\//.test(from) && to.startsWith('mcp/'))).toEqual([]);
  });

  it('of the studio draw with reports what events come to, and take of the rest types alone', () => {
    const own = imports.filter(({ from, to }) => from.startsWith('studio/') && !to.endsWith('.css'));
    expect(own.length).toBeGreaterThan(20);
    const foreign = own
      .filter(({ to }) => !/^(studio\/|report\/|preact|events\/events\.ts$|reason\.ts$)/.test(to))
      .filter(({ kind }) => kind !== 'type')
      .map(({ from, to }) => `${from} -> ${to}`);
    expect(foreign).toEqual([]);
    expect(imports.filter(({ from, to }) => !from.startsWith('studio/') && to.startsWith('studio/'))).toEqual([]);
  });

  it('of reports know events, records, errors and how options are read, and nobody but what shows sessions knows them', () => {
    const own = imports.filter(({ from }) => from.startsWith('report/'));
    expect(own.length).toBeGreaterThan(20);
    const foreign = own
      .filter(({ to }) => !/^(report\/|events\/|preact|marked$)/.test(to))
      .filter(({ to, kind }) => !['errors.ts', 'model/model.ts', 'define/options.ts'].includes(to) && kind !== 'type')
      .map(({ from, to }) => `${from} -> ${to}`);
    expect(foreign).toEqual([]);
    expect(imports.filter(({ from, to }) => !/^(report|cli|studio)\//.test(from) && to.startsWith('report/'))).toEqual(
      [],
    );
    expect(imports.filter(({ from, to }) => !/^(report|studio)\//.test(from) && /^(preact|marked)/.test(to))).toEqual(
      [],
    );
  });

  it('of the server use what a user can import, hosts and how a page is told; what needs Node is loaded when it listens', () => {
    const own = imports.filter(({ from }) => from.startsWith('server/'));
    expect(own.length).toBeGreaterThan(20);
    const isTheirs = (to: string): boolean => /^(hono|@hono\/node-server|ai)$/.test(to) || to.startsWith('node:');
    const foreign = own
      .filter(
        ({ to }) =>
          !/^(server\/|index\.ts$|engines\/|ai\/|define\/(schema|options)\.ts$|(looprig-error|optional-package|quietly|show)\.ts$|node\/listen-on\.ts$|@noble\/)/.test(
            to,
          ),
      )
      .filter(({ to }) => !isTheirs(to))
      .map(({ from, to }) => `${from} -> ${to}`);
    expect(foreign).toEqual([]);
    const packages = own.filter(({ to, kind }) => isTheirs(to) && !to.startsWith('node:') && kind !== 'type');
    expect([...new Set(packages.map(({ from, kind }) => `${from} ${kind}`))]).toEqual(['server/packages.ts dynamic']);
    const intoNode = own.filter(({ from, to }) => to.startsWith('server/node/') && !from.startsWith('server/node/'));
    expect(intoNode.map(({ kind }) => kind)).toEqual(['dynamic']);
    expect(imports.filter(({ from, to }) => !/^(server|cli)\//.test(from) && to.startsWith('server/'))).toEqual([]);
  });

  it('of an engine know the port, errors and how options are read; its package is loaded in one file, and reached from an entry of its own', () => {
    const own = imports.filter(({ from }) => /^engines\/(restate|pg-boss)\//.test(from));
    expect(own.length).toBeGreaterThan(20);
    const isTheirs = (to: string): boolean => /^(@restatedev\/|pg-boss$|node:)/.test(to);
    const foreign = own
      .filter(
        ({ to }) =>
          !/^(engines\/(engine|engine-error)\.ts$|(define\/options|errors|ids|optional-package|quietly|reason|show|node\/listen-on)\.ts$)/.test(
            to,
          ) && !isTheirs(to),
      )
      .filter(({ from, to }) => dirname(from) !== dirname(to))
      .map(({ from, to }) => `${from} -> ${to}`);
    expect(foreign).toEqual([]);
    const packages = own.filter(({ to, kind }) => isTheirs(to) && !to.startsWith('node:') && kind !== 'type');
    expect([...new Set(packages.map(({ from, kind }) => `${from} ${kind}`))].sort()).toEqual([
      'engines/pg-boss/open.ts dynamic',
      'engines/restate/packages.ts dynamic',
    ]);
    const into = imports.filter(
      ({ from, to }) => dirname(from) !== dirname(to) && /^engines\/(restate|pg-boss)\//.test(to),
    );
    expect(into.map(({ from, to, kind }) => `${from} -> ${to} (${kind})`).sort()).toEqual([
      'engines/engine-url.ts -> engines/pg-boss/index.ts (dynamic)',
      'engines/engine-url.ts -> engines/restate/index.ts (dynamic)',
    ]);
  });

  it('of the program use what a user can import, the workspace tools and the testing kit', () => {
    const inside = imports
      .filter(({ from, to }) => from.startsWith('cli/') && /^(define|bind|run|session|events|journal|model)\//.test(to))
      .filter(({ to }) => !DATABASES.includes(to))
      .map(({ from, to }) => `${from} -> ${to}`);
    expect(inside).toEqual([]);
  });

  it.each(DATABASES)('of %s are reached from that entry alone, and from nowhere in the core', entry => {
    const folder = entry.replace('index.ts', '');
    const into = imports.filter(
      ({ from, to }) => to.startsWith(folder) && !from.startsWith(folder) && !DATABASES.includes(to),
    );
    expect(into).toEqual([]);
    expect(imports.filter(({ from, to }) => to === entry && isCore(from))).toEqual([]);
  });

  it('of the PostgreSQL store load its package in one file, when it is first used', () => {
    const loads = imports.filter(({ to, kind }) => to === 'pg' && kind !== 'type');
    expect(loads).toEqual([{ from: 'journal/postgres/package.ts', to: 'pg', kind: 'dynamic' }]);
  });

  it('of the core import no Node module, but for one that is loaded when it is needed', () => {
    const ofNode = imports.filter(({ from, to, kind }) => isCore(from) && to.startsWith('node:') && kind !== 'type');
    expect(ofNode.filter(({ kind }) => kind === 'value')).toEqual([]);
    expect(imports.filter(({ from, to }) => isCore(from) && to.startsWith('node/'))).toEqual([]);
    expect(new Set(ofNode.map(({ from }) => from))).toEqual(new Set(['session/workspace.ts']));
  });

  it('of the core use no global that only Node has', () => {
    const using = files.filter(
      file => isCore(file) && /\b(process\.|Buffer\b|require\(|__dirname|setImmediate)/.test(texts.get(file) ?? ''),
    );
    expect(using).toEqual([]);
  });

  it('of the core use no timer and no time but the clock’s', () => {
    const using = files.filter(file => {
      if (!isCore(file) || file === 'clock.ts') return false;
      return /\b(setTimeout|setInterval|Date\.now|performance\.now|AbortSignal\.timeout)\b/.test(texts.get(file) ?? '');
    });
    expect(using).toEqual([]);
  });

  it('do not import one another in a circle when they run', () => {
    const next = Map.groupBy(
      imports.filter(({ kind, to }) => kind === 'value' && /\.tsx?$/.test(to)),
      ({ from }) => from,
    );
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
      if (done.has(file) || path.includes(file)) return;
      for (const { to } of next.get(file) ?? []) visit(to, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    expect(circles).toEqual([]);
  });
});
