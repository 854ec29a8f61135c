/** A gate in words: what a call wants, so that a person can decide. Nothing of it is left out, and nothing in it can hide the rest. */
import type { PendingGate } from '../index.ts';
import { toolLabel } from './call-text.ts';
import { neutralise, oneLine } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';

/** The lines of a question: the tool and what it is about, then each thing that the call wants. */
export function gateLines({ toolName, summary, requests }: PendingGate, secrets: SecretFilter): readonly string[] {
  const about = summary ?? requests[0]?.description ?? 'asks for permission';
  return [
    `? ${toolLabel(toolName, secrets)}: ${oneLine(about, secrets)}`,
    ...requests.map(({ action, target, description }) => {
      const said = description === undefined || description === about ? '' : ` (${oneLine(description, secrets)})`;
      return `  ${exactly(action, secrets)}: ${exactly(target, secrets)}${said}`;
    }),
  ];
}

/** What a gate asks, in one line. */
export function gateLine(gate: PendingGate, secrets: SecretFilter): string {
  const { toolName, requests } = gate;
  const wants = requests.map(({ action, target }) => `${exactly(action, secrets)}: ${exactly(target, secrets)}`);
  return `${toolLabel(toolName, secrets)} wants ${wants.join(', ')}`;
}

/** The arguments of a call, whole, in lines. */
export function inputLines(input: unknown, secrets: SecretFilter): readonly string[] {
  const text = JSON.stringify(input, null, 2) ?? 'nothing';
  return neutralise(secrets.clean(text))
    .split('\n')
    .map(line => `  ${line}`);
}

/** Text in one line, with each line end and tab to be seen. */
function exactly(text: string, secrets: SecretFilter): string {
  return neutralise(secrets.clean(text)).replaceAll('\n', '\u240a').replaceAll('\t', '\u2409');
}
