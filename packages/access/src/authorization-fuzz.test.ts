import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ListedResources } from '@toolhive/proxy/authorization';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Policies } from './policies.ts';

// A long run in search of more: FUZZ_RUNS=5000 FUZZ_SEED=1
/** Each run decides about `spellings` values under one set of policies. */
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 150);
const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_125);
const spellings = 40;
const principal = { id: 'ada', claims: { sub: 'ada' } };

/** What servers make of an argument: they convert types, and some ignore the case of names. */
type Server = (given: Record<string, unknown>) => unknown;
/** As JavaScript converts any value to a text. */
const spelled = (value: unknown): string => (value as { toString(): string } | null)?.toString() ?? 'null';
const asText: Server = ({ amount }) => (amount === undefined ? undefined : spelled(amount));
const asNumber: Server = ({ amount }) => (amount === undefined ? undefined : Number(amount));
const asScalar: Server = ({ amount }) => {
  const value = typeof amount === 'string' ? parsed(amount) : amount;
  return typeof value === 'object' ? amount : value;
};
const asComposite: Server = ({ amount }) => {
  const value = typeof amount === 'string' ? parsed(amount) : amount;
  return typeof value === 'object' && value !== null ? value : amount;
};
const argumentServers: Server[] = [
  ({ amount }) => amount,
  asScalar,
  asComposite,
  asText,
  asNumber,
  ({ amount }) => (amount === 1 || amount === 'true' ? true : amount),
  (given) => Object.entries(given).findLast(([name]) => name.toLowerCase() === 'amount')?.[1],
  (given) => Object.entries(given).findLast(([name]) => name.normalize('NFKC') === 'amount')?.[1],
];

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A condition in Cedar, and what its author means by it, for the value that a server uses. */
interface Condition {
  cedar: string;
  /** Servers that convert what the condition is about, and for which it means nothing. */
  except?: readonly Server[];
  /** An argument that the condition can also be about. */
  also?: string;
  means: (value: unknown) => boolean;
}

const limits = [0, 1, 5, 100, 150.5, 9e14];
const texts = ['', '5', '100', 'true', 'yes', 'abc'];
const decimalOf = (limit: number): string => `decimal("${limit.toFixed(1)}")`;
const numeric = (value: unknown): number => (typeof value === 'number' ? value : Number(value));
const has = 'context has arg_amount';
const conditions: Condition[] = [
  { cedar: has, means: (value) => value !== undefined },
  {
    cedar: 'context has arg_amount_present && context.arg_amount_present',
    except: [asText, asNumber, asScalar],
    also: 'amount_present',
    means: (value) => typeof value === 'object',
  },
  ...limits.flatMap((limit): Condition[] => [
    {
      cedar: `${has} && context.arg_amount.greaterThan(${decimalOf(limit)})`,
      means: (value) => numeric(value) > limit,
    },
    {
      cedar: `${has} && context.arg_amount.lessThan(${decimalOf(limit)})`,
      means: (value) => numeric(value) < limit,
    },
    {
      cedar: `${has} && context.arg_amount == ${decimalOf(limit)}`,
      means: (value) => value !== undefined && value !== null && value !== '' && numeric(value) === limit,
    },
    {
      cedar: `${has} && ${decimalOf(limit)} == context.arg_amount`,
      means: (value) => value !== '' && value !== null && numeric(value) === limit,
    },
  ]),
  ...texts.flatMap((text): Condition[] => [
    {
      cedar: `${has} && context.arg_amount == "${text}"`,
      except: [asScalar, asComposite, asNumber],
      means: (value) => value !== undefined && spelled(value) === text,
    },
    {
      cedar: `${has} && ["${text}"].contains(context.arg_amount)`,
      except: [asScalar, asComposite, asNumber],
      means: (value) => value !== undefined && spelled(value) === text,
    },
    {
      cedar: `${has} && context.arg_amount like "${text}*"`,
      except: [asScalar, asComposite, asNumber],
      means: (value) => value !== undefined && spelled(value ?? '').startsWith(text),
    },
  ]),
  {
    cedar: `${has} && context.arg_amount == true`,
    means: (value) => value === true || value === 1 || value === 'true',
  },
];

