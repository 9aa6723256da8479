import { emitKeypressEvents } from 'node:readline';
import type { Key } from 'node:readline';
import { cancelled } from '@toolhive/contract/failure';
import { standardError } from './standard-streams.ts';
import { oneLine } from './out.ts';

/** An item in the list. */
export interface Choice<Value> {
  value: Value;
  label: string;
  isChosen: boolean;
}

/**
 * Lets the user select several items with the keyboard: the arrows or j and k move, Space selects, Enter confirms.
 * Throws `cancelled` for q, Escape, and Ctrl-C, and restores the terminal.
 */
export async function chooseSeveral<Value>(
  question: string,
  offered: readonly Choice<Value>[],
  { signal }: { signal: AbortSignal },
): Promise<Value[]> {
  signal.throwIfAborted();
  const choices = offered.map((choice) => ({ ...choice }));
  const view = new View(question);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const giveUp = (): void => reject(cancelled('nothing was done'));
  let at = 0;
  const onKey = (text: string | undefined, key: Key): void => {
    const name = key.ctrl === true ? `ctrl-${key.name}` : (key.name ?? text ?? '');
    if (['up', 'k'].includes(name)) at = (at + choices.length - 1) % choices.length;
    else if (['down', 'j'].includes(name)) at = (at + 1) % choices.length;
    else if (name === 'space') toggle(choices[at]);
    else if (name === 'return' || name === 'enter') return resolve();
    else if (['q', 'escape', 'ctrl-c', 'ctrl-d'].includes(name)) return giveUp();
    view.draw(choices, at);
  };
  emitKeypressEvents(process.stdin);
  process.stdin.on('keypress', onKey);
  process.stdin.once('end', giveUp);
  process.stdin.setRawMode(true);
  process.stdin.resume();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    view.draw(choices, at);
    await promise;
  } finally {
    signal.removeEventListener('abort', giveUp);
    process.stdin.off('keypress', onKey);
    process.stdin.off('end', giveUp);
    process.stdin.setRawMode(false);
    process.stdin.pause();
  }
  return choices.filter(({ isChosen }) => isChosen).map(({ value }) => value);
}

function toggle(choice: { isChosen: boolean } | undefined): void {
  if (choice !== undefined) choice.isChosen = !choice.isChosen;
}

const keys = 'up, down: move   space: choose   enter: confirm   q: quit';
/** Lines that are not choices. */
const framing = 2;
const defaultRows = 24;
const defaultColumns = 80;

/** The content of the screen. Each frame replaces the previous one. */
class View {
  readonly #question: string;
  #lines = 0;

  constructor(question: string) {
    this.#question = question;
  }

  draw(choices: readonly Choice<unknown>[], at: number): void {
    // Programs that only pretend to be a terminal say 0.
    const rows = standardError.stream.rows || defaultRows;
    const columns = standardError.columns || defaultColumns;
    const room = Math.max(1, rows - framing - 1);
    const first = Math.min(Math.max(0, at - Math.floor(room / 2)), Math.max(0, choices.length - room));
    const lines = [
      oneLine(this.#question, columns - 1),
      ...choices
        .map(({ label, isChosen }, index) => {
          const mark = `${index === at ? '>' : ' '} [${isChosen ? 'x' : ' '}] `;
          return `${mark}${oneLine(label, columns - 1 - mark.length)}`;
        })
        .slice(first, first + room),
      keys.slice(0, columns - 1),
    ];
    // Up to where the last picture began, and everything below is gone (ECMA-48, CUU and ED).
    const back = this.#lines === 0 ? '' : `\u001b[${this.#lines}A\r\u001b[0J`;
    standardError.write(`${back}${lines.join('\n')}\n`);
    this.#lines = lines.length;
  }
}
