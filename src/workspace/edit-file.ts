import type { Workspace } from '../define/bindings.ts';
import { defineTool, type ToolDefinition } from '../define/tool.ts';
import { isBinary, openFile, replaceFile, type Standing } from './files.ts';
import { counted, countLines, shownPath } from './text.ts';
import { requireWritable } from './write-file.ts';

/** The places of more matches than this are not listed. */
const MOST_PLACES = 8;

/** `edit_file` with a bound on the size of a file. */
export function defineEditFile(maxFileBytes: number): ToolDefinition {
  return defineTool({
    name: 'edit_file',
    description:
      'Replaces one piece of text in a UTF-8 text file of the workspace. old_text must stand in the file exactly once, white space ' +
      'and line breaks included: take enough lines around the change to make it unique. Nothing is changed otherwise.',
    input: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, maxLength: 4096, description: 'The file, relative to the workspace.' },
        old_text: {
          type: 'string',
          minLength: 1,
          description: 'The text to replace, exactly as it stands in the file.',
        },
        new_text: { type: 'string', description: 'The text to put in its place; empty to take it out.' },
      },
      required: ['path', 'old_text', 'new_text'],
      additionalProperties: false,
    },
    requires: ['workspace'],
    create: ({ workspace }) => ({
      summary: ({ path }) => `edit ${path}`,
      resource: async ({ path }) => ({ key: await workspace.resolve(path), mode: 'write' }),
      async access({ path, old_text: oldText, new_text: newText }) {
        const target = workspace.relative(await workspace.resolve(path));
        const lines = `${counted(countLines(oldText), 'line')} by ${countLines(newText)}`;
        return [{ action: 'fs.write', target, description: `replace ${lines} in ${shownPath(target)}` }];
      },
      async execute({ path, old_text: oldText, new_text: newText }, { signal }) {
        if (oldText === newText) throw new Error('old_text and new_text are the same: there is nothing to change');
        const file = await readForEdit(workspace, path, maxFileBytes);
        const edit = editOf(file, oldText, newText);
        requireWritable(edit.content, maxFileBytes);
        await replaceFile({ workspace, path, ...file, content: edit.content, signal });
        const lines = `${counted(countLines(oldText), 'line')} replaced by ${countLines(newText)}`;
        return `edited ${shownPath(file.name)} at line ${edit.line}: ${lines}`;
      },
    }),
  });
}

/** A file's whole text and what stood there when it was read. */
interface EditedFile {
  readonly absolute: string;
  readonly name: string;
  readonly text: string;
  readonly expected: Standing;
}

async function readForEdit(workspace: Workspace, path: string, maxFileBytes: number): Promise<EditedFile> {
  const { handle, size, standing, absolute, name } = await openFile(workspace, path);
  try {
    if (size > maxFileBytes) {
      throw new Error(
        `${name} has ${counted(size, 'byte')}, more than the ${counted(maxFileBytes, 'byte')} that can be edited`,
      );
    }
    if (await isBinary(handle)) throw new Error(`${name} is a binary file and cannot be edited`);
    return { absolute, name, expected: standing, text: decode(await handle.readFile(), name) };
  } finally {
    await handle.close();
  }
}

function decode(bytes: Buffer, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error(`${name} is not valid UTF-8 text and cannot be edited: its other bytes would be lost`);
  }
}

function editOf(file: EditedFile, oldText: string, newText: string): { content: string; line: number } {
  const { text, name } = file;
  // A file that was read was shown with plain line breaks.
  const hasReturns = /\r\n/.test(text) && !/[^\r]\n|^\n/.test(text) && !oldText.includes('\r');
  const asInFile = (plain: string): string => (hasReturns ? plain.replaceAll(/\r?\n/g, '\r\n') : plain);
  const [wanted, put] = [asInFile(oldText), asInFile(newText)];
  const { count, first } = placesOf(text, wanted);
  const [place] = first;
  if (place === undefined) {
    throw new Error(
      `old_text stands nowhere in ${name} (0 matches): read the file and copy it exactly. Nothing was changed`,
    );
  }
  if (count > 1) {
    const lines = first.map(at => lineAt(text, at)).join(', ') + (count > first.length ? ', …' : '');
    throw new Error(
      `old_text stands in ${name} ${count} times, at lines ${lines}: give more of the text around it. Nothing was changed`,
    );
  }
  return { content: text.slice(0, place) + put + text.slice(place + wanted.length), line: lineAt(text, place) };
}

/** How often a text stands, and the first places. Overlaps count: "aa" stands in "aaa" twice, and which one is meant nobody knows. */
function placesOf(text: string, wanted: string): { count: number; first: number[] } {
  const first: number[] = [];
  let count = 0;
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    count += 1;
    if (count <= MOST_PLACES) first.push(at);
  }
  return { count, first };
}

function lineAt(text: string, place: number): number {
  return countLines(text.slice(0, place + 1));
}
