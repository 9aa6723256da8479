import { quote, skipString } from '@toolhive/contract/json-text';
import { spanOf } from './message.ts';

/** A number with more digits than every double can hold, or with an exponent. Also matches texts, which is harmless. */
const suspect = /\d[\d.]{15}|\d[eE][\d+-]/;
/** Longer numbers are not examined. */
const maxDigits = 400;

/**
 * Returns the value at `path` in a JSON text. A number that JavaScript cannot hold exactly becomes infinite, because
 * another reader would see another number.
 */
export function withExactNumbers(value: unknown, text: string, path: readonly string[]): unknown {
  if (value === undefined || !suspect.test(text)) return value;
  const [start, end] = spanOf(text, path) ?? [0, 0];
  return JSON.parse(restated(text.slice(start, end))) as unknown;
}

/** Replaces the numbers that are not exact by one that JSON can spell but nothing can hold. */
function restated(text: string): string {
  const number = /-?\d[\d.eE+-]*/y;
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) === quote) {
      at = skipString(text, at) - 1;
      continue;
    }
    number.lastIndex = at;
    const [token] = number.exec(text) ?? [];
    if (token === undefined) continue;
    if (!isExact(token)) {
      parts.push(text.slice(from, at), '1e999');
      from = at + token.length;
    }
    at += token.length - 1;
  }
  return parts.join('') + text.slice(from);
}

function isExact(number: string): boolean {
  return number.length <= maxDigits && digitsOf(number) === digitsOf(String(Number(number)));
}

/** Returns the same text for each spelling of a number. */
function digitsOf(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const all = `${whole}${fraction}`.replace(/^0+/, '');
  const digits = all.replace(/0+$/, '');
  if (digits === '') return whole === '' ? number : '0';
  return `${sign}${digits}e${Number(exponent) - fraction.length + all.length - digits.length}`;
}
