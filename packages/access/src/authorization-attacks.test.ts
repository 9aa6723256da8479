import { ListedResources } from '@toolhive/proxy/authorization';
import type { AccessQuestion } from '@toolhive/proxy/authorization';
import { describe, expect, test } from 'vitest';
import { ApiPolicies } from './api-policies.ts';
import { Policies } from './policies.ts';

const permitAll = 'permit(principal, action, resource);';

async function isAllowed(
  policies: string[],
  { claims, ...question }: Partial<AccessQuestion> & { claims?: object },
): Promise<boolean> {
  using opened = await Policies.open({ cedar: { policies } });
  const principal = { id: 'ada', claims: { sub: 'ada', ...claims } };
  return opened.isAllowed({ principal, action: 'call_tool', target: 'transfer', ...question });
}

/** Arguments as the proxy reads them. */
const argumentsOf = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

describe('a call does not escape the policy that forbids large amounts with', () => {
  const guide = [
    permitAll,
    'forbid(principal, action, resource) when { context has arg_amount && context.arg_amount.greaterThan(decimal("100.0")) };',
  ];

  test.each([
    ['a number that is too large for a decimal', '{"amount": 1e15}'],
    ['a very large number', '{"amount": 1e300}'],
    ['an infinite number', '{"amount": 1e999}'],
    ['five digits after the point', '{"amount": 150.00001}'],
    ['31 digits', '{"amount": 1000000000000000000000000000000}'],
    ['a number in a list', '{"amount": [1000]}'],
    ['a number in an object', '{"amount": {"value": 1000}}'],
    ['null', '{"amount": null}'],
    ['a number as text', '{"amount": "1000"}'],
    ['a name in another case', '{"Amount": 1000}'],
    ['a harmless number beside a name in another case', '{"amount": 1, "AMOUNT": 1000}'],
    ['a name in full-width characters', '{"\uff41\uff4d\uff4f\uff55\uff4e\uff54": 1000}'],
    ['a small number with an exponent', '{"amount": 1e-9}'],
  ])('%s', async (_what, text) => {
    expect(await isAllowed(guide, { arguments: argumentsOf(text) })).toBe(false);
  });

  test.each([
    '{"amount": 100}',
    '{"amount": 1e2}',
    '{"amount": 100.0}',
    '{"amount": -0}',
    '{}',
    '{"other": 1e300}',
  ])('and a call within the limit is allowed: %s', async (text) => {
    expect(await isAllowed(guide, { arguments: argumentsOf(text) })).toBe(true);
  });

  test('and another tool is not affected by a policy about one tool', async () => {
    const policies = [
      permitAll,
      'forbid(principal, action, resource == Tool::"transfer") when { context has arg_amount };',
      'forbid(principal, action, resource) when { resource == Tool::"pay" && context has arg_amount };',
    ];

    const given = { arguments: { amount: 1e300 } };

    expect(await isAllowed(policies, { ...given, target: 'count' })).toBe(true);
    expect(await isAllowed(policies, given)).toBe(false);
    expect(await isAllowed(policies, { ...given, target: 'pay' })).toBe(false);
  });
});

