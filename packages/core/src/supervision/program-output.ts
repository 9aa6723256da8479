import type { ExecEvent } from '@toolhive/contract/exec';

/** How much output may wait for a slow reader. */
const maxWaiting = 1024 ** 2;

type Output = Extract<ExecEvent, { type: 'output' }>;

/** The output of a program on its way to one reader, in bounded memory. */
export class ProgramOutput implements AsyncIterable<ExecEvent> {
  #waiting: ExecEvent[] = [];
  #length = 0;
  #left = 0;
  #isOver = false;
  #changed = Promise.withResolvers<void>();

  add(event: ExecEvent): void {
    if (event.type === 'output') {
      if (event.text === '') return;
      if (this.#length >= maxWaiting) {
        this.#left += event.text.length;
        return;
      }
      this.#length += event.text.length;
    }
    this.#waiting.push(event);
    this.#wake();
  }

  /** Returns when the reader has caught up, so that the next piece is not left out. */
  async room(): Promise<void> {
    while (this.#length >= maxWaiting && !this.#isOver) await this.#changed.promise;
  }

  /** Nothing follows. A reader still gets what waits. */
  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ExecEvent, void, void> {
    for (;;) {
      const event = this.#waiting.shift();
      if (event !== undefined) {
        if (event.type === 'output') this.#length -= event.text.length;
        this.#wake();
        yield event;
        if (this.#left > 0) yield this.#leftOut();
      } else if (this.#isOver) return;
      else await this.#changed.promise;
    }
  }

  #leftOut(): Output {
    const text = `\n[toolhive] ${this.#left} characters of the output were left out, because they came too fast\n`;
    this.#left = 0;
    return { type: 'output', stream: 'stderr', text };
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}
