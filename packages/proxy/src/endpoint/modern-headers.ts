import type { IncomingHttpHeaders } from 'node:http';
import { errorCodes, isObject } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { refusal } from '../middleware/message-pipeline.ts';
import type { Refusal } from '../middleware/middleware.ts';
import { decoded, nameParameter, namedBy } from '../protocol/header-values.ts';
import { mirroredValue } from '../protocol/mirrored-parameters.ts';
import type { MirroredParameter } from '../protocol/mirrored-parameters.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';
import { isModern, mcpErrors, meta, protocolVersions } from '../protocol/protocol.ts';

/**
 * Whether a request is modern, or claims to be, in its header or in `_meta`. The other headers prove nothing, because some
 * clients always send them.
 */
export function isModernRequest(headers: IncomingHttpHeaders, message: Message | undefined): boolean {
  const revision = headers['mcp-protocol-version'];
  if (typeof revision === 'string' && isModern(revision)) return true;
  return message?.value.params?._meta?.[meta.protocolVersion] !== undefined;
}

/** Returns the client information in a modern request that `refusalOf` has accepted. */
export function modernClient({ value }: Message): ClientIdentity {
  const described = value.params?._meta ?? {};
  const capabilities = described[meta.clientCapabilities];
  return {
    protocolVersion: String(described[meta.protocolVersion]),
    capabilities: isObject(capabilities) ? capabilities : {},
    clientInfo: described[meta.clientInfo],
  };
}

/**
 * Returns the error in the headers and `_meta` of a modern request (MCP 2026-07-28, Streamable HTTP, Server
 * Validation).
 */
export function refusalOf(headers: IncomingHttpHeaders, { value, kind }: Message): Refusal | undefined {
  const { method = '', params } = value;
  const inHeader = headers['mcp-protocol-version'];
  const { [meta.protocolVersion]: revision, [meta.clientCapabilities]: capabilities } = params?._meta ?? {};
  if (typeof inHeader !== 'string') return mismatch('the header MCP-Protocol-Version is missing');
  if (kind === 'request') {
    if (revision === undefined) return invalid(`_meta has no ${meta.protocolVersion}`);
    if (revision !== inHeader)
      return mismatch(`MCP-Protocol-Version is ${inHeader}, but _meta contains ${JSON.stringify(revision)}`);
    if (!isObject(capabilities)) return invalid(`_meta has no ${meta.clientCapabilities}`);
  }
  if (!protocolVersions.includes(inHeader) || !isModern(inHeader)) return unsupported(inHeader);
  return wrongName(headers, method, params);
}

function wrongName(
  headers: IncomingHttpHeaders,
  method: string,
  params: Message['value']['params'],
): Refusal | undefined {
  const asked = headers['mcp-method'];
  if (asked === undefined) return mismatch('the header Mcp-Method is missing');
  if (asked !== method) return mismatch(`Mcp-Method is ${String(asked)}, but the method is ${method}`);
  const member = nameParameter(method);
  if (member === undefined) return undefined;
  const name = params?.[member];
  const inHeader = headers['mcp-name'];
  if (inHeader === undefined && namedBy[method] === undefined) return undefined;
  if (typeof inHeader !== 'string') return mismatch('the header Mcp-Name is missing');
  if (decoded(inHeader) !== name)
    return mismatch(`Mcp-Name is ${inHeader}, but ${member} is ${String(name)}`);
  return undefined;
}

/** Returns the error in the headers that repeat tool parameters. */
export function wrongParameter(
  headers: IncomingHttpHeaders,
  mirrored: readonly MirroredParameter[],
  args: unknown,
): Refusal | undefined {
  for (const { header, path } of mirrored) {
    const value = mirroredValue(args, path);
    const sent = headers[header];
    if (value === undefined && sent === undefined) continue;
    if (typeof sent !== 'string') return mismatch(`the header ${header} is missing`);
    const told = decoded(sent);
    if (told !== value && !isSameNumber(told, value)) {
      return mismatch(`the header ${header} differs from ${path.join('.')}`);
    }
  }
  return undefined;
}

function isSameNumber(one: string | undefined, other: string | undefined): boolean {
  const isNumber = /^-?\d+(\.\d+)?$/;
  return (
    one !== undefined &&
    other !== undefined &&
    isNumber.test(one) &&
    isNumber.test(other) &&
    Number(one) === Number(other)
  );
}

function mismatch(message: string): Refusal {
  return refusal(mcpErrors.headerMismatch, `headers do not match: ${message}`);
}

function invalid(message: string): Refusal {
  return refusal(errorCodes.invalidParams, message);
}

function unsupported(requested: string): Refusal {
  const data = { supported: protocolVersions, requested };
  return refusal(mcpErrors.unsupportedVersion, 'Unsupported protocol version', data);
}
