import { describe, expect, test } from 'vitest';
import { readManifest, readPublishedManifest } from './manifest.ts';
import { aManifest, aServer } from './testing/manifests.ts';

const read = (changes: object) => readManifest(JSON.stringify(aManifest(changes)), 'manifest.json');

describe('a manifest', () => {
  test.each(['0.1', '0.2', '0.3', '0.4'])('of version %s is read', (version) => {
    expect(read({ manifest_version: version })).toMatchObject({ name: 'notes' });
    expect(read({ manifest_version: undefined, dxt_version: version })).toMatchObject({ name: 'notes' });
  });

  test.each([
    [{ manifest_version: undefined }, 'has no manifest_version'],
    [{ manifest_version: '9.0' }, 'has the unknown manifest_version "9.0"'],
    [{ manifest_version: { a: 1 } }, 'has the unknown manifest_version'],
    [{ server: undefined }, 'server: '],
    [{ server: aServer({ type: 'java' }) }, 'server.type: '],
    [{ server: aServer({ mcp_config: { command: 7 } }) }, 'server.mcp_config.command: '],
    [{ server: aServer({ mcp_config: { command: 'node', args: 'x' } }) }, 'server.mcp_config.args: '],
    [{ user_config: { a: { type: 'password', title: 'A', description: 'A' } } }, 'user_config.a.type: '],
    [{ user_config: { 'a b': { type: 'string', title: 'A', description: 'A' } } }, 'user_config.a b: '],
    [{ compatibility: { platforms: ['amiga'] } }, 'compatibility.platforms.0: '],
  ])('with %j is refused by name', (changes, message) => {
    expect(() => read(changes)).toThrow(message);
  });

  test.each([
    [{ author: undefined }],
    [{ homepage: 'not a URL' }],
    [{ server: aServer({ future: true }), another: 1 }],
    [{ tools: 'all' }],
    [{ server: aServer({ mcp_config: undefined }) }],
  ])('with %j runs, because only its description is wrong', (changes) => {
    expect(read(changes)).toMatchObject({ name: 'notes', server: { type: 'node' } });
  });

  test.each([[{ author: undefined }], [{ homepage: 'not a URL' }], [{ another: 1 }]])(
    'with %j is not published, as in the official validation',
    (changes) => {
      const text = JSON.stringify(aManifest(changes));

      expect(() => readPublishedManifest(text, 'manifest.json')).toThrow(/manifest\.json is invalid: /);
    },
  );

  test.each([
    ['a text that is not JSON', '{', /is not JSON/],
    ['a list', '[]', /is not a JSON object/],
    ['bytes that are not UTF-8', Buffer.from([0xff, 0xfe, 0x7b]), /is not JSON in UTF-8/],
    ['a very deep text', '{"a":'.repeat(100), /nests deeper/],
    ['a member __proto__', '{"__proto__": {"name": "x"}}', /__proto__/],
  ])('that is %s is refused', (_what, content, message) => {
    expect(() => readManifest(content, 'manifest.json')).toThrow(message);
  });

  test('with a byte order mark is read', () => {
    expect(readManifest(`\uFEFF${JSON.stringify(aManifest())}`, 'manifest.json')).toMatchObject({
      name: 'notes',
    });
  });
});
