import { answerError, withAnswer } from '../connection/responder.ts';
import type { Responder } from '../connection/responder.ts';
import {
  errorCodes,
  errorMessage,
  idText,
  isObject,
  readMessage,
  replaceAt,
  spanOf,
  startOf,
  withResult,
} from '../jsonrpc/message.ts';
import { oncePerAnswer } from '../jsonrpc/repeated-answers.ts';
import type { Message, Span } from '../jsonrpc/message.ts';
import { cacheableMethods, mcpErrors, meta, protocolVersions } from '../protocol/protocol.ts';
import type { ServerIdentity } from '../protocol/protocol.ts';

/**
 * Converts a legacy server's response to 2026-07-28: a result states its type, the server, and how long it may be
 * cached. A legacy server gives no cache duration, so its results may not be cached.
 */
export function modernized(response: Message, method: string, { serverInfo }: ServerIdentity): Message {
  const { result, error } = response.value;
  if (error !== undefined) {
    if (error.code !== mcpErrors.legacyResourceNotFound) return response;
    const data = isObject(error.data) ? error.data : undefined;
    return errorMessage(idText(response), errorCodes.invalidParams, error.message, data);
  }
  if (!isObject(result)) return response;
  const server = serverInfo === undefined ? {} : { [meta.serverInfo]: serverInfo };
  const isNew = (name: string): boolean => result[name] === undefined;
  const members = {
    ...(isNew('resultType') ? { resultType: 'complete' } : {}),
    ...(cacheableMethods.has(method) && isNew('ttlMs') ? { ttlMs: 0 } : {}),
    ...(cacheableMethods.has(method) && isNew('cacheScope') ? { cacheScope: 'private' } : {}),
    ...(isNew('_meta') ? { _meta: server } : {}),
  };
  const { _meta } = result;
  const described = withFirst(response, ['result'], members, { ...members, ...result });
  return isObject(_meta) && _meta[meta.serverInfo] === undefined
    ? withFirst(described, ['result', '_meta'], server, {
        ...members,
        ...result,
        _meta: { ...server, ..._meta },
      })
    : described;
}

/** Writes members in front of others, without parsing the response again. */
function withFirst(
  response: Message,
  path: readonly string[],
  members: Record<string, unknown>,
  result: Record<string, unknown>,
): Message {
  const place = startOf(response.text, path, members);
  return place === undefined ? response : withResult(response, result, place);
}

/** Converts a modern server's response to earlier protocol versions, in which results have no type. */
export const withoutResultType = oncePerAnswer((response) => {
  const { text, value } = response;
  if (!isObject(value.result) || value.result['resultType'] !== 'complete') return response;
  const [start, end] = spanOf(text, ['result', 'resultType']) ?? [0, 0];
  const key = text.lastIndexOf('"resultType"', start);
  // A name with escapes stays: clients ignore members that they do not know.
  if (key === -1 || !/^"resultType"\s*:\s*$/.test(text.slice(key, start))) return response;
  const { resultType: _type, ...result } = value.result;
  return withResult(response, result, { span: withComma(text, [key, end]), replacement: '' });
});

/** The place of a member with the comma that separates the member from another one. */
function withComma(text: string, [start, end]: Span): Span {
  const isSpace = (at: number): boolean => /\s/.test(text.charAt(at));
  let before = start - 1;
  while (isSpace(before)) before--;
  if (text[before] === ',') return [before, end];
  let after = end;
  while (isSpace(after)) after++;
  return [start, text[after] === ',' ? after + 1 : end];
}

/** Returns a legacy server's result of `server/discover`. */
export function discoverResult(identity: ServerIdentity): object {
  const { capabilities, serverInfo, instructions } = identity;
  return {
    resultType: 'complete',
    supportedVersions: protocolVersions,
    capabilities,
    ...(instructions === undefined ? {} : { instructions }),
    ttlMs: 0,
    cacheScope: 'private',
    ...(serverInfo === undefined ? {} : { _meta: { [meta.serverInfo]: serverInfo } }),
  };
}

/** Adds the versions that the server does not support itself to its answer to `server/discover`. */
export function withAllVersions(responder: Responder): Responder {
  return withAnswer(responder, (response) => {
    const { text, value } = response;
    const span = isObject(value.result) ? spanOf(text, ['result', 'supportedVersions']) : undefined;
    responder.answer(
      span === undefined ? response : readMessage(replaceAt(text, span, JSON.stringify(protocolVersions))),
    );
  });
}

/** Answers a modern client that the server needs a capability which the client has not declared. */
export function missingCapability(responder: Responder, id: string, capability: string): void {
  const data = { requiredCapabilities: { [capability]: {} } };
  const message = `the server asks the client for ${capability}`;
  answerError(responder, id, mcpErrors.missingClientCapability, message, data);
}
