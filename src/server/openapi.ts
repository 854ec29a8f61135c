/** The server's description of itself, OpenAPI 3.1: made of the same routes and shapes that requests are checked by. */

import { EVENT } from './event-schemas.ts';
import type { ErrorStatus } from './http-error.ts';
import { type Answer, DIALECT, namesIn, type Parameter, type Route } from './route.ts';
import { ERROR, ID, NAMED } from './schemas.ts';

const ERRORS: Readonly<Record<ErrorStatus, string>> = {
  400: 'A header, the query, an id or the body cannot be read.',
  401: 'The token is missing or wrong.',
  403: 'Another page, or another name of the server, than is allowed.',
  404: 'There is no such session, gate or result.',
  405: 'The path takes other methods.',
  406: 'The client accepts nothing that the route gives.',
  409: 'The session does not stand so that it can be done now.',
  413: 'The body is too large.',
  415: 'The body is no JSON by its type.',
  422: 'The body does not fit, or the session cannot take what it says.',
  500: 'The server failed.',
  501: 'A package that the route needs is not installed.',
  503: 'The server ends, its store does not answer, or too many streams are open.',
};

/** What each route may answer, and what each with a body. */
const OF_ALL: readonly ErrorStatus[] = [400, 401, 403, 406, 500, 503];
const OF_BODIES: readonly ErrorStatus[] = [413, 415, 422];

/** The document for these routes. */
export function openApi(routes: readonly Route[], hasToken: boolean): object {
  const parts = new Parts({ ...NAMED, Event: EVENT });
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const others = paths[route.path];
    paths[route.path] = { ...others, [route.method.toLowerCase()]: operation(route, parts, hasToken) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'looprig', version: '1', description: 'Sessions of agent loops.' },
    jsonSchemaDialect: DIALECT,
    paths,
    components: {
      schemas: parts.all(),
      ...(hasToken && { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } }),
    },
  };
}

function operation(route: Route, parts: Parts, hasToken: boolean): object {
  const errors = new Set([
    ...(route.isOpen === true ? ([400, 406, 500] as const) : OF_ALL),
    ...(route.body === undefined ? [] : OF_BODIES),
    ...route.errors,
  ]);
  const answers = Object.entries(route.answers).map(([status, given]) => [status, answerOf(given, parts)]);
  const refusals = [...errors]
    .filter(status => !Object.hasOwn(route.answers, status))
    .map(status => [status, answerOf({ description: ERRORS[status], schema: ERROR }, parts)]);
  return {
    operationId: route.id,
    summary: route.summary,
    ...(hasToken && { security: route.isOpen === true ? [] : [{ token: [] }] }),
    parameters: [
      ...namesIn(route.path).map(name => ({ name, in: 'path', required: true, schema: ID })),
      ...parametersOf(route.query, 'query'),
      ...parametersOf(route.headers, 'header'),
    ],
    ...(route.body && {
      requestBody: { required: true, content: { 'application/json': { schema: parts.of(route.body) } } },
    }),
    responses: Object.fromEntries([...answers, ...refusals]),
  };
}

function parametersOf(parameters: Readonly<Record<string, Parameter>> = {}, place: 'query' | 'header'): object[] {
  return Object.entries(parameters).map(([name, { description, schema }]) => ({
    name,
    in: place,
    description,
    schema,
  }));
}

function answerOf({ description, schema, type, headers }: Answer, parts: Parts): object {
  const media = type ?? (schema === undefined ? undefined : 'application/json');
  const content = schema === undefined ? { schema: { type: 'string' } } : { schema: parts.of(schema) };
  const told = Object.entries(headers ?? {}).map(([name, description]) => {
    return [name, { description, schema: { type: 'string' } }];
  });
  return {
    description,
    ...(media && { content: { [media]: content } }),
    ...(told.length > 0 && { headers: Object.fromEntries(told) }),
  };
}

/** Shapes that have a name stand once, and are referred to. */
class Parts {
  readonly #named: Readonly<Record<string, object>>;
  readonly #names: ReadonlyMap<unknown, string>;

  constructor(named: Readonly<Record<string, object>>) {
    this.#named = named;
    this.#names = new Map(Object.entries(named).map(([name, schema]) => [schema, name]));
  }

  all(): object {
    return Object.fromEntries(Object.entries(this.#named).map(([name, schema]) => [name, this.#within(schema)]));
  }

  of(schema: unknown): unknown {
    const name = this.#names.get(schema);
    return name === undefined ? this.#within(schema) : { $ref: `#/components/schemas/${name}` };
  }

  #within(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map(item => this.of(item));
    if (typeof schema !== 'object' || schema === null) return schema;
    return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, this.of(value)]));
  }
}
