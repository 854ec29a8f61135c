/** Why something that was asked for did not happen. */

/** A sentence that is told at once to those who listen to the page, too; nothing where nothing failed. */
export function Failure({ why, class: more = '' }: { readonly why: string | undefined; readonly class?: string }) {
  if (why === undefined) return null;
  return (
    <p class={`failure ${more}`.trim()} role="alert">
      {why}
    </p>
  );
}
