/** One headless Chromium for the tests of a file, whose pages reach nothing but the test's own server. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, folderOf, type Page, playwright, SERVICES } from './services.ts';

/** Sandboxes need rights that containers lack. Whatever asks for a name of the network gets none. */
const ARGS = ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1'];

export interface TestBrowser extends AsyncDisposable {
  /** A page in a profile of its own, on a server of the test. */
  open(url: string): Promise<TestPage>;
}

interface TestPage extends AsyncDisposable {
  readonly page: Page;
  /** Everything that must not happen: requests to elsewhere, errors that nothing caught, what React complains of. */
  readonly complaints: readonly string[];
  /** A picture of the page, for whoever names a folder for it in LOOPRIG_SCREENSHOTS. */
  snap(name: string): Promise<void>;
}

export async function startBrowser(): Promise<TestBrowser> {
  const browser = await launch();
  return {
    open: url => openPage(browser, url),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

async function openPage(browser: Browser, url: string): Promise<TestPage> {
  const context = await browser.newContext({ serviceWorkers: 'block' });
  const complaints: string[] = [];
  const { origin } = new URL(url);
  await context.route('**/*', route => {
    const asked = route.request().url();
    if (new URL(asked).origin === origin) return route.continue();
    complaints.push(`a request to ${asked}`);
    return route.abort('blockedbyclient');
  });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  page.on('pageerror', error => complaints.push(`uncaught: ${error.message}`));
  page.on('console', message => {
    // That a request was refused is said by the page, where it matters.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      complaints.push(message.text());
    }
  });
  await page.goto(url);
  return {
    page,
    complaints,
    async snap(name) {
      const folder = process.env.LOOPRIG_SCREENSHOTS;
      if (folder !== undefined && folder !== '') await page.screenshot({ path: join(folder, `${name}.png`) });
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}

async function launch(): Promise<Browser> {
  const { chromium } = playwright();
  const own = process.env.LOOPRIG_CHROMIUM;
  if (own !== undefined && own !== '') {
    if (!existsSync(own)) throw new Error(`LOOPRIG_CHROMIUM names no file: ${own}`);
    return chromium.launch({ executablePath: own, headless: true, args: ARGS });
  }
  const folder = await unpacked();
  const options = { executablePath: join(folder, 'chromium'), headless: true, args: ARGS };
  try {
    return await chromium.launch(options);
  } catch (error) {
    if (!String(error).includes('shared libraries')) throw error;
    // A machine without the libraries of a desktop: the package brings them, as it brings fonts.
    const env = {
      ...process.env,
      LD_LIBRARY_PATH: join(folder, 'al2023/lib'),
      FONTCONFIG_PATH: join(folder, 'fonts'),
    };
    return chromium.launch({ ...options, env });
  }
}

/** Unpacks what it is given as arguments: the package's `inflate`, and archives, into the temporary folder. */
const UNPACK = `
  const [, entry, ...archives] = process.argv;
  const { inflate } = await import(entry);
  await Promise.all(archives.map(archive => inflate(archive)));
`;

/**
 * The folder with the browser of `@sparticuz/chromium`, unpacked once for each installation. The package itself would unpack into the machine's temporary folder and run what
 * it finds there under that name, whoever put it there.
 */
async function unpacked(): Promise<string> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error('@sparticuz/chromium runs on Linux x64 only: name a Chromium of this machine in LOOPRIG_CHROMIUM');
  }
  const from = folderOf('@sparticuz/chromium');
  const cache = join(SERVICES, 'node_modules/.cache');
  const target = join(cache, 'chromium');
  if (existsSync(target)) return target;
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'unpacking-'));
  const archives = ['chromium.br', 'fonts.tar.br', 'swiftshader.tar.br', 'al2023.tar.br'];
  const paths = archives.map(archive => join(from, 'bin', archive));
  const entry = pathToFileURL(join(from, 'build/index.js')).href;
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', UNPACK, entry, ...paths], {
    env: { ...process.env, TMPDIR: folder },
  });
  // Whole or not at all: another test file may do the same at this moment.
  await rename(folder, target).catch(async (error: unknown) => {
    await rm(folder, { recursive: true });
    if (!existsSync(target)) throw error;
  });
  return target;
}
