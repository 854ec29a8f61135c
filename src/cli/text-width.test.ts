import { describe, expect, it } from 'vitest';
import { cutToWidth, takeRow, textWidth, wrapToWidth } from './text-width.ts';

describe('the width of text', () => {
  it.each([
    ['plain', 5],
    ['', 0],
    ['héllo', 5],
    ['e\u0301', 1], // an e and an accent of its own
    ['漢字', 4],
    ['ｆｕｌｌ', 8],
    ['한글', 4],
    ['✓ · …', 5],
    ['⠋', 1],
    ['😀', 2],
    ['👩‍👩‍👧', 2], // a family: three people joined
    ['🇩🇪', 2],
    ['❤️', 2],
    ['1️⃣', 2],
    ['a\u200bb', 2], // a space of no width
  ])('of %j is %i', (text, width) => {
    expect(textWidth(text)).toBe(width);
  });
});

describe('text that is cut', () => {
  it.each([
    ['fits', 4, 'fits'],
    ['does not fit', 8, 'does no…'],
    ['does not fit', 6, 'does…'], // no space before the dots
    ['漢字漢字', 5, '漢字…'],
    ['漢字漢字', 4, '漢…'], // half a character is none
    ['👩‍👩‍👧👩‍👩‍👧', 3, '👩‍👩‍👧…'],
    ['abc', 1, '…'],
    ['abc', 0, ''],
    ['abc', -3, ''],
  ])('%j in %i columns is %j', (text, width, expected) => {
    expect(cutToWidth(text, width)).toBe(expected);
    expect(textWidth(cutToWidth(text, width))).toBeLessThanOrEqual(Math.max(width, 0));
  });
});

describe('text that is wrapped', () => {
  it.each([
    ['one two three', 8, ['one two', 'three']],
    ['exactly eight', 7, ['exactly', 'eight']],
    ['unbreakable', 4, ['unbr', 'eaka', 'ble']],
    ['    indented text', 10, ['    indent', 'ed text']], // an indent is no place to break
    ['漢字漢字漢', 4, ['漢字', '漢字', '漢']],
    ['漢字', 1, ['漢', '字']], // a character goes somewhere, even where it does not fit
    ['two\nlines', 20, ['two', 'lines']],
    ['', 5, ['']],
  ])('%j in %i columns is %j', (text, width, rows) => {
    expect(wrapToWidth(text, width)).toEqual(rows);
  });

  it('gives no row for text that fits', () => {
    expect(takeRow('fits', 4)).toBeUndefined();
  });
});
