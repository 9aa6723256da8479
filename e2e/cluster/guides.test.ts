import { once } from 'node:events';
import { execFile, spawn } from 'node:child_process';
import { chmod, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { buildControlPlane, startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { testPort } from '@toolhive/testing/port';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { readPages } from '../testing/pages.ts';
import type { Block, Page } from '../testing/pages.ts';
import { serverProgram, startRunner } from '../testing/proxy-runner.ts';
import type { Runner } from '../testing/proxy-runner.ts';
import { makeUser, root, thvStart, until } from '../testing/thv.ts';
import type { User } from '../testing/thv.ts';
import { startKubeletApiServer } from './kubelet-api-server.ts';
import { describeCluster } from './registered.ts';
import { startOperator } from './running-operator.ts';
import type { RunningOperator } from './running-operator.ts';

const run = promisify(execFile);

interface Kubeconfig {
  'current-context': string;
  clusters: { cluster: { server: string } }[];
  contexts: { name: string; context: { namespace?: string } }[];
}

/** The context that `kind create cluster --name toolhive` creates. */
const context = 'kind-toolhive';
/** A page waits for several servers. */
const PAGE_TIMEOUT_MS = 120_000;
/** A command that takes longer hangs: the control plane starts no containers that its pods would wait for. */
const COMMAND_TIMEOUT_MS = 30_000;
/** An operator without any resources has read the cluster within this time. */
const OPERATOR_TIMEOUT_MS = 60_000;
/** How long a command may take to end after Ctrl-C. */
const END_TIMEOUT_MS = 5_000;
/** The first build of the chart tools compiles Helm. */
const BUILD_TIMEOUT_MS = 20 * 60_000;

/**
 * Does not wait until definitions are gone. The API server repeats the deletion of a definition that was made a moment ago
 * after growing delays, which can be longer than any test.
 */
const deleteAtOnce =
  'kubectl() { local wait=; if [ "$1" = delete ]; then wait=--wait=false; fi; command kubectl "$@" $wait; }';

const all = await readPages();
const pagesWith = (mark: string): Page[] =>
  all.filter(({ blocks }) => blocks.some(({ marks }) => marks.includes(mark)));
const pages = pagesWith('cluster');

/** Writes a kubeconfig file like the one of a reader, with the namespace and the API server of one page. */
async function writeKubeconfig(file: string, cluster: ControlPlane, namespace: string, server?: string) {
  const config = parse(await readFile(cluster.kubeconfig, 'utf8')) as Kubeconfig;
  const clusters = config.clusters.map((each) => ({
    ...each,
    cluster: { ...each.cluster, server: server ?? each.cluster.server },
  }));
  const contexts = config.contexts.map((each) => ({
    ...each,
    name: context,
    context: { ...each.context, namespace },
  }));
  await writeFile(file, stringify({ ...config, clusters, contexts, 'current-context': context }));
}

describeCluster('the Kubernetes guides', () => {
  // Blocks with the mark `helm` run in the repository, each page against an API server of its own, which has no custom resource
  // definitions of ours at first.
  describe('that install the charts', () => {
    let path: string;
    beforeAll(async () => {
      const script = join(root, 'packages/operator/control-plane/chart-tools/chart-tools.sh');
      const { stdout } = await run(script, [], { timeout: BUILD_TIMEOUT_MS });
      path = [stdout.trim(), await buildControlPlane(), process.env['PATH']].join(delimiter);
    }, BUILD_TIMEOUT_MS);

    test.each(pagesWith('helm').map((page) => [page.path, page] as const))(
      'do so with the commands that they show: %s',
      async (_, { blocks }) => {
        await using home = await mkdtempDisposable(join(tmpdir(), 'thv-charts-'));
        await using cluster = await startControlPlane({ hasDefinitions: false });
        const kubeconfig = join(home.path, 'kubeconfig');
        await writeKubeconfig(kubeconfig, cluster, 'default');
        const env = { HOME: home.path, PATH: path, KUBECONFIG: kubeconfig };

        const outputs: Output[] = [];

        for (const [index, { marks, text }] of blocks.entries()) {
          if (!marks.includes('helm')) continue;
          outputs.push(
            outputOf(blocks, index, await runCommand(`${deleteAtOnce}\n${text}`, { cwd: root, env })),
          );
        }

        for (const { where, printed, pattern } of outputs)
          expect(printed, `output of ${where}`).toMatch(pattern);
      },
    );
  });

  // Blocks with the mark `cluster` run against a real API server with the operator. A YAML block with a title is a file
  // that the commands of its page apply.
  describe('that use the operator', () => {
    let cluster: ControlPlane;
    let operator: RunningOperator;
    let user: User;
    let path: string;
    beforeAll(async () => {
      cluster = await startControlPlane();
      operator = await startOperator(cluster);
      await settled(operator); // or every page would wait in vain
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

    test('every manifest on their pages is a file that a later command applies', () => {
      const strays = pages.flatMap(({ blocks }) =>
        blocks.filter(({ language, title }, index) => {
          const later = blocks.slice(index + 1).filter(({ marks }) => marks.includes('cluster'));
          const apply = `--server-side --filename ${title}`;
          return (
            language === 'yaml' && !later.some(({ text }) => title !== undefined && text.includes(apply))
          );
        }),
      );

      expect(strays.map(({ where }) => where)).toEqual([]);
    });

    test.each(pages.map((page) => [page.path, page] as const))(
      'apply their manifests and show real output: %s',
      { timeout: PAGE_TIMEOUT_MS },
      async (_, { blocks }) => {
        const namespace = await cluster.namespace();
        await using proxies = await openProxies(cluster, namespace, user.home);
        const env = { ...user.env, PATH: path, KUBECONFIG: proxies.kubeconfig };
        const outputs: Output[] = [];

        for (const [index, block] of blocks.entries()) {
          const { language, marks, title, text } = block;
          if (language === 'yaml') {
            const manifest = text.replaceAll('namespace: default', `namespace: ${namespace}`);
            await writeFile(join(user.home, title ?? ''), manifest);
          }
          if (!marks.includes('cluster')) continue;
          const [, name] = /^kubectl logs deployment\/(\S+)/m.exec(text) ?? [];
          if (name !== undefined) await proxies.start(name);
          const input = 'example\n'; // for commands that ask for a token
          const printed = await runCommand(text, { cwd: user.home, env, input }).catch((error: Error) => {
            throw new Error(`${error.message}\n${logOf(operator)}`, { cause: error });
          });
          outputs.push(outputOf(blocks, index, printed.replaceAll(namespace, 'default')));
        }

        for (const { where, printed, pattern } of outputs)
          expect(printed, `output of ${where}`).toMatch(pattern);
      },
    );
  });
});

interface Proxies extends AsyncDisposable {
  /** The kubeconfig file of a cluster in which the proxies run. */
  kubeconfig: string;
  /** Starts the proxy of a server. */
  start: (name: string) => Promise<void>;
}

/** Runs proxies and stdio servers as processes, because the pods of the control plane have none. */
async function openProxies(cluster: ControlPlane, namespace: string, folder: string): Promise<Proxies> {
  await using opened = new AsyncDisposableStack();
  const kubeconfig = join(folder, `${namespace}.yaml`);
  const running = new Map<string, Runner>();
  const proxyOf = (pod: string): Runner => {
    const found = [...running].find(([name]) => pod.startsWith(`${name}-`));
    if (found === undefined) throw new Error(`the proxy of ${pod} does not run`);
    return found[1];
  };
  const api = await startKubeletApiServer(cluster, {
    kubelet: {
      attach: () => spawn(process.execPath, [serverProgram, 'echo'], { stdio: ['pipe', 'pipe', 'ignore'] }),
      logs: (pod, _query, response) =>
        response.end(
          proxyOf(pod)
            .lines()
            .map((line) => `${JSON.stringify(line)}\n`)
            .join(''),
        ),
    },
  });
  opened.use(api);
  await writeKubeconfig(kubeconfig, cluster, namespace, api.url);
  const everything = opened.move();
  return {
    kubeconfig,
    async start(name) {
      if (running.has(name)) return;
      const config = await cluster.kubectl([
        'get',
        '-n',
        namespace,
        `configmap/${name}-runconfig`,
        '-o',
        'jsonpath={.data.runconfig\\.json}',
      ]);
      const port = await testPort(); // the one in the run config can be taken on this machine
      const runner = everything.use(
        await startRunner(
          { ...(JSON.parse(config) as object), port },
          { POD_NAMESPACE: namespace, KUBECONFIG: kubeconfig },
        ),
      );
      running.set(name, runner);
      await until(async () => (await runner.health()).status === 200);
    },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

/** Waits until an operator has read the cluster. The error contains its log. */
async function settled(operator: RunningOperator): Promise<void> {
  const limit = AbortSignal.timeout(OPERATOR_TIMEOUT_MS);
  const isLate = once(limit, 'abort').then(() => {
    throw new Error(`the operator did not settle\n${logOf(operator)}`);
  });
  await Promise.race([operator.says('settled'), isLate]);
}

function logOf({ lines }: RunningOperator): string {
  return `the operator said last:\n${lines.slice(-10).join('\n')}`;
}

interface CommandOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  input?: string;
}

/** Runs a command and returns its output. A command that hangs is killed with all its processes. */
async function runCommand(command: string, options: CommandOptions): Promise<string> {
  await using running = startCommand(command, options);
  const code = await Promise.race([running.closed, once(AbortSignal.timeout(COMMAND_TIMEOUT_MS), 'abort')]);
  if (code === 0) return running.printed();
  const problem = typeof code === 'number' ? `ended with ${code}` : `did not end in ${COMMAND_TIMEOUT_MS} ms`;
  throw new Error(`${command}: ${problem}\n${running.printed()}\n${running.errors()}`);
}

/** Starts a command. Disposing ends the command as Ctrl-C does. */
function startCommand(command: string, { cwd, env, input }: CommandOptions) {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', command], {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true, // a separate process group, which is ended as a whole
  });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  child.stdin.on('error', () => {}); // most commands end without reading
  child.stdin.end(input);
  let isClosed = false;
  const closed = once(child, 'close').then(([code]) => {
    isClosed = true;
    return (code as number | null) ?? 1;
  });
  const end = (signal: NodeJS.Signals): void => {
    if (!isClosed && child.pid !== undefined) process.kill(-child.pid, signal);
  };
  return {
    closed,
    printed: () => output,
    errors: () => errors,
    async [Symbol.asyncDispose]() {
      end('SIGINT');
      const late = setTimeout(() => end('SIGKILL'), END_TIMEOUT_MS);
      await closed;
      clearTimeout(late);
    },
  };
}

interface Output {
  where: string;
  printed: string;
  /** The output on the page. */
  pattern: RegExp;
}

/** The output of a block, and the pattern for any output if the page shows none. */
function outputOf(blocks: readonly Block[], index: number, printed: string): Output {
  const next = blocks[index + 1];
  const pattern = next?.title === 'Output' ? patternOf(next.text) : /^/;
  return { where: blocks[index]?.where ?? '', printed: printed.trim(), pattern };
}

/** Output on a page: `…` is any text, and the width of columns depends on their values. */
function patternOf(text: string): RegExp {
  const parts = text
    .trim()
    .split(/(\s+|…)/)
    .filter((part) => part !== '')
    .map((part) => (part === '…' ? '[^]*?' : part.trim() === '' ? '\\s+' : RegExp.escape(part)));
  return new RegExp(`^${parts.join('')}$`);
}
