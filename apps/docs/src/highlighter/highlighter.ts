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

/** The highlighter with only the languages in the site configuration. */
export const Prism = prism as PrismLib; // the types of the package name all the languages that it comes with

let include: (() => void) | undefined;

/** Sets the function that loads the languages. The function runs when the first code is shown. */
export function includeWhenNeeded(how: () => void): void {
  include = how;
}

function grammarOf(language: string): PrismGrammar | undefined {
  include?.();
  include = undefined;
  return Prism.languages[language];
}

/**
 * Replaces the component of the same name in `prism-react-renderer`, which adds thirty languages to every page. The
 * properties and the result are the same, as far as the site theme uses them.
 */
export function Highlight({ children, code, language: named, theme }: HighlightProps): ReactNode {
  const language = named.toLowerCase();
  const styles = useMemo(() => stylesOf(theme, language), [theme, language]);
  const tokens = useMemo(() => {
    const grammar = grammarOf(language);
    return linesOf(grammar === undefined ? [code] : Prism.tokenize(code, grammar));
  }, [code, language]);
  // The same functions for the same input, so that lines are not rendered again.
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
