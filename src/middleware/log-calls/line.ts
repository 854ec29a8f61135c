import type { CallLog } from './index.ts';

/** The longest text of arguments in a line; the record has all of them. */
const LONGEST_ARGUMENTS = 500;

/** A record as one line of text, safe for a terminal and a log file: call ids and arguments come from the model. */
export function lineOf(record: CallLog): string {
  const { toolName, callId, sessionId } = record;
  const where = `${word(toolName)} ${word(callId)} (session ${word(sessionId)})`;
  if (record.type === 'ended') return `${where} ${record.outcome} after ${record.durationMs} ms`;
  return `${where} started${argumentsText(record.arguments)}`;
}

function argumentsText(given: unknown): string {
  if (given === undefined) return '';
  const text = printable(JSON.stringify(given) ?? '');
  return ` with ${text.length > LONGEST_ARGUMENTS ? `${text.slice(0, LONGEST_ARGUMENTS)}…` : text}`;
}

/** A name or an id: as it is if it is plain, else quoted. */
function word(text: string): string {
  return /^[\w.:-]{1,200}$/.test(text) ? text : printable(JSON.stringify(text.slice(0, 200)));
}

/** JSON text escapes the older control characters; these also move cursors or break lines. */
function printable(json: string): string {
  return json.replace(/[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, character => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