describe('a comparison does not miss a value of another type:', () => {
  test.each<[string, string, string, boolean]>([
    ['text for a forbidden number', 'context.arg_a == decimal("5.0")', '{"a": "5"}', false],
    ['a number for a forbidden text', 'context.arg_a == "5"', '{"a": 5}', false],
    ['text for a forbidden truth value', 'context.arg_a == true', '{"a": "true"}', false],
    ['a number for a forbidden truth value', 'context.arg_a == true', '{"a": 1}', false],
    ['a number of a forbidden set of texts', '["5", "6"].contains(context.arg_a)', '{"a": 5}', false],
    ['text in a forbidden list', '[context.arg_a] == ["5"]', '{"a": 5}', false],
    ['a list behind a comparison', '(context has arg_b) == false', '{"a": "5", "b": [5]}', false],
    ['text for a forbidden claim', 'context.arg_a == context.claim_level', '{"a": "3"}', false],
    ['a decimal for a whole number, which never fits', 'context.arg_a == 5', '{"a": 5}', false],
    ['another number', 'context.arg_a == decimal("5.0")', '{"a": 6}', true],
    ['another text', 'context.arg_a == "5"', '{"a": "6"}', true],
    ['another claim', 'context.arg_a == context.claim_level', '{"a": 4}', true],
  ])('%s', async (_what, condition, text, expected) => {
    const policies = [
      permitAll,
      `forbid(principal, action, resource) when { context has arg_a && ${condition} };`,
    ];

    expect(await isAllowed(policies, { arguments: argumentsOf(text), claims: { level: 3 } })).toBe(expected);
  });

  test('also in a policy that uses the context as a whole', async () => {
    const policies = [
      permitAll,
      'forbid(principal, action, resource) when { context != {} && context has arg_a && context.arg_a == decimal("5.0") };',
    ];

    expect(await isAllowed(policies, { arguments: { a: '5' } })).toBe(false);
    expect(await isAllowed(policies, { arguments: { a: 6 } })).toBe(true);
  });

  test('a permit for all other values', async () => {
    const policies = ['permit(principal, action, resource) when { context.arg_a != decimal("5.0") };'];

    expect(await isAllowed(policies, { arguments: { a: '5' } })).toBe(false);
    expect(await isAllowed(policies, { arguments: { a: 6 } })).toBe(true);
  });

  test('a permit of a value does not deny calls that other policies permit', async () => {
    const policies = [
      'permit(principal, action, resource) when { context has arg_a && context.arg_a == "5" };',
      'permit(principal, action, resource) when { resource.name == "transfer" };',
    ];

    expect(await isAllowed(policies, { arguments: { a: 5 } })).toBe(true);
  });
});

describe('the presence of an argument cannot be hidden:', () => {
  const policies = [
    permitAll,
    'forbid(principal, action, resource) when { context has arg_options_present && context.arg_options_present };',
  ];

  test.each([
    ['by a text that contains an object', '{"options": " {\\"force\\": true}"}'],
    ['by an argument of this name', '{"options": {"force": true}, "options_present": false}'],
    ['by an argument of this name that comes first', '{"options_present": false, "options": [1]}'],
    ['by another case', '{"Options": {"force": true}}'],
  ])('%s', async (_what, text) => {
    expect(await isAllowed(policies, { arguments: argumentsOf(text) })).toBe(false);
  });

  test('and other texts are not a list or an object', async () => {
    expect(await isAllowed(policies, { arguments: { options: '[draft] hello' } })).toBe(true);
  });
});

test('the names of members of every object in the language are arguments like others', async () => {
  const policies = [permitAll, 'forbid(principal, action, resource) when { context has arg___proto__ };'];

  expect(await isAllowed(policies, { arguments: argumentsOf('{"__proto__": 1}') })).toBe(false);
  expect(await isAllowed(policies, { arguments: {} })).toBe(true);
});

describe('claims that Cedar cannot represent deny if a policy that forbids reads them:', () => {
  const condition = 'context has claim_level && context.claim_level.greaterThan(decimal("3.0"))';

  test.each([[{ level: 1e300 }], [{ level: [1e300] }], [{ level: { value: 9 } }]])('%j', async (claims) => {
    const policies = [permitAll, `forbid(principal, action, resource) when { ${condition} };`];
    using api = await ApiPolicies.open({ cedar: { policies } }, [{ id: 'listWorkloads', kind: 'read' }]);
    const principal = { id: 'ada', claims: { sub: 'ada', ...claims } };

    const isAllowedByApi = api.isAllowed(
      principal,
      { id: 'listWorkloads', kind: 'read' },
      { type: 'System' },
    );

    expect(await isAllowed(policies, { claims })).toBe(false);
    expect(isAllowedByApi).toBe(false);
  });

  test('a claim that no such policy reads makes no difference', async () => {
    expect(await isAllowed([permitAll], { claims: { level: 1e300 } })).toBe(true);
  });
});

