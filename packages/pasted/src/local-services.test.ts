import { expect, test } from 'vitest';
import { localServices, unreachableServices } from './local-services.ts';

const image = 'npx://server';
const addressesIn = (args: string[], variables: Record<string, string> = {}): string[] =>
  localServices({ image, cmd_arguments: args, env_vars: variables }).map(
    ({ address, port }) => `${address} ${port}`,
  );

test.each([
  ['postgresql://localhost/mydb', 'localhost:5432 5432'],
  ['postgres://me:p4ss@127.0.0.1:5433/db?sslmode=disable', '127.0.0.1:5433 5433'],
  ['jdbc:mysql://localhost/db', 'localhost:3306 3306'],
  ['postgresql+asyncpg://me@localhost/db', 'localhost:5432 5432'],
  ['--url=redis://localhost:6379/0', 'localhost:6379 6379'],
  ['--browserUrl=http://[::1]:9222', '[::1]:9222 9222'],
  ['http://localhost', 'localhost:80 80'],
  ['localhost:50051', 'localhost:50051 50051'],
  ['--peer=127.0.0.1:7000', '127.0.0.1:7000 7000'],
  ['custom://localhost/x', 'localhost undefined'],
])('%s names a local service', (text, service) => {
  expect(addressesIn([text])).toEqual([service]);
  expect(addressesIn([], { TARGET: text })).toEqual([service]);
});

test.each([
  [{ PGHOST: 'localhost', PGPORT: '5432' }, 'localhost:5432 5432'],
  [{ MYSQL_HOST: '127.0.0.1' }, '127.0.0.1 undefined'],
  [{ APP_DB_HOST: 'localhost', APP_DB_PORT: '3306' }, 'localhost:3306 3306'],
])('variables of a service name it together: %j', (variables, service) => {
  expect(addressesIn([], variables)).toEqual([service]);
});

test.each([
  [['--host', '127.0.0.1', '--port', '8000'], {}],
  [[], { HOST: '127.0.0.1', PORT: '8000' }],
  [[], { FASTMCP_HOST: 'localhost' }],
  [[], { HTTPS_PROXY: 'http://127.0.0.1:3128', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' }],
  [['file://localhost/data'], {}],
  [
    ['https://db.example.com:5432', 'http://localhost.example.com', 'notlocalhost:80', '127.0.0.1.nip.io:80'],
    {},
  ],
  [['a sentence about localhost'], {}],
])('other values name none: %j %j', (args, variables) => {
  expect(addressesIn(args, variables)).toEqual([]);
});

test('a server with the network of this machine, or on another machine, reaches the services that it names', () => {
  const args = ['redis://localhost'];

  expect(localServices({ image, network_mode: 'host', cmd_arguments: args })).toEqual([]);
  expect(localServices({ url: 'http://localhost:8000/mcp' })).toEqual([]);
});

test('a note names the flag for each port that is not granted', () => {
  const args = ['postgresql://localhost/db', 'redis://127.0.0.1:6380', 'postgresql://[::1]/other'];
  const noteFor = (localPorts: number[], cmdArguments = args) =>
    unreachableServices({ image, cmd_arguments: cmdArguments, local_ports: localPorts }).join();

  expect(noteFor([])).toMatch(/repeat the command with --allow-local-port 5432 --allow-local-port 6380$/);
  expect(noteFor([5432])).toMatch(/reach 127\.0\.0\.1:6380 of .* with --allow-local-port 6380$/);
  expect(noteFor([5432, 6380])).toBe('');
  expect(noteFor([], ['custom://localhost/x'])).toMatch(/--allow-local-port and its port$/);
});

test('long texts take no long time', () => {
  expect(addressesIn(['http://'.repeat(1_400), 'a@'.repeat(4_900), 'x'.repeat(1_000_000)])).toEqual([]);
});
