// oxlint-disable-next-line import/no-unassigned-import -- it acts, and before the next is loaded
import './prism-settings.ts';
import prism from 'prismjs/components/prism-core.js';
import { useMemo } from 'react';
import type { ReactNode } from 'react';
import type {
  HighlightProps,
  LineInputProps,
  LineOutputProps,
  PrismGrammar,
  PrismLib,
  PrismTheme,
  StyleObj,
  Token,
  TokenInputProps,
  TokenOutputProps,
} from 'prism-react-renderer';
import { linesOf } from './lines.ts';

/** The highlighter with no languages but those that the configuration of the site adds. */
export const Prism = prism as PrismLib; // the types of the package name all the languages that it comes with

let include: (() => void) | undefined;

/** Says how the languages come in; it is done when the first code is to be shown. */
export function includeWhenNeeded(how: () => void): void {
  include = how;
}

function grammarOf(language: string): PrismGrammar | undefined {
  include?.();
  include = undefined;
  return Prism.languages[language];
}

/**
 * Stands in for the component of that name of `prism-react-renderer`, which brings thirty languages to every page, most
 * of them for nothing. It does the same with the same properties, as far as the theme of the site uses them.
 */
export function Highlight({ children, code, language: named, theme }: HighlightProps): ReactNode {
  const language = named.toLowerCase();
  const styles = useMemo(() => stylesOf(theme, language), [theme, language]);
  const tokens = useMemo(() => {
    const grammar = grammarOf(language);
    return linesOf(grammar === undefined ? [code] : Prism.tokenize(code, grammar));
  }, [code, language]);
  // The same as long as they do the same, so that lines need not be drawn anew.
  const getters = useMemo(() => gettersOf(styles), [styles]);
  return children({
    tokens,
    className: `prism-code language-${language}`,
    style: styles['root'] ?? {},
    ...getters,
  });
}

type Getters = Pick<Parameters<HighlightProps['children']>[0], 'getLineProps' | 'getTokenProps'>;

function gettersOf(styles: Styles): Getters {
  return {
    getLineProps: ({ line: _line, className, style, ...rest }: LineInputProps): LineOutputProps => ({
      ...rest,
      className: join('token-line', className),
      style: { ...styles['plain'], ...style },
    }),
    getTokenProps: ({ token, className, style, ...rest }: TokenInputProps): TokenOutputProps => ({
      ...rest,
      className: join('token', ...token.types, className),
      children: token.content,
      ...styleProp({ ...styleOf(token, styles), ...style }),
    }),
  };
}

type Styles = Record<string, StyleObj>;

function stylesOf(theme: PrismTheme | undefined, language: string): Styles {
  const styles: Styles = {};
  for (const { types, style, languages } of theme?.styles ?? []) {
    if (languages !== undefined && !languages.includes(language)) continue;
    for (const type of types) styles[type] = { ...styles[type], ...(style as StyleObj) };
  }
  const plain = (theme?.plain ?? {}) as StyleObj; // an entry is a style
  return { ...styles, root: plain, plain: { ...plain, backgroundColor: undefined } };
}

function styleOf({ types, empty }: Token, styles: Styles): StyleObj {
  const own = types.map((type) => (type === 'plain' ? {} : styles[type]));
  return Object.assign(empty === true ? { display: 'inline-block' } : {}, ...own) as StyleObj;
}

function styleProp(style: StyleObj): { style?: StyleObj } {
  return Object.keys(style).length === 0 ? {} : { style };
}

function join(...names: (string | undefined)[]): string {
  return names.filter((name) => name !== undefined).join(' ');
}
