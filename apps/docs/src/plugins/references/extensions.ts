import { extensions } from '@toolhive/proxy/extensions';
import type { ExtensionRequest } from '@toolhive/proxy/extensions';
import { code, table } from './markdown.ts';

/** Returns the table with the extensions of MCP that policies can cover, to be included in a page. */
export function extensionReference(): string {
  const rows = Object.entries(extensions).map(([key, { title, requests, schemes }]) => {
    const all: [string, ExtensionRequest][] = Object.entries(requests);
    const actions = all.flatMap(([, { about, lists }]) => [about?.action, lists?.action]);
    if (schemes.length > 0) actions.push('read_resource');
    if (all.some(([, { task }]) => task !== undefined)) actions.push('call_tool');
    return [
      `${title} (${code(key)})`,
      listOf(all.map(([method]) => method)),
      listOf(schemes.map((scheme) => `${scheme}://`)),
      listOf(actions.filter((action) => action !== undefined)),
    ];
  });
  return `${table('Extensions', ['Extension', 'Requests', 'URIs', 'Actions in policies'], rows)}\n`;
}

function listOf(words: readonly string[]): string {
  return words.length === 0 ? '–' : [...new Set(words)].map(code).join(', ');
}
