import { isObject } from '../jsonrpc/message.ts';

/** The URIs of the pages of a tool, from its `_meta` (MCP Apps, also in the older form). */
export function appUrisOf(meta: unknown): string[] {
  if (!isObject(meta)) return [];
  const { ui } = meta;
  const uris = [isObject(ui) ? ui['resourceUri'] : undefined, meta['ui/resourceUri']];
  return uris.filter((uri) => typeof uri === 'string');
}

/** The app of a tool, from its `_meta`. Undefined if the tool has neither a page nor rules about who may call it. */
export function appOf(meta: unknown): { resource_uri?: string; is_callable: boolean } | undefined {
  const uri = appUrisOf(meta).find((text) => text.startsWith('ui://'));
  const ui = isObject(meta) ? meta['ui'] : undefined;
  const visibility = isObject(ui) ? ui['visibility'] : undefined;
  if (uri === undefined && visibility === undefined) return undefined;
  // Without a list, models and apps may call the tool.
  const isCallable = !Array.isArray(visibility) || visibility.includes('app');
  return { ...(uri === undefined ? {} : { resource_uri: uri }), is_callable: isCallable };
}
