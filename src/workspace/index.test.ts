import { mkdtemp, readFile as readText, realpath, rm, symlink, writeFile as writeText } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DefinitionError, defineLoop, defineRig, type GateOptions } from 'looprig';
import { type ScriptedCall, scriptedModel } from 'looprig/testing';
import { editFile, listFiles, readFile, runCommand, searchText, workspaceTools, writeFile } from 'looprig/workspace';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const names = (options?: Parameters<typeof workspaceTools>[0]): string[] =>
  workspaceTools(options).map(tool => tool.name);

describe('workspaceTools', () => {
  it('gives the six tools, which are the single definitions, in a frozen list', () => {
    const tools = workspaceTools();
    expect(tools).toEqual([listFiles, readFile, searchText, writeFile, editFile, runCommand]);
    expect(tools.every((tool, index) => tool === workspaceTools()[index])).toBe(true);
    expect(names()).toEqual(['list_files', 'read_file', 'search_text', 'write_file', 'edit_file', 'run_command']);
    expect(Object.isFrozen(tools)).toBe(true);
    expect(tools.every(tool => tool.requires.join() === 'workspace')).toBe(true);
  });

  it('gives fewer when asked', () => {
    expect(names({ runCommand: false })).toHaveLength(5);
    expect(names({ readOnly: true })).toEqual(['list_files', 'read_file', 'search_text']);
    expect(names({ runCommand: { shell: true } })).toHaveLength(6);
  });

  it.each([
    [{ runComand: true }, 'workspaceTools has no option "runComand": it takes readOnly, runCommand'],
    [{ maxFileBytes: 0 }, 'maxFileBytes must be a whole number from 1 to 2147483647, not 0'],
    [{ maxFileBytes: '10' }, 'maxFileBytes must be a whole number'],
    [{ readOnly: 'yes' }, 'readOnly must be true or false, not "yes"'],
    [{ readOnly: true, runCommand: true }, 'it cannot go with readOnly'],
    [{ runCommand: 1 }, 'runCommand must be given as an object, not 1'],
    [{ runCommand: { timeoutMs: -1 } }, 'runCommand.timeoutMs must be a whole number'],
    [{ runCommand: { outputBytes: 1.5 } }, 'runCommand.outputBytes must be a whole number from 256'],
    [{ runCommand: { shell: 'bash' } }, 'runCommand.shell must be true or false'],
    [{ runCommand: { inheritEnvironment: 'PATH' } }, 'must be a list of variable names'],
    [{ runCommand: { environment: { KEY: 5 } } }, 'runCommand.environment.KEY must be a string, not number'],
    [null, 'workspaceTools must be given as an object, not null'],
  ])('refuses %j in one sentence', (options, message) => {
    const attempt = () => workspaceTools(options as never);
    expect(attempt).toThrow(message);
    expect(attempt).toThrow(DefinitionError);
  });
});

describe('the tools in a loop', () => {
  let root: string;
  beforeEach(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), 'looprig-loop-')));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  async function results(calls: readonly ScriptedCall[], gate?: GateOptions): Promise<string[]> {
    const model = scriptedModel([{ calls: [...calls] }, { text: 'done' }]);
    const loop = defineLoop({ name: 'worker', model, tools: [...workspaceTools()] });
    const rig = defineRig({ loops: [loop], workspace: root, ...(gate === undefined ? {} : { gate }) });
    const session = await rig.open();
    await session.run('go');
    await session.close();
    const [, request] = model.requests;
    return (request?.prompt ?? []).flatMap(message =>
      message.role === 'tool'
        ? message.content.flatMap(part =>
            part.type === 'tool-result' && 'value' in part.output ? [String(part.output.value)] : [],
          )
        : [],
    );
  }

  const open: GateOptions = { rules: [{ action: '*', decision: 'allow' }] };

  it('edits of one file in one batch are made one after the other, however the file is named', async () => {
    await writeText(join(root, 'a.txt'), '0');
    await symlink('.', join(root, 'here'));
    const edit = (path: string, from: number): ScriptedCall => ({
      tool: 'edit_file',
      input: { path, old_text: String(from), new_text: String(from + 1) },
    });
    const paths = ['a.txt', './a.txt', 'here/a.txt', join(root, 'a.txt')];
    const texts = await results([...paths.map(edit), { tool: 'read_file', input: { path: 'here/here/a.txt' } }], open);
    expect(texts.slice(0, 4)).toEqual(paths.map(() => 'edited a.txt at line 1: 1 line replaced by 1'));
    expect(texts[4]).toBe('a.txt (1 line)\n4');
    expect(await readText(join(root, 'a.txt'), 'utf8')).toBe('4');
  });

  it('reading needs no permission, and the others do nothing without it', async () => {
    await writeText(join(root, 'a.txt'), 'text');
    const texts = await results(
      [
        { tool: 'list_files', input: {} },
        { tool: 'read_file', input: { path: 'a.txt' } },
        { tool: 'search_text', input: { query: 'text' } },
        { tool: 'write_file', input: { path: 'b.txt', content: 'x' } },
        { tool: 'edit_file', input: { path: 'a.txt', old_text: 'text', new_text: 'x' } },
        { tool: 'run_command', input: { command: ['rm', 'a.txt'] } },
      ],
      { rules: [{ action: '*', decision: 'deny' }] },
    );
    expect(texts.slice(0, 3)).toEqual([
      'a.txt\n\n[1 file]',
      'a.txt (1 line)\ntext',
      'a.txt:1: text\n\n[1 match in 1 file of 1 file searched]',
    ]);
    for (const text of texts.slice(3)) expect(text).toContain('permission denied');
    expect(await readText(join(root, 'a.txt'), 'utf8')).toBe('text');
  });

  it('a rule lets through what it names and no more', async () => {
    const rules: GateOptions = { rules: [{ action: 'fs.write', target: 'src/*', decision: 'allow' }] };
    const write = (path: string): ScriptedCall => ({ tool: 'write_file', input: { path, content: 'x' } });
    const texts = await results([write('src/a.ts'), write('b.ts'), write('src/../c.ts')], rules);
    expect(texts[0]).toContain('created src/a.ts');
    expect(texts[1]).toContain('denied');
    expect(texts[2]).toContain('denied');
  });
});
