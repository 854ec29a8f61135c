/**
 * Every name that telemetry is given under. Those that begin with `gen_ai` or `error` are of the GenAI semantic conventions; where these have
 * no word for something, it is under `looprig`. `docs/telemetry.md` has a table of each record here, and a test compares them.
 */

/** What an operation is called, and its span before the name of what it is about. */
export const OPERATIONS = { turn: 'invoke_agent', step: 'chat', call: 'execute_tool' } as const;

/** Attributes of spans, of span events and of metrics. */
export const ATTRIBUTES = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  model: 'gen_ai.request.model',
  agent: 'gen_ai.agent.name',
  agentDescription: 'gen_ai.agent.description',
  conversation: 'gen_ai.conversation.id',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedTokens: 'gen_ai.usage.cache_read.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  tokenType: 'gen_ai.token.type',
  tool: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  callId: 'gen_ai.tool.call.id',
  arguments: 'gen_ai.tool.call.arguments',
  result: 'gen_ai.tool.call.result',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  error: 'error.type',
  loopId: 'looprig.loop.id',
  turnId: 'looprig.turn.id',
  mode: 'looprig.turn.mode',
  resumed: 'looprig.turn.resumed',
  turnOutcome: 'looprig.turn.outcome',
  steps: 'looprig.turn.steps',
  iterations: 'looprig.turn.iterations',
  calls: 'looprig.turn.calls',
  leftBehind: 'looprig.turn.left_behind',
  maxIterations: 'looprig.limit.iterations',
  maxCalls: 'looprig.limit.calls',
  maxParallel: 'looprig.limit.parallel',
  maxTokens: 'looprig.limit.tokens',
  turnTimeout: 'looprig.limit.turn_timeout_ms',
  limitReached: 'looprig.limit.reached',
  limit: 'looprig.limit.name',
  limitUsed: 'looprig.limit.used',
  limitMax: 'looprig.limit.max',
  step: 'looprig.step',
  retries: 'looprig.step.retries',
  attempt: 'looprig.retry.attempt',
  delay: 'looprig.retry.delay_ms',
  callOutcome: 'looprig.call.outcome',
  gateId: 'looprig.gate.id',
  actions: 'looprig.gate.actions',
  decision: 'looprig.gate.decision',
  edited: 'looprig.gate.edited',
  reason: 'looprig.reason',
} as const;

/** Events of spans. */
export const SPAN_EVENTS = {
  retry: 'looprig.retry',
  gateOpened: 'looprig.gate.opened',
  gateResolved: 'looprig.gate.resolved',
  limitNear: 'looprig.limit.near',
  callNotRun: 'looprig.call.not_run',
} as const;

/** Metrics. */
export const METRICS = {
  duration: 'gen_ai.client.operation.duration',
  tokens: 'gen_ai.client.token.usage',
  calls: 'looprig.tool.calls',
  limits: 'looprig.limits.reached',
  retries: 'looprig.model.retries',
} as const;

/** What `error.type` says beside the `kind` of the error of a turn that failed, and the outcome of a call that did. */
export const ERRORS = { interrupted: 'interrupted', abandoned: 'abandoned', unknown: 'unknown' } as const;
