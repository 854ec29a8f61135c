/** `--model`: from words to a model. Provider packages are loaded when they are asked for, so that none has to be installed. */
import type { AnyLanguageModel, ToolDefinition } from '../index.ts';
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
  /** The environment variable that its key came from. */
  readonly keyVariable?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A provider whose models are named `provider/name`. */
interface Provider {
  readonly keyVariable: string;
  /** The package and the version of it that is known to work. */
  readonly install: string;
  /** Loads the package; what it gives makes a model. */
  load(env: Environment): Promise<(name: string) => AnyLanguageModel>;
}

const PROVIDERS: ReadonlyMap<string, Provider> = new Map<string, Provider>([
  [
    'anthropic',
    {
      keyVariable: KEY_VARIABLES.anthropic,
      install: '@ai-sdk/anthropic@4',
      load: async () => (await import('@ai-sdk/anthropic')).createAnthropic(),
    },
  ],
  [
    'openai',
    {
      keyVariable: KEY_VARIABLES.openai,
      install: '@ai-sdk/openai@4',
      load: async () => (await import('@ai-sdk/openai')).createOpenAI(),
    },
  ],
  [
    'google',
    {
      keyVariable: KEY_VARIABLES.google,
      install: '@ai-sdk/google@4',
      load: async env => {
        const { createGoogle } = await import('@ai-sdk/google');
        // The other two read the variable of their address themselves.
        return createGoogle(optional('baseURL', env.GOOGLE_GENERATIVE_AI_BASE_URL));
      },
    },
  ],
]);

const CHOICES = `demo, ${[...PROVIDERS.keys()].map(name => `${name}/NAME`).join(', ')}, compatible:URL#NAME or replay:FILE`;

/** How long the demo model waits before each word where a person watches, in milliseconds. */
const DEMO_DELAY_MS = 10;

/** The model that `choice` names; `isWatched` says whether a person sees it work. Throws `UsageError` for one that cannot be had: unknown, not installed, without a key, no recording. */
export async function chooseModel(choice: string, env: Environment, isWatched: boolean): Promise<ChosenModel> {
  if (choice === 'demo') return demo(isWatched ? DEMO_DELAY_MS : 0);
  if (choice.startsWith('replay:')) return loadReplay(choice.slice('replay:'.length));
  if (choice.startsWith('compatible:')) return compatible(choice.slice('compatible:'.length), env);
  const slash = choice.indexOf('/');
  const provider = PROVIDERS.get(choice.slice(0, Math.max(slash, 0)));
  const name = choice.slice(slash + 1);
  if (provider === undefined || name.trim() === '') {
    throw new UsageError(`there is no model "${choice}": give ${CHOICES}`);
  }
  const create = await installed(provider.install, () => provider.load(env));
  if (isAbsent(env[provider.keyVariable])) {
    throw new UsageError(`the model ${choice} needs a key: set the environment variable ${provider.keyVariable}`);
  }
  return { model: create(name), label: choice, keyVariable: provider.keyVariable };
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
  if (url.username !== '' || url.password !== '') {
    throw new UsageError(
      `--model compatible: takes no password in the address: set the environment variable ${KEY_VARIABLES.compatible}`,
    );
  }
  const { createOpenAICompatible } = await installed(
    '@ai-sdk/openai-compatible@3',
    () => import('@ai-sdk/openai-compatible'),
  );
  const key = optional('apiKey', env[KEY_VARIABLES.compatible]);
  const provider = createOpenAICompatible({ name: 'compatible', baseURL: url.href, includeUsage: true, ...key });
  return { model: provider.chatModel(name), label: `${name} at ${url.host}`, keyVariable: KEY_VARIABLES.compatible };
}

/** What `load` gives. Throws `UsageError` that says what to install where a package is missing. */
async function installed<T>(install: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const code: unknown = typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'code') : undefined;
    if (code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    const name = install.slice(0, install.lastIndexOf('@'));
    throw new UsageError(`this model needs the package ${name}: run "npm install ${install}"`, { cause });
  }
}

/** An option that is left out where the environment says nothing. */
function optional<Name extends string>(name: Name, value: string | undefined): { readonly [Key in Name]?: string } {
  return isAbsent(value) ? {} : ({ [name]: value } as { readonly [Key in Name]?: string });
}

function isAbsent(value: string | undefined): boolean {
  return value === undefined || value.trim() === '';
}
