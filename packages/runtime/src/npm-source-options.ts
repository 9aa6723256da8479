/**
 * Options of `npm install` for where dependencies may come from besides the registry. Newer versions of npm refuse other
 * dependencies before they fetch them; older versions ignore the options, so what was installed has to be checked too.
 */
export function npmSourceOptions(allowed: readonly string[]): string[] {
  const elsewhere = allowed.length === 0 ? 'none' : 'all';
  return [
    `--allow-git=${elsewhere}`,
    `--allow-remote=${elsewhere}`,
    '--allow-file=none',
    '--allow-directory=none',
  ];
}
