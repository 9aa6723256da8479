import { useState } from 'react';
import type { InputRequest, Values } from '../../api/mcp.ts';

/** What a server asks the user in the course of a call. */
export interface Asked {
  id: number;
  requests: readonly InputRequest[];
  /** Without responses, the call is canceled. */
  answer: (responses: Values | undefined) => void;
}

let nextId = 1;

/** The questions of servers, which the user answers one after the other. A question ends with its call. */
export function useQuestions(): {
  asked: Asked | undefined;
  ask: (requests: readonly InputRequest[], call: AbortSignal, cancel: () => void) => Promise<Values>;
} {
  const [waiting, setWaiting] = useState<readonly Asked[]>([]);
  return {
    asked: waiting[0],
    ask(requests, call, cancel) {
      const { promise, resolve, reject } = Promise.withResolvers<Values>();
      const id = nextId++;
      const end = (): void => {
        call.removeEventListener('abort', giveUp);
        setWaiting((all) => all.filter((each) => each.id !== id));
      };
      const giveUp = (): void => {
        end();
        reject(call.reason as Error);
      };
      const answer = (responses: Values | undefined): void => {
        if (responses === undefined) return cancel();
        end();
        resolve(responses);
      };
      call.addEventListener('abort', giveUp, { once: true });
      setWaiting((all) => [...all, { id, requests, answer }]);
      return promise;
    },
  };
}
