import { readdirSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, extname, relative } from 'node:path';

/** Names of flags and variables for files that a server only reads. */
const namesOfInput =
  /CREDENTIAL|CERT|CA[-_]?BUNDLE|KUBECONFIG|DOTENV|(?:^|[-_])(?:KEY|KEYFILE|PEM|TOKEN|SECRETS?|PASSWORDS?|CONFIG|CONF|CFG|SETTINGS|ENV|SPEC|SCHEMA|OPENAPI|SWAGGER|POLICY|RULES|TEMPLATE|SCRIPT|PROMPTS?)(?:$|[-_])/i;
/** The same by the name of the file: credentials, configuration, and programs. */
const inputFiles =
  /^\.|^kubeconfig|credential|service[-_]?account|client[-_]secret|^(?:config|settings)\.|^id_[a-z0-9]+$|\.(?:pem|crt|cer|key|pub|p12|pfx|jks|env|conf|cfg|ini|toml|js|mjs|cjs|ts|py|rb|sh|php|jar|exe|so|dll|wasm|html?|pdf)$/i;

/** Whether a server only reads a file, as far as its name and that of its flag or variable tell. */
export const isInputFile = (path: string, name: string): boolean =>
  namesOfInput.test(name) || inputFiles.test(basename(path));

/**
 * The directory of a file, if the directory contains only this file and similar ones. A server that writes a file safely
 * creates another file beside it and renames that, and databases keep journals there. Undefined for other directories,
 * because the server would get more than the user has named.
 */
export function ownDirectoryOf(file: string): string | undefined {
  const directory = dirname(file);
  try {
    const isOwn = [directory, realpathSync(directory)].every(isForFiles) && containsOnly(file);
    return isOwn ? directory : undefined;
  } catch {
    return undefined; // it cannot be read
  }
}

const system =
  /^\/(?:bin|boot|dev|etc|lib\w*|opt|proc|run|sbin|sys|usr|var|private\/(?:etc|var)|System|Library|Applications)(?:\/|$)/;
/** Directories of a home directory with everything of its user. */
const ofEverything =
  /^(?:desktop|documents|downloads|pictures|photos|music|movies|videos|public|templates|bin|src|code|dev|git|repos|projects|work|workspace|dropbox.*|onedrive.*|google ?drive.*|icloud.*|go)$/i;
/** Directories of a home directory in which programs keep settings and credentials, too. */
const ofPrograms = /^(?:library|appdata|snap)$/i;
const homes = /^\/(?:home|Users|export\/home)\/[^/]+(?=\/|$)|^\/(?:var\/)?root(?=\/|$)/;

function isForFiles(directory: string): boolean {
  const home = homedir();
  const [ofOther] = homes.exec(directory) ?? [];
  const isInHome = directory === home || directory.startsWith(`${home}/`);
  const base = isInHome ? home : ofOther;
  const parts = relative(base ?? '/', directory)
    .split('/')
    .filter(Boolean);
  if (base === undefined) return parts.length >= 2 && !system.test(directory) && !parts.some(isHidden);
  // Programs keep their data in directories of their own there, and settings or credentials in other hidden places.
  if (parts[0] === '.local' && parts[1] === 'share')
    return parts.length >= 3 && !parts.slice(2).some(isHidden);
  if (parts.some(isHidden) || ofPrograms.test(parts[0] ?? '')) return false;
  return parts.length >= 2 || (parts.length === 1 && !ofEverything.test(parts[0] ?? ''));
}

const isHidden = (name: string): boolean => name.startsWith('.');

/** What systems leave in directories. */
const leftover = /^\.(?:DS_Store|gitkeep|keep|directory|nfs\w*)$/;
const secret = /credential|secret|passw|token/i;
const MOST_ENTRIES = 200;

/** Whether all entries beside a file have its extension, or a name that begins like its name. */
function containsOnly(file: string): boolean {
  const extension = extname(file);
  const stem = basename(file, extension);
  const entries = readdirSync(dirname(file), { withFileTypes: true });
  return (
    entries.length <= MOST_ENTRIES &&
    entries.every((entry) => {
      if (leftover.test(entry.name)) return true;
      const name = entry.name.replace(/^\./, '');
      if (secret.test(name) || inputFiles.test(name)) return false;
      if (name.startsWith(stem) && !/^[a-z0-9]/i.test(name.slice(stem.length))) return true;
      return entry.isFile() && extension !== '' && extname(name) === extension;
    })
  );
}
