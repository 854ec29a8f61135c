import { defineTool, type ToolDefinition } from '../define/tool.ts';
import { replaceFile, standing } from './files.ts';
import { counted, countLines, shownPath } from './text.ts';

/** `write_file` with a bound on what it writes. */
export function defineWriteFile(maxFileBytes: number): ToolDefinition {
  return defineTool({
    name: 'write_file',
    description:
      'Writes a UTF-8 text file of the workspace as a whole: creates it, with its folders, or replaces what was in it. ' +
      'To change a part of a file use edit_file.',
    input: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, maxLength: 4096, description: 'The file, relative to the workspace.' },
        content: { type: 'string', description: 'The whole text of the file.' },
      },
      required: ['path', 'content'],
      additionalProperties: false,
    },
    requires: ['workspace'],
    create: ({ workspace }) => ({
      summary: ({ path, content }) => `write ${path} (${counted(countLines(content), 'line')})`,
      resource: async ({ path }) => ({ key: await workspace.resolve(path), mode: 'write' }),
      async access({ path, content }) {
        const target = workspace.relative(await workspace.resolve(path));
        const description = `write ${counted(countLines(content), 'line')} to ${shownPath(target)}`;
        return [{ action: 'fs.write', target, description }];
      },
      async execute({ path, content }, { signal }) {
        requireWritable(content, maxFileBytes);
        const absolute = await workspace.resolve(path);
        const name = workspace.relative(absolute);
        const expected = await standing(absolute, name);
        await replaceFile({ workspace, path, absolute, content, expected, signal });
        const size = `${counted(countLines(content), 'line')}, ${counted(Buffer.byteLength(content), 'byte')}`;
        return expected.isPresent ? `replaced ${shownPath(name)} (${size})` : `created ${shownPath(name)} (${size})`;
      },
    }),
  });
}

/** Throws for text that cannot be written as it is, or that is too large. */
export function requireWritable(content: string, maxFileBytes: number): void {
  if (!content.isWellFormed())
    throw new Error('the text holds half of a character (a lone surrogate): nothing was written');
  const bytes = Buffer.byteLength(content);
  if (bytes > maxFileBytes) {
    const most = counted(maxFileBytes, 'byte');
    throw new Error(`the text has ${counted(bytes, 'byte')}, a file may have ${most} here: nothing was written`);
  }
}
