import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { element, replaceNodes } from '../markdown.ts';
import type { Node } from '../markdown.ts';

/** Where drawn diagrams are. */
export const diagramFolder = fileURLToPath(new URL('../../../static/diagrams/', import.meta.url));

/** How a diagram is drawn, by the colour mode in which it is shown. */
export const diagramThemes = { light: 'neutral', dark: 'dark' } as const;

/** The file of a diagram, which its text names. */
export function diagramFile(text: string, mode: keyof typeof diagramThemes): string {
  return `${createHash('sha256').update(text.trim()).digest('hex').slice(0, 12)}-${diagramThemes[mode]}.svg`;
}

/**
 * Puts a picture in the place of each fence marked `mermaid`. Readers get no engine: `npm run generate` has drawn the
 * pictures. The fence says in words what it shows: `alt="…"`.
 */
export function diagrams() {
  return (tree: Node): void =>
    replaceNodes(tree, (node) => {
      if (node.type !== 'code' || node.lang !== 'mermaid') return undefined;
      const alt = /\balt="([^"]+)"/.exec(node.meta ?? '')?.[1];
      if (alt === undefined)
        throw new Error(`a diagram says in no words what it shows: add alt="…" to its fence`);
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
