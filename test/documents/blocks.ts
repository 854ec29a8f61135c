/** The code blocks of the documents, and where they stand. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');
export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** All documents. */
export const DOCUMENTS: readonly string[] = globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT }).sort();

/** Documents that people write; the reference is made of docstrings. */
export const WRITTEN = DOCUMENTS.filter(document => !document.startsWith('docs/reference/'));

export interface CodeBlock {
  readonly document: string;
  readonly line: number;
  /** The place that lists name: document, heading, and from the second block under it on its number. */
  readonly place: string;
  readonly language: string;
  readonly code: string;
}

/** Every fenced block of a document, in its order. */
export function codeBlocks(document: string): CodeBlock[] {
  const text = read(document);
  const counts = new Map<string, number>();
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(({ index, 1: language = '', 2: code = '' }) => {
    const before = text.slice(0, index);
    const heading = [...before.matchAll(/^#+ (.+)$/gm)].at(-1)?.[1] ?? '';
    const kind = `${heading}, ${language}`;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    const place = `${document}: ${heading}${count === 1 ? '' : ` (${count})`}`;
    return { document, line: before.split('\n').length, place, language, code };
  });
}

/** The blocks of all documents in one language. */
export function blocksIn(language: string): CodeBlock[] {
  return WRITTEN.flatMap(codeBlocks).filter(block => block.language === language);
}
