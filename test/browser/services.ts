/** What the package under test/services has for pages, with as much of its types as these tests use: the main package does without all of it. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

export const SERVICES: string = fileURLToPath(new URL('../services/', import.meta.url));

const require = createRequire(import.meta.url);

/** A package of test/services, loaded. Throws where it is not installed. */
function load<Package>(name: string): Package {
  return require(folderOf(name)) as Package;
}

/** The folder of a package of test/services. Throws where it is not installed. */
export function folderOf(name: string): string {
  const folder = `${SERVICES}node_modules/${name}`;
  if (existsSync(`${folder}/package.json`)) return folder;
  throw new Error(`${name} is not installed: run "npm ci --prefix test/services" first`);
}

export interface Esbuild {
  build(options: object): Promise<BuildResult>;
  /** Ends the process that bundles. */
  stop(): Promise<void>;
}

interface BuildResult {
  readonly outputFiles: readonly { readonly text: string }[];
  readonly metafile: {
    readonly inputs: Readonly<Record<string, unknown>>;
    readonly outputs: Readonly<Record<string, { readonly imports: readonly BundledImport[] }>>;
  };
}

export interface BundledImport {
  readonly path: string;
  readonly kind: string;
  readonly external?: boolean;
}

export interface ResolveArgs {
  readonly path: string;
  readonly importer: string;
  readonly kind: string;
}

export const esbuild = (): Esbuild => load('esbuild');

export interface Playwright {
  readonly chromium: { launch(options: object): Promise<Browser> };
}

export interface Browser {
  version(): string;
  newContext(options: object): Promise<BrowserContext>;
  close(): Promise<void>;
}

interface BrowserContext {
  route(pattern: string, handle: (route: Route) => Promise<void>): Promise<void>;
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

interface Route {
  request(): { url(): string };
  continue(): Promise<void>;
  abort(reason: string): Promise<void>;
}

export interface Page {
  on(event: 'pageerror', listener: (error: Error) => void): void;
  on(event: 'console', listener: (message: { type(): string; text(): string }) => void): void;
  goto(url: string): Promise<unknown>;
  reload(): Promise<unknown>;
  /** Runs an expression in the page. */
  evaluate(expression: string): Promise<unknown>;
  getByRole(role: string, options?: { readonly name: string; readonly exact?: boolean }): Locator;
  locator(selector: string): Locator;
  getByLabel(name: string): Locator;
  getByText(text: string | RegExp): Locator;
  url(): string;
  screenshot(options: { readonly path: string }): Promise<unknown>;
  setViewportSize(size: { readonly width: number; readonly height: number }): Promise<void>;
  emulateMedia(options: {
    readonly colorScheme?: 'light' | 'dark';
    readonly media?: 'screen' | 'print';
  }): Promise<void>;
  readonly keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
  setDefaultTimeout(ms: number): void;
}

interface Locator {
  nth(index: number): Locator;
  locator(selector: string): Locator;
  getByLabel(name: string): Locator;
  focus(): Promise<void>;
  hover(): Promise<void>;
  selectOption(value: string): Promise<unknown>;
  inputValue(): Promise<string>;
  getByRole(role: string, options?: { readonly name: string; readonly exact?: boolean }): Locator;
  waitFor(options?: { readonly state?: 'visible' | 'hidden' }): Promise<void>;
  click(): Promise<void>;
  fill(text: string): Promise<void>;
  press(key: string): Promise<void>;
  count(): Promise<number>;
  textContent(): Promise<string | null>;
  allInnerTexts(): Promise<string[]>;
}

export const playwright = (): Playwright => load('playwright-core');
