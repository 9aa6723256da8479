import { glob, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { root } from './thv.ts';

/** A fenced block of a page, or a command that stands in a comment which readers do not see. */
export interface Block {
  /** Where it stands: the page, and the line. */
  where: string;
  language: string;
  /** The words after the language, without attributes such as the title. */
  marks: readonly string[];
  title: string | undefined;
  /** Why tests don't run the block. */
  skip: string | undefined;
  text: string;
  /** A command in a comment, which readers do not see. */
  isHidden: boolean;
  /** Keys to type when the terminal shows a text. A block with keys runs under a pseudo-terminal. */
  keys: readonly (readonly [shown: string, typed: string])[];
}

export interface Page {
  path: string;
  blocks: readonly Block[];
}

const folder = join(root, 'apps/docs/docs');

/** Every written page of the documentation with its blocks, in their order. Generated pages are Markdown without components. */
export async function readPages(): Promise<Page[]> {
  const paths = await Array.fromAsync(glob(join(folder, '**/*.mdx')));
  return Promise.all(paths.toSorted().map(readPage));
}

async function readPage(file: string): Promise<Page> {
  const path = relative(folder, file);
  return { path, blocks: blocksOf(path, (await readFile(file, 'utf8')).split('\n')) };
}

function blocksOf(path: string, lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  let open: (Block & { fence: string; indent: string }) | undefined;
  let keys: Block['keys'] = [];
  for (const [index, line] of lines.entries()) {
    const where = `${path}:${index + 1}`;
    const [, indent = '', fence, language = '', meta = ''] = /^(\s*)(`{3,})(\w*)(.*)$/.exec(line) ?? [];
    const comment = /^\s*\{\/\* (run background|run|end background|types):? ?(.*) \*\/\}$/.exec(line);
    if (open !== undefined && fence === open.fence && language === '') {
      blocks.push(open);
      open = undefined;
    } else if (open !== undefined) {
      open.text += `${line.startsWith(open.indent) ? line.slice(open.indent.length) : line}\n`;
    } else if (fence !== undefined) {
      const [title, skip] = [/\btitle="([^"]*)"/, /\bskip="([^"]*)"/].map((known) => known.exec(meta)?.[1]);
      const marks = meta
        .replaceAll(/\w+="[^"]*"/g, '')
        .split(/\s+/)
        .filter(Boolean);
      open = { where, language, marks, title, skip, text: '', isHidden: false, keys, fence, indent };
      keys = [];
    } else if (comment?.[1] === 'types') {
      keys = JSON.parse(comment[2] ?? '') as Block['keys']; // our own pages
    } else if (comment !== null) {
      const [, marks = '', text = ''] = comment;
      blocks.push({
        where,
        language: 'bash',
        marks: marks.split(' '),
        title: undefined,
        skip: undefined,
        text,
        isHidden: true,
        keys: [],
      });
    }
  }
  if (open !== undefined) throw new Error(`${open.where} has no end`);
  return blocks;
}

/** The calls of `thv` in a block for a shell, each as its words. */
export function callsOf(text: string): string[][] {
  return text
    .replaceAll(/\\\n\s*/g, ' ')
    .split(/\n|\s\|\s|\s&&\s|;\s|<\(/)
    .map((line) => line.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? [])
    .map(([...words]) => words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word))))
    .filter(([first]) => first === 'thv' || first === 'npx')
    .map((words) => (words[0] === 'npx' ? words.slice(1) : words))
    .filter(([first]) => first === 'thv')
    .map((words) => beforeShellSyntax(words.slice(1)).map((word) => word.replaceAll(/['"]/g, '')));
}

/** Redirections, comments and the like are the shell's. */
function beforeShellSyntax(words: readonly string[]): readonly string[] {
  const end = words.findIndex((word) => /^(?:#|[<>]|2>|\||&)/.test(word));
  const own = end === -1 ? words : words.slice(0, end);
  return own.map((word) => word.replace(/\)$/, ''));
}
