import { quote } from '@toolhive/contract/json-text';

const backslash = 0x5c;
const space = 0x20;
/** Numbers of JavaScript and Python that JSON does not have. */
const noNumber = /(?<![\w.$-])-?(?:NaN|Infinity)(?![\w$])/g;
/** Control characters, which are white space of JSON or belong to no JSON, and the numbers. */
// eslint-disable-next-line no-control-regex -- servers write them
const mayDiffer = /[\0-\x1f]|NaN|Infinity/;

/**
 * A JSON text with escapes in the place of control characters in its strings, and null in the place of `NaN` and `Infinity`.
 * Both have one meaning only. Every other text stays the same.
 */
export function almostJson(text: string): string {
  if (!mayDiffer.test(text)) return text;
  const parts: string[] = [];
  let start = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (!isInText) {
      if (code !== quote) continue;
      parts.push(text.slice(start, at).replace(noNumber, 'null'));
      start = at;
      isInText = true;
    } else if (code === backslash) at++;
    else if (code === quote) {
      isInText = false;
      parts.push(text.slice(start, at + 1));
      start = at + 1;
    } else if (code < space) {
      parts.push(text.slice(start, at), `\\u${code.toString(16).padStart(4, '0')}`);
      start = at + 1;
    }
  }
  const rest = text.slice(start);
  parts.push(isInText ? rest : rest.replace(noNumber, 'null'));
  return parts.join('');
}
