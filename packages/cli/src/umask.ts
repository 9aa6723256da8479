/**
 * Lets this process use the files and directories that it creates. A umask such as 0177, which some services have, removes
 * the bits of their owner, too. Those of others are removed as before.
 */
export function allowOwner(): void {
  const inherited = process.umask(0o077);
  process.umask(inherited & 0o077);
}
