import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ListedResources } from '@toolhive/proxy/authorization';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Policies } from './policies.ts';

// A long run in search of more: FUZZ_RUNS=5000 FUZZ_SEED=1
/** Each run decides about `spellings` values under one set of policies. */
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 250);
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
  { cedar: `${has} && context.arg_amount == true`, means: (value) => value === true },
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

      for (const one of allowed)
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

/** The files that servers read for a URI. Undefined if they refuse it. */
const fileServers: ((uri: string) => string | undefined)[] = [
  (uri) => fileURLToPath(uri),
  (uri) => decodeURIComponent(new URL(uri).pathname),
  (uri) => posix.normalize(decodeURIComponent(/^\s*file:(?:\/\/[^/]*)?([^?#]*)/i.exec(uri)?.[1] ?? uri)),
  (uri) => posix.normalize(decodeURIComponent(uri.replace(/^file:\/\//, ''))),
];

function fileOf(server: (uri: string) => string | undefined, uri: string): string | undefined {
  try {
    const path = server(uri);
    return path === undefined ? undefined : posix.resolve('/', path);
  } catch {
    return undefined;
  }
}

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

const fileUris = fc
  .tuple(
    fc.constantFrom(
      'file://',
      'file://',
      'FILE://',
      'file:',
      'file://localhost',
      'File://LOCALHOST',
      ' file://',
      'file:/',
    ),
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

const resourceCases = fc.record({
  effect: fc.constantFrom('forbid', 'permit'),
  form: fc.constantFrom<(path: string) => string>(
    (path) => `resource == Resource::"${quoted(`file://${path}`)}"`,
    (path) => `resource has uri && resource.uri == "${quoted(`file://${path}`)}"`,
    (path) => `resource has uri && resource.uri like "${quoted(`file://${path}`)}/*"`,
    (path) => `resource has uri && resource.uri like "${quoted(new URL(`file://${path}`).href)}/*"`,
  ),
  path: paths,
  uris: fc.array(fileUris, { minLength: spellings, maxLength: spellings }),
});

test('a resource is never allowed if a server reads a file that the policy means to deny', async () => {
  await fc.assert(
    fc.asyncProperty(resourceCases, async ({ effect, form, path, uris }) => {
      const permitAll = effect === 'forbid' ? ['permit(principal, action, resource);'] : [];
      const condition = form(path);
      const policy = `${effect}(principal, action, resource) when { ${condition} };`;
      using policies = await Policies.open({ cedar: { policies: [...permitAll, policy] } });
      const listed = new ListedResources([`file://${path}`]);

      const allowed = uris.filter((target) =>
        policies.isAllowed({ principal, action: 'read_resource', target, listed }),
      );

      // The pattern of a directory also matches the directory itself, with a slash at its end.
      const isCovered = (file: string): boolean =>
        condition.includes('like')
          ? file.startsWith(`${path}/`) || (effect === 'permit' && file === path)
          : file === path;
      for (const uri of allowed)
        for (const [index, server] of fileServers.entries()) {
          const file = fileOf(server, uri);
          if (file === undefined) continue;
          const isMeant = isCovered(file) === (effect === 'permit');
          expect(isMeant, `${policy} allows ${JSON.stringify(uri)} at server ${index}: ${file}`).toBe(true);
        }
    }),
    { numRuns, seed },
  );
});
