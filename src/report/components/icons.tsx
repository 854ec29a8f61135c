/** What a state looks like: a shape and a word for each, so that nobody depends on its colour. */
import type { VNode } from 'preact';
import type { CallView } from '../model/view.ts';

/** How something stands, for its looks. */
export type Look = 'running' | 'waiting' | 'person' | 'done' | 'failed' | 'stopped' | 'new';

const SHAPES: Readonly<Record<Look, VNode>> = Object.freeze({
  running: <path d="M4 2.6v10.8L13.2 8z" />,
  waiting: <path d="M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8m-.9 2.6h1.6v3.3l2.4 1.5-.8 1.4-3.2-2z" />,
  person: <path d="M8 1 15 8l-7 7-7-7zM7.2 4.4l.2 4.2h1.2l.2-4.2zm0 5.4v1.5h1.6V9.8z" fill-rule="evenodd" />,
  done: <path d="m6.3 13.2-4.8-4.8 1.8-1.8 3 3 6.4-6.6 1.8 1.8z" />,
  failed: <path d="m3.9 2.1 4.1 4.1 4.1-4.1 1.8 1.8L9.8 8l4.1 4.1-1.8 1.8L8 9.8l-4.1 4.1-1.8-1.8L6.2 8 2.1 3.9z" />,
  stopped: <path d="M3 3h10v10H3z" />,
  new: <path d="M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2m0 2a4 4 0 1 1 0 8 4 4 0 0 1 0-8" fill-rule="evenodd" />,
});

/** The shape of a state. It is silent: its word stands beside it. */
export function Icon({ look }: { readonly look: Look }): VNode {
  return (
    <svg class={`icon look-${look}`} viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      {SHAPES[look]}
    </svg>
  );
}

/** How a call stands, for its looks. */
export function lookOf({ outcome, gate, startedAt }: CallView): Look {
  switch (outcome) {
    case 'done':
      return 'done';
    case 'failed':
    case 'refused':
    case 'timed_out':
      return 'failed';
    case 'denied':
    case 'interrupted':
    case 'not_run':
      return 'stopped';
    default:
      if (gate !== undefined && gate.resolvedAt === undefined) return 'person';
      return startedAt === undefined ? 'waiting' : 'running';
  }
}

/** The looks of the states of turns and sessions. */
export const STATE_LOOKS: Readonly<Record<string, Look>> = Object.freeze({
  ...{ new: 'new', running: 'running', waiting: 'person', damaged: 'failed' },
  ...{ done: 'done', failed: 'failed', interrupted: 'stopped' },
} as const);

/** The patterns that timelines are filled with: once a document. */
export function Patterns(): VNode {
  return (
    <svg class="patterns" width="0" height="0" aria-hidden="true" focusable="false">
      <defs>
        <pattern id="wait-call" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect class="pattern-ground" width="6" height="6" />
          <rect class="pattern-line" width="2" height="6" />
        </pattern>
        <pattern id="wait-slot" width="5" height="5" patternUnits="userSpaceOnUse">
          <rect class="pattern-ground" width="5" height="5" />
          <circle class="pattern-line" cx="2.5" cy="2.5" r="1" />
        </pattern>
        <pattern id="wait-person" width="4" height="4" patternUnits="userSpaceOnUse">
          <rect class="pattern-person-ground" width="4" height="4" />
          <rect class="pattern-person-line" width="1.5" height="4" />
        </pattern>
      </defs>
    </svg>
  );
}
