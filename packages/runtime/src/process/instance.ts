import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Exit, Instance, InstanceAddress, InstanceUsage, RuntimeLimit } from '../runtime.ts';
import { usageOf } from '../proc.ts';
import type { Sandbox } from './sandbox.ts';

export interface InstanceParts {
  sandbox: Sandbox;
  speaks: boolean;
  address: InstanceAddress | undefined;
  exited: Promise<Exit>;
  limits: readonly RuntimeLimit[];
}

/** A server in its sandbox. */
export class ProcessInstance implements Instance {
  readonly id: string;
  readonly stdio?: { input: Writable; output: Readable };
  readonly address?: InstanceAddress;
  readonly exited: Promise<Exit>;
  readonly limits: readonly RuntimeLimit[];
  readonly #sandbox: Sandbox;

  constructor({ sandbox, speaks, address, exited, limits }: InstanceParts) {
    const { stdin, stdout } = sandbox.bwrap;
    this.id = String(sandbox.pid);
    if (speaks && stdin !== null && stdout !== null) this.stdio = { input: stdin, output: stdout };
    if (address !== undefined) this.address = address;
    this.exited = exited;
    this.limits = limits;
    this.#sandbox = sandbox;
  }

  async usage(): Promise<InstanceUsage | undefined> {
    return usageOf(this.#sandbox.init);
  }

  async stop(graceMs: number): Promise<void> {
    this.stdio?.input.end();
    this.#sandbox.signalServer('SIGTERM');
    if (graceMs > 0) await settledWithin(this.exited, graceMs);
    this.#sandbox.kill();
    await this.exited;
    this.stdio?.output.destroy(); // without a reader, the stream would stay open forever
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop(0);
  }
}

async function settledWithin(event: Promise<unknown>, timeoutMs: number): Promise<void> {
  const timer = new AbortController();
  const timeout = delay(timeoutMs, undefined, { signal: timer.signal }).catch(() => {});
  await Promise.race([event, timeout]);
  timer.abort();
}