const values = fc.oneof(
  fc.constantFrom<unknown>(...limits, ...texts, true, false, null, [], {}, [100], ['abc'], { value: 5 }),
  fc.constantFrom<unknown>(1e15, 1e300, 150.00001, -0, 1e-9, 2 ** 53, 0.1 + 0.2),
  fc.double({ noNaN: true }),
  fc.integer(),
);

const argumentCases = fc.record({
  effect: fc.constantFrom('forbid', 'permit'),
  kind: fc.constantFrom('when', 'unless'),
  condition: fc.constantFrom(...conditions),
  given: fc.array(
    fc.dictionary(
      fc.constantFrom('amount', 'Amount', 'AMOUNT', 'amoun\uff54', 'amount_present', 'other', '__proto__'),
      fc.oneof(
        values,
        values.map((value) => JSON.stringify(value)),
        values.map((value) => ` ${JSON.stringify(value)} `),
      ),
      { maxKeys: 3 },
    ),
    { minLength: spellings, maxLength: spellings },
  ),
});

test('an argument is never allowed if its server uses a value that the policy means to deny', async () => {
  await fc.assert(
    fc.asyncProperty(argumentCases, async ({ effect, kind, condition, given }) => {
      const permitAll = effect === 'forbid' ? ['permit(principal, action, resource);'] : [];
      const policy = `${effect}(principal, action, resource) ${kind} { ${condition.cedar} };`;
      using policies = await Policies.open({ cedar: { policies: [...permitAll, policy] } });

      const allowed = given.filter((one) =>
        policies.isAllowed({ principal, action: 'call_tool', target: 'a', arguments: one }),
      );

      const isAllowedByTruth = (effect === 'permit') === (kind === 'when');
      const isOther = (one: object): boolean => isAllowedByTruth && Object.hasOwn(one, condition.also ?? '');
      for (const one of allowed.filter((each) => !isOther(each)))
        for (const [index, server] of argumentServers.entries()) {
          if (condition.except?.includes(server) === true) continue;
          const isMet = condition.means(server(one)) === (kind === 'when');
          const isMeant = effect === 'forbid' ? !isMet : isMet;
          expect(isMeant, `${policy} allows ${JSON.stringify(one)} at server ${index}`).toBe(true);
        }
    }),
    { numRuns, seed },
  );
});

/** A kind of URIs, and what servers read for them. They throw for URIs that they refuse. */
interface World {
  /** What a resource is called without its path, in URIs and by the servers. */
  base: string;
  own: string;
  starts: readonly string[];
  servers: readonly ((uri: string) => string)[];
}

const decodedPath = (uri: string): string => decodeURIComponent(new URL(uri).pathname);

