/**
 * A model's text, read as markdown and drawn as elements: never as HTML of its own. HTML in it is shown as the text that it is, a link leads to the web
 * or to a mailbox, and a picture is named and not loaded.
 */
import { lexer, type Token, type Tokens } from 'marked';
import type { ComponentChildren, VNode } from 'preact';
import { Scroller } from './scroller.tsx';

/** A longer text is shown as it is: reading it as markdown would hold up the page. */
const MOST_CHARACTERS = 60_000;

/** Deeper than this nobody writes; what is within is shown as it is. */
const MOST_DEPTH = 12;

/** A text as its author meant it to look. */
export function Markdown({ text }: { readonly text: string }): VNode {
  const tokens = text.length > MOST_CHARACTERS ? undefined : read(text);
  if (tokens === undefined) return <div class="prose prose-plain">{text}</div>;
  return <div class="prose">{blocks(tokens, 0)}</div>;
}

function read(text: string): readonly Token[] | undefined {
  try {
    return lexer(text);
  } catch {
    return undefined; // nested deeper than the reader can follow
  }
}

function blocks(tokens: readonly Token[], depth: number): ComponentChildren {
  return tokens.map(token => block(token as MarkedToken, depth + 1));
}

type MarkedToken =
  | (Tokens.Heading | Tokens.Paragraph | Tokens.Code | Tokens.Blockquote | Tokens.List | Tokens.Table | Tokens.Hr)
  | (Tokens.HTML | Tokens.Space | Tokens.Def | Tokens.Text | Tokens.Strong | Tokens.Em | Tokens.Del | Tokens.Codespan)
  | (Tokens.Br | Tokens.Link | Tokens.Image | Tokens.Escape | Tokens.Tag);

function block(token: MarkedToken, depth: number): ComponentChildren {
  if (depth > MOST_DEPTH) return token.raw;
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading':
      // Within the page's own headings, whose levels are not the text's to choose.
      return <p class={`prose-heading prose-heading-${Math.min(token.depth, 4)}`}>{inline(token.tokens, depth)}</p>;
    case 'paragraph':
      return <p>{inline(token.tokens, depth)}</p>;
    case 'code':
      return <CodeBlock text={token.text} language={token.lang} />;
    case 'blockquote':
      return <blockquote>{blocks(token.tokens, depth)}</blockquote>;
    case 'list':
      return <ListBlock list={token} depth={depth} />;
    case 'table':
      return <TableBlock table={token} depth={depth} />;
    case 'hr':
      return <hr />;
    case 'html':
      return <p class="prose-plain">{token.raw}</p>;
    case 'text':
      return 'tokens' in token && token.tokens !== undefined ? inline(token.tokens, depth) : plain(token.text);
    default:
      return inline([token], depth);
  }
}

function CodeBlock({ text, language }: { readonly text: string; readonly language: string | undefined }): VNode {
  const label = language === undefined || language === '' ? 'Code' : `Code: ${language}`;
  return (
    <Scroller kind="code" label={label}>
      <pre>
        <code>{text}</code>
      </pre>
    </Scroller>
  );
}

function ListBlock({ list, depth }: { readonly list: Tokens.List; readonly depth: number }): VNode {
  const items = list.items.map((item, index) => (
    <li key={index}>
      {item.task ? <span class="task">{item.checked === true ? '☑ ' : '☐ '}</span> : null}
      {blocks(
        item.tokens.filter(({ type }) => type !== 'checkbox'),
        depth,
      )}
    </li>
  ));
  if (!list.ordered) return <ul>{items}</ul>;
  return <ol start={Number(list.start) || 1}>{items}</ol>;
}

function TableBlock({ table, depth }: { readonly table: Tokens.Table; readonly depth: number }): VNode {
  return (
    <Scroller kind="table" label="Table">
      <table>
        <thead>
          <tr>
            {table.header.map((cell, index) => (
              <th key={index} scope="col" class={alignment(table, index)}>
                {inline(cell.tokens, depth)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, place) => (
            <tr key={place}>
              {row.map((cell, index) => (
                <td key={index} class={alignment(table, index)}>
                  {inline(cell.tokens, depth)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  );
}

/** A class: the page's policy lets no text style it. */
function alignment({ align }: Tokens.Table, column: number): string | undefined {
  const side = align[column];
  return side === 'center' || side === 'right' ? `align-${side}` : undefined;
}

function inline(tokens: readonly Token[], depth: number): ComponentChildren {
  return tokens.map(token => span(token as MarkedToken, depth + 1));
}

function span(token: MarkedToken, depth: number): ComponentChildren {
  if (depth > MOST_DEPTH) return token.raw;
  switch (token.type) {
    case 'strong':
      return <strong>{inline(token.tokens, depth)}</strong>;
    case 'em':
      return <em>{inline(token.tokens, depth)}</em>;
    case 'del':
      return <s>{inline(token.tokens, depth)}</s>;
    case 'codespan':
      return <code>{token.text}</code>;
    case 'br':
      return <br />;
    case 'link':
      return <SafeLink href={token.href}>{inline(token.tokens, depth)}</SafeLink>;
    case 'image':
      return `[picture: ${token.text || token.href}]`;
    case 'text':
    case 'escape':
      return 'tokens' in token && token.tokens !== undefined ? inline(token.tokens, depth) : plain(token.text);
    default:
      return token.raw;
  }
}

function SafeLink({ href, children }: { readonly href: string; readonly children: ComponentChildren }): VNode {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noreferrer noopener" title={href}>
      {children}
    </a>
  );
}

const NAMED: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };

/** The characters that authors name because HTML needs it. */
function plain(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#39);/g, name => NAMED[name] ?? name);
}
