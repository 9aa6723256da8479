import { request as httpRequest } from 'node:http';
import type { Agent } from 'node:http';

export interface Question {
  socketPath: string;
  method: string;
  path: string;
  body?: object;
  headers?: Record<string, string>;
  agent?: Agent;
}

/** Calls a daemon's API on its Unix socket. Throws for every response except a success. */
export async function ask({ body, headers, agent, ...where }: Question): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const request = httpRequest(
    {
      ...where,
      headers: { host: 'localhost', 'content-type': 'application/json', ...headers },
      agent: agent ?? false,
    },
    (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('error', reject);
      response.on('end', () => {
        if ((response.statusCode ?? 500) < 300) resolve(text);
        else
          reject(
            new Error(`${where.method} ${where.path} was answered with ${response.statusCode}: ${text}`),
          );
      });
    },
  );
  request.on('error', reject);
  request.end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
}

/** Runs a long operation, and returns as soon as the daemon reports the end. */
export async function askAndFollow(question: Question): Promise<void> {
  const text = await ask({ ...question, headers: { accept: 'application/x-ndjson' } });
  if (!text.includes('{"result":')) throw new Error(`${question.method} ${question.path} failed: ${text}`);
}

/** Where the API has its workloads. */
export const workloadsPath = '/api/v1beta/workloads';
