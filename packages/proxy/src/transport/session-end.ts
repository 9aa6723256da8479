/**
 * The state of a session according to an answer: the session has `ended`, and the request was not executed, or it
 * has `perhaps` ended, which another request must show. A server that `fails` may have forgotten the session too.
 */
export type SessionState = 'continues' | 'ended' | 'perhaps' | 'fails';

/** The words of refusals of sessions, and of requests before `initialize`. */
const refusals = [
  /\b(?:session|transport)(?: ?ids?)?\b[^.{}<>]{0,80}?\b(?:not (?:be )?(?:found|valid|exist|active|initiali[sz]ed|recogni[sz]ed|known)|n[o']t exist|unknown|invalid|expired|closed|terminated|ended|gone|missing|required|no longer|mismatch|lost)\b/i,
  /\b(?:no|not|invalid|unknown|expired|missing|unrecogni[sz]ed|bad|stale|closed|terminated)\b[^.{}<>]{0,40}?\b(?:session|transport)(?: ?ids?)?\b/i,
  /\bnot (?:yet |been )?initiali[sz]ed\b|\bbefore (?:\w+ )?initiali[sz]ation\b|\b(?:must|requires?|please|needs? to|call) (?:\w+ ){0,2}initiali[sz]e\b|\bun-?initiali[sz]ed\b/i,
];
/** Behind a refusal with a status of the client's mistakes, fewer words are enough. */
const mention = /\bsession|\bmcp session id|\binitiali[sz]e|\btransport\b/i;
const maxWords = 2048;

/** Judges an answer. `isOwn` if it is a message with the ID of the request, which can come from the tool itself. */
export function sessionState(
  { statusCode, text }: { statusCode: number; text: string },
  isOwn: boolean,
): SessionState {
  const words = plainWords(text);
  const isRefused = refusals.some((pattern) => pattern.test(words));
  if (isOwn) return isRefused ? 'perhaps' : 'continues';
  if (statusCode === 404 || statusCode === 410) return 'ended';
  if (statusCode >= 400 && statusCode < 500) return isRefused || mention.test(words) ? 'ended' : 'continues';
  if (isRefused) return 'perhaps';
  return statusCode >= 500 ? 'fails' : 'continues';
}

/** The words of refusals of a sign-in, which some servers call a session too. */
const aboutSignIn =
  /\b(?:tokens?|credentials?|passwords?|cookies?|(?:sign|log)(?:ged|ging)?[ -]?(?:in|on|out)|re-?authenticat\w*|authori[sz]e)\b/i;

/** Whether a refusal names a session that the server does not know, and nothing that a sign-in would change. */
export function refusesSessionOnly(text: string): boolean {
  const words = plainWords(text).replace(/\binvalid token\b/gi, ' '); // the code of RFC 6750 for every refusal
  return refusals.some((pattern) => pattern.test(words)) && !aboutSignIn.test(words);
}

/** The start of a text, with names such as `sessionId` and `session_not_found` as words. */
function plainWords(text: string): string {
  return text
    .slice(0, maxWords)
    .replace(/[_-]+/g, ' ')
    .replace(/([a-z])([A-Z])/g, '$1 $2');
}
