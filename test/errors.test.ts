/** docs/errors.md is complete: every class that an entry point exports, every kind of it, and no other. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type {
  BindErrorKind,
  DefinitionErrorKind,
  GateError,
  JournalErrorKind,
  ModelErrorKind,
  SessionErrorKind,
  WorkspaceError,
} from 'looprig';
import { LooprigError } from 'looprig';
import type { EngineErrorKind } from 'looprig/engines';
import type { McpErrorKind } from 'looprig/mcp';
import type { ServerErrorKind } from 'looprig/server';
import { expect, it } from 'vitest';

/** All kinds of a class. One that is missing here, or too many, does not compile. */
type Kinds<Kind extends string> = Readonly<Record<Kind, true>>;

const BIND: Kinds<BindErrorKind> = {
  aborted: true,
  invalid_session_id: true,
  invalid_loop_id: true,
  invalid_definition: true,
  missing_binding: true,
  duplicate_definition_name: true,
  left_behind: true,
  factory_failed: true,
  invalid_tool: true,
  invalid_tool_info: true,
  produced_names_mismatch: true,
  duplicate_tool_name: true,
};
const DEFINITION: Kinds<DefinitionErrorKind> = {
  missing_name: true,
  invalid_model: true,
  invalid_tool: true,
  reserved_tool_name: true,
  invalid_tool_name: true,
  invalid_tool_schema: true,
  invalid_tool_limits: true,
  invalid_middleware: true,
  invalid_mode: true,
  missing_initial_mode: true,
  invalid_initial_mode: true,
  invalid_output_schema: true,
  invalid_option: true,
};
const GATE: Kinds<GateError['kind']> = { unknown_gate: true, closed_gate: true, invalid_answer: true };
const JOURNAL: Kinds<JournalErrorKind> = {
  missing_package: true,
  store_failed: true,
  conflict: true,
  damaged: true,
  foreign_file: true,
  newer_format: true,
  closed: true,
  deleted: true,
  invalid_place: true,
  released: true,
};
const MCP: Kinds<McpErrorKind> = {
  missing_package: true,
  not_connected: true,
  not_listed: true,
  unusable_tools: true,
};
const MODEL: Kinds<ModelErrorKind> = {
  request_failed: true,
  stream_broken: true,
  empty_response: true,
  provider_error: true,
};
const ENGINE: Kinds<EngineErrorKind> = { missing_package: true, unavailable: true, not_listening: true };
const SERVER: Kinds<ServerErrorKind> = { missing_package: true, invalid_option: true, not_listening: true };
const SESSION: Kinds<SessionErrorKind> = {
  busy: true,
  closed: true,
  released: true,
  unknown_mode: true,
  unknown_loop: true,
  unknown_session: true,
  invalid_input: true,
  invalid_option: true,
  nothing_to_continue: true,
  nothing_to_resume: true,
  idempotency_key_reused: true,
  drift: true,
};
const WORKSPACE: Kinds<WorkspaceError['kind']> = {
  outside_workspace: true,
  invalid_path: true,
  invalid_root: true,
  not_found: true,
};

/** Classes with a section of their own, and the kinds that its table must have. */
const SECTIONS: Readonly<Record<string, Readonly<Record<string, true>>>> = {
  BindError: BIND,
  DefinitionError: DEFINITION,
  EngineError: ENGINE,
  GateError: GATE,
  HistoryError: { invalid_history: true },
  JournalError: JOURNAL,
  McpError: MCP,
  ModelError: MODEL,
  OutputError: { invalid_output: true },
  ServerError: SERVER,
  SessionError: SESSION,
  ToolLimitError: { tool_limit: true },
  ToolOwnershipError: { tool_ownership: true },
  TurnInterruptedError: { interrupted: true },
  TurnTimeoutError: { turn_timeout: true },
  WorkspaceError: WORKSPACE,
};

/** Classes that are told in the section of the class that they are derived from. */
const TOLD_WITH: Readonly<Record<string, string>> = {
  JournalConflictError: 'JournalError',
  JournalDamagedError: 'JournalError',
  SessionBusyError: 'SessionError',
};

const read = (path: string): string => readFileSync(join(import.meta.dirname, '..', path), 'utf8');
const page = read('docs/errors.md');
const sections = new Map(
  page.split(/^## /m).map(section => [section.slice(0, section.indexOf('\n')), section] as const),
);

/** The names of all classes of errors that an entry point of the package exports. */
async function exportedErrors(): Promise<string[]> {
  const { exports } = JSON.parse(read('package.json')) as { readonly exports: Readonly<Record<string, unknown>> };
  const entries = Object.keys(exports).filter(entry => !entry.endsWith('.json'));
  const names = new Set<string>();
  for (const entry of entries) {
    const exported: Readonly<Record<string, unknown>> = await import(entry.replace('.', 'looprig'));
    for (const [name, value] of Object.entries(exported)) {
      if (typeof value === 'function' && value.prototype instanceof LooprigError) names.add(name);
    }
  }
  return [...names];
}

it('has a section for every class of errors that is exported, or names it in that of its base', async () => {
  const exported = await exportedErrors();
  expect(exported.sort()).toEqual([...Object.keys(SECTIONS), ...Object.keys(TOLD_WITH)].sort());
  for (const [name, base] of Object.entries(TOLD_WITH)) expect(sections.get(base)).toContain(`\`${name}\``);
});

it.each(Object.entries(SECTIONS))('says of every kind of %s what happened and what to do', (name, kinds) => {
  const rows = [...(sections.get(name) ?? '').matchAll(/^\| `(\w+)` \| (\S.*) \| (\S.*) \|$/gm)];
  expect(rows.map(([, kind]) => kind).sort()).toEqual(Object.keys(kinds).sort());
});
