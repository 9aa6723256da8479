import { clientApplications } from '@toolhive/contract/client-application';
import type { ClientApplication, ClientName } from '@toolhive/contract/client-application';
import { describe, expect, test } from 'vitest';
import { entryValue } from './entry.ts';
import { changeEntries, readEntries } from './entry-file.ts';

const application = (id: ClientName): ClientApplication => {
  const found = clientApplications.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no application ${id}`);
  return found;
};
const codex = application('codex');
const vibe = application('mistral-vibe');
const url = 'http://localhost:8081/mcp';
const value = (to: ClientApplication, name: string) =>
  entryValue(to, { name, url, transport: 'streamable-http' }, ['thv']);

const put = (to: ClientApplication, text: string, ...names: string[]): string =>
  changeEntries({ path: '/f', text }, to, new Map(names.map((name) => [name, value(to, name)])));
const remove = (to: ClientApplication, text: string, ...names: string[]): string =>
  changeEntries({ path: '/f', text }, to, new Map(names.map((name) => [name, undefined])));
const entry = `[mcp_servers.fetch]\nurl = "${url}"\n`;
const element = `[[mcp_servers]]\nname = "fetch"\nurl = "${url}"\ntransport = "streamable-http"\n`;

describe('an entry as a table', () => {
  test.each([
    ['an empty file', '', entry],
    ['a comment', '# mine\n', `# mine\n\n${entry}`],
    ['keys', 'model = "a"\n', `model = "a"\n\n${entry}`],
    ['no line end at the end', 'model = "a"', `model = "a"\n\n${entry}`],
    ['an empty line at the end', '[a]\n\n', `[a]\n\n${entry}`],
    ['Windows line ends', 'model = "a"\r\n', `model = "a"\r\n\r\n${entry.replaceAll('\n', '\r\n')}`],
    ['a byte order mark', '\uFEFFmodel = "a"\n', `\uFEFFmodel = "a"\n\n${entry}`],
    ['a table around it', '[mcp_servers]\n', `[mcp_servers]\n\n${entry}`],
    ['keys with dots', '[mcp_servers]\na.url = "b"\n', `[mcp_servers]\na.url = "b"\n\n${entry}`],
    [
      'a multiline string',
      'a = """\n[mcp_servers.fetch]\n"""\n',
      `a = """\n[mcp_servers.fetch]\n"""\n\n${entry}`,
    ],
  ])('is appended after %s, and can be removed again', (_, before, after) => {
    const written = put(codex, before, 'fetch');

    const removed = remove(codex, written, 'fetch');

    expect(written).toBe(after);
    expect(removed.trimEnd()).toBe(before.trimEnd());
  });

  test('is replaced where it is, with its inner tables and keys, and everything else stays', () => {
    const before = `# top\n[mcp_servers.fetch] # old\nurl = 'http://localhost:1/mcp'\n\n[mcp_servers.other]\nurl = "x" # stays\n\n[mcp_servers.fetch.env]\nKEY = "a"\n[z]\nd = 1979-05-27T07:32:00Z\n`;

    const after = put(codex, before, 'fetch');

    expect(after).toBe(
      `# top\n${entry}\n[mcp_servers.other]\nurl = "x" # stays\n[z]\nd = 1979-05-27T07:32:00Z\n`,
    );
  });

  test.each([
    [
      'a key in the table around it',
      '[mcp_servers]\nfetch = { url = "x" }\nb.url = "y"\n',
      '[mcp_servers]\nb.url = "y"\n',
    ],
    ['keys with dots', 'mcp_servers.fetch.url = "x"\nmcp_servers.b.url = "y"\n', 'mcp_servers.b.url = "y"\n'],
    ['quotes', '[mcp_servers."fetch"]\nurl = "x"\n[b]\n', '[b]\n'],
    ['white space', '  [ mcp_servers . fetch ]\n  url = "x"\n  [b]\n', '  [b]\n'],
    ['no keys', '[mcp_servers.fetch]\n[b]\n', '[b]\n'],
  ])('is found when it is written with %s', (_, before, after) => {
    const removed = remove(codex, before, 'fetch');

    expect(removed).toBe(after);
  });

  test.each([
    ['keys', `model = "a" # mine\n\n${entry}`, 'model = "a" # mine\n'],
    ['no line end', `model = "a" # mine\n\n${entry.trimEnd()}`, 'model = "a" # mine\n'],
    ['comments', `# top\n\n# about it\n${entry}\n# end\n`, '# top\n\n# about it\n\n# end\n'],
    ['its table', `[mcp_servers] # all\n# first\n${entry}`, '[mcp_servers] # all\n# first\n'],
  ])('that is the last one leaves the rest of a file with %s, and the last line end', (_, before, after) => {
    expect(remove(codex, before, 'fetch')).toBe(after);
  });

  test('gets quotes for a name with a dot, which stays one name', () => {
    const written = put(codex, '', 'a.b');

    const names = [...readEntries({ path: '/f', text: written }, codex).keys()];

    expect(written).toContain('[mcp_servers."a.b"]');
    expect(names).toEqual(['a.b']);
  });

  test.each([
    ['a line that is not TOML', '[mcp_servers\n', /line 2.*not TOML/],
    ['a key twice', 'a = 1\na = 2\n', /not TOML/],
    ['an inline table with the entry', 'mcp_servers = { fetch = { url = "x" } }\n', /one line/],
    ['something else at the place', 'mcp_servers = 1\n', /not a table/],
    ['a list at the place', '[[mcp_servers]]\nname = "a"\n', /not a table/],
  ])('is not written into a file with %s', (_, before, message) => {
    expect(() => put(codex, before, 'fetch')).toThrow(message);
  });

  test('is not written where an inline table cannot be extended', () => {
    expect(() => put(codex, 'mcp_servers = { a = { url = "x" } }\n', 'fetch')).toThrow('cannot edit safely');
  });
});

describe('an entry as an element of a list', () => {
  test.each([
    ['an empty file', '', element],
    ['an empty list', 'a = 1\nmcp_servers = [] # none\nb = 2\n', `a = 1\nb = 2\n\n${element}`],
    ['another element', '[[mcp_servers]]\nname = "a"\n', `[[mcp_servers]]\nname = "a"\n\n${element}`],
  ])('is appended after %s', (_, before, after) => {
    const written = put(vibe, before, 'fetch');

    expect(written).toBe(after);
  });

  test('is removed with its inner tables, and the others stay', () => {
    const before = `[[mcp_servers]]\nname = "a"\n[mcp_servers.env]\nK = "1"\n\n[[mcp_servers]]\nname = "fetch"\n[mcp_servers.env]\nK = "2"\n\n[[mcp_servers]]\nname = "c"\n`;

    const removed = remove(vibe, before, 'fetch');

    expect(removed).toBe(
      `[[mcp_servers]]\nname = "a"\n[mcp_servers.env]\nK = "1"\n\n[[mcp_servers]]\nname = "c"\n`,
    );
  });

  test('is not written into a list on one line', () => {
    expect(() => put(vibe, 'mcp_servers = [{ name = "a" }]\n', 'fetch')).toThrow('cannot edit safely');
  });
});
