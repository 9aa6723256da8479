import { existsSync } from 'node:fs';

/**
 * Returns the command without Node.js in front of an npm package's script: `node …/npm/bin/npx-cli.js -y one`, as people
 * start npx on Windows, and `node C:\\…\\node_modules\\one\\dist\\index.js`, where only another machine has the file.
 */
export function withoutNode(words: readonly string[]): readonly string[] {
  // Node.js flags do not matter, and some people leave the -y of npx.
  const at = words.findIndex((word, index) => index > 0 && !/^(?:--?[a-z][\w-]*|run)$/.test(word));
  const [path = '', ...rest] = at === -1 ? [] : words.slice(at);
  const [, npm] = /[\\/]npm[\\/]bin[\\/](npm|npx)-cli\.js$/.exec(path) ?? [];
  if (npm !== undefined) return [npm, ...rest];
  const name = isElsewhere(path) ? packageOf(path) : undefined;
  return name === undefined ? words : ['npx', '-y', name, ...rest];
}

function isElsewhere(path: string): boolean {
  if (/^(?:[A-Za-z]:|%\w{1,40}%|\$env:\w{1,40})[\\/]/i.test(path)) return process.platform !== 'win32';
  return path.startsWith('/') && !existsSync(path);
}

function packageOf(path: string): string | undefined {
  const parts = path.split(/[\\/]/);
  const at = parts.lastIndexOf('node_modules');
  if (at === -1 || !/\.[cm]?js$/.test(path)) return undefined;
  const [first = '', second = '', third] = parts.slice(at + 1);
  const name = first.startsWith('@') ? `${first}/${second}` : first;
  const script = first.startsWith('@') ? third : second;
  return /^(?:@[\w.~-]+\/)?[A-Za-z0-9][\w.~-]*$/.test(name) && script ? name : undefined;
}
