import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { namespaceOf } from '../runtime/reflector.ts';
import { Turns } from '../runtime/turns.ts';
import { SyncFailure, readSource, unreadable } from './registry-source.ts';
import type { SourceContent, SourceRequest } from './registry-source.ts';

type Answer = { content: SourceContent } | { failure: Pick<SyncFailure, 'type' | 'reason' | 'message'> };

/** The heap of a process. Transfers and files have limits of their own. */
const HEAP_MB = 96;
const HEAP = [`--max-old-space-size=${HEAP_MB}`, '--max-semi-space-size=4'];
/** A source that takes longer waits for other slow sources only. */
const QUICK_MS = 15_000;
const SLOW_MS = 120_000;

/**
 * Reads sources in two processes: one for quick sources and one for slow ones, each source after the other. Other people
 * write the sources: the processes keep a large or slow one from the event loop, which renews the lease, and end before the
 * memory of the pod does. A slow source delays quick ones only until it is known to be slow. Namespaces take turns, because the
 * people of one can have any number of sources that are nearly slow.
 */
export class SourceReader {
  readonly #program: URL;
  readonly #quickMs: number;
  readonly #quick = new Turns(1);
  readonly #slow = new Turns(1);
  /** The registries whose sources were slow the last time. */
  readonly #slowKeys = new Set<string>();

  /** `program` calls `answerSourceRequest`. */
  constructor(program: URL, { quickMs = QUICK_MS }: { quickMs?: number } = {}) {
    this.#program = program;
    this.#quickMs = quickMs;
  }

  /** Reads the source of the registry with a key. Throws `SyncFailure`. */
  async read(key: string, request: SourceRequest, signal: AbortSignal): Promise<SourceContent> {
    const owner = namespaceOf(key);
    if (!this.#slowKeys.has(key)) {
      const content = await this.#quick.run(() => this.#readNow(request, this.#quickMs, signal), owner);
      if (content !== undefined) return content;
      this.#slowKeys.add(key);
    }
    return this.#slow.run(async () => {
      const startedAt = performance.now();
      try {
        const content = await this.#readNow(request, SLOW_MS, signal);
        if (content !== undefined) return content;
      } finally {
        if (performance.now() - startedAt < this.#quickMs) this.#slowKeys.delete(key);
      }
      throw unreadable(`the source takes longer than ${SLOW_MS / 1_000} seconds`);
    }, owner);
  }

  /** Returns undefined if the source takes longer than a limit. */
  async #readNow(
    request: SourceRequest,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<SourceContent | undefined> {
    signal.throwIfAborted();
    const limit = AbortSignal.timeout(limitMs);
    // A process that is ended leaves its files behind.
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-source-'));
    const child = fork(fileURLToPath(this.#program), {
      execArgv: HEAP,
      env: { ...process.env, TMPDIR: folder.path },
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const ended = endOf(child);
    try {
      child.send(request, () => {}); // its end tells what went wrong
      const message = once(child, 'message', { signal: AbortSignal.any([signal, limit]) });
      message.catch(() => {}); // it rejects after the end, too
      const answer = await Promise.race([message.then(([first]) => first as Answer), ended]);
      if (typeof answer === 'string') throw unreadable(answer);
      if ('content' in answer) return answer.content;
      const { type, reason, message: text } = answer.failure;
      throw new SyncFailure(type, reason, text);
    } catch (error) {
      signal.throwIfAborted();
      if (limit.aborted) return undefined;
      throw error;
    } finally {
      child.kill('SIGKILL');
      await ended;
    }
  }
}

/** Settles with the problem when a process has ended, or could not be started. Never rejects. */
function endOf(child: ChildProcess): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  child.once('error', ({ message }) => resolve(`no process could be started: ${message}`));
  // Node.js aborts when its heap is full.
  child.once('exit', (code, signal) =>
    resolve(
      signal === 'SIGABRT' || code === ABORTED
        ? `the source needs more memory than ${HEAP_MB} MiB`
        : `the process that reads it ended with ${signal ?? code}`,
    ),
  );
  return promise;
}

/** How a shell and some systems report an abort. */
const ABORTED = 134;

/** Answers the request for which this process was started. */
export async function answerSourceRequest(): Promise<void> {
  const [request] = (await once(process, 'message')) as [SourceRequest];
  const answer = await answerTo(request);
  process.send?.(answer, () => process.disconnect());
}

async function answerTo(request: SourceRequest): Promise<Answer> {
  try {
    const endless = new AbortController().signal; // the other side ends the process
    return { content: await readSource(request, endless) };
  } catch (error) {
    if (!(error instanceof SyncFailure)) throw error;
    const { type, reason, message } = error;
    return { failure: { type, reason, message } };
  }
}
