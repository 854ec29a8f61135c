/** Routes about sessions: which there are, and what is done with one. */
import type { HostSubmitOptions } from '../engines/index.ts';
import type { GateAnswer, UserInput } from '../index.ts';
import { answer, json } from './answers.ts';
import { HttpError } from './http-error.ts';
import { type Parameter, type Route, route } from './route.ts';
import * as schemas from './schemas.ts';

const KEY: Parameter = {
  description: 'Told apart by it, a request that is made again starts nothing.',
  schema: { type: 'string', pattern: '^[!-~]{1,256}$', description: '1 to 256 visible ASCII characters' },
};

const LIST: Readonly<Record<string, Parameter>> = {
  delegates: {
    description: 'Whether sessions of delegates are listed too.',
    schema: { type: 'boolean', default: false },
  },
  limit: {
    description: 'No more than so many.',
    schema: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 },
  },
  after: {
    description: 'Only those behind this place: the "place" of the last session of the page before.',
    schema: { type: 'string', pattern: '^[!-~]{1,100}$', description: '1 to 100 visible ASCII characters' },
  },
};

const listLoops = route({
  ...{ method: 'GET', path: '/v1/loops', id: 'listLoops', summary: 'The loops that sessions may run' },
  answers: { 200: { description: 'All loops.', schema: schemas.LOOPS } },
  errors: [],
  handle: (_call, { host }) => json({ loops: host.loops }),
});

const listSessions = route({
  ...{ method: 'GET', path: '/v1/sessions', id: 'listSessions', summary: 'Sessions, the last written first' },
  query: LIST,
  answers: { 200: { description: 'The sessions.', schema: schemas.SESSIONS } },
  errors: [422],
  async handle({ given: { delegates, limit, after } }, { host }) {
    const page = { ...(typeof limit === 'number' && { limit }), ...(typeof after === 'string' && { after }) };
    const sessions = await host.list({ delegates: delegates === true, ...page });
    return json({ sessions });
  },
});

const beginSession = route({
  ...{ method: 'POST', path: '/v1/sessions', id: 'beginSession', summary: 'Begins a session' },
  body: schemas.BEGIN,
  answers: { 201: { description: 'It is begun.', schema: schemas.BEGUN, headers: { Location: 'Where it is found.' } } },
  errors: [],
  async handle({ body }, { host, metrics }) {
    const sessionId = await host.begin(body);
    metrics.begun();
    return json({ sessionId }, 201, { location: `/v1/sessions/${sessionId}` });
  },
});

const findSession = route({
  ...{ method: 'GET', path: '/v1/sessions/{session}', id: 'findSession', summary: 'How a session stands' },
  answers: { 200: { description: 'Its details.', schema: schemas.DETAILS } },
  errors: [404],
  handle: async ({ param }, { host }) => json(await host.find(param('session'))),
});

const deleteSession = route({
  ...{ method: 'DELETE', path: '/v1/sessions/{session}', id: 'deleteSession', summary: 'Deletes a session for good' },
  answers: { 204: { description: 'It is gone, with its large results and the sessions of its delegates.' } },
  errors: [404, 409],
  async handle({ param }, { host }) {
    await host.delete(param('session'));
    return answer(null, undefined, 204);
  },
});

const submit = route({
  ...{ method: 'POST', path: '/v1/sessions/{session}/turns', id: 'submit', summary: 'Answers an input with a turn' },
  headers: { 'Idempotency-Key': KEY },
  body: schemas.SUBMIT,
  answers: { 202: { description: 'It will be answered.', schema: schemas.ACCEPTED } },
  errors: [404, 409],
  async handle({ param, given, body }, { host }) {
    return json(await host.submit(param('session'), userInput(body.input), inputOptions(given, body)), 202);
  },
});

