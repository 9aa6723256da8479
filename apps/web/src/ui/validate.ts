import { useEffect, useState } from 'react';
// oxlint-disable-next-line import/default -- Vite provides it
import workerUrl from './validate.worker.ts?worker&url';
import type { Problems } from './validate.worker.ts';

export type { Problems } from './validate.worker.ts';

/** A schema that takes longer is not checked. */
const limitMs = 1_000;
/** The pause after a change before the value is checked. */
const pauseMs = 150;

export interface Validation {
  problems: Problems;
  /** False if the check took too long or the schema is not valid. */
  isChecked: boolean;
}

/** The browser accepts workers only from addresses that this policy has approved. */
const policy = (
  globalThis as {
    trustedTypes?: {
      createPolicy: (name: string, rules: object) => { createScriptURL: (url: string) => string };
    };
  }
).trustedTypes?.createPolicy('toolhive', { createScriptURL: (url: string) => url });

/** Checks a value against the schema of a server, in a worker that is ended if it takes too long. */
function validate(schema: unknown, value: unknown, signal: AbortSignal): Promise<Validation> {
  const { promise, resolve } = Promise.withResolvers<Validation>();
  const worker = new Worker(policy?.createScriptURL(workerUrl) ?? workerUrl, { type: 'module' });
  const finish = (validation: Validation): void => {
    clearTimeout(timer);
    worker.terminate();
    resolve(validation);
  };
  const unchecked = (): void => finish({ problems: {}, isChecked: false });
  const timer = setTimeout(unchecked, limitMs);
  signal.addEventListener('abort', unchecked, { once: true });
  worker.addEventListener('error', unchecked);
  worker.addEventListener('message', ({ data }: MessageEvent<Problems>) =>
    finish({ problems: data, isChecked: true }),
  );
  worker.postMessage({ schema, value });
  return promise;
}

/** Checks a value whenever it changes. */
export function useValidation(schema: unknown, value: unknown): Validation {
  const [validation, setValidation] = useState<Validation>({ problems: {}, isChecked: true });
  useEffect(() => {
    const controller = new AbortController();
    const check = async (): Promise<void> => {
      const found = await validate(schema, value, controller.signal);
      if (!controller.signal.aborted) setValidation(found);
    };
    const timer = setTimeout(() => {
      void check();
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [schema, value]);
  return validation;
}
