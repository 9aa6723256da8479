import { ThvError } from '@toolhive/contract/failure';
import type { Operation, OperationResult } from '@toolhive/contract/operation';
import { operations } from '@toolhive/contract/operations';
import type { OperationId, Operations } from '@toolhive/contract/operations';
import { apiBase, failureStatus, problemMediaType, writeProblem } from '@toolhive/contract/wire';
import * as z from 'zod';

/** A request that a component has sent. */
export interface SentRequest {
  operation: OperationId;
  path: string;
  query: Readonly<Record<string, string>>;
  body: unknown;
}

type Answers = {
  [Id in OperationId]?: (request: SentRequest) => OperationResult<Operations[Id]> | ThvError;
};

/**
 * Answers the requests of components in the wire format of the API. Each JSON answer has to match the schema of its
 * operation. Returns the requests in their order.
 */
export function answerAs(answers: Answers): SentRequest[] {
  const sent: SentRequest[] = [];
  globalThis.fetch = async (input, init) => {
    const { pathname: path, searchParams } = new URL(
      input instanceof Request ? input.url : input,
      window.location.href,
    );
    const { method = 'GET', body } = init ?? {};
    const id = (Object.keys(answers) as OperationId[]).find(
      (each) => operations[each].method === method && patternOf(operations[each]).test(path),
    );
    if (id === undefined) throw new Error(`the test has no answer to ${method} ${path}`);
    const request: SentRequest = {
      operation: id,
      path,
      query: Object.fromEntries(searchParams),
      body: typeof body === 'string' ? JSON.parse(body) : undefined,
    };
    sent.push(request);
    return responseTo(operations[id], answers[id]?.(request));
  };
  return sent;
}

function patternOf({ path }: Operation): RegExp {
  return new RegExp(`^${apiBase}${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

function responseTo({ success }: Operation, answer: unknown): Response {
  if (answer instanceof ThvError) {
    return new Response(JSON.stringify(writeProblem(answer)), {
      status: failureStatus[answer.kind].status,
      headers: { 'content-type': problemMediaType },
    });
  }
  const { status, body } = success;
  if (body instanceof z.ZodType) return Response.json(body.parse(answer), { status });
  return new Response(typeof answer === 'string' ? answer : null, { status });
}
