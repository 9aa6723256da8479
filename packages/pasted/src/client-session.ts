import { invalid } from '@toolhive/contract/failure';
import { parse as parseToml } from 'smol-toml';
import { addingPrograms } from './client-add.ts';
import { readClientDocument } from './client-document.ts';
import type { ClientDocument } from './client-document.ts';
import { programOf } from './wrappers.ts';

/**
 * Reads the servers that a client's command line gives to one session: `claude --mcp-config JSON`, and
 * `codex -c mcp_servers.NAME.command=…`. Undefined for other commands. Throws `invalid` for a file, because the command is
 * maybe from another machine.
 */
export function readSession(words: readonly string[]): ClientDocument | undefined {
  const program = programOf(words);
  if (!addingPrograms.includes(program)) return undefined;
  const { settings, configurations } = flagsIn(words.slice(1));
  if (settings.length > 0)
    return readClientDocument(settings.map(assignment).join('\n'), 'the value of --config');
  const [first] = configurations;
  if (first === undefined) return undefined;
  const file = configurations.find((text) => !/^\s*\{/.test(text));
  if (file !== undefined) {
    throw invalid(`${program} reads its servers from a file`, {
      hint: `import the file: thv import ${/^[\w./~-]+$/.test(file) ? file : 'FILE'}`,
    });
  }
  // Each has its own section.
  const text = configurations.length === 1 ? first : `[${configurations.join(',')}]`;
  return readClientDocument(text, 'the value of --mcp-config');
}

/** The values with servers. `--mcp-config` takes several. */
function flagsIn(words: readonly string[]): { settings: string[]; configurations: string[] } {
  const settings: string[] = [];
  const configurations: string[] = [];
  let isInList = false;
  for (const [index, word] of words.entries()) {
    const [, flag = word, attached] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? [];
    const isConfiguration = /^--(?:additional-)?mcp-config$/.test(flag);
    if (!word.startsWith('-')) {
      if (isInList) configurations.push(word.replace(/^@/, ''));
      continue;
    }
    isInList = isConfiguration && attached === undefined;
    if (isConfiguration && attached !== undefined) configurations.push(attached.replace(/^@/, ''));
    const setting = flag === '-c' || flag === '--config' ? (attached ?? words[index + 1] ?? '') : '';
    if (setting.startsWith('mcp_servers')) settings.push(setting);
  }
  return { settings, configurations };
}

/** A line of TOML. As in Codex, a value that is not TOML is a text. */
function assignment(setting: string): string {
  const at = setting.indexOf('=');
  const [key, value] = [setting.slice(0, at), setting.slice(at + 1)];
  const line = `${key} = ${value}`;
  try {
    parseToml(line);
    return line;
  } catch {
    return `${key} = ${JSON.stringify(value)}`;
  }
}
