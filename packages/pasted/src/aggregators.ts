import { invalid } from '@toolhive/contract/failure';
import { programOf } from './wrappers.ts';

/** A program that starts servers from its own file. */
interface Aggregator {
  /** The program's name, or the package that contains it. */
  name: string;
  /** The flags with the file. */
  flags: readonly string[];
}

const aggregators: readonly Aggregator[] = [
  { name: 'mcp-proxy', flags: ['--named-server-config', '--config'] },
  { name: 'mcpo', flags: ['--config', '-c'] },
  { name: '@1mcp/agent', flags: ['--config', '-c'] },
  { name: 'mcp-hub', flags: ['--config'] },
  { name: 'mcphost', flags: ['--config'] },
];

/** Words that people write before a package. */
const starters = /^(?:npx|bunx|uvx|pnpm|dlx|uv|tool|run|-y|--yes|-q)$/;

/**
 * The error for a command that starts several servers from a file, which the user can import instead. Undefined for other
 * commands.
 */
export function aggregated(words: readonly string[]): Error | undefined {
  const program = programOf(words);
  if (program === 'mcpm' && /^(?:run|profile)$/.test(words[1] ?? '')) {
    return invalid('mcpm runs servers from its own file', {
      hint: 'import that file: thv import ~/.config/mcpm/servers.json',
    });
  }
  const at = words.findIndex((word, index) => index > 0 && !starters.test(word));
  const isStarted = starters.test(program);
  const written = isStarted ? (words[at] ?? '') : program;
  const found = aggregators.find(({ name }) => written === name || written.startsWith(`${name}@`));
  if (found === undefined) return undefined;
  const flags = words.slice(isStarted ? at : 0);
  if (found.name === 'mcp-proxy' && flags.includes('--named-server')) {
    return invalid('mcp-proxy starts several servers', {
      hint: 'add each command after --named-server NAME by itself',
    });
  }
  const index = flags.findIndex((word) => found.flags.includes(word.split('=', 1)[0] ?? ''));
  if (index === -1) return undefined;
  return invalid(`${found.name} starts several servers from a file`, {
    hint: 'import that file instead: thv import FILE',
  });
}
