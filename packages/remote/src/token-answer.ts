import { isObject, membersIn } from './answer-text.ts';

/** The members of a token response whose type must be text, and that servers set to another value for "nothing". */
const texts = ['access_token', 'refresh_token', 'token_type'] as const;
/** Types of tokens that are sent like bearer tokens. Slack names the owner of the token instead of the type. */
const bearerTypes = /^(?:bearer|bot|user)$/i;
const longestError = 40;

/**
 * A token response as RFC 6749 requires. Servers send it as a form, write the lifetime as text or as a negative number and
 * the scopes as a list, put the token into an inner object, leave out the type, which can only be Bearer, and report an
 * error with status 200. ToolHive needs access and not the user's identity, so it ignores ID tokens, which must not be
 * used as access tokens.
 */
export async function asStandard(answer: Response): Promise<Response> {
  const members = withOwnToken(await membersOf(answer));
  if (members['access_token'] === undefined) return asError(answer, members);
  if (!answer.ok) return answer;
  const {
    id_token: _,
    expires_in: seconds,
    scope,
    token_type: type = 'Bearer',
    error: _none,
    ...rest
  } = members;
  const life = typeof seconds === 'string' && seconds.trim() !== '' ? Number(seconds) : seconds;
  const standard = {
    ...rest,
    token_type: typeof type === 'string' && bearerTypes.test(type.trim()) ? 'Bearer' : type,
    ...(typeof life === 'number' && Number.isFinite(life) && { expires_in: Math.max(life, 0) }),
    ...(typeof scope === 'string' && { scope }),
    ...(Array.isArray(scope) && { scope: scope.join(' ') }),
  };
  return jsonResponse(standard, 200);
}

/** The members of a response in JSON, or in the form that GitHub sends. */
async function membersOf(answer: Response): Promise<Record<string, unknown>> {
  const text = await answer.clone().text();
  const members = /^\s*\{/.test(text) ? membersIn(text) : formIn(text);
  return Object.fromEntries(
    Object.entries(members).filter(([name, value]) => !(value === false && texts.includes(name as never))),
  );
}

/** A form is recognized by its members, because its media type is often another one. */
function formIn(text: string): Record<string, unknown> {
  const form = Object.fromEntries(new URLSearchParams(text.trim()));
  return form['access_token'] || form['error'] ? membersIn(JSON.stringify(form)) : {};
}

/** Slack puts the token of a user into an inner object. */
function withOwnToken(members: Record<string, unknown>): Record<string, unknown> {
  const { authed_user: user, ...rest } = members;
  return members['access_token'] === undefined && isObject(user) ? { ...rest, ...user } : members;
}

/** An error with the status that RFC 6749 requires, which contains no more than its name and its description. */
function asError(answer: Response, members: Record<string, unknown>): Response {
  const inner = isObject(members['error']) ? members['error'] : undefined;
  const name = inner === undefined ? members['error'] : (inner['type'] ?? inner['code'] ?? inner['error']);
  if (typeof name !== 'string' || name.length > longestError) return answer;
  const described = members['error_description'] ?? inner?.['message'];
  const error = { error: name, ...(typeof described === 'string' && { error_description: described }) };
  return jsonResponse(error, answer.ok ? 400 : answer.status);
}

function jsonResponse(body: object, status: number): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } });
}