const steer = route({
  ...{
    method: 'POST',
    path: '/v1/sessions/{session}/steer',
    id: 'steer',
    summary: 'Says something to the turn that runs',
  },
  headers: { 'Idempotency-Key': KEY },
  body: schemas.STEER,
  answers: { 202: { description: 'It will be told, or answered by a turn of its own.', schema: schemas.ACCEPTED } },
  errors: [404, 409],
  async handle({ param, given, body }, { host }) {
    return json(await host.steer(param('session'), userInput(body.input), inputOptions(given, body)), 202);
  },
});

const interrupt = route({
  ...{ method: 'POST', path: '/v1/sessions/{session}/interrupt', id: 'interrupt', summary: 'Interrupts a turn' },
  body: schemas.INTERRUPT,
  answers: { 200: { description: 'Whether there was such a turn.', schema: schemas.INTERRUPTED } },
  errors: [404],
  async handle({ param, body }, { host }) {
    return json({ interrupted: await host.interrupt(param('session'), body) });
  },
});

const resume = route({
  ...{ method: 'POST', path: '/v1/sessions/{session}/resume', id: 'resume', summary: 'Takes up an unfinished turn' },
  body: schemas.RESUME,
  answers: { 202: { description: 'It goes on.', schema: schemas.RESUMED } },
  errors: [404, 409],
  handle: async ({ param }, { host }) => json({ turnId: await host.resume(param('session')) }, 202),
});

const setMode = route({
  ...{
    method: 'PUT',
    path: '/v1/sessions/{session}/mode',
    id: 'setMode',
    summary: 'Sets the mode from the next turn on',
  },
  body: schemas.MODE,
  answers: { 200: { description: 'It is set.', schema: schemas.MODE } },
  errors: [404],
  async handle({ param, body: { mode } }, { host }) {
    await host.setMode(param('session'), mode);
    return json({ mode });
  },
});

const answerGate = route({
  ...{ method: 'POST', path: '/v1/sessions/{session}/gates/{gate}', id: 'answerGate', summary: 'Answers a gate' },
  body: schemas.GATE_ANSWER,
  answers: { 204: { description: 'The answer is recorded.' } },
  errors: [404, 409],
  async handle({ param, body }, { host }) {
    await host.answer(param('session'), param('gate'), body as GateAnswer);
    return answer(null, undefined, 204);
  },
});

const getCapture = route({
  ...{ method: 'GET', path: '/v1/sessions/{session}/captures/{capture}', id: 'getCapture' },
  summary: 'A large result that was kept whole',
  answers: { 200: { description: 'Its text.', type: 'text/plain; charset=utf-8' } },
  errors: [404],
  async handle({ param }, { host }) {
    const bytes = await host.capture(param('session'), param('capture'));
    if (bytes !== undefined) return answer(new Uint8Array(bytes), 'text/plain; charset=utf-8');
    throw new HttpError(404, 'unknown_capture', 'the session keeps no result of this id');
  },
});

/** What the server can do with sessions, but for what stays open. */
export const SESSION_ROUTES: readonly Route[] = [
  ...[listLoops, listSessions, beginSession, findSession, deleteSession, submit, steer, interrupt, resume, setMode],
  ...[answerGate, getCapture],
];

function inputOptions(
  given: Readonly<Record<string, unknown>>,
  { limits }: Pick<schemas.SubmitBody, 'limits'>,
): HostSubmitOptions {
  const key = given['Idempotency-Key'];
  return { ...(typeof key === 'string' && { idempotencyKey: key }), ...(limits !== undefined && { limits }) };
}

/** The input as sessions take it: JSON has no URLs. */
function userInput(input: schemas.InputBody): UserInput {
  if (typeof input === 'string') return input;
  return input.map(part => {
    if (part.type === 'text' || part.data.type !== 'url') return part as Exclude<UserInput, string>[number];
    if (!/^https?:/i.test(part.data.url) || !URL.canParse(part.data.url)) {
      throw new HttpError(422, 'invalid_input', 'the "url" of a file must be a web address');
    }
    return { ...part, data: { type: 'url', url: new URL(part.data.url) } };
  });
}
