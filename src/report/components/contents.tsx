/** Arguments and results: as much of them as there is room for, and a word on what was left out. */
import { type Context, createContext, type VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { countText, jsonText, outputText } from '../model/format.ts';
import type { CallView } from '../model/view.ts';
import { Scroller } from './scroller.tsx';

/** How many characters of one content are shown. */
export const MostCharacters: Context<number> = createContext(20_000);

/** A text of any length, in its own lines. */
export function Clipped({ text, label }: { readonly text: string; readonly label: string }): VNode {
  const most = useContext(MostCharacters);
  const shown = text.length <= most ? text : text.slice(0, most);
  return (
    <>
      <Scroller kind="content" label={label}>
        <pre>{shown}</pre>
      </Scroller>
      {shown === text ? null : (
        <p class="note">{countText(text.length - shown.length)} more characters are not shown here.</p>
      )}
    </>
  );
}

/** Arguments, field by field: texts in their own lines, everything else as JSON. */
export function Arguments({ input, label = 'Arguments' }: { readonly input: unknown; readonly label?: string }): VNode {
  const entries = typeof input === 'object' && input !== null && !Array.isArray(input) ? Object.entries(input) : [];
  if (entries.length === 0 || entries.length > 24) return <Clipped text={jsonText(input)} label={label} />;
  return (
    <dl class="fields">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Clipped text={typeof value === 'string' ? value : jsonText(value)} label={`${label}: ${name}`} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A call's result as the model was shown it. */
export function Result({ call }: { readonly call: CallView }): VNode | null {
  const { output, capture } = call;
  if (output === undefined) return null;
  const text = outputText(output);
  return (
    <>
      {text === '' ? <p class="note">Empty.</p> : <Clipped text={text} label={`Result of ${call.toolName}`} />}
      {capture === undefined ? null : (
        <p class="note">
          The model was shown a part of it: the result had {countText(capture.totalBytes)} bytes, of which the store
          keeps {capture.bytes === capture.totalBytes ? 'all' : `the first ${countText(capture.bytes)}`}.
        </p>
      )}
    </>
  );
}
