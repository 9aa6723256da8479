import { isAppHost, maxAppHosts } from '@toolhive/contract/app-hosts';
import { asObject } from '../../api/mcp.ts';
import type { Values } from '../../api/mcp.ts';

/** The largest page of an app, in characters. */
const maxPage = 8_000_000;

/** The access that an app asks for, in the words of the server. */
export interface Asked {
  connect: readonly string[];
  resources: readonly string[];
  /** Access that the web UI never grants. */
  never: readonly string[];
}

export interface AppPage {
  html: string;
  asked: Asked;
}

/** The page in the result of `resources/read`. Throws an error with the reason if the page cannot be shown. */
export function pageOf(result: Values, uri: string): AppPage {
  const contents = Array.isArray(result['contents']) ? result['contents'].map(asObject) : [];
  const found = contents.find((content) => content['uri'] === uri);
  if (found === undefined) throw new Error('the server answered without the page');
  const type = String(found['mimeType']).toLowerCase().replace(/\s/g, '');
  if (type !== 'text/html;profile=mcp-app') throw new Error('the resource is not a page of an app');
  const html = typeof found['text'] === 'string' ? bounded(found['text']) : decoded(found['blob']);
  return { html, asked: askedOf(asObject(asObject(found['_meta'])['ui'])) };
}

/** Whether the user can grant a host. */
export function isGrantable(host: string): boolean {
  return host.length <= 300 && isAppHost(host);
}

function bounded(text: string): string {
  if (text.length > maxPage) throw new Error(`the page has more than ${maxPage} characters`);
  return text;
}

function decoded(blob: unknown): string {
  if (typeof blob !== 'string') throw new Error('the page is empty');
  bounded(blob);
  try {
    const bytes = Uint8Array.from(atob(blob), (character) => character.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Error('the page is not UTF-8 text in Base64', { cause });
  }
}

function askedOf(ui: Values): Asked {
  const csp = asObject(ui['csp']);
  const frames = hostsIn(csp['frameDomains']).map((host) => `frames of ${host}`);
  const bases = hostsIn(csp['baseUriDomains']).map((host) => `addresses relative to ${host}`);
  const features = Object.keys(asObject(ui['permissions'])).slice(0, maxAppHosts);
  return {
    connect: hostsIn(csp['connectDomains']),
    resources: hostsIn(csp['resourceDomains']),
    never: [...features, ...frames, ...bases],
  };
}

function hostsIn(value: unknown): string[] {
  const texts = Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
  return [...new Set(texts)].slice(0, maxAppHosts);
}
