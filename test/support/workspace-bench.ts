/** A folder of files with the workspace tools over it, run one call at a time without a loop around them. */
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { defineLoop, isToolResult, type LiveTool, type ToolCall, type ToolDefinition } from 'looprig';
import { scriptedModel } from 'looprig/testing';
import { workspaceTools } from 'looprig/workspace';
import { openWorkspace } from '../../src/session/workspace.ts';

/** What a call gave, as the model would read it. */
interface BenchResult {
  readonly text: string;
  readonly isError: boolean;
}

export interface WorkspaceBench {
  /** The folder that holds the workspace, and that the workspace's tools must not reach. */
  readonly base: string;
  readonly root: string;
  /** Runs a call whose input is checked first. A tool that throws gives its message as an error. */
  run(tool: string, input: object, options?: { readonly signal?: AbortSignal }): Promise<BenchResult>;
  live(tool: string): LiveTool<unknown>;
  /** The text of a file of the workspace. */
  text(path: string): Promise<string>;
  remove(): Promise<void>;
}

/** Makes a workspace of these files: the path of each within the workspace, and its content. */
export async function workspaceBench(
  files: Readonly<Record<string, string | Uint8Array>> = {},
  tools: readonly ToolDefinition[] = workspaceTools(),
): Promise<WorkspaceBench> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'looprig-tools-')));
  const root = join(base, 'root');
  await mkdir(root);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  const owner = { sessionId: 'session', loopId: 'loop' };
  const loop = defineLoop({ name: 'bench', model: scriptedModel([]), tools: [...tools] });
  const bound = await loop.bind({ ...owner, workspace: await openWorkspace(root) });
  const find = (name: string) => {
    const tool = bound.initialMode.tool(name);
    if (tool === undefined) throw new Error(`there is no tool ${name}`);
    return tool;
  };
  return {
    base,
    root,
    async run(name, input, { signal = new AbortController().signal } = {}) {
      const tool = find(name);
      const checked = await tool.validate(structuredClone(input));
      if (checked.issues !== undefined) return { text: `invalid: ${JSON.stringify(checked.issues)}`, isError: true };
      const budget = { iterationsLeft: 1, callsLeft: 1, tokensLeft: 1 };
      const ids = { ...owner, turnId: 'turn', stepId: 'step', callId: 'call', toolName: name };
      const call: ToolCall = { ...ids, signal, budget, progress: () => undefined };
      try {
        const returned = await tool.execute(checked.value, call);
        if (!isToolResult(returned)) return { text: String(returned), isError: false };
        const text = returned.content.map(part => (part.type === 'text' ? part.text : `(${part.type})`)).join('');
        return { text, isError: returned.isError };
      } catch (error) {
        return { text: error instanceof Error ? error.message : String(error), isError: true };
      }
    },
    live: name => find(name).live,
    text: path => readFile(join(root, path), 'utf8'),
    async remove() {
      await bound[Symbol.asyncDispose]();
      await rm(base, { recursive: true, force: true });
    },
  };
}
