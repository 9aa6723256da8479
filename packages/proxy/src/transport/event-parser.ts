/** An event of a stream. */
export interface StreamEvent {
  id: string | undefined;
  event: string | undefined;
  data: string;
}

/**
 * Parses an event stream (HTML, section 9.2.6) whose lines end with line feeds. Hostile servers write the lines, so a line
 * without meaning must cost nothing: the usual library creates an error with a stack trace for each of them, which takes
 * minutes for a body of the allowed size.
 */
export class EventParser {
  readonly #onEvent: (event: StreamEvent) => void;
  /** The start of the line that has not ended yet. */
  #parts: string[] = [];
  #id: string | undefined;
  #event: string | undefined;
  #data: string[] = [];

  constructor(onEvent: (event: StreamEvent) => void) {
    this.#onEvent = onEvent;
  }

  feed(text: string): void {
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      this.#take(this.#whole(text.slice(from, end)));
      from = end + 1;
    }
    if (from < text.length) this.#parts.push(text.slice(from));
  }

  #whole(end: string): string {
    if (this.#parts.length === 0) return end;
    const line = this.#parts.join('') + end;
    this.#parts = [];
    return line;
  }

  #take(line: string): void {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#event = value === '' ? undefined : value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
  }

  #dispatch(): void {
    const [id, event, data] = [this.#id, this.#event, this.#data];
    this.#id = undefined;
    this.#event = undefined;
    this.#data = [];
    if (data.length > 0) this.#onEvent({ id, event, data: data.join('\n') });
  }
}
