import type { AuthzConfig } from '@toolhive/contract/authorization';
import type { AccessQuestion } from '@toolhive/proxy/authorization';
import { describe, expect, test } from 'vitest';
import { Policies } from './policies.ts';
import type { OfferedItems } from './policies.ts';
import type { PolicyDecision } from './policy-set.ts';

const permitAll = 'permit(principal, action, resource);';

function configOf(policies: string[], entities?: object[]): AuthzConfig {
  return {
    version: '1.0',
    type: 'cedarv1',
    cedar: { policies, ...(entities === undefined ? {} : { entities_json: JSON.stringify(entities) }) },
  };
}

/** Decides about a call of Ada for the tool `weather`, with changes. */
async function decide(
  config: AuthzConfig,
  question: Partial<AccessQuestion> = {},
  claims: object = {},
): Promise<PolicyDecision> {
  using policies = await Policies.open(config);
  const principal = { id: 'ada', claims: { sub: 'ada', ...claims } };
  return policies.decide({ principal, action: 'call_tool', target: 'weather', ...question });
}

describe('policies', () => {
  test('allow nothing that they do not name', async () => {
    const config = configOf([
      'permit(principal, action == Action::"call_tool", resource == Tool::"weather");',
    ]);

    expect(await decide(config)).toEqual({ isAllowed: true, policies: ['policy0'], errors: [] });
    expect(await decide(config, { target: 'Weather' })).toMatchObject({ isAllowed: false, policies: [] });
    expect(await decide(config, { action: 'get_prompt' })).toMatchObject({ isAllowed: false });
  });

  test('see the claims of the token and the arguments, and what the server says about the tool', async () => {
    const config = configOf([
      `permit(principal == Client::"ada", action, resource)
       when { context.claim_roles.contains("admin") && context.arg_days.lessThan(decimal("5.0")) && resource.readOnlyHint };`,
    ]);
    const question = { arguments: { days: 3 }, annotations: { readOnlyHint: true } };

    expect(await decide(config, question, { roles: ['admin'] })).toMatchObject({ isAllowed: true });
    expect(await decide(config, question, { roles: ['reader'] })).toMatchObject({ isAllowed: false });
    expect(await decide(config, { ...question, arguments: { days: 7 } }, { roles: ['admin'] })).toMatchObject(
      {
        isAllowed: false,
      },
    );
    // A server that says nothing about a tool gets no trust.
    expect(await decide(config, { arguments: { days: 3 } }, { roles: ['admin'] })).toMatchObject({
      isAllowed: false,
    });
  });

  test.each([
    ['no arguments', 'resource.readOnlyHint && resource.name != "b"'],
    ['an argument', 'resource.readOnlyHint && context has arg_a && context.arg_a == "x"'],
    ['everything', 'context has arg_a && context == context'],
  ])(
    'that read %s give each question its own decision, whatever was asked before',
    async (_what, condition) => {
      using policies = await Policies.open(
        configOf([
          `permit(principal, action, resource) when { ${condition} };`,
          'forbid(principal, action, resource == Tool::"c") unless { resource.idempotentHint };',
          'forbid(principal, action, resource) when { resource.name == "d" };',
        ]),
      );
      const claims = { sub: 'ada' };
      const hints = [undefined, {}, { readOnlyHint: true }, { readOnlyHint: 1 }, { idempotentHint: true }];
      const given = [undefined, {}, { a: 'x' }, { a: 'y' }, { '': null }, { b: 1e-9 }];
      const questions = ['a', 'b', 'c', 'd', 'a ', 'a"', ' a', ''].flatMap((target) =>
        (['call_tool', 'get_prompt'] as const).flatMap((action) =>
          hints.flatMap((annotations) =>
            given.map((args) => ({ target, action, annotations, arguments: args })),
          ),
        ),
      );

      const remembered = [...questions, ...questions.toReversed()].map((question) =>
        policies.decide({ ...question, principal: { id: 'ada', claims } }),
      );

      const fresh = [...questions, ...questions.toReversed()].map((question) =>
        policies.decide({ ...question, principal: { id: 'ada', claims: { ...claims } } }),
      );
      expect(remembered).toEqual(fresh);
      expect(new Set(remembered.map(({ isAllowed }) => isAllowed))).toEqual(new Set([true, false]));
    },
  );

  test('that cannot be evaluated deny, also those that forbid', async () => {
    const config = configOf([
      permitAll,
      'forbid(principal, action, resource) when { context.claim_level > 3 };',
    ]);

    const decision = await decide(config);

    expect(decision.isAllowed).toBe(false);
    expect(decision.errors).toEqual([expect.stringMatching(/^policy1: .*claim_level/)]);
  });

  test('deny a caller whose token has no subject', async () => {
    using policies = await Policies.open(configOf([permitAll]));
    const question = { action: 'call_tool', target: 'weather' } as const;

    expect(policies.isAllowed({ ...question, principal: { id: 'x', claims: {} } })).toBe(false);
    expect(policies.isAllowed({ ...question, principal: { id: 'x', claims: { sub: 7 } } })).toBe(false);
    expect(policies.isAllowed({ ...question, principal: { id: 'x' } })).toBe(false);
  });

  test('know the groups of principals in the entities', async () => {
    const config = configOf(
      ['permit(principal in Client::"staff", action, resource);'],
      [
        { uid: { type: 'Client', id: 'ada' }, attrs: {}, parents: [{ type: 'Client', id: 'staff' }] },
        { uid: { type: 'Client', id: 'staff' }, attrs: {}, parents: [] },
      ],
    );

    expect(await decide(config)).toMatchObject({ isAllowed: true });
    expect(await decide(config, {}, { sub: 'eve' })).toMatchObject({ isAllowed: false });
  });

  test('can use entity types of the configuration for groups', async () => {
    const group = { type: 'Team', id: 'staff' };
    const config = configOf(
      ['permit(principal in Team::"staff", action, resource);'],
      [
        { uid: { type: 'Client', id: 'ada' }, attrs: {}, parents: [group] },
        { uid: group, attrs: {}, parents: [] },
      ],
    );

    expect(await decide(config)).toMatchObject({ isAllowed: true });
    expect(await decide(config, {}, { sub: 'eve' })).toMatchObject({ isAllowed: false });
  });

  test('see resources under their names, and under their URI', async () => {
    const byName = configOf(['permit(principal, action, resource == Resource::"file____etc_my_hosts");']);
    const byUri = configOf([
      'permit(principal, action, resource) when { resource.uri == "file:///etc/my hosts" };',
    ]);
    const question = { action: 'read_resource', target: 'file:///etc/my hosts' } as const;

    expect(await decide(byName, question)).toMatchObject({ isAllowed: true });
    expect(await decide(byUri, question)).toMatchObject({ isAllowed: true });
    expect(await decide(byUri, { ...question, target: 'file:///etc/my_hosts' })).toMatchObject({
      isAllowed: false,
    });
  });

  test('remember a decision only for the facts that it depends on', async () => {
    using policies = await Policies.open(
      configOf([
        'permit(principal, action, resource) when { context has arg_path && context.arg_path like "/tmp/*" };',
      ]),
    );
    const principal = { id: 'ada', claims: { sub: 'ada' } };
    const isAllowed = (given: object): boolean =>
      policies.isAllowed({ principal, action: 'call_tool', target: 'read', arguments: { ...given } });

    expect([
      isAllowed({ path: '/tmp/a' }),
      isAllowed({ path: '/etc/a' }),
      isAllowed({ path: '/tmp/a' }),
    ]).toEqual([true, false, true]);
    expect(isAllowed({ other: 1 })).toBe(false);
  });

  test('that use the context as a whole see every argument', async () => {
    using policies = await Policies.open(
      configOf([
        'permit(principal, action, resource) when { context == {"claim_sub": "ada", "arg_a": "x"} };',
      ]),
    );
    const principal = { id: 'ada', claims: { sub: 'ada' } };
    const isAllowed = (given: object): boolean =>
      policies.isAllowed({ principal, action: 'call_tool', target: 'read', arguments: { ...given } });

    expect([isAllowed({ a: 'x' }), isAllowed({ a: 'y' }), isAllowed({ a: 'x', b: 'z' })]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('a configuration for the original', () => {
  test('can have entities without parents or attributes, and empty members of later versions', async () => {
    const entities = [
      { uid: { type: 'Client', id: 'ada' }, parents: [{ type: 'THVGroup', id: 'admins' }] },
      { uid: { type: 'THVGroup', id: 'admins' } },
      { uid: { type: 'Tool', id: 'weather' }, attrs: { owner: 'ada' } },
    ];
    const config = configOf(
      ['permit(principal in THVGroup::"admins", action, resource) when { resource.owner == "ada" };'],
      entities,
    );
    const cedar = { ...config.cedar, group_claim_name: '', role_claim_name: null, multi_valued_claims: [] };
    const bob = { principal: { id: 'bob', claims: { sub: 'bob' } } };

    expect(await decide({ ...config, cedar })).toMatchObject({ isAllowed: true });
    expect(await decide({ ...config, cedar }, bob)).toMatchObject({ isAllowed: false });
  });

  test('that names a group gets a hint that works', async () => {
    const opened = Policies.open(configOf(['permit(principal in THVGroup::"admins", action, resource);']));
    const { hint } = await opened.then(
      () => ({ hint: '' }),
      (error: { hint: string }) => error,
    );
    const [, condition = ''] = /for example (.*), or add Client entities/.exec(hint) ?? [];
    const config = configOf([`permit(principal, action, resource) when { ${condition} };`]);

    expect(await decide(config, {}, { groups: ['admins'] })).toMatchObject({ isAllowed: true, errors: [] });
    expect(await decide(config, {}, { groups: ['guests'] })).toMatchObject({ isAllowed: false, errors: [] });
    expect(await decide(config)).toMatchObject({ isAllowed: false, errors: [] });
  });
});

describe('attacks on policies:', () => {
  const onlyAda = configOf(['permit(principal == Client::"ada", action, resource);']);

  test('an argument that looks like an entity stays an argument', async () => {
    const config = configOf([
      'permit(principal, action, resource) when { context.arg_who == Client::"root" };',
    ]);
    const forged = { who: { __entity: { type: 'Client', id: 'root' } } };

    expect(await decide(config, { arguments: forged })).toMatchObject({ isAllowed: false });
  });

  test('a claim that looks like an entity or an extension is left out', async () => {
    const config = configOf(['permit(principal, action, resource) when { context has claim_who };']);
    const forged = { who: { __entity: { type: 'Client', id: 'root' } } };

    expect(await decide(config, {}, forged)).toMatchObject({ isAllowed: false });
  });

  test('roles in an inner object can be read, as Keycloak writes them', async () => {
    const condition =
      'principal has claim_realm_access && principal.claim_realm_access has roles && principal.claim_realm_access.roles.contains("admin")';
    const config = configOf([`permit(principal, action, resource) when { ${condition} };`]);
    const roles = (names: string[]) => ({ realm_access: { roles: names, verify_caller: null } });

    expect(await decide(config, {}, roles(['admin', 'user']))).toMatchObject({ isAllowed: true });
    expect(await decide(config, {}, roles(['user']))).toMatchObject({ isAllowed: false });
    expect(await decide(config, {}, {})).toMatchObject({ isAllowed: false });
  });

  test('a policy that forbids by an inner object denies what Cedar cannot represent', async () => {
    const config = configOf([
      'permit(principal, action, resource);',
      'forbid(principal, action, resource) when { context has claim_realm && context.claim_realm has banned };',
    ]);

    expect(await decide(config, {}, { realm: { level: 1 } })).toMatchObject({ isAllowed: true });
    expect(await decide(config, {}, { realm: { banned: true } })).toMatchObject({ isAllowed: false });
    expect(await decide(config, {}, { realm: { banned: 1e300 } })).toMatchObject({ isAllowed: false });
    expect(await decide(config, {}, { realm: { __expr: 'x' } })).toMatchObject({ isAllowed: false });
  });

  test('an argument cannot replace a claim or an attribute of the tool', async () => {
    const config = configOf([
      'permit(principal, action, resource) when { context.claim_role == "admin" || resource.readOnlyHint };',
    ]);
    const given = { claim_role: 'admin', readOnlyHint: true, 'role"': 'admin' };

    expect(await decide(config, { arguments: given }, { role: 'reader' })).toMatchObject({
      isAllowed: false,
    });
  });

  test('a subject with the quotes of another one is another subject', async () => {
    expect(await decide(onlyAda, {}, { sub: 'eve" || principal == Client::"ada' })).toMatchObject({
      isAllowed: false,
    });
    expect(await decide(onlyAda, {}, { sub: 'ADA' })).toMatchObject({ isAllowed: false });
    expect(await decide(onlyAda, {}, { sub: 'ada ' })).toMatchObject({ isAllowed: false });
  });

  test('members of every object in the language are no arguments', async () => {
    const given = JSON.parse('{"__proto__": {"x": 1}, "constructor": "x", "toString": 3}') as Record<
      string,
      unknown
    >;

    expect(await decide(onlyAda, { arguments: given })).toMatchObject({ isAllowed: true, errors: [] });
  });

  test('arguments that are very long or deep are decided', async () => {
    const config = configOf(['permit(principal, action, resource) when { context.arg_text like "a*" };']);

    expect(await decide(config, { arguments: { text: 'a'.repeat(1_000_000) } })).toMatchObject({
      isAllowed: true,
    });
  });
});

describe('what a server offers is compared with what policies name:', () => {
  const doubts = async (texts: string[], offered: OfferedItems, entities?: object[]) => {
    using policies = await Policies.open(configOf(texts, entities));
    return policies.doubtsAbout(offered);
  };

  test('nothing is doubted before it is known', async () => {
    expect(await doubts(['permit(principal, action, resource == Tool::"weather");'], {})).toEqual([]);
  });

  test.each<[string, string, OfferedItems, string[]]>([
    ['a tool that exists', 'resource == Tool::"weather"', { Tool: ['weather'] }, []],
    ['another tool', 'resource == Tool::"wether"', { Tool: ['weather'] }, ['Tool::"wether"']],
    ['a tool of a server without any', 'resource == Tool::"weather"', { Tool: [] }, ['Tool::"weather"']],
    ['a tool in a set', '[Tool::"a", Tool::"b"].contains(resource)', { Tool: ['a'] }, ['Tool::"b"']],
    ['a tool with quotes', String.raw`resource == Tool::"a\"b"`, { Tool: ['a"b'] }, []],
    ['a prompt', 'resource == Prompt::"sum"', { Prompt: [] }, ['Prompt::"sum"']],
    ['a resource by its URI', 'resource == Resource::"file:///a b"', { Resource: ['file:///a b'] }, []],
    ['another resource', 'resource == Resource::"file____a"', { Resource: [] }, ['Resource::"file____a"']],
    ['an attribute of another kind', 'resource.uri like "file:*"', { Tool: [] }, []],
    ['an argument', 'resource.arg_path == "/"', { Tool: ['weather'] }, []],
    ['a claim', 'context.claim_role == "admin"', { Tool: ['weather'] }, []],
  ])('%s', async (_what, condition, offered, expected) => {
    const found = await doubts([`permit(principal, action, resource) when { ${condition} };`], offered);

    expect(found).toHaveLength(expected.length);
    expected.forEach((entity, index) => expect(found[index]).toContain(`does not offer ${entity}`));
  });

  test('with the place of each mistake, also behind characters of several bytes', async () => {
    const found = await doubts(
      [
        'permit(principal == Client::"Zoë 🐝", action, resource == Tool::"a");',
        'forbid(principal, action,\n resource == Tool::"b");',
      ],
      { Tool: ['c'] },
    );

    expect(found.toSorted()).toEqual([
      'policy0, line 1, column 58: the server does not offer Tool::"a"',
      'policy1, line 2, column 14: the server does not offer Tool::"b"',
    ]);
  });

  test('attributes of the configuration exist', async () => {
    const policy = 'permit(principal, action, resource) when { resource.team == "a" };';
    const entity = { uid: { type: 'Tool', id: 'weather' }, attrs: { team: 'a' }, parents: [] };

    expect(await doubts([policy], {}, [entity])).toEqual([]);
    expect(await doubts([policy], {})).toEqual([expect.stringContaining('have no attribute team')]);
  });
});

describe('mistakes in policies are named with their place:', () => {
  test.each<[string, AuthzConfig, RegExp]>([
    ['no policy', configOf([]), /has no policies/],
    [
      'no language',
      configOf([permitAll, 'permit(principal,\n  action, resource']),
      /policy1, line 2, column 19: unexpected end/,
    ],
    ['several in one', configOf([`${permitAll} ${permitAll}`]), /policy0, line 1, column \d+/],
    [
      'an action that does not exist',
      configOf(['permit(principal, action == Action::"call", resource);']),
      /policy0, line 1, column 29: unrecognized action/,
    ],
    [
      'a type that does not exist',
      configOf(['permit(principal is User, action, resource);']),
      /unrecognized entity type `User`/,
    ],
    [
      'entities that are no JSON',
      { cedar: { policies: [permitAll], entities_json: '[' } },
      /entities_json is not JSON/,
    ],
    ['entities that are none', configOf([permitAll], [{ id: 1 }]), /entities_json is invalid/],
    [
      'entities that are not a list',
      { cedar: { policies: [permitAll], entities_json: '{"uid":1}' } },
      /entities_json is not a JSON array/,
    ],
    [
      'an entity whose uid is text',
      configOf([permitAll], [{ uid: 'Tool::weather', attrs: {} }]),
      /has the uid "Tool::weather", which is text/,
    ],
    [
      'a group that no caller is a member of',
      configOf(['forbid(principal in THVGroup::"guests", action, resource);', permitAll]),
      /policy0 in cedar\.policies names a THVGroup, but ToolHive does not derive groups from claims/,
    ],
    [
      'a group with entities, but without members',
      configOf(
        [permitAll, 'forbid(principal in THVGroup::"guests", action, resource);'],
        [{ uid: { type: 'THVGroup', id: 'guests' } }],
      ),
      /policy1 in cedar\.policies names a THVGroup/,
    ],
  ])('%s', async (_what, config, message) => {
    await expect(Policies.open(config)).rejects.toThrow(message);
  });

  test.each([
    ['group_claim_name', 'groups'],
    ['role_claim_name', 'roles'],
    ['group_entity_type', 'Team'],
    ['multi_valued_claims', ['scope']],
    ['primary_upstream_provider', 'okta'],
  ])('%s, which later versions of the original have', async (name, value) => {
    const opened = Policies.open({ cedar: { policies: [permitAll], [name]: value } });

    await expect(opened).rejects.toThrow(`cedar.${name} is not supported`);
  });

  test.each([
    ['Action::"tools/call"', 'use Action::"call_tool"'],
    ['Action::"resources/read"', 'use Action::"read_resource"'],
  ])('the method of MCP %s, with the right action', async (action, hint) => {
    const config = configOf([`permit(principal, action == ${action}, resource);`]);

    await expect(Policies.open(config)).rejects.toMatchObject({ hint });
  });

  test('a server, which no policy can name', async () => {
    const config = configOf(['permit(principal, action, resource in MCP::"weather");']);

    await expect(Policies.open(config)).rejects.toMatchObject({
      hint: 'policies belong to one server, so name only its tools, prompts, and resources',
    });
  });

  test('a place behind characters of several bytes', async () => {
    const config = configOf(['permit(principal == Client::"Zoë 🐝", action == Action::"call", resource);']);

    await expect(Policies.open(config)).rejects.toThrow(/line 1, column 48/);
  });
});
