import { membersIn } from './answer-text.ts';
import type { Requests } from './requests.ts';

/** The errors of OAuth and of well-known servers that mean that the client is not registered. */
const codes = new Set([
  'client_not_found',
  'invalid_client',
  'invalid_client_id',
  'unauthorized_client',
  'unknown_client',
]);

/** The words of servers that have no code for the error, or show a page. */
const words = [
  /\b(?:unknown|invalid|unregistered|unrecognized|no such|deleted|disabled|expired)[ _-](?:oauth[ _-]?|mcp[ _-]?)?(?:client|application)/i,
  /\b(?:client|application)\b[^.<>{}]{0,80}\b(?:not (?:be )?(?:found|registered|known|recognized|valid|exist)|unknown|invalid|unregistered|no longer|deleted|disabled)\b/i,
];
const maxWords = 64 * 1024;

/** Whether an authorization server says that it does not know a client (anymore). */
export function saysClientIsUnknown({
  error,
  text = '',
}: {
  error?: string | undefined;
  text?: string;
}): boolean {
  if (error !== undefined && codes.has(error)) return true;
  const start = text.slice(0, maxWords).replaceAll('_', ' ');
  return words.some((pattern) => pattern.test(start));
}

/** Whether a refusal of the token endpoint says so. The response can still be read. */
export async function refusesClient(answer: Response): Promise<boolean> {
  if (answer.ok) return false;
  const text = await answer.clone().text();
  const { error } = membersIn(text);
  // A server that fails may write anything, so only its code counts.
  return saysClientIsUnknown({
    ...(typeof error === 'string' && { error }),
    ...(answer.status < 500 && { text }),
  });
}

/** Errors of token endpoints that do not find the credentials of the client. */
const authenticationErrors = new Set(['invalid_client', 'invalid_request', 'unauthorized_client']);

/** Whether a refusal can mean that the client must authenticate by another method. The response can still be read. */
export async function refusesAuthentication(answer: Response): Promise<boolean> {
  if (answer.status !== 400 && answer.status !== 401) return false;
  const { error } = membersIn(await answer.clone().text());
  return typeof error === 'string' ? authenticationErrors.has(error) : answer.status === 401;
}

/**
 * Whether the page for the sign-in refuses the client, asked as a browser would ask. The server would tell only the
 * browser otherwise, and the user would see an error that ToolHive never learns of.
 */
export async function pageRefusesClient(
  url: string,
  { requests, signal }: { requests: Requests; signal: AbortSignal },
): Promise<boolean> {
  const page = await requests.page(url, 'the authorization endpoint', signal);
  if (page === undefined) return false;
  const query = page.location?.searchParams;
  const error = query?.get('error') ?? undefined;
  if (error !== undefined) return saysClientIsUnknown({ error, text: query?.get('error_description') ?? '' });
  // Registering once more than necessary is harmless, but a page that is not for programs says nothing about the client.
  return page.status === 400 || page.status === 401 || saysClientIsUnknown({ text: page.text });
}
