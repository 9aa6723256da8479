import { unavailable } from '@toolhive/contract/failure';
import type * as Cedar from '@cedar-policy/cedar-wasm/nodejs';

let loaded: typeof Cedar | undefined;

/** Loads the Cedar engine, which takes about 50 ms and 70 MB. Only daemons with policies need it. */
export async function loadCedar(): Promise<void> {
  loaded ??= await import('@cedar-policy/cedar-wasm/nodejs').catch((cause: unknown) => {
    throw unavailable('authorization policies cannot be evaluated', {
      hint: 'install ToolHive with its optional packages: @cedar-policy/cedar-wasm is missing',
      cause,
    });
  });
}

/** The loaded engine. */
export function cedar(): typeof Cedar {
  if (loaded === undefined) throw new Error('the Cedar engine is not loaded');
  return loaded;
}
