import { clientApplications } from '@toolhive/contract/client-application';
import type { ClientApplication, ClientName } from '@toolhive/contract/client-application';
import { ThvError } from '@toolhive/contract/failure';
import * as fc from 'fast-check';
import { createScanner, getNodeValue, parseTree } from 'jsonc-parser';
import { describe, expect, test } from 'vitest';
import { entryValue } from './entry.ts';
import { changeEntries, readEntries } from './entry-file.ts';

const application = (id: ClientName): ClientApplication => {
  const found = clientApplications.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no application ${id}`);
  return found;
};
const cursor = application('cursor');
const url = 'http://localhost:8081/sse#fetch';
const value = (name: string) => entryValue(cursor, { name, url, transport: 'sse' }, ['thv']);

const put = (text: string, ...names: string[]): string =>
  changeEntries({ path: '/f', text }, cursor, new Map(names.map((name) => [name, value(name)])));
const remove = (text: string, ...names: string[]): string =>
  changeEntries({ path: '/f', text }, cursor, new Map(names.map((name) => [name, undefined])));

describe('a JSON file', () => {
  test.each([
    ['a comment behind the last member', '{\n  "mcpServers": {\n    "a": 1 // about a\n  }\n}\n'],
    ['a comment below the last member', '{\n  "mcpServers": {\n    "a": 1\n    /* "b": 2 */\n  }\n}\n'],
    ['a trailing comma', '{\n  "mcpServers": {\n    "a": 1, // about a\n  },\n}\n'],
    ['tabs', '{\n\t"mcpServers": {\n\t\t"a": 1\n\t}\n}\n'],
    ['carriage returns', '{\r\n  "mcpServers": {\r\n    "a": 1 // about a\r\n  }\r\n}\r\n'],
    ['a byte order mark', '\uFEFF{"mcpServers": {"a": 1}}'],
    ['no line break', '{"mcpServers":{"a":{"url":"x"}},"z":0}'],
    ['its closing brackets in one place', '{\n  "mcpServers": {\n    "a": 1}}'],
    ['commas first', '{ "mcpServers":\n  { "a": 1\n  , "b": 2 // about b\n  }\n}\n'],
    ['names that objects have anyway', '{"mcpServers":{"__proto__":{"url":"x"},"constructor":1}}'],
  ])('with %s is as before when what was put goes', (_what, text) => {
    const changed = put(text, 'fetch', 'github');

    expect(readEntries({ path: '/f', text: changed }, cursor).get('fetch')).toEqual(value('fetch'));
    expect(remove(changed, 'fetch', 'github')).toBe(text);
    expect(remove(remove(changed, 'fetch'), 'github')).toBe(text);
  });

  test.each([
    ['null\n', '{\n  "mcpServers": {\n    "fetch": "…"\n  }\n}\n'],
    ['{"mcpServers": null, "z": null} // z', '{"mcpServers": {"fetch":"…"}, "z": null} // z'],
    [
      '{\r\n\t"mcpServers": null // none\r\n}',
      '{\r\n\t"mcpServers": {\r\n\t\t"fetch": "…"\r\n\t} // none\r\n}',
    ],
  ])('can have null instead of servers: %j', (text, expected) => {
    const changed = put(text, 'fetch');

    expect(readEntries({ path: '/f', text: changed }, cursor)).toEqual(new Map([['fetch', value('fetch')]]));
    expect(changed.replace(/"fetch": ?\{[^}]*\}/, (entry) => entry.replace(/\{[^}]*\}/, '"…"'))).toBe(
      expected,
    );
  });

  test('keeps the comments around an entry that goes', () => {
    const text = '{"mcpServers": {\n  "a": 1, // about a\n  // before\n  "fetch": {}, // after\n  "b": 2\n}}';

    expect(remove(text, 'fetch')).toBe(
      '{"mcpServers": {\n  "a": 1, // about a\n  // before\n  // after\n  "b": 2\n}}',
    );
  });

  test('keeps the line of a comment before an entry that goes', () => {
    const text = '{"mcpServers": {"a": 1, // about a\n  "fetch": {} }}';

    expect(remove(text, 'fetch')).toBe('{"mcpServers": {"a": 1 // about a\n  }}');
  });

  test('keeps an entry where it is when it changes', () => {
    const text = '{"mcpServers": {\n  "fetch" : {"url":"old"}, // mine\n  "b": {\n    "url": "b"\n  }\n}}';

    expect(put(text, 'fetch', 'b')).toMatchInlineSnapshot(`
      "{"mcpServers": {
        "fetch" : {"url":"http://localhost:8081/sse#fetch","type":"sse"}, // mine
        "b": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        }
      }}"
    `);
  });

  test('takes equal keys that are none of its business', () => {
    const text = '{"a": 1, "a": 2, "mcpServers": {"b": 1, "b": 2}}';

    expect(remove(put(text, 'fetch'), 'fetch')).toBe(text);
  });

  test.each([
    ['is cut off', '{\n  "mcpServers": {', 'line 2, column 18: this is not JSON: close brace expected'],
    ['lacks a comma', '{"a": 1 "b": 2}', 'line 1, column 9: this is not JSON: comma expected'],
    ['goes on', '{} {}', 'line 1, column 4: this is not JSON: end of file expected'],
    ['is a list', '[]', 'line 1, column 1: not an object'],
    ['has a list of servers', '{\n"mcpServers": []}', 'line 2, column 15: mcpServers is not an object'],
    [
      'has servers twice',
      '{"mcpServers": {}, "mcp\\u0053ervers": {}}',
      'line 1, column 20: the key mcpServers occurs twice',
    ],
    ['is too deep', '['.repeat(100_000), '/f is too deep or too tangled to be read'],
  ])('that %s is refused', (_what, text, message) => {
    const change = () => put(text, 'fetch');

    expect(change).toThrow(expect.objectContaining({ kind: 'conflict' }));
    expect(change).toThrow(message);
  });

  test('that has an entry twice is refused when that entry has to change', () => {
    const change = () => put('{"mcpServers": {"fetch": 1,\n "fetch": 2}}', 'fetch');

    expect(change).toThrow('line 1, column 17: the key fetch occurs twice');
  });
});

describe('any JSON file with comments', () => {
  const key = fc.oneof(
    fc.constantFrom('mcpServers', '__proto__', 'constructor', 'toString', 'a', ''),
    fc.string({ unit: 'binary', maxLength: 6 }),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(null, true, false, 0, -1.5e300, 12),
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.constantFrom('// not a comment', '/*', '*/', '{', '",'),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
    ),
  }));
  const root = fc
    .tuple(
      fc.dictionary(key, tree, { maxKeys: 4 }),
      fc.option(fc.dictionary(key, tree, { maxKeys: 4 }), { nil: undefined }),
      fc.nat(),
    )
    .map(([others, servers, place]) => {
      const members = Object.entries(others).filter(([name]) => name !== 'mcpServers');
      if (servers) members.splice(place % (members.length + 1), 0, ['mcpServers', servers]);
      return members;
    });
  const trivia = fc.infiniteStream(
    fc.constantFrom(
      '',
      '',
      '',
      ' ',
      '\n',
      '\n    ',
      '\t',
      '/* c */',
      '// c \n',
      '\n  // "x": {},\n',
      '/***/',
    ),
  );

  type Members = [string, unknown][];
  function print(members: Members, next: () => string, isTrailing: () => boolean): string {
    const list = (open: string, items: string[], close: string): string =>
      `${open}${items.map((item) => next() + item + next()).join(',')}${
        items.length > 0 && isTrailing() ? `,${next()}` : next()
      }${close}`;
    const value = (node: unknown): string => {
      if (Array.isArray(node)) return list('[', node.map(value), ']');
      if (typeof node === 'object' && node !== null) return object(Object.entries(node));
      return JSON.stringify(node);
    };
    const object = (entries: Members): string =>
      list(
        '{',
        entries.map(([name, node]) => `${JSON.stringify(name)}${next()}:${next()}${value(node)}`),
        '}',
      );
    return `${next()}${object(members)}${next()}`;
  }

  const file = fc
    .tuple(root, trivia, fc.infiniteStream(fc.boolean()), fc.constantFrom('\n', '\r\n'), fc.boolean())
    .map(([members, stream, trailing, end, hasMark]) => {
      const text = print(
        members,
        () => stream.next().value ?? '',
        () => trailing.next().value ?? false,
      );
      return (hasMark ? '\uFEFF' : '') + text.replaceAll('\n', end);
    });
  const names = fc.constantFrom('thv-a', 'thv-b', 'thv.c', '0');
  const steps = fc.array(
    fc.record({ names: fc.uniqueArray(names, { minLength: 1, maxLength: 3 }), isPut: fc.boolean() }),
    { maxLength: 6 },
  );

  /** Every token and every comment in order, without commas, and without our own entries. */
  function skeleton(text: string): string[] {
    const body = text.replace(/^\uFEFF/, '');
    const servers = parseTree(body)?.children?.find(({ children }) => children?.[0]?.value === 'mcpServers');
    const ours = (servers?.children?.[1]?.children ?? []).filter(({ children }) =>
      /^(thv|0$)/.test(String(children?.[0]?.value)),
    );
    const scanner = createScanner(body, false);
    const tokens: string[] = [];
    for (scanner.scan(); scanner.getTokenLength() > 0; scanner.scan()) {
      const offset = scanner.getTokenOffset();
      const token = body.slice(offset, offset + scanner.getTokenLength());
      const isOurs = ours.some((node) => offset >= node.offset && offset < node.offset + node.length);
      if (!isOurs && token.trim() !== '' && token !== ',') tokens.push(token);
    }
    return tokens;
  }

  const valueOf = (text: string): unknown => {
    const node = parseTree(text.replace(/^\uFEFF/, ''), [], { allowTrailingComma: true });
    return node && getNodeValue(node);
  };
  const hasServers = (text: string): boolean => Object.hasOwn(valueOf(text) as object, 'mcpServers');

  test('keeps all that belongs to others, whatever is put and removed', () => {
    fc.assert(
      fc.property(file, steps, (text, changes) => {
        const start = hasServers(text) ? text : remove(put(text, 'thv-a'), 'thv-a');
        let present = start;
        for (const { names, isPut } of changes) {
          const there = readEntries({ path: '/f', text: present }, cursor);
          if (isPut) present = put(present, ...names);
          else present = remove(present, ...names.filter((name) => there.has(name)));
        }
        expect(skeleton(present)).toEqual(skeleton(start));
      }),
      { numRuns: 500 },
    );
  });

  test('is the same again, to the byte, when what was put goes', () => {
    const isUsed = (text: string): boolean =>
      (valueOf(text) as { mcpServers?: object }).mcpServers !== undefined &&
      readEntries({ path: '/f', text }, cursor).size > 0;
    const ours = fc.uniqueArray(names, { minLength: 1 });
    fc.assert(
      fc.property(file.filter(isUsed), ours, ours, (text, some, others) => {
        const wanted = some.filter((name) => !readEntries({ path: '/f', text }, cursor).has(name));
        const changed = put(text, ...wanted);

        const order = [...others.filter((name) => wanted.includes(name)), ...wanted];
        const removed = [...new Set(order)].reduce((left, name) => remove(left, name), changed);

        expect(removed).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  test('is refused or left whole, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          file.map((text) => text.slice(0, -2)),
        ),
        (text) => {
          let outcome: unknown;
          try {
            outcome = readEntries({ path: '/f', text: put(text, 'fetch') }, cursor).get('fetch');
          } catch (error) {
            outcome = error instanceof ThvError && error.kind === 'conflict' ? value('fetch') : error;
          }
          expect(outcome).toEqual(value('fetch'));
        },
      ),
      { numRuns: 500 },
    );
  });
});
