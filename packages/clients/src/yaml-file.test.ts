import { clientApplications } from '@toolhive/contract/client-application';
import type { ClientApplication, ClientName } from '@toolhive/contract/client-application';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Document, isCollection, isPair, isScalar, Lexer, parse, visit } from 'yaml';
import { entryValue } from './entry.ts';
import { changeEntries, readEntries } from './entry-file.ts';

const application = (id: ClientName): ClientApplication => {
  const found = clientApplications.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no application ${id}`);
  return found;
};
const goose = application('goose');
const continues = application('continue');
const url = 'http://localhost:8081/sse#fetch';
const value = (to: ClientApplication, name: string) =>
  entryValue(to, { name, url, transport: 'sse' }, ['thv']);

const put = (to: ClientApplication, text: string, ...names: string[]): string =>
  changeEntries({ path: '/f', text }, to, new Map(names.map((name) => [name, value(to, name)])));
const remove = (from: ClientApplication, text: string, ...names: string[]): string =>
  changeEntries({ path: '/f', text }, from, new Map(names.map((name) => [name, undefined])));

describe('a YAML file', () => {
  test.each([
    [
      'comments',
      goose,
      '# top\nextensions: # all\n  a: # one\n    b: 1 # yes\n    # in\n  # tail\n\n# end\n',
    ],
    ['other keys behind', goose, 'extensions:\n  a:\n    b: 1\n\n# about z\nz: 1\n'],
    ['deep indentation', goose, 'extensions:\n      a:\n          b: 1\n'],
    ['carriage returns', goose, 'extensions:\r\n  a:\r\n    b: 1\r\nz: 1\r\n'],
    ['a byte order mark', goose, '\uFEFFextensions:\n  a:\n    b: 1\n'],
    ['anchors', goose, 'x: &x {a: 1}\nextensions: &all\n  a: &a\n    b: *x\n  c: *a\nz: *a\n'],
    ['a block of text at its end', goose, 'extensions:\n  a: |+\n    text\n\n\nz: 1\n'],
    ['an empty mapping', goose, 'a: 1\nextensions: {} # none\nz: 1\n'],
    ['a mapping in brackets', goose, 'extensions: {a: {b: 1}, c: 2,} # some\n'],
    ['brackets over several lines', goose, 'extensions: {\n  a: 1, # one\n  # none\n}\n'],
    ['only comments in brackets', goose, 'extensions: { # none\n}\n'],
    ['JSON', goose, '{"a": 1, "extensions": {"b": {"c": 1}}}\n'],
    ['markers around the document', goose, '%YAML 1.2\n---\nextensions:\n  a: 1\n...\n'],
    ['explicit keys', goose, '? z\n: 1\n? extensions\n:\n  a: 1\n'],
    ['an empty list', continues, 'name: x\nmcpServers: []\n'],
    ['a list', continues, 'mcpServers:\n  # one\n  - name: a\n    url: x # yes\n  # - name: b\nz: 1\n'],
    ['a list that is not indented', continues, 'mcpServers:\n- name: a\n- uses: b/c\n# about z\nz: 1\n'],
    ['a list in brackets', continues, 'mcpServers: [{name: a}, {uses: b}]\n'],
    ['a list of lists', continues, 'mcpServers:\n- - a\n  - b\n- plain\n'],
  ])('with %s is as before when what was put goes', (_what, to, text) => {
    const changed = put(to, text, 'fetch', '123');

    expect(readEntries({ path: '/f', text: changed }, to).get('123')).toEqual(value(to, '123'));
    expect(remove(to, changed, 'fetch', '123')).toBe(text);
    expect(remove(to, remove(to, changed, 'fetch'), '123')).toBe(text);
  });

  test.each([
    ['nothing', ''],
    ['a comment', '# mine\n'],
    ['a comment without an end', '# mine'],
    ['a marker', '---\n'],
    ['no value', 'extensions:\n'],
    ['no value, but an anchor', 'extensions: &all\n'],
    ['null', 'a: 1\nextensions: ~ # none\nz: 1\n'],
    ['an empty object', '{}\n'],
    ['no end of line', 'extensions:\n  a: 1'],
  ])('with %s takes entries, and gives them back', (_what, text) => {
    const changed = put(goose, text, 'fetch');

    expect(readEntries({ path: '/f', text: changed }, goose).get('fetch')).toEqual(value(goose, 'fetch'));
    const left = remove(goose, changed, 'fetch');
    const others = { ...(parse(text) as object | null), extensions: undefined };
    expect(parse(left)).toEqual({ ...others, extensions: text.includes('  a: 1') ? { a: 1 } : {} });
    for (const [comment] of text.matchAll(/#.*/g)) expect(left).toContain(comment);
  });

  test.each([
    ['no line end', goose, 'a: 1\nextensions:\n  fetch:\n    uri: x', 'a: 1\nextensions: {}\n'],
    [
      'comments',
      goose,
      'extensions: # all\n  # about it\n  fetch:\n    uri: x # c\n  # tail\n\n# end\n',
      'extensions: {} # all\n  # about it\n  # tail\n\n# end\n',
    ],
    [
      'a list',
      continues,
      'name: x\nmcpServers:\n  - name: fetch\n    url: x\n# end',
      'name: x\nmcpServers: []\n# end',
    ],
  ])('with %s keeps its comments and its last line end without its last entry', (_what, to, text, after) => {
    expect(remove(to, text, 'fetch')).toBe(after);
  });

  test('keeps an entry where it is when it changes', () => {
    const text = 'extensions:\n  "fetch": # mine\n    uri: old\n  # b\n  b: {}\nz: 1\n';

    expect(put(goose, text, 'fetch')).toMatchInlineSnapshot(`
      "extensions:
        fetch:
          name: fetch
          uri: http://localhost:8081/sse#fetch
          type: sse
          enabled: true
          timeout: 60
        # b
        b: {}
      z: 1
      "
    `);
  });

  test.each(['on', 'null', '0x1f', '1e3', '2024-01-01', 'a.', 'y', '12:30'])(
    'quotes the name %s, which is more than text to some',
    (name) => {
      const text = put(continues, '', name);

      expect(text).toContain(`name: "${name}"`);
    },
  );

  test.each([
    ['is broken', goose, 'a: [1\nb: }', 'line 2, column 1: this is not YAML'],
    ['has tabs', goose, 'a:\n\tb: 1\n', 'line 2, column 1: this is not YAML: Tabs are not allowed'],
    ['has two documents', goose, 'a: 1\n---\nb: 1\n', 'line 2, column 1: a second document begins here'],
    ['is a list', goose, '- 1\n', 'line 1, column 1: the file is not a mapping'],
    ['has a list of extensions', goose, 'extensions:\n- a\n', 'extensions is not a mapping'],
    ['has a mapping of servers', continues, 'mcpServers: {}\n', 'mcpServers is not a list'],
    ['has an alias there', goose, 'x: &x {}\nextensions: *x\n', 'line 2, column 13: extensions is an alias'],
    [
      'has extensions twice',
      goose,
      'extensions: {}\nextensions: {}\n',
      'line 2, column 1: the key extensions',
    ],
    [
      'has an entry twice',
      goose,
      'extensions:\n  fetch: 1\n  fetch: 2\n',
      'line 3, column 3: fetch occurs twice',
    ],
    ['has an alias of nothing', goose, 'a: *x\n', '/f is too deep or too tangled to be read'],
    ['is too deep', goose, '['.repeat(20_000), '/f'],
    [
      'grows without end',
      goose,
      `a0: &a0 [x]\n${Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]\n`).join('')}`,
      '/f is too deep or too tangled to be read',
    ],
  ])('that %s is refused', (_what, to, text, message) => {
    const change = () => put(to, text, 'fetch');

    expect(change).toThrow(expect.objectContaining({ kind: 'conflict' }));
    expect(change).toThrow(message);
  });

  test('is refused when something else refers to all of the entries', () => {
    const text = 'extensions: &all\n  a: 1\nz: *all\n';

    expect(() => put(goose, text, 'fetch')).toThrow('cannot edit safely');
  });

  test('is refused when something else refers into an entry that is to go', () => {
    const text = 'extensions:\n  fetch: &f\n    uri: x\nz: *f\n';

    expect(() => remove(goose, text, 'fetch')).toThrow('cannot edit safely');
  });
});

