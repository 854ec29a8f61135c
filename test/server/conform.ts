/** Whether what the server answers is what it says of itself: every answer that a test gets is held against the description. */
import { type Schema, Validator } from '@cfworker/json-schema';
import { openApi } from '../../src/server/openapi.ts';
import { ROUTES } from '../../src/server/server.ts';

/** What is looked at of a description. */
export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}

export const description = openApi(ROUTES, false) as Description;

const validators = new Map<object, Validator>();

/** Throws where the value does not fit a schema of the description. */
export function requireFit(schema: object, value: unknown, where: string): void {
  let validator = validators.get(schema);
  if (validator === undefined) {
    const whole = structuredClone({ ...schema, components: description.components });
    validator = new Validator(whole as unknown as Schema, '2020-12', false);
    validators.set(schema, validator);
  }
  const { valid, errors } = validator.validate(value);
  if (!valid)
    throw new Error(`${where} does not fit its description: ${JSON.stringify(errors)} ${JSON.stringify(value)}`);
}

/** The operation of a request, if its path is one of the description. */
function operationOf(method: string, pathname: string): Operation | undefined {
  const path = Object.keys(description.paths).find(pattern => {
    return new RegExp(`^${pattern.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname);
  });
  return path === undefined ? undefined : description.paths[path]?.[method.toLowerCase()];
}

/** Holds an answer against the description. */
export function requireDescribed(method: string, pathname: string, response: Response, body: unknown): void {
  const operation = operationOf(method, pathname);
  const where = `${response.status} of ${method} ${pathname}`;
  const error = description.components.schemas.Error!;
  if (operation === undefined) {
    if (response.status >= 400 && method !== 'HEAD') requireFit(error, body, where);
    return;
  }
  const told = operation.responses[response.status];
  if (told === undefined) throw new Error(`${where} is not in the description`);
  const [type] = (response.headers.get('content-type') ?? '').split(';');
  const [[media, content] = [undefined, undefined]] = Object.entries(told.content ?? {});
  if ((media?.split(';')[0] ?? '') !== type) throw new Error(`${where} is "${type}", not "${media}"`);
  if (type === 'application/json' && content !== undefined) requireFit(content.schema, body, where);
}
