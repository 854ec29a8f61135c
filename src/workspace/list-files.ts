import { defineTool, type ToolDefinition } from '../define/tool.ts';
import { compileGlob } from './glob.ts';
import { counted, shownPath } from './text.ts';
import { emptyReport, type WalkReport, walk } from './walk.ts';

const DEFAULT_LIMIT = 200;

/** `list_files`: the files of a folder and its folders, by a glob where one is given. */
export const listFiles: ToolDefinition = defineTool({
  name: 'list_files',
  description:
    'Lists the files of the workspace, or of a folder in it, with everything below, one path per line, sorted. ' +
    'Leaves out .git, node_modules and what .gitignore names. Symbolic links are shown and not followed. ' +
    'Paths are relative to the workspace and can be given to the other tools as they are.',
  input: {
    type: 'object',
    properties: {
      path: {
        type: 'string',
        minLength: 1,
        maxLength: 4096,
        description: 'The folder to list, relative to the workspace. Default ".", the whole workspace.',
      },
      pattern: {
        type: 'string',
        minLength: 1,
        maxLength: 1000,
        description:
          'A glob that paths must fit: "*.ts" fits names in any folder; with a slash it is the whole path from the workspace on: ' +
          '"src/**/*.{ts,tsx}".',
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: 2000,
        description: `The most paths to give; how many more there are is said. Default ${DEFAULT_LIMIT}.`,
      },
      include_ignored: {
        type: 'boolean',
        description: 'Also lists .git, node_modules and what .gitignore names. Default false.',
      },
    },
    additionalProperties: false,
  },
  requires: ['workspace'],
  create: ({ workspace }) => ({
    idempotent: true,
    summary: ({ path = '.', pattern }) => (pattern === undefined ? `list ${path}` : `list ${pattern} in ${path}`),
    async execute({ path = '.', pattern, limit = DEFAULT_LIMIT, include_ignored: includeIgnored = false }, { signal }) {
      const fits = pattern === undefined ? () => true : compileGlob(pattern.replace(/^\.?\//, ''));
      const report = emptyReport();
      const shown: string[] = [];
      let total = 0;
      for await (const entry of walk(workspace, path, { includeIgnored, signal, report })) {
        if (!fits(entry.path)) continue;
        total += 1;
        if (shown.length < limit) shown.push(shownPath(entry.path) + (entry.isLink ? ' (symbolic link)' : ''));
      }
      return [...shown, ...(total === 0 ? [] : ['']), listNote(shown.length, total, report)].join('\n');
    },
  }),
});

function listNote(shown: number, total: number, report: WalkReport): string {
  const files = total === 0 ? 'no files' : counted(total, 'file');
  const first =
    shown < total ? `the first ${shown} of ${files}: give a narrower path or pattern to see the rest` : files;
  return `[${[first, ...leftOut(report)].join('; ')}]`;
}

/** What a walk left out, in words. */
export function leftOut(report: WalkReport): string[] {
  const parts: string[] = [];
  if (report.ignored > 0) parts.push(`${counted(report.ignored, 'ignored entry', 'ignored entries')} left out`);
  if (report.unreadable > 0) parts.push(`${counted(report.unreadable, 'folder')} could not be read`);
  if (report.isCutOff) parts.push('there is more: the folder is too large to go through as a whole');
  return parts;
}
