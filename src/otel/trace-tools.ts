/** A middleware that runs tools inside of their spans. */
import { context } from '@opentelemetry/api';
import type { ToolMiddleware } from '../define/middleware.ts';
import { DefinitionError } from '../errors.ts';
import { show } from '../show.ts';
import { contextOfCall, isTelemetryObserver, type TelemetryObserver } from './observer.ts';

/**
 * A middleware that makes the span of a call the active one while its tool runs, so that spans which the tool starts are its children. It works
 * where the program has a context manager, as the SDKs for Node set one. Put it last, so that it is nearest to the tool, with the observer of the rig
 * that the loop runs in; of a call that the observer does not know the tool just runs. Throws `DefinitionError` `invalid_middleware`.
 *
 * @example
 * ```ts
 * import { defineLoop, defineRig } from 'looprig';
 * import { openTelemetry, traceTools } from 'looprig/otel';
 * import { scriptedModel, scriptedTool } from 'looprig/testing';
 *
 * const search = scriptedTool('search', { returns: 'nothing' });
 * const model = scriptedModel([{ calls: [{ tool: 'search' }] }, { text: 'Nothing.' }]);
 * const agent = defineLoop({ name: 'agent', model, tools: [search.definition] });
 * const telemetry = openTelemetry({ loop: agent });
 * const traced = agent.extend({ middlewares: [traceTools(telemetry)] });
 * await using session = await defineRig({ loops: [traced], observers: [telemetry] }).open();
 * await session.run('Search.');
 * ```
 */
export function traceTools(telemetry: TelemetryObserver): ToolMiddleware {
  if (!isTelemetryObserver(telemetry)) {
    const message = `traceTools needs the observer that openTelemetry gave, not ${show(telemetry)}`;
    throw new DefinitionError('invalid_middleware', { field: 'telemetry', message, value: telemetry });
  }
  return (call, next) => {
    const ofCall = contextOfCall(telemetry, call.turnId, call.callId);
    return ofCall === undefined ? next() : context.with(ofCall, () => next());
  };
}
