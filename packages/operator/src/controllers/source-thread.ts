import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker, parentPort, workerData } from 'node:worker_threads';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import { SyncFailure, readSource, unreadable } from './registry-source.ts';
import type { SourceContent, SourceRequest } from './registry-source.ts';

type Answer = { content: SourceContent } | { failure: Pick<SyncFailure, 'type' | 'reason' | 'message'> };

/** The heap of a thread. Transfers and files have limits of their own. */
const LIMITS = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 8 };
/** A source that takes longer waits for other slow sources only. */
const QUICK_MS = 15_000;
const SLOW_MS = 120_000;

/**
 * Reads sources in two threads: one for quick sources and one for slow ones, each source after the other. Other people
 * write the sources: the threads keep a large or slow one from the event loop, which renews the lease, and end before the
 * memory of the pod does. A slow source delays quick ones only until it is known to be slow.
 */
export class SourceReader {
  readonly #program: URL;
  readonly #quickMs: number;
  readonly #quick = new SerialQueue();
  readonly #slow = new SerialQueue();
  /** The names of the sources that were slow the last time. */
  readonly #slowNames = new Set<string>();

  /** `program` calls `answerSourceRequest`. */
  constructor(program: URL, { quickMs = QUICK_MS }: { quickMs?: number } = {}) {
    this.#program = program;
    this.#quickMs = quickMs;
  }

  /** Reads the source with a name. Throws `SyncFailure`. */
  async read(name: string, request: SourceRequest, signal: AbortSignal): Promise<SourceContent> {
    if (!this.#slowNames.has(name)) {
      const content = await this.#quick.run(() => this.#readNow(request, this.#quickMs, signal));
      if (content !== undefined) return content;
      this.#slowNames.add(name);
    }
    return this.#slow.run(async () => {
      const startedAt = performance.now();
      try {
        const content = await this.#readNow(request, SLOW_MS, signal);
        if (content !== undefined) return content;
      } finally {
        if (performance.now() - startedAt < this.#quickMs) this.#slowNames.delete(name);
      }
      throw unreadable(`the source takes longer than ${SLOW_MS / 1_000} seconds`);
    });
  }

  /** Returns undefined if the source takes longer than a limit. */
  async #readNow(
    request: SourceRequest,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<SourceContent | undefined> {
    signal.throwIfAborted();
    const limit = AbortSignal.timeout(limitMs);
    // A thread that is ended leaves its files behind.
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-source-'));
    const env = { ...process.env, TMPDIR: folder.path };
    const worker = new Worker(this.#program, {
      workerData: request,
      resourceLimits: LIMITS,
      execArgv: [],
      env,
    });
    worker.on('error', () => {}); // reported below, or of no interest after the answer
    try {
      const [answer] = (await once(worker, 'message', { signal: AbortSignal.any([signal, limit]) })) as [
        Answer,
      ];
      if ('content' in answer) return answer.content;
      const { type, reason, message } = answer.failure;
      throw new SyncFailure(type, reason, message);
    } catch (error) {
      signal.throwIfAborted();
      if (limit.aborted) return undefined;
      if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY')
        throw unreadable(`the source needs more memory than ${LIMITS.maxOldGenerationSizeMb} MiB`);
      throw error;
    } finally {
      await worker.terminate();
    }
  }
}

/** Answers the request for which this thread was started. */
export async function answerSourceRequest(): Promise<void> {
  let answer: Answer;
  try {
    const endless = new AbortController().signal; // the other side ends the thread
    answer = { content: await readSource(workerData as SourceRequest, endless) };
  } catch (error) {
    if (!(error instanceof SyncFailure)) throw error;
    const { type, reason, message } = error;
    answer = { failure: { type, reason, message } };
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(answer);
}