describe('a resource does not escape the policy that forbids its directory as', () => {
  const policies = [
    permitAll,
    'forbid(principal, action, resource) when { resource has uri && resource.uri like "file:///etc/*" };',
  ];
  const read = (target: string) => isAllowed(policies, { action: 'read_resource', target });

  test.each([
    'file:///etc/passwd',
    'file:///%65tc/passwd',
    'file:///%2565tc/passwd',
    'FILE:///etc/passwd',
    'file:/etc/passwd',
    'file:etc/passwd',
    'file://localhost/etc/passwd',
    'file://LOCALHOST/etc/passwd',
    'file://127.0.0.1/etc/passwd',
    'file://user@localhost/etc/passwd',
    'file:////etc/passwd',
    'file:///public/../etc/passwd',
    'file:///public/%2e%2e/etc/passwd',
    'file:///public/.%2E/etc/passwd',
    'file:///public//../etc/passwd',
    'file:///./etc/passwd',
    'file:///../etc/passwd',
    'file:///etc%2fpasswd',
    'file:///public%2f..%2fetc/passwd',
    'file:///public\\..\\etc\\passwd',
    'file:///public%5c..%5cetc/passwd',
    'file:\\\\\\etc\\passwd',
    ' file:///etc/passwd',
    '\tfile:///etc/passwd',
    'fi\tle:///etc/passwd',
    'file:///e\ntc/passwd',
    'file:///etc/passwd ',
    'file:///\u200betc/passwd',
    'file:///public/x%00/../etc/passwd',
    'file:///etc\u0000/passwd',
    'file:///%c0%afetc/passwd',
    'file:///%zz/../etc/passwd',
    '/etc/passwd',
    'etc/passwd',
    '',
  ])('%j', async (uri) => {
    expect(await read(uri)).toBe(false);
  });

  test.each([
    'file:///public/readme',
    'file:///public/my hosts',
    'file:///public/my%20hosts',
    'file:///ETC/passwd',
  ])('and another resource is allowed: %j', async (uri) => {
    expect(await read(uri)).toBe(true);
  });
});

describe('a resource of another scheme does not escape as', () => {
  test.each<[string, string]>([
    ['http://host.test/admin/*', 'http://HOST.test/admin/x'],
    ['http://host.test/admin/*', 'http://host.test:80/admin/x'],
    ['http://host.test/admin/*', 'http://host.test./admin/x'],
    ['http://host.test/admin/*', 'http://user@host.test/admin/x'],
    ['http://host.test/admin/*', 'http:/host.test/admin/x'],
    ['http://host.test/admin/*', 'http:\\\\host.test\\admin\\x'],
    ['http://host.test/admin/*', 'http://host.test//admin/x'],
    ['http://host.test/admin/*', 'http://host.test/a/../admin/x'],
    ['http://host.test/', 'http://host.test'],
    ['http://host.test/', 'http://host.test/#x'],
    ['http://host.test/', 'http://host.test?'],
    ['http://127.0.0.1/*', 'http://0x7f.1/x'],
    ['http://xn--bcher-kva.test/*', 'http://b\u00fccher.test/x'],
    ['http://xn--bcher-kva.test/*', 'http://B\u00dcCHER.test/x'],
    ['note:secret', 'note:secr%65t'],
    ['note:secret', 'NOTE:secret'],
    ['note:secret', 'note:x/../secret'],
    ['urn:isbn:1', 'URN:ISBN:1'],
    ['docs://secret/*', 'docs://SECRET/x'],
    ['docs://secret/*', 'docs://public/../secret/x'],
    ['docs://secret/*', 'docs://./secret/x'],
    ['docs:///secret', 'docs:/secret'],
    ['docs://a/secret', 'docs://a//secret'],
    ['docs://a/secret', 'docs://a/secret?x'],
    ['docs://a/secret', 'docs://a/secret#x'],
    ['docs://a/b\u00fc', 'docs://a/bu\u0308'],
  ])('%s: %j', async (pattern, uri) => {
    const policies = [
      permitAll,
      `forbid(principal, action, resource) when { resource has uri && resource.uri like "${pattern}" };`,
    ];

    expect(await isAllowed(policies, { action: 'read_resource', target: uri })).toBe(false);
  });

  test.each<string>([
    'http://host.test',
    'http://host.test/a?path=%2Fetc',
    'note:abc',
    'urn:isbn:1',
    'docs://Table/Row#1',
    'postgres://user@host:5432/db/table/schema',
    'docs://a/{name}',
    'docs://a/100%25',
  ])('and a permit for exactly this URI is enough: %s', async (uri) => {
    const policies = [`permit(principal, action, resource) when { resource.uri == "${uri}" };`];

    expect(await isAllowed(policies, { action: 'read_resource', target: uri })).toBe(true);
  });
});

