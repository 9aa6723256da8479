import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { QueueObserver } from './queue.ts';

/** The metrics of the operator under the names that controller-runtime uses. */
export class OperatorMetrics {
  readonly registry = new Registry();
  readonly #passes = this.#counter('controller_runtime_reconcile_total', 'Passes by controller and result', [
    'controller',
    'result',
  ]);
  readonly #failures = this.#counter('controller_runtime_reconcile_errors_total', 'Failed passes', [
    'controller',
  ]);
  readonly #durations = new Histogram({
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'Duration of passes',
    labelNames: ['controller'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [this.registry],
  });
  readonly #active = this.#gauge('controller_runtime_active_workers', 'Running passes', ['controller']);
  readonly #depth = this.#gauge('workqueue_depth', 'Waiting keys', ['name']);
  readonly #adds = this.#counter('workqueue_adds_total', 'Added keys', ['name']);
  readonly #retries = this.#counter('workqueue_retries_total', 'Repeated keys', ['name']);
  readonly #waits = new Histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'Time of keys in the queue',
    labelNames: ['name'],
    buckets: [0.001, 0.01, 0.1, 1, 10, 100],
    registers: [this.registry],
  });
  readonly #requests = this.#counter('rest_client_requests_total', 'Requests to the API server', [
    'code',
    'host',
    'method',
  ]);
  readonly #corrections = this.#counter(
    'toolhive_operator_corrections_total',
    'Changes of generated objects by other programs that were reverted',
    ['kind'],
  );
  readonly #disputes = this.#counter(
    'toolhive_operator_disputes_total',
    'Waits because another program repeats its change of a generated object',
    ['kind'],
  );
  readonly #leader = this.#gauge('leader_election_master_status', 'Whether this replica is the leader', [
    'name',
  ]);

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  /** Counts one request to the API server. */
  request({ code, host, method }: { code: string; host: string; method: string }): void {
    this.#requests.inc({ code, host, method });
  }

  /** Counts a reverted change of an object. */
  correction(kind: string): void {
    this.#corrections.inc({ kind });
  }

  /** Counts a wait before the same change of an object is reverted again. */
  dispute(kind: string): void {
    this.#disputes.inc({ kind });
  }

  /** Measures which namespaces can be read. */
  scopes(report: () => readonly { namespace: string; isReadable: boolean }[]): void {
    const name = 'toolhive_operator_namespace_readable';
    const help = 'Whether the operator can read a namespace, or all of them';
    const collect = (): void => {
      for (const { namespace, isReadable } of report()) gauge.set({ namespace }, isReadable ? 1 : 0);
    };
    const gauge = new Gauge({ name, help, labelNames: ['namespace'], registers: [this.registry], collect });
  }

  leads(name: string, isLeader: boolean): void {
    this.#leader.set({ name }, isLeader ? 1 : 0);
  }

  queue(name: string): QueueObserver {
    return {
      depth: (waiting) => this.#depth.set({ name }, waiting),
      added: () => this.#adds.inc({ name }),
      retried: () => this.#retries.inc({ name }),
      waited: (seconds) => this.#waits.observe({ name }, seconds),
    };
  }

  /** Measures one pass of a controller. */
  async pass<T extends { againAfterMs?: number } | void>(
    controller: string,
    run: () => Promise<T>,
  ): Promise<T> {
    const stop = this.#durations.startTimer({ controller });
    this.#active.inc({ controller });
    try {
      const result = await run();
      this.#passes.inc({
        controller,
        result: result?.againAfterMs === undefined ? 'success' : 'requeue_after',
      });
      return result;
    } catch (error) {
      this.#passes.inc({ controller, result: 'error' });
      this.#failures.inc({ controller });
      throw error;
    } finally {
      this.#active.dec({ controller });
      stop();
    }
  }

  #counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  #gauge<Label extends string>(name: string, help: string, labelNames: Label[]): Gauge<Label> {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }
}
