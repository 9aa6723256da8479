import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { element, replaceNodes } from '../markdown.ts';
import type { Node } from '../markdown.ts';

/** The directory of rendered diagrams. */
export const diagramFolder = fileURLToPath(new URL('../../../static/diagrams/', import.meta.url));

/** The theme of a diagram in each color mode. */
export const diagramThemes = { light: 'neutral', dark: 'dark' } as const;

/** The file name of a diagram, which is a hash of its text. */
export function diagramFile(text: string, mode: keyof typeof diagramThemes): string {
  return `${createHash('sha256').update(text.trim()).digest('hex').slice(0, 12)}-${diagramThemes[mode]}.svg`;
}

/**
 * Replaces each fence with the mark `mermaid` by a picture, which `npm run generate` has rendered. Readers receive no
 * rendering engine. The fence contains the alternative text: `alt="…"`.
 */
export function diagrams() {
  return (tree: Node): void =>
    replaceNodes(tree, (node) => {
      if (node.type !== 'code' || node.lang !== 'mermaid') return undefined;
      const alt = /\balt="([^"]+)"/.exec(node.meta ?? '')?.[1];
      if (alt === undefined) throw new Error(`a diagram has no alternative text: add alt="…" to its fence`);
      return [figure(node.value ?? '', alt)];
    });
}

function figure(text: string, alt: string): Node {
  const source = (mode: keyof typeof diagramThemes): string => {
    const file = diagramFile(text, mode);
    if (!existsSync(diagramFolder + file)) throw new Error('a diagram is not drawn: run npm run generate');
    return `/diagrams/${file}`;
  };
  const [light, dark] = [source('light'), source('dark')];
  const drawing = readFileSync(diagramFolder + diagramFile(text, 'light'), 'utf8');
  const [, width = '', height = ''] = /viewBox="\S+ \S+ (\S+) (\S+)"/.exec(drawing) ?? [];
  return element('Diagram', { light, dark, alt, width, height });
}