describe('a permit for a directory does not permit', () => {
  test.each([
    'file:///public/../etc/passwd',
    'file:///public/%2e%2e/etc/passwd',
    'file:///public/..%2fetc/passwd',
  ])('%s', async (target) => {
    const policies = ['permit(principal, action, resource) when { resource.uri like "file:///public/*" };'];

    expect(await isAllowed(policies, { action: 'read_resource', target })).toBe(false);
  });
});

describe('a URI without a canonical form', () => {
  const uri = 'file://README.md';
  const policies = ['permit(principal, action, resource);'];

  test('is refused with the reason, unless the server lists exactly this URI', async () => {
    using opened = await Policies.open({ cedar: { policies } });
    const principal = { id: 'ada', claims: { sub: 'ada' } };
    const decide = (target: string, listed?: ListedResources) =>
      opened.decide({ principal, action: 'read_resource', target, listed });

    const unknown = decide(uri, new ListedResources(['file://OTHER.md']));

    expect(unknown).toMatchObject({
      isAllowed: false,
      errors: [expect.stringContaining('no canonical form')],
    });
    expect(decide(uri, new ListedResources([uri]))).toMatchObject({ isAllowed: true });
    expect(decide('file://readme.md', new ListedResources([uri]))).toMatchObject({ isAllowed: false });
  });
});

describe('a policy with the name of a resource', () => {
  const read = (policy: string, target: string, listed?: string[]) =>
    isAllowed([policy], {
      action: 'read_resource',
      target,
      listed: listed === undefined ? undefined : new ListedResources(listed),
    });
  const short = 'permit(principal, action, resource == Resource::"file____pub_key");';

  test('permits one resource if the name is its URI', async () => {
    const policy = 'permit(principal, action, resource == Resource::"file:///pub_key");';

    expect(await read(policy, 'file:///pub_key')).toBe(true);
    for (const other of ['file:///pub.key', 'file:///pub/key', 'file:///pub key', 'file:///pub=key'])
      expect(await read(policy, other)).toBe(false);
  });

  test('permits only listed resources if it is a short name', async () => {
    const listed = ['file:///pub_key'];

    expect(await read(short, 'file:///pub_key', listed)).toBe(true);
    expect(await read(short, 'file:///pub.key', listed)).toBe(false);
    expect(await read(short, 'file:///pub/key', listed)).toBe(false);
  });

  test('forbids every resource of a short name, in every spelling', async () => {
    const forbid = 'forbid(principal, action, resource == Resource::"file____pub_key");';
    const listed = new ListedResources(['file:///pub_key']);

    for (const target of ['file:///pub_key', 'file:///pub.key', 'FILE:///pub%5Fkey', 'file:/pub_key'])
      expect(await isAllowed([permitAll, forbid], { action: 'read_resource', target, listed })).toBe(false);
  });

  test('causes a warning if it is a short name', async () => {
    using opened = await Policies.open({ cedar: { policies: [short] } });

    expect(opened.doubtsAbout({ Resource: ['file:///pub_key'] })).toEqual([
      'policy0, line 1, column 39: Resource::"file____pub_key" can stand for several URIs. Name the URI, for example Resource::"file:///pub_key"',
    ]);
  });
});

