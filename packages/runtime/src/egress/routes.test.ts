import { describe, expect, test } from 'vitest';
import { restrictingRoutes } from './routes.ts';

const routesFor = (...privateAddresses: string[]): string[] =>
  restrictingRoutes({ kind: 'open', privateAddresses }, ['192.168.1.7']);

describe('routes of a sandbox with an open network', () => {
  test('end at private addresses and at this machine', () => {
    expect(routesFor()).toEqual([
      'route replace unreachable 10.0.0.0/8',
      'route replace unreachable 100.64.0.0/10',
      'route replace unreachable 127.0.0.0/8',
      'route replace unreachable 172.16.0.0/12',
      'route replace unreachable 192.0.0.0/24',
      'route replace unreachable 192.88.99.0/24',
      'route replace unreachable 192.168.0.0/16',
      'route replace unreachable 198.18.0.0/15',
      'route replace unreachable 100.100.100.200/32',
      'route replace unreachable 168.63.129.16/32',
      'route replace unreachable 192.0.0.192/32',
      'route replace unreachable 169.254.0.0/16',
      'route replace unreachable 192.168.1.7/32',
      'route replace blackhole 127.0.0.0/8',
    ]);
  });

  test('lead to granted addresses and ranges, however they are written', () => {
    const routes = routesFor('10.1.2.3', '172.16.5.9/16', 'example.com', 'fd00::1', '.example.com');

    expect(routes).toContain('route replace 10.1.2.3/32 via 10.0.2.2 dev tap0');
    expect(routes).toContain('route replace 172.16.0.0/16 via 10.0.2.2 dev tap0');
    expect(routes.filter((route) => route.includes('via'))).toHaveLength(2);
  });

  test('leave out the route that a granted range contains', () => {
    expect(routesFor('192.168.0.0/15')).not.toContain('route replace unreachable 192.168.0.0/16');
    expect(routesFor('0.0.0.0/0').filter((route) => route.includes('unreachable'))).toEqual([
      'route replace unreachable 100.100.100.200/32',
      'route replace unreachable 168.63.129.16/32',
      'route replace unreachable 192.0.0.192/32',
      'route replace unreachable 169.254.0.0/16',
      'route replace unreachable 192.168.1.7/32',
    ]);
  });

  test('never lead to link-local addresses or to the credentials of a cloud', () => {
    const routes = routesFor('169.254.169.254', '169.254.0.0/16', '100.64.0.0/10', '168.63.129.16');

    expect(routes.filter((route) => route.includes('via'))).toEqual([
      'route replace 100.64.0.0/10 via 10.0.2.2 dev tap0',
    ]);
    expect(routes).toContain('route replace unreachable 100.100.100.200/32');
  });

  test('never lead to this machine', () => {
    const routes = routesFor('192.168.1.7', '127.0.0.0/8');

    expect(routes.slice(-2)).toEqual([
      'route replace unreachable 192.168.1.7/32',
      'route replace blackhole 127.0.0.0/8',
    ]);
  });

  test('are those of the machine if all private addresses are granted', () => {
    expect(restrictingRoutes({ kind: 'open', privateAddresses: 'all' })).toEqual([
      'route replace blackhole 127.0.0.0/8',
    ]);
  });
});
