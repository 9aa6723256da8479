import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../testing/thv.ts';

/** One thing that a reader does, or sees. */
export interface Instruction {
  /** The page and the line. */
  where: string;
  action: 'open' | 'open-tab' | 'select' | 'enter' | 'choose' | 'wait';
  /** The text that the page prints in bold. */
  name: string;
  /** The text that is entered, the option that is chosen, or the row that the control is in. */
  value: string;
}

/** A screenshot of the screen that the instructions before it lead to. */
export interface Screenshot {
  where: string;
  screenshot: string;
}

const patterns: readonly (readonly [Instruction['action'], RegExp])[] = [
  ['open-tab', /[Oo]pen the \*\*(?<name>[^*]+)\*\* tab/g],
  ['open', /[Oo]pen \*\*(?<name>[^*]+)\*\*/g],
  ['select', /[Ss]elect \*\*(?<name>[^*]+)\*\*(?: next to `(?<value>[^`]+)`)?/g],
  ['enter', /[Ee]nter `(?<value>[^`]+)` in \*\*(?<name>[^*]+)\*\*/g],
  ['choose', /[Cc]hoose `(?<value>[^`]+)` in \*\*(?<name>[^*]+)\*\*/g],
  ['wait', /\*\*(?<name>[^*]+)\*\* appears/g],
];

/**
 * Reads the numbered steps and the screenshots of a page, in their order. The words of a step decide what is done, and
 * every bold text in a step has to be part of one of the sentences above.
 */
export async function readGuide(path: string): Promise<(Instruction | Screenshot)[]> {
  const lines = (await readFile(join(root, `apps/docs/docs/toolhive/${path}.mdx`), 'utf8')).split('\n');
  const steps: (Instruction | Screenshot)[] = [];
  let [fence, isList] = [false, false];
  let paragraph: { where: string; text: string } | undefined;
  const end = (): void => {
    if (paragraph !== undefined) steps.push(...stepsOf(paragraph.text, paragraph.where, isList));
    paragraph = undefined;
  };
  for (const [index, line] of [...lines, ''].entries()) {
    if (/^\s*```/.test(line)) fence = !fence;
    if (fence || line.trim() === '' || /^\s*```/.test(line)) {
      end();
      continue;
    }
    const isItem = /^\d+\. /.test(line);
    if (isItem) end();
    if (paragraph === undefined) {
      isList = isItem || (isList && /^ {3}/.test(line));
      paragraph = { where: `${path}:${index + 1}`, text: line };
    } else paragraph.text += ` ${line.trim()}`;
  }
  return steps;
}

function stepsOf(text: string, where: string, isStep: boolean): (Instruction | Screenshot)[] {
  const [, screenshot] = /<Screenshot\b.*\bname="([^"]+)"/.exec(text) ?? [];
  if (screenshot !== undefined) return [{ where, screenshot }];
  if (!isStep) return [];
  let rest = text;
  const found: { at: number; instruction: Instruction }[] = [];
  for (const [action, pattern] of patterns) {
    rest = rest.replaceAll(pattern, (...match) => {
      const [at, , groups] = match.slice(-3) as [number, string, { name: string; value?: string }];
      const [sentence] = match;
      found.push({ at, instruction: { where, action, name: groups.name, value: groups.value ?? '' } });
      return ' '.repeat(sentence.length);
    });
  }
  if (rest.includes('**')) throw new Error(`${where}: the test cannot follow ${rest.trim()}`);
  return found.toSorted((a, b) => a.at - b.at).map(({ instruction }) => instruction);
}