describe('a forbidden skill', () => {
  const policies = [
    permitAll,
    'forbid(principal, action == Action::"get_skill", resource == Skill::"skill://acme/refunds/SKILL.md");',
  ];

  test.each([
    'skill://acme/refunds/SKILL.md',
    'SKILL://acme/refunds/SKILL.md',
    'Skill://acme/refunds/SKILL.md',
    'skill://acme/refunds/./SKILL.md',
    'skill://acme/./refunds/SKILL.md',
    'skill://acme/refunds/%53KILL.md',
    'skill://acme/refunds/SKILL%2Emd',
    'skill://acme/%72efunds/SKILL.md',
    'skill://acme/refund%73/SKILL.md',
    'skill://%61cme/refunds/SKILL.md',
    'skill://ACME/refunds/SKILL.md',
    'skill://Acme/refunds/SKILL.md',
    'skill://acme//refunds/SKILL.md',
    'skill://acme/refunds//SKILL.md',
    'skill://acme/refunds/SKILL.md/',
    'skill://acme/refunds/SKILL.md?',
    'skill://acme/refunds/SKILL.md#',
    'skill://acme/refunds/SKILL.md?version=1',
    'skill://acme/refunds/SKILL.md#usage',
    'skill://acme/x/../refunds/SKILL.md',
    'skill://acme/refunds/x/../SKILL.md',
    'skill://acme/%2e%2e/acme/refunds/SKILL.md',
    'skill://acme/refunds%2FSKILL.md',
    'skill://acme%2Frefunds/SKILL.md',
    'skill://acme/refunds%5CSKILL.md',
    'skill://acme\\refunds\\SKILL.md',
    'skill:///acme/refunds/SKILL.md',
    'skill:/acme/refunds/SKILL.md',
    'skill:acme/refunds/SKILL.md',
    'skill:////acme/refunds/SKILL.md',
    ' skill://acme/refunds/SKILL.md',
    'skill://acme/refunds/SKILL.md ',
    'skill://acme/refunds/SKILL.md%20',
    'skill://acme/refunds/SKILL.md%00',
    'skill://acme/refunds/SK\tILL.md',
    'skill://acme/refunds/\u200bSKILL.md',
    'skill://acme/refunds/SKILL%252Emd',
    'skill://acme/%2572efunds/SKILL.md',
    'skill://user@acme/refunds/SKILL.md',
    'skill://acme:80/refunds/SKILL.md',
    'skill://acme./refunds/SKILL.md',
  ])('cannot be had, nor read as a resource, as %j', async (target) => {
    expect(await isAllowed(policies, { action: 'get_skill', target })).toBe(false);
    expect(await isAllowed(policies, { action: 'read_resource', target })).toBe(false);
  });

  test.each([
    'skill://acme/refunds',
    'skill://acme/refunds/',
    'skill://acme/refunds/examples/email.md',
    'skill://acme/refunds/inner/SKILL.md',
    'SKILL://ACME/refunds/scripts/run.py',
    'skill:acme/refunds/examples/email.md',
    `skill://acme/refunds/${'a/'.repeat(40)}b.md`,
  ])('keeps its files to itself: %s', async (target) => {
    expect(await isAllowed(policies, { action: 'read_resource', target })).toBe(false);
  });

  test.each([
    'skill://acme/SKILL.md',
    'skill://acme/billing/SKILL.md',
    'skill://acme/refunds2/SKILL.md',
    'file:///refunds',
  ])('does not affect %s', async (target) => {
    expect(await isAllowed(policies, { action: 'read_resource', target })).toBe(true);
    expect(await isAllowed(policies, { action: 'get_skill', target })).toBe(true);
  });

  test('needs a permit of its own', async () => {
    const resources = ['permit(principal, action == Action::"read_resource", resource);'];

    expect(await isAllowed(resources, { action: 'get_skill', target: 'skill://a/SKILL.md' })).toBe(false);
    expect(await isAllowed(resources, { action: 'read_resource', target: 'skill://a/SKILL.md' })).toBe(true);
  });
});
