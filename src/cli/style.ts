/** Colours and weights of a terminal, or none. */
import { styleText } from 'node:util';

/** How a piece of text looks. */
export type Look = 'plain' | 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';

/** Gives text its look. */
export type Painter = (look: Look, text: string) => string;

/** A painter that uses colour, or leaves text as it is. Whether colour is wanted was decided before. */
export function createPainter(isColoured: boolean): Painter {
  if (!isColoured) return (_look, text) => text;
  return (look, text) => (look === 'plain' || text === '' ? text : styleText(look, text, { validateStream: false }));
}
