import { request as httpRequest } from 'node:http';
import { createClient } from '@toolhive/contract/client';
import type { Client, Send } from '@toolhive/contract/client';
import type { Access } from '@toolhive/access/access';
import type { ApiPolicies } from '@toolhive/access/api-policies';
import type { Core, CoreOptions } from '@toolhive/core/core';
import { makeHome, openTestCore, testServer } from '@toolhive/core/testing';
import { createApi } from '../api.ts';
import type { AppFrames } from '../app-frames.ts';
import type { ConnectionLimits } from '@toolhive/proxy/connections';
import { listenOnTcp } from '../listen.ts';
import type { Site } from '../site.ts';
import type { UiSessions } from '../ui-sessions.ts';
import type { ApiTelemetry } from '../telemetry.ts';

/** An API with servers in memory, on a real port. */
export interface TestApi extends AsyncDisposable {
  core: Core;
  port: number;
  /** The home of the user whose daemon this is. */
  home: string;
  /** The typed client, over that port. */
  client: Client;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  delete(path: string): Promise<Answer>;
  send(method: string, path: string, headers: Record<string, string>, body?: string): Promise<Answer>;
  /** Asks for a workload of the test servers and waits until it runs. */
  run(name: string, manners?: string): Promise<void>;
}

interface TestApiOptions {
  /** The address to listen on; requests go to loopback all the same. */
  host?: string;
  access?: Access | undefined;
  policies?: ApiPolicies;
  site?: Site;
  ui?: Site;
  uiSessions?: UiSessions;
  appFrames?: AppFrames;
  /** Puts files into the home of the user before the daemon opens. */
  prepareHome?: (home: string) => Promise<void>;
  /** Beside what every daemon of a test has. */
  env?: NodeJS.ProcessEnv;
  limits?: ConnectionLimits | undefined;
  telemetry?: ApiTelemetry;
}

interface Answer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  text: string;
  json: unknown;
}

export async function openTestApi(
  changes: Partial<CoreOptions> = {},
  {
    host = '127.0.0.1',
    access,
    policies,
    prepareHome = async () => {},
    env = {},
    limits,
    site,
    ui,
    uiSessions,
    appFrames,
    telemetry,
  }: TestApiOptions = {},
): Promise<TestApi> {
  await using opened = new AsyncDisposableStack();
  const home = opened.use(await makeHome());
  await prepareHome(home.path);
  const core = opened.use(await openTestCore({ ...home, env: { ...home.env, ...env } }, changes));
  const listener = { host, port: 0 };
  const { port } = opened.use(
    await listenOnTcp(
      createApi(core, {
        listener: { ...listener, access, policies },
        site,
        ui,
        uiSessions,
        appFrames,
        telemetry,
      }),
      listener,
      limits,
    ),
  );
  const everything = opened.move();
  const json = { 'content-type': 'application/json' };
  const send: TestApi['send'] = (method, path, headers, body) => ask(port, method, path, headers, body);
  return {
    core,
    port,
    home: home.path,
    client: createClient(sendTo(port)),
    send,
    get: (path, headers = {}) => send('GET', path, headers),
    post: (path, body, headers = json) =>
      send('POST', path, headers, body === undefined ? undefined : JSON.stringify(body)),
    delete: (path) => send('DELETE', path, json),
    async run(name, manners = 'echo') {
      const answer = await send(
        'POST',
        '/api/v1beta/workloads',
        json,
        JSON.stringify(aWorkload({ name, cmd_arguments: [manners] })),
      );
      if (answer.status !== 201) throw new Error(answer.text);
      await core.workloads.require(name).follow(() => {});
    },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

/** Sends the requests of a typed client, and gives back what comes as it comes. */
function sendTo(port: number): Send {
  return ({ method, path, headers, body, signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<Send>>>();
    const options = {
      host: '127.0.0.1',
      port,
      method,
      path,
      headers,
      agent: false,
      ...(signal && { signal }),
    };
    const request = httpRequest(options, (response) => {
      response.setEncoding('utf8');
      resolve({
        status: response.statusCode ?? 0,
        contentType: response.headers['content-type'],
        body: response,
      });
    });
    request.on('error', reject);
    request.end(body);
    return promise;
  };
}

/** A request for a workload of the test servers. */
export function aWorkload(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { name: 'echo', image: testServer, cmd_arguments: ['echo'], ...changes };
}

async function ask(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const request = httpRequest(
    { host: '127.0.0.1', port, method, path, headers, agent: false },
    (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        const isJson = response.headers['content-type']?.startsWith('application/json') === true;
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: isJson ? JSON.parse(text) : undefined,
        });
      });
    },
  );
  request.on('error', reject);
  request.end(body);
  return promise;
}
