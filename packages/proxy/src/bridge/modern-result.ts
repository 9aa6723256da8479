import {
  errorCodes,
  errorText,
  idText,
  insertMembers,
  isObject,
  readMessage,
  replaceAt,
  spanOf,
} from '../jsonrpc/message.ts';
import type { MessageValue } from '../jsonrpc/message.ts';
import { answerError } from '../connection/connection.ts';
import type { Responder } from '../connection/connection.ts';
import { cacheableMethods, mcpErrors, meta, protocolVersions } from '../protocol/protocol.ts';
import type { ServerIdentity } from '../protocol/protocol.ts';

/**
 * A legacy server's answer as the modern era wants it: results say of which type they are, who gives them, and for
 * how long they hold, which a legacy server does not know, so for no time at all.
 */
export function modernised(
  text: string,
  { result, error }: MessageValue,
  method: string,
  { serverInfo }: ServerIdentity,
): string {
  if (error !== undefined) {
    if (error.code !== mcpErrors.legacyResourceNotFound) return text;
    return errorText(
      idText(readMessage(text)),
      errorCodes.invalidParams,
      error.message,
      asObject(error.data),
    );
  }
  if (!isObject(result)) return text;
  const who = serverInfo === undefined ? {} : { [meta.serverInfo]: serverInfo };
  const isNew = (name: string): boolean => result[name] === undefined;
  const members = {
    ...(isNew('resultType') ? { resultType: 'complete' } : {}),
    ...(cacheableMethods.has(method) && isNew('ttlMs') ? { ttlMs: 0 } : {}),
    ...(cacheableMethods.has(method) && isNew('cacheScope') ? { cacheScope: 'private' } : {}),
    ...(isNew('_meta') ? { _meta: who } : {}),
  };
  const described = insertMembers(text, ['result'], members);
  const { _meta } = result;
  return isObject(_meta) && _meta[meta.serverInfo] === undefined
    ? insertMembers(described, ['result', '_meta'], who)
    : described;
}

/** The answer to `server/discover` for a legacy server. What only the legacy era has is left out. */
export function discoverResult(identity: ServerIdentity): object {
  const { capabilities, serverInfo, instructions } = withoutTasks(identity);
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

/** What a legacy server offers to those who have no conversation of their own, in which alone a task has its place. */
export function withoutTasks(identity: ServerIdentity): ServerIdentity {
  const { tasks: _tasks, ...capabilities } = identity.capabilities;
  return { ...identity, capabilities };
}

/** A modern server's own answer to `server/discover`: clients of protocolVersions that it does not speak can use it too. */
export function withAllVersions(reply: Responder): Responder {
  return {
    notify: (text) => reply.notify(text),
    answer(text, value) {
      const span = isObject(value.result) ? spanOf(text, ['result', 'supportedVersions']) : undefined;
      reply.answer(
        span === undefined ? text : replaceAt(text, span, JSON.stringify(protocolVersions)),
        value,
      );
    },
  };
}

/** Tells a modern client that its request needs something of it that it has not said it can give. */
export function missingCapability(reply: Responder, id: string, capability: string): void {
  const data = { requiredCapabilities: { [capability]: {} } };
  answerError(
    reply,
    id,
    mcpErrors.missingClientCapability,
    `the server asks the client for ${capability}`,
    data,
  );
}

function asObject(value: unknown): object | undefined {
  return isObject(value) ? value : undefined;
}
