import { ThvError, invalid } from '@toolhive/contract/failure';
import { distinctHost } from '@toolhive/contract/names';
import type { ImportPreview } from '@toolhive/contract/preview';
import { readClientDocument } from './client-document.ts';
import type { ClientDocument, RawEntry } from './client-document.ts';
import { readInstallation, withoutMarkup } from './client-install.ts';
import { readClientEntry } from './client-entry.ts';
import type { EntryFrom } from './client-entry.ts';
import { readCommandText } from './command-text.ts';
import { uniqueNames } from './entry-names.ts';
import { isDisabled } from './entry-state.ts';
import { withoutMargin } from './margin.ts';
import { optionalNotes } from './pasted.ts';
import type { PastedFrom } from './pasted.ts';

/**
 * The document is external, so it can use neither the daemon's variables nor its files. An installed program that it
 * names only tells which package runs in isolation.
 */
const outside = (searchPath: string): PastedFrom => ({
  env: {},
  searchPath,
  directory: undefined,
  readFile() {
    throw invalid('environment files are not supported here', { hint: 'add its variables to the server' });
  },
});

/**
 * Converts a client's configuration, an installation link, or commands. A problem with one server does not affect the
 * others. Installed programs are looked for in the directories of `searchPath`.
 */
export async function previewImport(pasted: string, searchPath = ''): Promise<ImportPreview> {
  const { entries, inputs } = readPasted(pasted, 'the text');
  const previews = await Promise.all(entries.map((entry) => previewOf(entry, inputs, searchPath)));
  return { servers: named(previews) };
}

/** The servers in a text that users paste. Those of commands have no names. */
export interface PastedText extends ClientDocument {
  /** Whether the text is an installation link, whose content is encoded, so that its reader did not see what runs. */
  isHidden: boolean;
}

/**
 * Finds the servers in a client's configuration, an installation link, or commands. `what` names the text in errors. Throws
 * `invalid` if it is something else.
 */
export function readPasted(pasted: string, what: string): PastedText {
  const document = withoutMargin(pasted);
  const installation = readInstallation([withoutMarkup(document.trim())]);
  if (installation !== undefined) return installation;
  const found =
    commandsIn(document) ?? addressIn(document) ?? sourceIn(document) ?? configurationIn(document, what);
  return { ...found, isHidden: false };
}

/** Names each server of a command after its program or package. Other entries keep their names. */
export async function withNames(entries: readonly RawEntry[], from: EntryFrom): Promise<RawEntry[]> {
  const unnamed = entries.filter(({ workload }) => workload === '');
  const found = await Promise.all(
    unnamed.map(async (entry) => ({ name: await nameOfEntry(entry, from), path: [], entry: entry.entry })),
  );
  const names = uniqueNames(
    found,
    entries.map(({ workload }) => workload).filter((name) => name !== ''),
  );
  return entries.map((entry) => {
    const { name, workload } = names[unnamed.indexOf(entry)] ?? entry;
    return { ...entry, name, workload };
  });
}

async function nameOfEntry(entry: RawEntry, from: EntryFrom): Promise<string> {
  try {
    return nameOf((await readClientEntry(entry, from)).request);
  } catch (thrown) {
    if (!(thrown instanceof ThvError)) throw thrown;
    return 'server'; // the next reader reports the error
  }
}

const oneEntry = (entry: RawEntry['entry'], notes: string[] = []): ClientDocument => ({
  entries: [{ name: '', workload: '', notes, entry }],
  inputs: new Map(),
  isOff: () => false,
});

