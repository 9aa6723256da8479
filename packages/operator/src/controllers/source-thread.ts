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
const TIMEOUT_MS = 120_000;

/**
 * Reads sources in a thread, one after the other. Other people write the sources: the thread keeps a large or slow one
 * from the event loop, which renews the lease, and ends before the memory of the pod does.
 */
export class SourceReader {
  readonly #program: URL;
  readonly #queue = new SerialQueue();

  /** `program` calls `answerSourceRequest`. */
  constructor(program: URL) {
    this.#program = program;
  }

  /** Reads a source. Throws `SyncFailure`. */
  read(request: SourceRequest, signal: AbortSignal): Promise<SourceContent> {
    return this.#queue.run(() => this.#readNow(request, signal));
  }

  async #readNow(request: SourceRequest, signal: AbortSignal): Promise<SourceContent> {
    signal.throwIfAborted();
    const limit = AbortSignal.timeout(TIMEOUT_MS);
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
      if (limit.aborted) throw unreadable(`the source takes longer than ${TIMEOUT_MS / 1_000} seconds`);
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
