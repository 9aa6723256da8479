import { isObject } from '../jsonrpc/message.ts';
import { isModern } from '../protocol/protocol.ts';
import { legacyResult } from '../repair/results.ts';
import type { CallContext, Middleware } from './middleware.ts';
import { withReadable } from './result-repair.ts';
import type { ResultRepairOptions } from './result-repair.ts';

/** Gives clients of versions before 2026-07-28 no structured results other than objects, which they refuse. */
export function legacyResults({
  repairsResults,
}: Pick<ResultRepairOptions, 'repairsResults'>): Middleware | undefined {
  if (repairsResults !== true) return undefined;
  return {
    isObserver: true, // refuses nothing
    message({ direction, message, request, client }: CallContext) {
      const { result } = message.value;
      const method = request?.value.method;
      if (direction === 'to server' || message.kind !== 'response' || method === undefined) return message;
      if (!isObject(result) || isModern(client.protocolVersion)) return message;
      const after = legacyResult(method, result);
      return after === result ? message : withReadable(message, result, after);
    },
  };
}
