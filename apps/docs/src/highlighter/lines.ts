import type { Token } from 'prism-react-renderer';

/** What Prism makes of code: texts, and tokens that may hold others. */
export interface PrismToken {
  type: string;
  alias?: string | readonly string[];
  content: string | PrismToken | readonly (string | PrismToken)[];
}

/** The tokens of code a line each. An empty line has one token, so that it is as high as the others. */
export function linesOf(tokens: readonly (string | PrismToken)[]): Token[][] {
  const lines: Token[][] = [[]];
  const read = (content: PrismToken['content'], types: readonly string[]): void => {
    if (typeof content === 'string') {
      const [first = '', ...others] = content.split(/\r\n|\r|\n/);
      const known = types.length === 0 ? ['plain'] : [...types];
      lines.at(-1)?.push({ types: known, content: first });
      for (const text of others) lines.push([{ types: known, content: text }]);
    } else if ('type' in content) {
      const { type, alias = [] } = content;
      read(content.content, [...new Set([...types, type, ...(typeof alias === 'string' ? [alias] : alias)])]);
    } else {
      for (const part of content) read(part, types);
    }
  };
  read(tokens, []);
  return lines.map((line) => {
    const shown = line.filter(({ content }) => content !== '');
    return shown.length === 0 ? [{ types: ['plain'], content: '\n', empty: true }] : shown;
  });
}
