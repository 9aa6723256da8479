/** A part of a text. */
export interface Span {
  from: number;
  to: number;
}

/** A list member with the preceding white space and comments, and the text between the member and its comma. */
interface Member {
  before: string;
  text: string;
  after: string;
}

/**
 * The members of a JSON object or a YAML flow collection, divided into pieces that join to the same text. Editing
 * members preserves every comment, including the comments beside a removed member.
 */
export class CommaList {
  readonly #members: Member[];
  readonly #comments: Comments;
  #tail: string;
  #endsWithComma: boolean;

  /**
   * Divides the text between the brackets, whose members are in order. Returns undefined if the members are separated
   * by more than one comma, white space, and comments.
   */
  static cut(text: string, inside: Span, spans: readonly Span[], comments: Comments): CommaList | undefined {
    const members: Member[] = [];
    let before = comments.triviaAt(text, inside.from);
    let end = inside.from + before.length;
    let endsWithComma = false;
    for (const span of spans) {
      const isApart = members.length === 0 || endsWithComma;
      if (!isApart || end !== span.from) return undefined;
      const trivia = comments.triviaAt(text, span.to);
      const comma = span.to + trivia.length;
      endsWithComma = text[comma] === ',';
      members.push({ before, text: text.slice(span.from, span.to), after: endsWithComma ? trivia : '' });
      before = endsWithComma ? comments.triviaAt(text, comma + 1) : trivia;
      end = endsWithComma ? comma + 1 + before.length : comma;
    }
    if (end !== inside.to) return undefined;
    return new CommaList(members, before, endsWithComma, comments);
  }

  private constructor(members: Member[], tail: string, endsWithComma: boolean, comments: Comments) {
    this.#members = members;
    this.#tail = tail;
    this.#endsWithComma = endsWithComma;
    this.#comments = comments;
  }

  get isEmpty(): boolean {
    return this.#members.length === 0;
  }

  /** The white space for a new member, matching the last member. */
  get lead(): string {
    const [, space] = this.#comments.split(this.#members.at(-1)?.before ?? '');
    return /\r?\n?[ \t]*$/.exec(space)?.[0] ?? '';
  }

  /** Whether a member has separate lines. */
  startsLine(index: number): boolean {
    return this.#members[index]?.before.includes('\n') ?? false;
  }

  replace(index: number, text: string): void {
    const member = this.#members[index];
    if (member !== undefined) member.text = text;
  }

  /** Appends a member. `lead` is the white space before it, and `close` follows the only member of a list. */
  add(text: string, lead: string, close: string): void {
    const [comments, space] = this.#comments.split(this.#tail);
    const isAfterLine = this.#comments.endsInLine(comments) && !lead.includes('\n');
    const newline = isAfterLine ? (/^\r?\n/.exec(space)?.[0] ?? '\n') : '';
    const wasBlank = this.isEmpty && comments === '';
    this.#members.push({ before: comments + newline + lead, text, after: '' });
    this.#tail = wasBlank ? close : space;
  }

  remove(index: number): void {
    const [member] = this.#members.splice(index, 1);
    if (member === undefined) return;
    const next = this.#members[index];
    const rest = member.after + (next?.before ?? this.#tail);
    const joined = this.#join(member.before, rest, next === undefined);
    if (next === undefined) this.#tail = joined;
    else next.before = joined;
    if (!this.isEmpty) return;
    this.#endsWithComma = false;
    if (this.#tail.trim() === '') this.#tail = '';
  }

  /** What stays when the member between the two has gone. */
  #join(before: string, rest: string, isTail: boolean): string {
    const [comments, space] = this.#comments.split(before);
    const staysApart = /^[ \t]*\r?\n/.test(rest) || !space.includes('\n');
    const isOnlySpace = isTail && rest.trim() === '' && !this.#comments.endsInLine(comments);
    return staysApart || isOnlySpace ? comments + rest : comments + space + rest.trimStart();
  }

  toString(): string {
    const last = this.#members.length - 1;
    const members = this.#members.map(({ before, text, after }, index) => {
      const comma = index < last || this.#endsWithComma ? ',' : '';
      return `${before}${text}${after}${comma}`;
    });
    return members.join('') + this.#tail;
  }
}

/** How comments look in a format. */
export class Comments {
  readonly #comment: RegExp;
  readonly #trivia: RegExp;
  readonly #lineStart: string;

  /** `pattern` matches one comment without the end of its line. Comments up to it begin with `lineStart`. */
  constructor(pattern: RegExp, lineStart: string) {
    this.#comment = new RegExp(pattern, 'g');
    this.#trivia = new RegExp(`(?:[ \\t\\r\\n]+|${pattern.source})*`, 'y');
    this.#lineStart = lineStart;
  }

  /** The white space and the comments that begin at an offset. */
  triviaAt(text: string, offset: number): string {
    this.#trivia.lastIndex = offset;
    return this.#trivia.exec(text)?.[0] ?? '';
  }

  /** Cuts white space and comments after the last comment. */
  split(trivia: string): [comments: string, space: string] {
    const last = [...trivia.matchAll(this.#comment)].at(-1);
    const end = last === undefined ? 0 : last.index + last[0].length;
    return [trivia.slice(0, end), trivia.slice(end)];
  }

  /** Whether the last comment extends to the end of its line. */
  endsInLine(comments: string): boolean {
    return [...comments.matchAll(this.#comment)].at(-1)?.[0].startsWith(this.#lineStart) ?? false;
  }
}
