/** Plays a recording as turns of a session: the real provider package asks a replay server, and stand-ins answer the calls. */
import {
  type BehaviourOptions,
  defineLoop,
  defineRig,
  type ModelSettings,
  type Session,
  type ToolDefinition,
  type ToolLimits,
  type Turn,
  type TurnEvent,
  type TurnResult,
} from 'looprig';
import { type ManualClock, manualClock, type Recording, standInTools } from 'looprig/testing';
import { createModel, type Generation } from './packages.ts';
import { recordedSettings } from './requests.ts';

/** What to play, and how. */
export interface PlayOptions extends BehaviourOptions {
  readonly recording: Recording;
  /** Where the recording is played: `urlFor(recording.name)` of a replay server. */
  readonly url: string;
  readonly generation: Generation;
  /** Default: a stand-in for each tool that the recording calls. */
  readonly tools?: readonly ToolDefinition[];
  readonly limits?: ToolLimits;
  /** Default: what the recorded requests ask of the provider and its answers depend on. */
  readonly settings?: ModelSettings;
  /** Default: one that stands still, but for the waits before retries. */
  readonly clock?: ManualClock;
}

/** A turn that has ended. */
export interface PlayedTurn {
  readonly events: readonly TurnEvent[];
  readonly result: TurnResult;
}

/** A session that plays a recording, turn by turn. */
export interface PlayingSession extends AsyncDisposable {
  readonly session: Session;
  readonly clock: ManualClock;
  /** Reads a turn to its end, and lets the time pass that it waits before retries. */
  finish(turn: Turn): Promise<PlayedTurn>;
}

/** Opens a session whose model is the recording's. No turn runs yet. */
export async function openRecording(options: PlayOptions): Promise<PlayingSession> {
  const { recording, url, generation, clock = manualClock(), ...rest } = options;
  const loop = defineLoop({
    name: 'replay',
    model: await createModel(recording, generation, url),
    tools: standInTools(recording),
    stream: recording.exchanges.some(({ response }) => response.sse !== undefined),
    settings: recordedSettings(recording),
    ...rest,
  });
  const session = await defineRig({ loops: [loop], clock }).open();
  return {
    session,
    clock,
    finish: turn => finish(turn, clock),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

async function finish(turn: Turn, clock: ManualClock): Promise<PlayedTurn> {
  const events: TurnEvent[] = [];
  let hasEnded = false;
  void turn.result.then(() => {
    hasEnded = true;
  });
  for await (const event of turn) {
    events.push(event);
    if (event.type !== 'step.retrying') continue;
    // The event is shown before the wait begins, which an end of the turn may forestall.
    while (clock.pending === 0 && !hasEnded) await new Promise(setImmediate);
    await clock.advance(event.delayMs);
  }
  return { events, result: await turn.result };
}
