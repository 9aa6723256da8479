import parse from 'string-argv';

/**
 * Divides a command line into words at spaces outside of quotes. Undefined if the line needs a shell: a pipe, a second
 * command, or a redirection.
 */
export function wordsIn(line: string): string[] | undefined {
  const words = parse(line);
  return words.some((word) => operators.has(word)) || line.includes('\n') ? undefined : words;
}

const operators = new Set(['|', '||', '&', '&&', ';', '<', '>', '>>', '2>', '2>&1']);
