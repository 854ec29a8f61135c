/** `looprig/testing`: what looprig's own tests are written with. Needs no test runner. */

// Looking at a turn and at a history.
export type { Collectable } from './collect.ts';
export { collect } from './collect.ts';
// Engines: the tests that every engine must pass, and the loops that their workers run.
export type {
  EngineKit,
  EngineKitCase,
  EngineKitFigure,
  EngineKitLab,
  EngineKitOptions,
  EngineKitServer,
  EngineKitWorker,
} from './engine-kit.ts';
export { engineKit } from './engine-kit.ts';
export { engineKitLoops } from './engine-kit-loop.ts';
// Stores: one that fails when a test tells it to, and the tests that every store must pass.
export type { FaultyStore, PlannedAppend, StoreFault, StoreFaultPlan } from './faulty-store.ts';
export { faultyStore } from './faulty-store.ts';
export type { JournalStoreCase, JournalStoreKitOptions } from './journal-store-kit.ts';
export { journalStoreKit } from './journal-store-kit.ts';
export type { DamageStore, StoreDamage } from './journal-store-kit-damage.ts';
export type { Reopen } from './journal-store-kit-reopen.ts';
// Time that a test moves.
export type { ManualClock } from './manual-clock.ts';
export { manualClock } from './manual-clock.ts';
export { assertPaired } from './paired.ts';
export type { RecordedCall, RecordedTools } from './recorded-tools.ts';
export { recordedTools, standInTools } from './recorded-tools.ts';
export type { RecordedExchange, RecordedResponse, Recording } from './recording.ts';
export type { ReplayModel, ReplayModelOptions, ReplaySplit } from './replay-model.ts';
export { replayModel } from './replay-model.ts';
// Models: one that says what a test tells it to, and one that plays recorded exchanges through the real provider package.
export type {
  ForeverStep,
  ModelSpecification,
  ScriptedModel,
  ScriptedModelOptions,
  ScriptedModelRecord,
  ScriptedStep,
} from './scripted-model.ts';
export { forever, ScriptExhaustedError, scriptedModel } from './scripted-model.ts';
export type { ScriptedCall, ScriptedReply, ScriptedUsage } from './scripted-reply.ts';
// Tools: one that does what a test tells it to, and those of a recording.
export type {
  ScriptedExecute,
  ScriptedInput,
  ScriptedRun,
  ScriptedTool,
  ScriptedToolOptions,
} from './scripted-tool.ts';
export { scriptedTool } from './scripted-tool.ts';
