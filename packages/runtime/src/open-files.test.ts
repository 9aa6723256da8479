import { describe, expect, test } from 'vitest';
import { ConnectionCount, OpenFiles, fileBudgets } from './open-files.ts';

describe('the budgets for open files', () => {
  test.each([512, 1024, 4096, 20_000])(
    'leave three quarters of the connections for others, with a limit of %d',
    (openFiles) => {
      const { allConnections, clients, upstream, conversations } = fileBudgets(openFiles);

      expect(4 * (clients + upstream)).toBeLessThanOrEqual(allConnections);
      expect(2 * conversations).toBeLessThanOrEqual(upstream);
    },
  );

  test('leave files for the processes of several workloads and for the daemon, with a low limit', () => {
    const { allConnections, processes, api } = fileBudgets(256);

    expect(allConnections + api + 2 * processes * 10).toBeLessThanOrEqual(256 - 64);
  });

  test('allow a useful minimum with a limit that is far too low', () => {
    expect(fileBudgets(0)).toMatchObject({ clients: 16, upstream: 16, conversations: 4, processes: 2 });
  });

  test.each([1_048_576, Number.MAX_SAFE_INTEGER])(
    'are as high as a workload needs with a limit of %d',
    (openFiles) => {
      expect(fileBudgets(openFiles)).toMatchObject({
        clients: 4_000,
        upstream: 4_000,
        conversations: 1_000,
        processes: 16,
        installer: 256,
        forwarded: 1_024,
        api: 1_000,
      });
    },
  );
});

describe('a count of connections', () => {
  test('is full at its limit, until one has ended', () => {
    const count = new ConnectionCount(2);
    const ended = count.add();
    count.add();

    const before = count.isFull;
    ended();

    expect([before, count.isFull]).toEqual([true, false]);
  });

  test('is full when all parts together have used the budget of the process', () => {
    const files = new OpenFiles(256);
    const { allConnections } = files.budgets;
    const one = files.count(allConnections);
    const other = files.count(allConnections);
    const ends = Array.from({ length: allConnections }, () => one.add());

    const before = other.isFull;
    ends[0]?.();

    expect([before, other.isFull]).toEqual([true, false]);
  });
});