/** An endpoint as pages and chats show it: without its scheme, or in one line with other words. */
function addressIn(document: string): ClientDocument | undefined {
  const line = document.trim();
  if (line.length > 500 || /[\n{}[\]"'`=]/.test(line.replace(/\?\S*/, ''))) return undefined;
  const bare =
    /^((?:localhost|127\.0\.0\.1)(?::\d{1,5})?|(?:[\w-]+\.)+[a-z]{2,}(?::\d{1,5})?)\/(?:mcp|sse)\/?$/i;
  const [, host] = bare.exec(line) ?? [];
  if (host !== undefined) {
    const scheme = /^(?:localhost|127\.)/i.test(host) ? 'http' : 'https';
    return oneEntry({ url: `${scheme}://${line}` }, [
      `the address has no scheme, so ToolHive uses ${scheme}`,
    ]);
  }
  const [only, ...others] = [...line.matchAll(/https?:\/\/[^\s<>()]+/gi)].map(([url]) =>
    url.replace(/[.,;:!]$/, ''),
  );
  const isEndpoint = /\/(?:mcp|sse)\/?$/i.test(URL.parse(only ?? '')?.pathname ?? '');
  return only !== undefined && others.length === 0 && isEndpoint ? oneEntry({ url: only }) : undefined;
}

/** The tools that run the packages of a source. */
const launchers = { npx: ['npx', '-y'], uvx: ['uvx'], go: ['go', 'run'] } as const;

/** A source as `thv run` takes it, perhaps with the command: `npx://PACKAGE`, `ghcr.io/OWNER/IMAGE:TAG`. */
function sourceIn(document: string): ClientDocument | undefined {
  const [, source = ''] = /^(?:thv run )?(\S{1,500})$/.exec(document.trim()) ?? [];
  const [, scheme, name = ''] = /^(npx|uvx|go):\/\/(.+)$/.exec(source) ?? [];
  const isImage = /^[\w.-]+\.[a-z]{2,}(?::\d+)?(?:\/[\w.-]+)+(?:[:@][\w.:-]+)?$/.test(source);
  const words =
    scheme !== undefined
      ? [...launchers[scheme as keyof typeof launchers], name] // the pattern allows only these
      : source.startsWith('@')
        ? ['npx', '-y', source]
        : isImage
          ? ['docker', 'run', '-i', '--rm', source]
          : undefined;
  if (words === undefined) return undefined;
  return oneEntry({ command: words });
}

/** Whether a text is meant as a configuration, so that the place of its mistake matters. */
const isConfiguration = (text: string): boolean =>
  /^[ \t]*[{["'`]|[{[]\s*["']|^[ \t]*[\w."-]+[ \t]*[:=](?:\s|$)/m.test(text);

function configurationIn(document: string, what: string): ClientDocument {
  if (isConfiguration(document)) return readClientDocument(document, what);
  throw invalid(`${what} is neither the configuration nor the command of an MCP server`, {
    hint: 'paste a block with mcpServers, a command such as npx -y PACKAGE, or the URL of a remote server',
  });
}

type Preview = ImportPreview['servers'][number];

function commandsIn(document: string): ClientDocument | undefined {
  const entries = readCommandText(document);
  return entries && { entries, inputs: new Map(), isOff: () => false };
}

async function previewOf(
  entry: RawEntry,
  inputs: ClientDocument['inputs'],
  searchPath: string,
): Promise<Preview> {
  const { name, workload, notes: found } = entry;
  try {
    const { request, notes, needs } = await readClientEntry(entry, { ...outside(searchPath), inputs });
    return {
      name: name === '' ? workload : name,
      request,
      notes: [
        ...(isDisabled(entry.entry) ? ['the server is disabled in the configuration'] : []),
        ...notes,
        ...optionalNotes(needs),
      ],
      needs: needs
        .filter(({ required }) => required)
        .map(({ kind, name: need, description, secret, token }) => ({
          kind,
          name: need,
          description,
          secret,
          ...(token === undefined ? {} : { token }),
        })),
    };
  } catch (thrown) {
    if (!(thrown instanceof ThvError)) throw thrown;
    const { message: problem, hint } = thrown;
    return {
      name: name === '' ? workload : name,
      notes: found,
      needs: [],
      problem,
      ...(hint === undefined ? {} : { hint }),
    };
  }
}

/** Names the servers of commands after what they run. */
function named(previews: readonly Preview[]): Preview[] {
  const known = previews.flatMap(({ name, request }) => (name === '' ? [] : [request?.name ?? name]));
  const unnamed = previews.filter(({ name }) => name === '');
  const found = unnamed.map(({ request }) => ({ name: nameOf(request), path: [], entry: {} }));
  const names = uniqueNames(found, known);
  return previews.map((preview) => {
    const name = names[unnamed.indexOf(preview)]?.workload;
    if (name === undefined) return preview;
    const { request } = preview;
    return { ...preview, name, ...(request === undefined ? {} : { request: { ...request, name } }) };
  });
}

/** The name that a command gives, that of the host, or the last parts of the package or the image. */
function nameOf(request: Preview['request']): string {
  const { name, url = '', image = '' } = request ?? {};
  const hostname = URL.parse(url)?.hostname;
  const host = hostname && distinctHost(hostname);
  const plain = image
    .replace(/^[a-z]+:\/\//, '')
    .replace(/^git\+\w+:\/\/(?:[^/@]*@)?[^/]*\//, '')
    .replace(/^@/, '')
    .replace(/[@#:].*$/, '')
    .replace(/\.git$/, '');
  return name ?? host ?? plain.split('/').filter(Boolean).slice(-2).join('-');
}
