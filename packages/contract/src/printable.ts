/**
 * What must not reach a terminal: control characters but tabs and line ends, separators of lines and paragraphs, half
 * characters, and everything that is not seen or that changes how other text is seen (format characters such as
 * U+200B, and those that change its direction). Only the two selectors of emoji are left alone.
 */
export function unprintable(): RegExp {
  // In a function, so that commands that print plain text do not compile it.
  return /(?!\t|\n|\ufe0e|\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/gu;
}

/** Text without anything to replace. */
const plain = /^[\t\n\x20-\x7e]*$/;

/** Text from a server, a registry or a caller, fit for a terminal. */
export function printable(text: string): string {
  return plain.test(text) ? text : text.replace(unprintable(), '\ufffd');
}

/** The same with such characters as JSON and JavaScript write them. */
export function escaped(text: string): string {
  if (plain.test(text)) return text;
  return text.replace(unprintable(), (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/**
 * The sequences of ECMA-48 for terminals. Takes time in proportion to the text, unlike `stripVTControlCharacters` of
 * Node.js, which takes seconds for some texts of hostile servers.
 */
const sequences =
  // eslint-disable-next-line no-control-regex -- servers for terminals write this
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|[ -/]*[0-~])/g;

/** Text of a server without the sequences that control a terminal. */
export function withoutSequences(text: string): string {
  return plain.test(text) ? text : text.replace(sequences, '');
}
