/** Figures for Prometheus, in its text format. Labels are words of a fixed list: no name, content or secret of a session is among them. */
import { isTerminal, type SessionEvent } from '../index.ts';

/** What a server counts. */
export interface ServerMetrics {
  /** For `observers` of the rig whose sessions are served: counts turns, steps and calls wherever they come from. */
  readonly observe: (event: SessionEvent) => void;
  /** @internal */
  requested(route: string, status: number): void;
  /** @internal */
  begun(): void;
  /** @internal */
  text(openStreams: number): string;
}

/**
 * Counts for `/metrics`. Give `observe` to the rig and the whole to the server, as its `metrics`; a server without it counts requests and
 * streams alone.
 */
export function serverMetrics(): ServerMetrics {
  return new Metrics();
}

interface RunningTurn {
  readonly sessionId: string;
  readonly openGates: Set<string>;
}

class Metrics implements ServerMetrics {
  readonly #requests = new Counter('route', 'status');
  readonly #turns = new Counter('outcome');
  readonly #calls = new Counter('outcome');
  readonly #errors = new Counter('kind');
  readonly #running = new Map<string, RunningTurn>();
  #sessions = 0;
  #steps = 0;
  #gates = 0;
  #isObserving = false;

  readonly observe = (event: SessionEvent): void => {
    this.#isObserving = true;
    switch (event.type) {
      case 'turn.started':
      case 'turn.resumed':
        this.#running.set(event.turnId, { sessionId: event.sessionId, openGates: new Set() });
        break;
      case 'turn.released':
        this.#running.delete(event.turnId); // another process goes on with it
        break;
      case 'gate.opened':
        this.#gates += 1;
        this.#running.get(event.turnId)?.openGates.add(event.gateId);
        break;
      case 'gate.resolved':
        this.#running.get(event.turnId)?.openGates.delete(event.gateId);
        break;
      case 'step.done':
        this.#steps += 1;
        break;
      case 'tool.completed':
        this.#calls.add(event.outcome);
        break;
      default:
        if (isTerminal(event)) this.#ended(event);
    }
  };

  #ended(event: Extract<SessionEvent, { type: 'turn.done' | 'turn.failed' | 'turn.interrupted' }>): void {
    this.#running.delete(event.turnId);
    this.#turns.add(event.type.slice('turn.'.length));
    if (event.type === 'turn.failed') this.#errors.add(event.error.kind);
  }

  requested(route: string, status: number): void {
    this.#requests.add(route, String(status));
  }

  begun(): void {
    this.#sessions += 1;
  }

  text(openStreams: number): string {
    const lines = [
      ...this.#requests.lines('looprig_http_requests_total', 'Requests that were answered.'),
      ...single('looprig_streams_open', 'gauge', 'Streams that are open.', openStreams),
      ...single('looprig_sessions_begun_total', 'counter', 'Sessions that were begun here.', this.#sessions),
      ...(this.#isObserving ? this.#turnLines() : []),
    ];
    return `${lines.join('\n')}\n`;
  }

  #turnLines(): readonly string[] {
    const turns = [...this.#running.values()];
    const waiting = turns.filter(({ openGates }) => openGates.size > 0).length;
    const sessions = new Set(turns.map(({ sessionId }) => sessionId)).size;
    return [
      ...single('looprig_sessions_active', 'gauge', 'Sessions with a turn under way.', sessions),
      ...single('looprig_turns_running', 'gauge', 'Turns under way that wait for nobody.', turns.length - waiting),
      ...single('looprig_turns_waiting', 'gauge', 'Turns under way that wait for a person.', waiting),
      ...this.#turns.lines('looprig_turns_total', 'Turns that ended, by how.'),
      ...single('looprig_steps_total', 'counter', 'Responses of models that were taken.', this.#steps),
      ...this.#calls.lines('looprig_calls_total', 'Calls of tools that were answered, by how.'),
      ...single('looprig_gates_opened_total', 'counter', 'Questions to a person.', this.#gates),
      ...this.#errors.lines('looprig_errors_total', 'Turns that failed, by why.'),
    ];
  }
}

/** A count for each combination of values that came. */
class Counter {
  readonly #names: readonly string[];
  readonly #counts = new Map<string, number>();

  constructor(...names: readonly string[]) {
    this.#names = names;
  }

  add(...values: readonly string[]): void {
    const labels = this.#names.map((name, index) => `${name}="${escaped(values[index] ?? '')}"`).join(',');
    this.#counts.set(labels, (this.#counts.get(labels) ?? 0) + 1);
  }

  lines(name: string, help: string): readonly string[] {
    const counts = [...this.#counts].sort(([one], [other]) => (one < other ? -1 : 1));
    return [...heading(name, 'counter', help), ...counts.map(([labels, count]) => `${name}{${labels}} ${count}`)];
  }
}

function single(name: string, type: 'gauge' | 'counter', help: string, value: number): readonly string[] {
  return [...heading(name, type, help), `${name} ${value}`];
}

function heading(name: string, type: 'gauge' | 'counter', help: string): readonly string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
