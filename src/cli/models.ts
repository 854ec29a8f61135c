/** `--model`: from words to a model. */
import type { AnyLanguageModel, ModelSettings, ToolDefinition } from '../index.ts';
import { optionalPackage } from '../optional-package.ts';
import { PROVIDERS, type Provider } from './providers.ts';
import { loadReplay } from './replay.ts';
import { KEY_VARIABLES } from './secrets.ts';
import { UsageError } from './usage-error.ts';

/** A model, and what comes with it. */
export interface ChosenModel {
  readonly model: AnyLanguageModel;
  /** The model in words, for people. */
  readonly label: string;
  /** What is asked where nothing was; `undefined` where something must be. */
  readonly defaultPrompt?: string;
  /** The tools that belong to the model (a recording's), in the place of the workspace tools. */
  readonly tools?: readonly ToolDefinition[];
  /** Who answers; `undefined` for a model that answers here. */
  readonly remote?: Remote;
}

/** A model that is asked over a network: what advice has to name when that fails. */
export interface Remote {
  /** Who is asked, in a word: `anthropic`, or a host. */
  readonly provider: string;
  /** The name of the model there. */
  readonly name: string;
  /** The environment variable of its key. */
  readonly keyVariable: string;
  /** What gave its address, if somebody did: an environment variable or an option. */
  readonly addressFrom?: string;
  /** What has to be asked for beside `reasoning`, if reasoning is to be seen. */
  readonly showReasoning?: ModelSettings['providerOptions'];
}

type Environment = Readonly<Record<string, string | undefined>>;

const CHOICES = `demo, ${[...PROVIDERS.keys()].map(name => `${name}/NAME`).join(', ')}, compatible:URL#NAME or replay:FILE`;

/** How long the demo model waits before each word where a person watches, in milliseconds. */
const DEMO_DELAY_MS = 10;

/** The model that `choice` names; `isWatched` says whether a person sees it work. Throws `UsageError` for one that cannot be had: unknown, not installed, without a key, no recording. */
export async function chooseModel(choice: string, env: Environment, isWatched: boolean): Promise<ChosenModel> {
  if (choice === 'demo') return demo(isWatched ? DEMO_DELAY_MS : 0);
  if (choice.startsWith('replay:')) return loadReplay(choice.slice('replay:'.length));
  if (choice.startsWith('compatible:')) return compatible(choice.slice('compatible:'.length), env);
  const slash = choice.indexOf('/');
  const id = choice.slice(0, Math.max(slash, 0));
  const provider = PROVIDERS.get(id);
  const name = choice.slice(slash + 1);
  if (provider === undefined || name.trim() === '') {
    throw new UsageError(`there is no model "${choice}": give ${CHOICES}`);
  }
  return ofProvider(id, provider, name, env);
}

async function ofProvider(id: string, provider: Provider, name: string, env: Environment): Promise<ChosenModel> {
  const { keyVariable, addressVariable, showReasoning } = provider;
  const create = await installed(provider.install, () => provider.load());
  const apiKey = said(env[keyVariable]);
  if (apiKey === undefined) {
    throw new UsageError(`the model ${id}/${name} needs a key: set the environment variable ${keyVariable}`);
  }
  const address = said(env[addressVariable]);
  const url = address === undefined ? undefined : requireAddress(address, addressVariable);
  const model = create({ apiKey, ...(url !== undefined && { baseURL: url.href }) })(name);
  return {
    model,
    label: url === undefined ? `${id}/${name}` : `${id}/${name} at ${url.host}`,
    remote: {
      ...{ provider: id, name, keyVariable },
      ...(url !== undefined && { addressFrom: addressVariable }),
      ...(showReasoning !== undefined && { showReasoning }),
    },
  };
}

/** An address that an environment variable gives. It is not repeated: a password may be in it. */
function requireAddress(address: string, variable: string): URL {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`${variable} must be an address that begins with http:// or https://`);
  }
  if (hasPassword(url)) throw new UsageError(`${variable} must be an address without a password`);
  return url;
}

function hasPassword({ username, password }: URL): boolean {
  return username !== '' || password !== '';
}

async function demo(delayMs: number): Promise<ChosenModel> {
  const { demoModel } = await import('./demo-model.ts');
  return {
    model: demoModel({ delayMs }),
    label: 'demo (the offline demo model: works by rule, no key, no network)',
    defaultPrompt: 'What is in this folder, and what is it for?',
  };
}

async function compatible(address: string, env: Environment): Promise<ChosenModel> {
  const hash = address.lastIndexOf('#');
  const name = address.slice(hash + 1).trim();
  const url = hash === -1 ? null : URL.parse(address.slice(0, hash));
  if (url === null || !/^https?:$/.test(url.protocol) || name === '') {
    throw new UsageError(
      '--model compatible: needs an address and a model: for example compatible:http://localhost:8080/v1#NAME',
    );
  }
  if (hasPassword(url)) {
    throw new UsageError(
      `--model compatible: takes no password in the address: set the environment variable ${KEY_VARIABLES.compatible}`,
    );
  }
  const { createOpenAICompatible } = await installed(
    '@ai-sdk/openai-compatible@3',
    () => import('@ai-sdk/openai-compatible'),
  );
  const apiKey = said(env[KEY_VARIABLES.compatible]);
  const key = apiKey === undefined ? {} : { apiKey };
  const provider = createOpenAICompatible({ name: 'compatible', baseURL: url.href, includeUsage: true, ...key });
  return {
    model: provider.chatModel(name),
    label: `${name} at ${url.host}`,
    remote: { provider: url.host, name, keyVariable: KEY_VARIABLES.compatible, addressFrom: '--model' },
  };
}

/** What `load` gives. Throws `UsageError` that says what to install where a package is missing. */
function installed<Package>(install: string, load: () => Promise<Package>): Promise<Package> {
  return optionalPackage('this model', install, load, (message, options) => new UsageError(message, options));
}

/** What a variable says; `undefined` where that is nothing. */
function said(value: string | undefined): string | undefined {
  const text = value?.trim();
  return text === '' ? undefined : text;
}
