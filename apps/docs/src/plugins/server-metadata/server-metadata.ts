import { readFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { attribute, replaceNodes } from '../markdown.ts';
import type { Node } from '../markdown.ts';

interface Registry {
  servers: Record<string, object>;
  remote_servers: Record<string, object>;
}

/** Replaces `<ServerMetadata name="…" />` by a collapsible panel with the registry entry. */
export function serverMetadata() {
  return (tree: Node): void =>
    replaceNodes(tree, (node) => {
      if (node.type !== 'mdxJsxFlowElement' || node.name !== 'ServerMetadata') return undefined;
      const name = attribute(node, 'name') ?? '';
      return [panel(name, stringify(entryOf(name)))];
    });
}

function entryOf(name: string): object {
  const url = new URL('../../../../../packages/registry/src/default-registry.json', import.meta.url);
  const registry = JSON.parse(readFileSync(url, 'utf8')) as Registry; // checked by its own tests
  const entry = registry.servers[name] ?? registry.remote_servers[name];
  if (entry === undefined) throw new Error(`the registry has no server ${JSON.stringify(name)}`);
  return { name, ...entry };
}

function panel(name: string, yaml: string): Node {
  return {
    type: 'mdxJsxFlowElement',
    name: 'details',
    attributes: [],
    children: [
      {
        type: 'mdxJsxFlowElement',
        name: 'summary',
        attributes: [],
        children: [{ type: 'text', value: `Registry entry of ${name}` }],
      },
      { type: 'code', lang: 'yaml', meta: `title="thv registry info ${name}"`, value: yaml },
    ],
  };
}