const worlds: World[] = [
  {
    base: 'file://',
    own: '',
    starts: ['FILE://', 'file:', 'file://localhost', 'File://LOCALHOST', ' file://', 'file:/'],
    servers: [
      (uri) => posix.resolve(fileURLToPath(uri)),
      (uri) => posix.resolve(decodedPath(uri)),
      (uri) =>
        posix.resolve('/', decodeURIComponent(/^\s*file:(?:\/\/[^/]*)?([^?#]*)/i.exec(uri)?.[1] ?? uri)),
      (uri) => posix.resolve('/', decodeURIComponent(uri.replace(/^file:\/\//, ''))),
    ],
  },
  {
    base: 'http://host.test',
    own: 'host.test',
    starts: [
      'HTTP://host.test',
      'http://HOST.test',
      'http://host.test:80',
      'http://host.test.',
      'http:host.test',
    ],
    servers: [(uri) => `${new URL(uri).hostname.replace(/\.$/, '')}${decodedPath(uri)}`],
  },
  {
    base: 'docs://box',
    own: 'box',
    starts: ['DOCS://box', 'docs://BOX', 'docs://./box', 'docs://x/../box', 'docs://%62ox', ' docs://box'],
    servers: [
      (uri) => `${new URL(uri).host.toLowerCase()}${decodedPath(uri)}`,
      (uri) => posix.normalize(decodeURIComponent(uri.replace(/^docs:\/\//i, ''))),
    ],
  },
];

const segments = ['etc', 'pub', 'passwd', 'a b', 'key', 'a.b', 'b\u00fc', 'x_y'];
const paths = fc
  .array(fc.constantFrom(...segments), { minLength: 1, maxLength: 3 })
  .map((parts) => `/${parts.join('/')}`);
const noise = fc.constantFrom(
  '',
  '',
  '',
  '/.',
  '/x/..',
  '/%2e',
  '/x/%2E%2e',
  '//',
  '%2f',
  '\\',
  '%5c',
  '/..',
  '\t',
  '%00',
);

const urisOf = ({ base, starts }: World) =>
  fc
    .tuple(
      fc.oneof(fc.constant(base), fc.constantFrom(...starts)),
      fc.array(fc.tuple(noise, fc.constantFrom(...segments), fc.nat(7)), { minLength: 1, maxLength: 4 }),
      fc.constantFrom('', '', '', '/', '?', '?x', '#', '#x', ' ', '/.', '%20'),
    )
    .map(
      ([start, parts, end]) =>
        `${start}${parts.map(([before, name, how]) => `${before}/${respelled(name, how)}`).join('')}${end}`,
    );

/** Writes one character of a name with a percent sign, in a way that depends on `how`. */
function respelled(name: string, how: number): string {
  if (how > 4) return name;
  const at = how % name.length;
  const code = encodeURIComponent(name[at] ?? '');
  const hex = code.startsWith('%') ? code : `%${(name.charCodeAt(at) || 0).toString(16)}`;
  return `${name.slice(0, at)}${how === 3 ? hex.replace('%', '%25') : hex}${name.slice(at + 1)}`;
}

const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);

const resourceCases = (world: World) =>
  fc.record({
    effect: fc.constantFrom('forbid', 'permit'),
    form: fc.constantFrom<(uri: string) => string>(
      (uri) => `resource == Resource::"${quoted(uri)}"`,
      (uri) => `resource has uri && resource.uri == "${quoted(uri)}"`,
      (uri) => `resource has uri && resource.uri like "${quoted(uri)}/*"`,
      (uri) => `resource has uri && resource.uri like "${quoted(new URL(uri).href)}/*"`,
    ),
    path: paths,
    uris: fc.array(urisOf(world), { minLength: spellings, maxLength: spellings }),
  });

test.each(worlds)(
  'a resource is never allowed if a server reads one that the policy means to deny: $base',
  async (world) => {
    await fc.assert(
      fc.asyncProperty(resourceCases(world), async ({ effect, form, path, uris }) => {
        const permitAll = effect === 'forbid' ? ['permit(principal, action, resource);'] : [];
        const condition = form(`${world.base}${path}`);
        const policy = `${effect}(principal, action, resource) when { ${condition} };`;
        using policies = await Policies.open({ cedar: { policies: [...permitAll, policy] } });
        const listed = new ListedResources([`${world.base}${path}`]);

        const allowed = uris.filter((target) =>
          policies.isAllowed({ principal, action: 'read_resource', target, listed }),
        );

        const named = `${world.own}${path}`;
        // The pattern of a directory also matches the directory itself, with a slash at its end.
        const isCovered = (found: string): boolean =>
          condition.includes('like')
            ? found.startsWith(`${named}/`) || (effect === 'permit' && found === named)
            : found === named;
        for (const uri of allowed)
          for (const [index, server] of world.servers.entries()) {
            const found = foundBy(server, uri);
            if (found === undefined) continue;
            const isMeant = isCovered(found) === (effect === 'permit');
            expect(isMeant, `${policy} allows ${JSON.stringify(uri)} at server ${index}: ${found}`).toBe(
              true,
            );
          }
      }),
      { numRuns, seed },
    );
  },
);

function foundBy(server: (uri: string) => string, uri: string): string | undefined {
  try {
    return server(uri);
  } catch {
    return undefined;
  }
}
