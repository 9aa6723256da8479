import type { LogRecord } from '@toolhive/contract/log-record';

export type Level = LogRecord['level'];
export const levels: readonly Level[] = ['debug', 'info', 'warn', 'error'];

/** The most lines that a page keeps. Beyond it, the oldest are dropped. */
export const maxLines = 50_000;

/** How far back a line is sorted in that arrives late, because two streams are merged. */
const maxLate = 2_000;

/** The lines of a log in the order of their time, and those of them that match a search. */
export class LogLines {
  #all: LogRecord[] = [];
  /** Lines before all others that match the search. */
  #found: readonly LogRecord[] = [];
  #shown: LogRecord[] = [];
  #isShown: (record: LogRecord) => boolean = () => true;
  #search = '';

  get shown(): readonly LogRecord[] {
    return this.#shown;
  }

  get total(): number {
    return this.#all.length;
  }

  /** Adds lines in the order of their time. */
  add(records: readonly LogRecord[]): void {
    for (const record of records) {
      insert(this.#all, record);
      if (this.#isShown(record)) insert(this.#shown, record);
    }
    const excess = this.#all.length - maxLines;
    // In larger steps, because each one copies the whole list.
    if (excess > maxLines / 10) {
      this.#all = this.#all.slice(excess);
      this.#refresh();
    }
  }

  /** Adds older lines at the beginning. */
  addOlder(records: readonly LogRecord[]): void {
    this.#all = [...records, ...this.#all];
    this.showFound(this.#found);
  }

  /** Shows lines that the daemon has found before the known ones. They leave with the next search. */
  showFound(records: readonly LogRecord[]): void {
    const first = { proxy: this.firstLine(true), server: this.firstLine(false) };
    const isOlder = ({ stream, line }: LogRecord): boolean =>
      line < (first[stream === 'proxy' ? 'proxy' : 'server'] ?? Infinity);
    this.#found = records.filter(isOlder);
    this.#refresh();
  }

  /** Shows only lines of some levels that contain a text. */
  filter(chosen: ReadonlySet<Level>, search: string): void {
    const text = search.toLowerCase();
    this.#isShown = ({ level, text: line }) =>
      chosen.has(level) && (text === '' || line.toLowerCase().includes(text));
    if (text !== this.#search) this.#found = [];
    this.#search = text;
    this.#refresh();
  }

  /** The position of the first line of a stream that is still known, to read those before it. */
  firstLine(isProxy: boolean): number | undefined {
    return this.#all.find(({ stream }) => (stream === 'proxy') === isProxy)?.line;
  }

  /** All lines as text, for a download. */
  text(): string {
    return this.#all.map(({ at = '', level, text }) => `${at} ${level.toUpperCase()} ${text}\n`).join('');
  }

  #refresh(): void {
    this.#shown = [...this.#found, ...this.#all].filter(this.#isShown);
  }
}

function insert(list: LogRecord[], record: LogRecord): void {
  const { at } = record;
  let index = list.length;
  const end = Math.max(0, index - maxLate);
  if (at !== undefined) while (index > end && (list[index - 1]?.at ?? '') > at) index--;
  if (index === list.length) list.push(record);
  else list.splice(index, 0, record);
}
