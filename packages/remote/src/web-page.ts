import { unavailable } from '@toolhive/contract/failure';
import { membersIn, objectIn } from './answer-text.ts';

const longestTitle = 80;
/** Titles are in front of the text of a page. */
const longestHead = 64 * 1024;

/** The first words of the title of a web page. Undefined if the text is no page with a title. */
export function titleIn(text: string): string | undefined {
  const head = text.slice(0, longestHead);
  const lower = head.toLowerCase();
  for (const tag of ['title', 'h1']) {
    const start = lower.indexOf(`<${tag}`);
    const opened = start === -1 ? -1 : head.indexOf('>', start);
    const end = opened === -1 ? -1 : lower.indexOf(`</${tag}`, opened);
    if (end === -1) continue;
    const title = plain(head.slice(opened + 1, Math.min(end, opened + 1 + longestTitle * 8)));
    if (title !== '') return title.length > longestTitle ? `${title.slice(0, longestTitle)}…` : title;
  }
  return undefined;
}

function plain(text: string): string {
  return text
    .replaceAll(/<[^<>]*>/g, ' ')
    .replaceAll(/&(amp|lt|gt|quot|#39|nbsp);/g, (_all, name: string) => entities[name] ?? ' ')
    .replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** The status and the title of a response that is not JSON: `status 403 with the page "Access denied"`. */
export function describePage(status: number, text: string): string {
  const title = titleIn(text);
  return title === undefined ? `status ${status} without JSON` : `status ${status} with the page "${title}"`;
}

/**
 * Why a response of an authorization server cannot be one of OAuth: a firewall, a gateway, or a sign-in page answered
 * instead. Undefined for other responses, also for errors of OAuth. The response can still be read.
 */
async function foreignAnswer(answer: Response): Promise<string | undefined> {
  const text = await answer.clone().text();
  if (objectIn(text) === undefined) return describePage(answer.status, text);
  return answer.ok || membersIn(text)['error'] !== undefined ? undefined : `status ${answer.status}`;
}

/** Does work with a response. If the response is foreign, an error describes the response instead. */
export async function readingAnswer<Result>(
  answer: Response,
  what: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const foreign = await foreignAnswer(answer);
  try {
    return await work();
  } catch (error) {
    if (foreign === undefined) throw error;
    throw unavailable(`${what}: ${foreign}`);
  }
}
