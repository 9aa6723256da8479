import { isObject } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { oncePerAnswer } from '../jsonrpc/repeated-answers.ts';
import { isModern } from '../protocol/protocol.ts';
import { legacyResult, listForModels } from '../repair/results.ts';
import type { CallContext, Middleware } from './middleware.ts';
import { withReadable } from './result-repair.ts';
import type { ResultRepairOptions } from './result-repair.ts';

/**
 * Gives clients input schemas that models accept, and clients of versions before 2026-07-28 no structured results other than objects,
 * which they refuse.
 */
export function legacyResults({
  repairsResults,
}: Pick<ResultRepairOptions, 'repairsResults'>): Middleware | undefined {
  if (repairsResults !== true) return undefined;
  const modernList = oncePerAnswer((answer) => changed(answer, listForModels));
  const legacyList = oncePerAnswer((answer) =>
    changed(answer, (result) => legacyResult('tools/list', listForModels(result))),
  );
  return {
    isObserver: true, // refuses nothing
    message({ direction, message, request, client }: CallContext) {
      const method = request?.value.method;
      if (direction === 'to server' || message.kind !== 'response' || method === undefined) return message;
      const isNew = isModern(client.protocolVersion);
      if (method === 'tools/list') return isNew ? modernList(message) : legacyList(message);
      return isNew ? message : changed(message, (result) => legacyResult(method, result));
    },
  };
}

type Change = (result: Record<string, unknown>) => Record<string, unknown>;

function changed(message: Message, change: Change): Message {
  const { result } = message.value;
  const after = isObject(result) ? change(result) : result;
  return after === result || !isObject(after) ? message : withReadable(message, result, after);
}
