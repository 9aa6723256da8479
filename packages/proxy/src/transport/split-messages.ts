import { closeBrace, closeBracket, openBrace, openBracket, quote } from '@toolhive/contract/json-text';
import type { WorkloadInput } from '../input/workload-input.ts';

const backslash = 0x5c;
/** Larger messages are written on one line by every known server. */
const maxChars = 1024 * 1024;

interface Options {
  onText: (text: string) => void;
  input: Pick<WorkloadInput, 'tolerate'>;
}

/**
 * Joins the lines of messages that a server writes with line breaks and indentation. Such a message begins with a line that is
 * only a brace. All other lines are passed on as they are.
 */
export class SplitMessages {
  readonly #options: Options;
  #lines: string[] = [];
  #chars = 0;
  #depth = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Takes the next line. */
  line(line: string): void {
    const { onText } = this.#options;
    if (this.#lines.length === 0 && line.trim() !== '{') return onText(line);
    if (isMessage(line)) return this.#giveUp(line);
    this.#lines.push(line);
    this.#chars += line.length;
    this.#depth += depthOf(line);
    if (this.#depth <= 0) this.#join();
    else if (this.#chars > maxChars) this.#giveUp();
  }

  #join(): void {
    const text = this.#take().join('\n');
    if (text.includes('"jsonrpc"')) this.#options.input.tolerate('split');
    this.#options.onText(text);
  }

  /** The lines were something else. */
  #giveUp(...more: string[]): void {
    for (const line of [...this.#take(), ...more]) this.#options.onText(line);
  }

  #take(): string[] {
    const lines = this.#lines;
    this.#lines = [];
    this.#chars = 0;
    this.#depth = 0;
    return lines;
  }
}

/** A message on one line, which belongs to no other message: the lines of one are indented. */
function isMessage(line: string): boolean {
  return /^\{.*\}\s{0,9}$/.test(line) && line.includes('"jsonrpc"');
}

/** The brackets that a line opens and does not close. Strings end on their line. */
export function depthOf(line: string): number {
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (isInText) {
      if (code === backslash) at++;
      else if (code === quote) isInText = false;
    } else if (code === quote) isInText = true;
    else if (code === openBrace || code === openBracket) depth++;
    else if (code === closeBrace || code === closeBracket) depth--;
  }
  return depth;
}
