import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { buildUi, uiFolder } from '../../scripts/build-ui.ts';

/** The most bytes that the web UI may have, compressed with Brotli. */
export const weightBudgets = { firstView: 90_000, screen: 20_000, style: 12_000 };
/** How many script files the first view may have. A request takes a browser longer than a few kilobytes. */
export const maxFirstFiles = 3;

/** Bytes of the built web UI, compressed with Brotli. */
export interface Weights {
  /** The script that the first screen needs. */
  firstView: number;
  /** How many files that script is. */
  firstFiles: number;
  style: number;
  /** By screen: the script that it needs in addition to that of the first view, workers included. */
  screens: ReadonlyMap<string, number>;
}

/** One chunk in the manifest that Vite writes. */
interface Chunk {
  file: string;
  imports?: string[];
  dynamicImports?: string[];
  css?: string[];
  assets?: string[];
}

/** Builds the web UI, and measures its files. */
export async function weighUi(): Promise<Weights> {
  await buildUi();
  const text = await readFile(join(uiFolder, '.chunks.json'), 'utf8');
  const chunks = new Map(Object.entries(JSON.parse(text) as Record<string, Chunk>)); // written by Vite
  const first = filesOf(chunks, 'index.html');
  const styles = new Set(
    [...chunks.values()].flatMap(({ file, css = [] }) => [file, ...css]).filter(isStyle),
  );
  const screens = new Map<string, number>();
  const inFirst = [...chunks.values()].filter(({ file }) => first.has(file));
  for (const name of inFirst.flatMap(({ dynamicImports = [] }) => dynamicImports))
    screens.set(name, await bytesOf(filesOf(chunks, name).difference(first)));
  return { firstView: await bytesOf(first), firstFiles: first.size, style: await bytesOf(styles), screens };
}

/** The scripts that a chunk needs before it runs, and those that it gives to workers. */
function filesOf(chunks: ReadonlyMap<string, Chunk>, name: string, found = new Set<string>()): Set<string> {
  const chunk = chunks.get(name);
  if (chunk === undefined) throw new Error(`the manifest of the web UI has no chunk ${name}`);
  if (found.has(chunk.file)) return found;
  found.add(chunk.file);
  for (const asset of chunk.assets ?? []) if (asset.endsWith('.js')) found.add(asset);
  for (const needed of chunk.imports ?? []) filesOf(chunks, needed, found);
  return found;
}

const isStyle = (file: string): boolean => file.endsWith('.css');

async function bytesOf(files: Iterable<string>): Promise<number> {
  const sizes = await Promise.all([...files].map((file) => stat(join(uiFolder, `${file}.br`))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}
