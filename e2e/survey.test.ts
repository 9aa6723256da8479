// @suite published-servers
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isCommandLine } from '@toolhive/pasted/launchers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firstAnswer } from './testing/first-answer.ts';
import { cachedPackages } from './testing/package-cache.ts';
import survey from './testing/survey.json' with { type: 'json' };
import { makeUser } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

/** A server as its README starts it, and what happened. `{home}` is the user's home. */
interface Surveyed {
  command: string;
  env?: Readonly<Record<string, string | undefined>>;
  outcome: string;
  /** The flags of `thv run` that the failed first command names. */
  fix?: readonly string[] | undefined;
  /** The command that it names instead. */
  instead?: string | undefined;
  /** What the failed first command, or its first session, says. */
  says?: string | undefined;
  /** What the server needs, or why it cannot run. */
  reason?: string | undefined;
}

const popular: readonly Surveyed[] = survey.popular;
const further: readonly Surveyed[] = survey.further;
const all = [...popular, ...further];
const withOutcome = (...outcomes: string[]) => all.filter(({ outcome }) => outcomes.includes(outcome));

/** The words of a command in a README. */
const wordsOf = (command: string): string[] =>
  [...command.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) => word.replaceAll(/["']/g, ''));

describe('the list of the survey', () => {
  test('has 53 popular and 20 further servers, each once', () => {
    expect([popular.length, further.length]).toEqual([53, 20]);
    expect(new Set(all.map(({ command }) => command)).size).toBe(73);
  });

  test.each(all)('$command is a command that thv run understands', ({ command }) => {
    expect(isCommandLine(wordsOf(command))).toBe(true);
  });

  test.each(all)('$command has an outcome, with what belongs to it', ({ outcome, fix, says, reason }) => {
    const needed = {
      runs: [false, false, false],
      'runs after the fix': [true, false, false],
      needs: [false, true, true],
      fails: [false, true, true],
    }[outcome];

    expect([fix, says, reason].map((part) => part !== undefined)).toEqual(needed);
  });

  test.each([
    ['popular', popular, 50],
    ['further', further, 17],
  ])('most %s servers that need nothing else run', (_list, servers, least) => {
    const failing = withOutcome('fails').filter((server) => servers.includes(server));

    expect(servers.length - failing.length).toBeGreaterThanOrEqual(least);
  });
});

/** Installs everything once more, which takes half an hour: `SERVERS=all npm test -- survey`. */
const isAsked = process.env['SERVERS'] === 'all';

/* oxlint-disable vitest/no-conditional-tests -- a skipped test counts as a failure */
if (isAsked)
  describe('a user who types the command', { timeout: 900_000 }, () => {
    let user: User;
    beforeAll(async () => {
      user = await makeUser({ env: await cachedPackages() });
      await Promise.all(['Desktop', 'repository'].map((name) => mkdir(join(user.home, name))));
      await promisify(execFile)('git', ['init', '--quiet', join(user.home, 'repository')]);
      await writeFile(join(user.home, 'kubeconfig'), kubeconfig);
    }, 300_000);
    afterAll(() => user?.[Symbol.asyncDispose]());

    async function run({ command, env = {} }: Surveyed, name: string, fix: readonly string[] = []) {
      const placed = (word: string) => word.replaceAll('{home}', user.home);
      const variables = Object.entries(env).map(([variable, value]) => `--env=${variable}=${value}`);
      return user.thv(
        'run',
        '--name',
        name,
        ...fix.map(placed),
        ...variables,
        '--',
        ...wordsOf(command).map(placed),
      );
    }

    /** The name of its workload, which is removed afterwards: others need its memory. */
    const workloadOf = (server: Surveyed) => {
      const name = `survey-${all.indexOf(server)}`;
      return {
        name,
        [Symbol.asyncDispose]: async () => {
          await user.thv('rm', name);
        },
      };
    };

    test.each(withOutcome('runs'))('has $command run', async (server) => {
      await using workload = workloadOf(server);

      const { stdout } = await run(server, workload.name);

      expect((await firstAnswer(urlIn(stdout))).answer).not.toBe('');
    });

    test.each(withOutcome('runs after the fix'))('is told the fix for $command', async (server) => {
      const { fix = [], instead, command } = server;
      const named = [
        ...fix.filter((word) => word.startsWith('-')),
        ...(instead === undefined ? [] : [instead]),
      ];
      await using workload = workloadOf(server);

      const first = await run(server, workload.name);
      await user.thv('rm', workload.name);
      const { stdout } = await run({ ...server, command: instead ?? command }, workload.name, fix);

      expect(first.code).not.toBe(0);
      expect(named.filter((word) => !first.stderr.includes(word))).toEqual([]);
      expect((await firstAnswer(urlIn(stdout))).answer).not.toBe('');
    });

    test.each(withOutcome('needs', 'fails'))('is told what $command lacks', async (server) => {
      await using workload = workloadOf(server);

      const { code, stdout, stderr } = await run(server, workload.name);
      const said = code === 0 ? await failureOf(stdout) : stderr;

      expect(said).toContain(server.says);
    });
  });

/** The URL that `thv run` prints, or one without a server. */
const urlIn = (stdout: string): string => /http:\S+/.exec(stdout)?.[0] ?? 'http://127.0.0.1:1/';

/** What a server that runs says when a client asks for its tools. */
const failureOf = (stdout: string): Promise<string> =>
  firstAnswer(urlIn(stdout)).then(
    () => 'it runs',
    (error: Error) => error.message,
  );

const kubeconfig = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'here',
  clusters: [{ name: 'here', cluster: { server: 'https://kubernetes.example:6443' } }],
  users: [{ name: 'ada', user: { token: 'placeholder' } }],
  contexts: [{ name: 'here', context: { cluster: 'here', user: 'ada' } }],
});
