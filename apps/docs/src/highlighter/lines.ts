import type { Token } from 'prism-react-renderer';

/** The result of Prism: texts, and tokens that can contain other tokens. */
export interface PrismToken {
  type: string;
  alias?: string | readonly string[];
  content: string | PrismToken | readonly (string | PrismToken)[];
}

/** The tokens of each line of code. An empty line has one token, so that all lines have the same height. */
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
