import { describeExit } from '@toolhive/runtime/runtime';
import { Bridge } from '../bridge/bridge.ts';
import { defaultLimits } from '../bridge/limits.ts';
import { serveBridge } from '../front/serve.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import type { Exchange } from '../pipeline.ts';
import type { Era } from '../protocol.ts';
import { StdioWire } from '../wire/stdio-wire.ts';
import type { Wire } from '../wire/wire.ts';
import type { Backend, BackendOptions, RunningServer, StartInstance } from './backend.ts';

/** How long such a process has to end by itself. */
const stopMs = 2_000;

/** A server on the standard streams of its process: every client talks to it through the bridge. */
export class StdioBackend implements Backend {
  readonly #bridge: Bridge;
  readonly #input: WorkloadInput;

  constructor(options: BackendOptions) {
    this.#input = options.input;
    this.#bridge = new Bridge({
      ...options,
      limits: { ...defaultLimits, ...options.limits },
      isSlowToStart: true,
    });
  }

  get era(): Era | undefined {
    return this.#bridge.era;
  }

  connect(instance: RunningServer, startAnother: StartInstance, signal: AbortSignal): Promise<void> {
    const openWire = async (over: AbortSignal): Promise<Wire> => {
      const another = await startAnother(over);
      const wire = this.#wireTo(another, () => another.stop(stopMs));
      void another.exited.then((exit) => wire.ended(`it ${describeExit(exit)}`));
      return wire;
    };
    return this.#bridge.connect({ wire: this.#wireTo(instance), openWire }, signal);
  }

  disconnect(reason: string, final: boolean): void {
    this.#bridge.disconnect(reason, final);
  }

  handle(exchange: Exchange): void {
    serveBridge(this.#bridge, exchange);
  }

  close(): Promise<void> {
    return this.#bridge[Symbol.asyncDispose]();
  }

  #wireTo({ stdio }: RunningServer, end?: () => Promise<void>): StdioWire {
    if (stdio === undefined) throw new Error('a bridge needs an instance that speaks stdio');
    return new StdioWire({ ...stdio, limits: this.#input, end });
  }
}
