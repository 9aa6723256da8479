import type { SchemaContext } from '@toolhive/contract/testing/schema-values';
import { testServer } from '@toolhive/core/testing';
import * as fc from 'fast-check';

/** Where requests are sent to, and what of it they may name. */
export interface Target {
  /** The port of the API. */
  port: number;
  /** Ports that proxies may ask for. */
  freePorts: readonly number[];
  /** The home of the daemon: nothing else of this machine is named. */
  home: string;
}

/** Mostly the usual, and once in a while something odd. */
export function mostly<T>(weight: number, usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd });
}

/** A list of texts without blanks, as they stand there. */
export function words(...parts: Parameters<typeof String.raw>): string[] {
  return String.raw(...parts)
    .trim()
    .split(/\s+/);
}

/** A list of texts, each of which stands on a line of its own. */
export function lines(...parts: Parameters<typeof String.raw>): string[] {
  return String.raw(...parts)
    .trim()
    .split(/\n\s*/);
}

/** What there is, or may be, by the segment of a path before it. */
export const knownNames: Record<string, readonly string[]> = {
  workloads: ['echo', 'echo', 'other', 'stop', 'delete'],
  groups: ['default', 'research', 'other'],
  clients: ['vscode', 'cursor', 'claude-code', 'register'],
  registry: ['default', 'default', 'default', 'other'],
  servers: ['osv', 'filesystem', 'other'],
  keys: ['token', 'other'],
};

/** Segments of paths that have gone wrong somewhere before: percent-encoded or as they are. */
export const oddSegments = [
  ...words`__proto__ constructor toString hasOwnProperty .. . ... %2e%2e %2e%2e%2f ..%2f..%2fx ..%5c..%5cx`,
  ...words`%2fetc%2fpasswd ..%252f..%252fx a%2Fb %00 a%00.json %0a a%0d%0ahint:%20x %1b[31m %ff % %zz %u0041`,
  ...words`%c0%ae%c0%ae %ED%A0%80 %F0%9F%98%80 ü 😀 %20 a%20b + - ;x=1 :name * %3f # %23 a|b $(x) ' " {name}`,
  ...words`%7Bname%7D %60x%60 / %e2%80%ae con nul -rf ~ @`,
  '',
  '\\',
  '`x`',
  'n'.repeat(101),
  'n'.repeat(5000),
  '%61'.repeat(2000),
];

/** Values in a query that have gone wrong somewhere before. */
export const oddValues = [
  ...words`% %00 %ff -1 0 1e3 0x10 99999999999999999999 NaN true TRUE null [] 2024-02-30T00:00:00Z`,
  ...words`0000-01-01T00:00:00Z 9999-12-31T23:59:59.999999999Z 0000-01-01T00:00:00%2B23:59`,
  '',
  'x'.repeat(8000),
];

/**
 * Words that mean something in a property of some name. What could lead off this machine, or to what is not ours on
 * it, is left out.
 */
export function wordsFor({ port, freePorts, home }: Target): SchemaContext['words'] {
  const odd = fc.string({ maxLength: 20 });
  const oneOf = fc.constantFrom<string[]>;
  const names = (...usual: readonly string[]): fc.Arbitrary<string> =>
    fc.oneof(
      { weight: 12, arbitrary: oneOf(...usual) },
      { weight: 2, arbitrary: oneOf(...words`__proto__ .. ../../../../x ../../../../../../x`) },
      { weight: 1, arbitrary: odd },
    );
  const name = names('echo', 'other', 'third', 'a.b', 'default', 'token');
  const group = names('default', 'default', 'research', 'a b');
  const ports = mostly(
    9,
    fc.constantFrom<unknown>(0, ...freePorts),
    fc.constantFrom<unknown>(port, -1, 65_536, 1.5),
  );
  const addresses = oneOf(
    ...words`https://registry.invalid/registry.json https://registry.invalid http://registry.invalid`,
    ...words`https://x@registry.invalid http://127.0.0.1:${port} http://127.0.0.1:${port}/health`,
    ...words`https://127.0.0.1:${port}/x.json http://[::1]:${port} http://localhost:${port}/api/openapi.json`,
    ...words`file:///etc/passwd javascript:0 https:// https://[`,
    '',
    'x'.repeat(3000),
  );
  const paths = oneOf(
    ...words`registry broken pipe endless folder nothing`.map((file) => `${home}/${file}.json`),
    ...words`file://${home}/registry.json file://x/registry.json registry.json ../../../../x.json /`,
    '',
    'a\0b.json',
  );
  const volumes = oneOf(
    ...words`${home}/folder.json:/data ${home}/folder.json:/data:ro ${home}:/home ${home}/.config/toolhive:/x`,
    ...words`/:/host ${home}/folder.json/../..:/x here:/x /x : :: ${home}/registry.json:/y:rw /proc/self:/p`,
    '',
    'a\0:/b',
  );
  return {
    name,
    names: name,
    base_name: name,
    group,
    groups: group,
    image: mostly(
      9,
      oneOf(testServer, testServer, testServer, ...words`osv notion-remote npx://nothing ghcr.io/a/b:1`),
      odd,
    ),
    package: odd,
    url: mostly(1, addresses, fc.constant('')),
    remote_url: mostly(3, fc.constant(''), addresses),
    host: oneOf(
      ...words`127.0.0.1 127.0.0.1 localhost ::1 127.0.0.2 nowhere.invalid 192.0.2.1`,
      '',
      'a\0b',
      'x'.repeat(250),
    ),
    transport: mostly(9, oneOf(...words`stdio stdio sse streamable-http STDIO inspector`, ''), odd),
    proxy_mode: mostly(9, oneOf('sse', 'streamable-http', ''), odd),
    port: ports,
    proxy_port: ports,
    target_port: ports,
    cmd_arguments: mostly(5, oneOf(...words`echo chatty exit-at-once noise silent`), odd),
    cmd_args: mostly(5, oneOf(...words`echo chatty exit-at-once noise`, 'a\0b'), odd),
    volumes,
    read: volumes,
    write: volumes,
    secrets: oneOf(
      ...words`token,target=TOKEN token,target=A=B nobody,target=X token ,target=`,
      'token,target=a\0b',
    ),
    authz_config: mostly(4, fc.constant(''), paths),
    authz_config_path: mostly(4, fc.constant(''), paths),
    key: mostly(6, oneOf(...words`token other __proto__ .. a/b op://a/b/c`), odd),
    password: oneOf('right', 'wrong', 'right', ''),
    local_path: paths,
  };
}
