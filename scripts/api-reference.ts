/** The reference for readers: a page of each entry point, made of the declarations and docstrings that api-extractor found. */
import {
  ApiDeclaredItem,
  ApiDocumentedItem,
  type ApiItem,
  ApiItemKind,
  ApiModel,
} from '@microsoft/api-extractor-model';
import type {
  DocCodeSpan,
  DocErrorText,
  DocEscapedText,
  DocFencedCode,
  DocLinkTag,
  DocPlainText,
} from '@microsoft/tsdoc';
import { type DocComment, type DocNode, DocNodeKind, type DocSection } from '@microsoft/tsdoc';

/** A page, as it is written into `docs/reference/`. */
export interface ReferencePage {
  readonly file: string;
  readonly title: string;
  readonly names: number;
  readonly text: string;
}

const GENERATED = '<!-- Written by "npm run api:update" from the docstrings: change those. -->';

const GROUPS: readonly (readonly [title: string, kinds: readonly ApiItemKind[]])[] = [
  ['Functions', [ApiItemKind.Function]],
  ['Values', [ApiItemKind.Variable]],
  ['Classes', [ApiItemKind.Class]],
  ['Interfaces', [ApiItemKind.Interface]],
  ['Types', [ApiItemKind.TypeAlias, ApiItemKind.Enum, ApiItemKind.Namespace]],
];

/** The page of one entry point. `name` is that of its API report: `looprig-ai` for `looprig/ai`. */
export function referencePage(name: string, apiJson: string): ReferencePage {
  const title = name.replace('looprig-', 'looprig/');
  const items = new ApiModel().loadPackage(apiJson).entryPoints[0]?.members ?? [];
  const groups = GROUPS.map(([heading, kinds]) => {
    const members = items.filter(item => kinds.includes(item.kind)).sort(byName);
    return members.length === 0 ? '' : `## ${heading}\n\n${members.map(itemText).join('\n')}`;
  });
  const text = [GENERATED, `# ${title}`, contents(items), ...groups.filter(group => group !== '')].join('\n\n');
  return { file: `${name}.md`, title, names: items.length, text: `${text.trimEnd()}\n` };
}

/** The public names of an entry point that say nothing of themselves. */
export function undocumented(apiJson: string): string[] {
  const items = new ApiModel().loadPackage(apiJson).entryPoints[0]?.members ?? [];
  return items.filter(item => docText(item) === '').map(({ displayName }) => displayName);
}

/** The page that leads to the others. */
export function referenceIndex(pages: readonly ReferencePage[]): ReferencePage {
  const rows = pages.map(({ file, title, names }) => `| [\`${title}\`](${file}) | ${names} |`);
  const text = [GENERATED, '', '# Reference', '', '| entry point | names |', '| --- | --: |', ...rows, ''].join('\n');
  return { file: 'README.md', title: 'Reference', names: pages.length, text };
}

function byName(one: ApiItem, other: ApiItem): number {
  return one.displayName < other.displayName ? -1 : one.displayName > other.displayName ? 1 : 0;
}

/** All names of a page in one line, each a link: a page is long. */
function contents(items: readonly ApiItem[]): string {
  const names = [...new Set(items.map(({ displayName }) => displayName))].sort();
  return names.map(name => `[\`${name}\`](#${name.toLowerCase()})`).join(' · ');
}

function itemText(item: ApiItem): string {
  const members = memberRows(item);
  const table = members.length === 0 ? [] : ['| member | |', '| --- | --- |', ...members, ''];
  return [`### ${item.displayName}`, '', docText(item), '', '```typescript', signature(item), '```', '', ...table].join(
    '\n',
  );
}

function memberRows(item: ApiItem): string[] {
  if (item.kind !== ApiItemKind.Class && item.kind !== ApiItemKind.Interface) return [];
  const shown = item.members.filter(member => !/\?: never;$/.test(signature(member))); // only there to exclude another option
  return shown.map(
    member =>
      `| \`${oneLine(signature(member)).replaceAll('|', '\\|')}\` | ${oneLine(docText(member)).replaceAll('|', '\\|')} |`,
  );
}

function signature(item: ApiItem): string {
  return item instanceof ApiDeclaredItem
    ? item.excerpt.text.replace(/^export (declare )?/, '').trim()
    : item.displayName;
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').trim();
}

function docText(item: ApiItem): string {
  const comment: DocComment | undefined = item instanceof ApiDocumentedItem ? item.tsdocComment : undefined;
  if (comment === undefined || item.kind === ApiItemKind.Constructor) return ''; // its text is made up where there is none
  const remarks: DocSection | undefined = comment.remarksBlock?.content;
  return [comment.summarySection, ...(remarks === undefined ? [] : [remarks])].map(nodeText).join('\n\n').trim();
}

function nodeText(node: DocNode): string {
  switch (node.kind) {
    case DocNodeKind.PlainText:
      return (node as DocPlainText).text;
    case DocNodeKind.CodeSpan:
      return `\`${(node as DocCodeSpan).code}\``;
    case DocNodeKind.EscapedText:
      return (node as DocEscapedText).decodedText;
    case DocNodeKind.ErrorText:
      return (node as DocErrorText).text;
    case DocNodeKind.SoftBreak:
      return '\n';
    case DocNodeKind.LinkTag:
      return (node as DocLinkTag).linkText ?? (node as DocLinkTag).urlDestination ?? '';
    case DocNodeKind.FencedCode:
      return `\n\`\`\`typescript\n${(node as DocFencedCode).code}\`\`\`\n`;
    case DocNodeKind.Paragraph:
      return `${node.getChildNodes().map(nodeText).join('').trim()}\n\n`;
    default:
      return node.getChildNodes().map(nodeText).join('');
  }
}
