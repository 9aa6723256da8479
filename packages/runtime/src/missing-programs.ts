const program = String.raw`([A-Za-z][\w.+-]{0,60})`;

/** What Node.js, Go, and shells write when a server starts a program that its sandbox lacks. */
export const missingProgram = new RegExp(
  [
    String.raw`\bspawn ${program} ENOENT\b`,
    String.raw`\bexec: "${program}": executable file not found`,
    String.raw`^(?:\S{1,60}: )?(?:/bin/)?(?:ba|z|da)?sh: (?:line )?(?:\d{1,6}: )?${program}: (?:command )?not found`,
    String.raw`(?:^|: |['\"\x60])([a-z][\w.+-]{0,60})['\"\x60]? command not found(?=$|[.,;:!])`,
  ].join('|'),
);

/** The same of Python, which writes it of any relative path. Only the stack trace says that it was a program. */
export const missingInPython = new RegExp(String.raw`No such file or directory: '${program}'`);
export const startsProgram = (output: string): boolean => /\b_execute_child\b|\bin Popen\b/.test(output);

/** Programs that the Python package index has, by their names. */
const packaged: ReadonlyMap<string, string> = new Map([
  ['uv', 'uv'],
  ['uvx', 'uv'],
  ['deno', 'deno'],
  ['ruff', 'ruff'],
]);

/** The user's fix for a missing program, as a phrase. */
export function installing(name: string, isPython: boolean): string {
  const found = packaged.get(name);
  return isPython && found !== undefined
    ? `run it with --with ${found}, because the server starts the program ${name}`
    : `install ${name} below /usr on this machine, or in the image of a container: the server starts this program`;
}
