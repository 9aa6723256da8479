import { answerError, withAnswer } from '../connection/responder.ts';
import type { Responder } from '../connection/responder.ts';
import {
  errorCodes,
  errorMessage,
  idText,
  insertMembers,
  isObject,
  readMessage,
  replaceAt,
  spanOf,
} from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
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
  const text = insertMembers(response.text, ['result'], members);
  const { _meta } = result;
  return readMessage(
    isObject(_meta) && _meta[meta.serverInfo] === undefined
      ? insertMembers(text, ['result', '_meta'], server)
      : text,
  );
}

/** Converts a modern server's response to earlier protocol versions, in which results have no type. */
export function withoutResultType(response: Message): Message {
  const { text, value } = response;
  if (!isObject(value.result) || value.result['resultType'] !== 'complete') return response;
  const [start, end] = spanOf(text, ['result', 'resultType']) ?? [0, 0];
  const key = text.lastIndexOf('"resultType"', start);
  // A name with escapes stays: clients ignore members that they do not know.
  if (key === -1 || !/^"resultType"\s*:\s*$/.test(text.slice(key, start))) return response;
  const before = text.slice(0, key).trimEnd();
  const after = text.slice(end).trimStart();
  return readMessage(before.endsWith(',') ? before.slice(0, -1) + after : before + after.replace(/^,/, ''));
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
