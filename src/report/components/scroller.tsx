/** A box whose content may be larger than it. */
import type { ComponentChildren, VNode } from 'preact';

/** Can be reached by keyboard, so that whoever has no pointer can scroll it too. */
export function Scroller({
  kind,
  label,
  children,
}: {
  readonly kind: string;
  readonly label: string;
  readonly children: ComponentChildren;
}): VNode {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a group of fields is no box of text, and a landmark for each would be noise
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div class={`scroller ${kind}`} role="group" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}
