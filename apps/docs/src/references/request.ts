import type { Call } from '../plugins/references/open-api.ts';

/** What a browser is to send. */
interface AskedRequest {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body?: string;
}

/** The request that a filled in form stands for; a sentence when there is none. */
export function requestOf({ method, path, operation }: Call, form: FormData): AskedRequest | string {
  const text = (name: string): string => {
    const value = form.get(name);
    return typeof value === 'string' ? value.trim() : '';
  };
  const server = URL.parse(text('server'));
  if (server === null || !/^https?:$/.test(server.protocol))
    return 'The address begins with http:// or https://.';
  const headers: Record<string, string> = {};
  const token = text('token');
  if (token !== '') headers['authorization'] = `Bearer ${token}`;

  let filled = path;
  const query = new URLSearchParams();
  for (const { name, in: place } of operation.parameters) {
    const value = text(`parameter:${name}`);
    if (place === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(value));
    else if (value !== '' && place === 'query') query.set(name, value);
    else if (value !== '') headers[name] = value;
  }
  const url = new URL(filled, server);
  url.search = query.toString();
  if (method === 'GET') return { url, method, headers };

  // Writes are only taken as JSON, with or without a body.
  headers['content-type'] = 'application/json';
  const body = text('body');
  if (body === '') return { url, method, headers };
  return isJson(body) ? { url, method, headers, body } : 'The body is not JSON.';
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
