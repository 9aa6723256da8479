import type { Core } from '@toolhive/core/core';
import { createWorkload } from '@toolhive/core/create';
import { getWorkload, listWorkloads } from '@toolhive/core/describe';
import { deleteWorkload, logsOf, restartWorkload, statusOf, stopWorkload } from '@toolhive/core/operate';
import type { Accepted } from '@toolhive/core/operate';
import { notFound, unsupported } from '@toolhive/contract/failure';
import type { Operation } from '@toolhive/contract/operation';
import { openApiDocument } from '@toolhive/contract/openapi';
import { operations } from '@toolhive/contract/operations';
import type { HiveProcess } from '@toolhive/contract/system';
import { Hono } from 'hono';
import { failureResponse } from './failures.ts';
import { ownRequestsOnly, securityHeaders, writesAsJsonOnly } from './guards.ts';
import { mounter, pathsOf } from './mount.ts';
import type { Followed } from './mount.ts';

export interface ApiOptions {
  /** Where it listens: only there are requests answered. */
  listener: { host: string; port: number } | HiveSocket;
}

/** The hive's own socket, over which it answers for itself, too. */
export interface HiveSocket {
  hive: HiveProcess;
  /** Ends the hive. */
  stop: () => void;
}

/** The HTTP API over a core, for one listener. */
export function createApi(core: Core, { listener }: ApiOptions): Hono {
  const app = new Hono();
  app.onError((error) => failureResponse(error, core.log));
  app.use(securityHeaders, ownRequestsOnly(listener), writesAsJsonOnly);

  const mount = mounter(app, core.log);
  mount(operations.getHealth, async (_input, { signal }) => void (await core.runtimes.choose(signal)));
  mount(operations.getVersion, async () => ({ version: core.version }));
  mount(operations.getRuntime, (_input, { signal }) => core.runtimes.check(signal));
  mount(operations.listWorkloads, async ({ query }) => ({ workloads: listWorkloads(core, query) }));
  mount(operations.createWorkload, async ({ body }, call) => {
    const result = await createWorkload(core, body, call);
    return {
      result,
      follow: ({ report, signal }) => core.workloads.require(result.name).follow(report, signal),
    };
  });
  mount(operations.getWorkload, async ({ params }) => getWorkload(core, params.name));
  mount(operations.getWorkloadStatus, async ({ params }) => statusOf(core, params.name));
  mount(operations.getWorkloadLogs, ({ params, query }) => logsOf(core, params.name, query.tail));
  mount(operations.stopWorkload, async ({ params }) => accepted(await stopWorkload(core, params.name)));
  mount(operations.restartWorkload, async ({ params }) => accepted(await restartWorkload(core, params.name)));
  mount(operations.deleteWorkload, async ({ params }) => accepted(await deleteWorkload(core, params.name)));
  if ('stop' in listener) {
    mount(operations.getHive, async () => listener.hive);
    mount(operations.stopHive, async () => listener.stop());
  }

  const document = openApiDocument(core.version);
  app.get('/api/openapi.json', (context) => context.json(document));
  app.notFound((context) => failureResponse(unknownRoute(context.req.method, context.req.path), core.log));
  return app;
}

function accepted({ follow }: Accepted): Followed<void> {
  return { result: undefined, follow: ({ report, signal }) => follow(report, signal) };
}

/** A path that exists with other methods is told apart from one that does not exist. */
function unknownRoute(method: string, path: string): Error {
  const isKnown = Object.values<Operation>(operations).some(
    (operation) =>
      operation.socketOnly !== true &&
      pathsOf(operation).some((route) => new RegExp(`^${route.replace(/:\w+/g, '[^/]+')}$`).test(path)),
  );
  return isKnown ? unsupported(`${method} is not possible for ${path}`) : notFound(`${path} not found`);
}