describe('any YAML file', () => {
  const scalar = fc.oneof(
    fc.constantFrom<unknown>(
      null,
      true,
      12,
      -1.5,
      '',
      'on',
      '# no',
      'a: b',
      '- x',
      'line\nline\n',
      ' x',
      '{',
      '&a',
    ),
    fc.string({ maxLength: 6 }),
  );
  const key = fc.oneof(
    fc.constantFrom('a', 'b', 'name', '__proto__', 'x y', '#'),
    fc.string({ maxLength: 4 }),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 2 },
      scalar,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 3 }),
    ),
  }));
  const decoration = fc.infiniteStream(fc.constantFrom('', '', '', '', 'blank', 'before', 'after', 'flow'));
  const layout = fc.record({
    indent: fc.constantFrom(2, 3, 4),
    indentSeq: fc.boolean(),
    end: fc.constantFrom('\n', '\r\n'),
  });

  function print(
    data: object,
    next: () => string,
    { indent, indentSeq, end }: { indent: number; indentSeq: boolean; end: string },
  ): string {
    const document = new Document(data);
    let count = 0;
    visit(document, {
      Node: (at, node) => {
        const how = next();
        const isInside = at !== null && node !== document.contents;
        if (how === 'flow' && isCollection(node) && isInside) node.flow = true;
        if (!isInside || at === 'value') return;
        if (how === 'blank') node.spaceBefore = true;
        if (how === 'before') node.commentBefore = ` before ${count++}`;
        if (how === 'after' && isScalar(node) && at !== 'key') node.comment = ` after ${count++}`;
      },
      Pair: (_at, pair) => {
        if (next() === 'after' && isPair(pair) && isScalar(pair.value))
          pair.value.comment = ` after ${count++}`;
      },
    });
    return document.toString({ indent, indentSeq }).replaceAll('\n', end);
  }

  const fileOf = (to: ClientApplication, entries: fc.Arbitrary<unknown>) =>
    fc
      .tuple(
        fc.dictionary(key, tree, { maxKeys: 3 }),
        entries,
        fc.dictionary(key, tree, { maxKeys: 2 }),
        decoration,
        layout,
      )
      .map(([before, servers, after, stream, how]) =>
        print({ ...before, [to.pointer[0] ?? '']: servers, ...after }, () => stream.next().value ?? '', how),
      )
      .filter((text) => {
        try {
          parse(text);
          return true; // the printer itself does not get everything right
        } catch {
          return false;
        }
      });

  const comments = (text: string): string[] =>
    [...new Lexer().lex(text)].filter((token) => token.startsWith('#')).map((token) => token.trimEnd());
  const ours = fc.uniqueArray(fc.constantFrom('thv-a', 'thv-b', '2024-01-01', '12:30:59'), { minLength: 1 });

  test.each([
    ['goose', goose, fc.dictionary(key, tree, { maxKeys: 3 })],
    [
      'continue',
      continues,
      fc.array(fc.oneof(tree, fc.record({ name: fc.constantFrom('x'), url: scalar })), { maxLength: 2 }),
    ],
  ])('of %s keeps all that belongs to others, and is the same again', (_id, to, entries) => {
    fc.assert(
      fc.property(fileOf(to, entries), ours, ours, (text, wanted, first) => {
        const changed = put(to, text, ...wanted);
        expect(comments(changed)).toEqual(comments(text));
        expect(readEntries({ path: '/f', text: changed }, to).get(wanted[0] ?? '')).toBeDefined();

        const order = [...new Set([...first.filter((name) => wanted.includes(name)), ...wanted])];
        const left = order.reduce((left, name) => remove(to, left, name), changed);

        expect(left).toBe(text);
      }),
      { numRuns: 200 },
    );
  });
});
