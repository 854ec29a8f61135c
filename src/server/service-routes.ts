/** Routes about the server itself: whether it is well, what it has counted, what it can do. */
import { answer, json } from './answers.ts';
import { type Route, route } from './route.ts';
import { STATUS } from './schemas.ts';

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** What whoever runs a server asks of it. */
export const SERVICE_ROUTES: readonly Route[] = [
  route({
    ...{ method: 'GET', path: '/healthz', id: 'isAlive', summary: 'Whether the server lives', isOpen: true },
    answers: { 200: { description: 'It does.', schema: STATUS } },
    errors: [],
    handle: () => json({ status: 'ok' }),
  }),
  route({
    ...{ method: 'GET', path: '/readyz', id: 'isReady', summary: 'Whether the server takes requests', isOpen: true },
    answers: {
      200: { description: 'It does.', schema: STATUS },
      503: { description: 'It ends, or its store does not answer.', schema: STATUS },
    },
    errors: [],
    async handle(_call, { host, options, isClosing }) {
      if (isClosing()) return json({ status: 'unavailable' }, 503);
      try {
        await host.list({ limit: 1 });
        return json({ status: 'ok' });
      } catch (error) {
        options.onError(error);
        return json({ status: 'unavailable' }, 503);
      }
    },
  }),
  route({
    ...{ method: 'GET', path: '/metrics', id: 'readMetrics', summary: 'Figures for Prometheus' },
    answers: { 200: { description: 'Figures in its text format.', type: METRICS_TYPE } },
    errors: [],
    handle: (_call, { metrics, streams }) => answer(metrics.text(streams.size), METRICS_TYPE),
  }),
  route({
    ...{ method: 'GET', path: '/openapi.json', id: 'describe', summary: 'This description' },
    answers: { 200: { description: 'An OpenAPI document, version 3.1.', schema: { type: 'object' } } },
    errors: [],
    handle: (_call, { describe }) => json(describe()),
  }),
];
