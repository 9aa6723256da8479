import { execFile } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { buildControlPlane, startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { readPages } from '../testing/pages.ts';
import { makeUser, thvStart } from '../testing/thv.ts';
import type { User } from '../testing/thv.ts';
import { describeCluster } from './registered.ts';
import { startOperator } from './running-operator.ts';
import type { RunningOperator } from './running-operator.ts';

const run = promisify(execFile);

interface Kubeconfig {
  'current-context': string;
  contexts: { name: string; context: { namespace?: string } }[];
}

/** The context that `kind create cluster --name toolhive` creates. */
const context = 'kind-toolhive';
/** A page waits for several servers. */
const PAGE_TIMEOUT_MS = 120_000;

const pages = (await readPages()).filter(({ blocks }) =>
  blocks.some(({ marks }) => marks.includes('cluster')),
);

// Blocks with the mark `cluster` run against a real API server with the operator. A YAML block with a title is a file
// that the commands of its page apply.
describeCluster('the Kubernetes guides', () => {
  let cluster: ControlPlane;
  let operator: RunningOperator;
  let user: User;
  let path: string;
  beforeAll(async () => {
    cluster = await startControlPlane();
    operator = await startOperator(cluster);
    user = await makeUser();
    const thv = join(user.home, 'thv');
    await writeFile(thv, `#!/bin/sh\nexec ${[process.execPath, ...thvStart.slice(1)].join(' ')} "$@"\n`);
    await chmod(thv, 0o755);
    path = [dirname(thv), await buildControlPlane(), process.env['PATH']].join(delimiter);
  });
  afterAll(async () => {
    await user?.[Symbol.asyncDispose]();
    await operator?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  /** A kubeconfig file like the one of a reader, with a namespace of this page alone. */
  async function kubeconfigFor(namespace: string): Promise<string> {
    const config = parse(await readFile(cluster.kubeconfig, 'utf8')) as Kubeconfig;
    const contexts = config.contexts.map((each) => ({
      ...each,
      name: context,
      context: { ...each.context, namespace },
    }));
    const file = join(user.home, `${namespace}.yaml`);
    await writeFile(file, stringify({ ...config, contexts, 'current-context': context }));
    return file;
  }

  test('every manifest on their pages is a file that a later command applies', () => {
    const strays = pages.flatMap(({ blocks }) =>
      blocks.filter(({ language, title }, index) => {
        const later = blocks.slice(index + 1).filter(({ marks }) => marks.includes('cluster'));
        const apply = `--server-side --filename ${title}`;
        return language === 'yaml' && !later.some(({ text }) => title !== undefined && text.includes(apply));
      }),
    );

    expect(strays.map(({ where }) => where)).toEqual([]);
  });

  test.each(pages.map((page) => [page.path, page] as const))(
    'apply their manifests and show real output: %s',
    { timeout: PAGE_TIMEOUT_MS },
    async (_, { blocks }) => {
      const namespace = await cluster.namespace();
      const env = { ...user.env, PATH: path, KUBECONFIG: await kubeconfigFor(namespace) };

      for (const [index, { language, marks, title, text, where }] of blocks.entries()) {
        if (language === 'yaml') {
          await writeFile(join(user.home, title ?? ''), text);
        }
        if (!marks.includes('cluster')) continue;
        const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', text], { cwd: user.home, env });
        const next = blocks[index + 1];
        if (next?.title !== 'Output') continue;
        expect(stdout.trim().replaceAll(namespace, 'default'), `output of ${where}`).toMatch(
          patternOf(next.text),
        );
      }
    },
  );
});

/** Output on a page: `…` is any text, and the width of columns depends on their values. */
function patternOf(text: string): RegExp {
  const parts = text
    .trim()
    .split(/(\s+|…)/)
    .filter((part) => part !== '')
    .map((part) => (part === '…' ? '[^]*?' : part.trim() === '' ? '\\s+' : RegExp.escape(part)));
  return new RegExp(`^${parts.join('')}$`);
}
