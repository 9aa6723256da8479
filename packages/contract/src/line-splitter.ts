/** Divides text that arrives in pieces into lines. Looks at every character once, however many pieces a line has. */
export class LineSplitter {
  #parts: string[] = [];
  #restLength = 0;

  /** Returns the lines that end in this piece, without their line breaks. */
  add(piece: string): string[] {
    const lines = piece.split('\n');
    const [first = ''] = lines;
    this.#parts.push(first);
    this.#restLength += first.length;
    if (lines.length === 1) return [];
    lines[0] = this.take();
    const rest = lines.pop() ?? '';
    this.#parts = [rest];
    this.#restLength = rest.length;
    return lines;
  }

  /** The length of the line that has not ended yet. */
  get restLength(): number {
    return this.#restLength;
  }

  /** Returns the line that has not ended yet, and forgets it. */
  take(): string {
    const rest = this.#parts.join('');
    this.#parts = [];
    this.#restLength = 0;
    return rest;
  }
}
