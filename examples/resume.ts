// A process is killed in the middle of a call. Another one takes the turn up: what is known is used, what is unknown is said.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineLoop, defineRig, defineTool, type ToolDefinition } from 'looprig';
import { sqliteStore } from 'looprig/sqlite';
import { scriptedModel } from 'looprig/testing';

function step(name: string, act: () => void): ToolDefinition {
  const input = { type: 'object', properties: {} } as const;
  const execute = (): string => {
    act();
    return 'done';
  };
  // One at a time, in call order. None is `idempotent`: what may have happened is not done again.
  return defineTool({ name, description: `Does this: ${name}.`, input, sequential: true, execute });
}

async function oneProcess(name: string, file: string): Promise<void> {
  const log = (text: string) => console.log(`${name} process: ${text}`);
  const reserve = step('reserve', () => log('reserves a seat'));
  const pay = step('pay', () => {
    log('pays, and is killed before it can say so');
    process.kill(process.pid, 'SIGKILL');
  });
  const write = step('write', () => log('writes to the guest'));
  const calls = [{ tool: 'reserve' }, { tool: 'pay' }, { tool: 'write' }];
  const model = scriptedModel(name === 'first' ? [{ calls }] : [{ text: 'Please look whether the payment arrived.' }]);

  const store = sqliteStore({ file });
  const rig = defineRig({ loops: [defineLoop({ name: 'clerk', model, tools: [reserve, pay, write] })], store });
  const [known] = await rig.sessions();
  if (known === undefined) {
    const session = await rig.open();
    await session.run('Book a seat.'); // it never comes to an end here
    return;
  }
  const session = await rig.open({ sessionId: known.sessionId, resume: 'auto' }); // or later: session.resume()
  const result = await session.turn?.result;
  for (const part of session.history.flatMap(({ content }) => [...content])) {
    if (typeof part === 'object' && part.type === 'tool-result' && part.output.type.endsWith('text')) {
      log(`the model was told of "${part.toolName}": ${'value' in part.output ? part.output.value : ''}`);
    }
  }
  log(`the turn is ${result?.status}: ${result?.text}`);
  await session.close();
  await store.close();
}

const [, , name, file] = process.argv;
if (name !== undefined && file !== undefined) await oneProcess(name, file);
else {
  const folder = mkdtempSync(join(tmpdir(), 'looprig-'));
  for (const child of ['first', 'second']) {
    spawnSync(process.execPath, [import.meta.filename, child, join(folder, 'sessions.db')], { stdio: 'inherit' });
  }
  rmSync(folder, { recursive: true });
}
