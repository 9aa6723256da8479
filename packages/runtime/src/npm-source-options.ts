/**
 * The `npm install` options that restrict dependencies to the registry and the allowed sources. Newer npm versions
 * refuse other dependencies before fetching them. Older versions ignore the options, so the installed packages must
 * be checked too.
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
