import * as z from 'zod';
import { embeddedProgram } from '../embedded-program.ts';
import type { Launch, RuntimeLimit } from '../runtime.ts';
import { callEngine, isFailure, type Engine } from './engine.ts';
import { inspectImage } from './images.ts';

/**
 * Passes secrets to a container privately: a shell precedes the server, reads the secrets from the container's input,
 * and then becomes the server. The secrets appear in no container setting, argument, or file. The rest of the input
 * belongs to the server.
 */
export interface SecretInput {
  entrypoint: string[];
  command: string[];
  /** What the container is to read before anything else. */
  input: Buffer;
}

/** For containers in which a shell cannot run or would change the environment. */
export const exposedSecrets: RuntimeLimit = {
  concerns: 'every server',
  text: 'its secrets appear in the container settings, which anyone with access to the container engine can read, because the image has no shell or has a variable with a name that shells drop',
};

const shell = '/bin/sh';

/** Undefined without secrets, or if a shell would drop a variable that the server needs. */
export async function planSecretInput(
  engine: Engine,
  { launch, image, signal }: { launch: Launch; image: string; signal: AbortSignal },
): Promise<SecretInput | undefined> {
  const { secrets, transport, args, env } = launch;
  if (Object.keys(secrets).length === 0) return undefined;
  const config = (await inspectImage(engine, image, signal))?.Config;
  const server = [...(config?.Entrypoint ?? []), ...(args.length > 0 ? args : (config?.Cmd ?? []))];
  const names = [...Object.keys(env), ...(config?.Env ?? []).map((variable) => variable.replace(/=.*/s, ''))];
  // Shells drop variables that they could not name themselves.
  if (server.length === 0 || !names.every((name) => /^[A-Za-z_]\w*$/.test(name))) return undefined;
  return secretInputOf(secrets, transport.kind, server);
}

/** Puts the shell before a server. */
export function secretInputOf(
  secrets: Launch['secrets'],
  transport: Launch['transport']['kind'],
  server: string[],
): SecretInput {
  const lines = Object.entries(secrets).map(([name, value]) => `${name}=${encode(value)}\n`);
  return {
    entrypoint: [shell, '-c', embeddedProgram('read-secrets.sh'), 'sh', transport],
    command: server,
    input: Buffer.from([...lines, '.\n'].join('')),
  };
}

/** Everything but letters and digits as octal, which is all that every `printf %b` reads in the same way. */
function encode(value: string): string {
  return Buffer.from(value)
    .toString('latin1')
    .replace(/[^A-Za-z0-9]/g, (byte) => `\\0${byte.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

/** Whether a container that was made, and need not run, has the shell. */
export async function hasShell(engine: Engine, id: string): Promise<boolean> {
  try {
    const path = `/containers/${id}/archive`;
    await callEngine(engine, z.unknown(), { method: 'HEAD', path, query: { path: shell } });
    return true;
  } catch (error) {
    if (isFailure(error, 'not-found')) return false;
    throw error;
  }
}
