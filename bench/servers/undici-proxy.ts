// The reference for the proxy: only `undici` dispatch, without backpressure, limits, or checks.
import { createServer } from 'node:http';
import { Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { serveParent } from '../child.ts';
import { portOf } from './port.ts';

const pool = new Pool(`http://127.0.0.1:${process.argv[2]}`);
const server = createServer((request, response) => {
  pool.dispatch(
    {
      method: request.method as Dispatcher.HttpMethod, // node:http accepts no others than undici sends
      path: request.url ?? '/',
      headers: request.headers,
      body: request,
    },
    {
      onRequestStart() {},
      onResponseStart(_controller, status, headers) {
        response.writeHead(status, headers);
      },
      onResponseData(_controller, chunk) {
        response.write(chunk);
      },
      onResponseEnd() {
        response.end();
      },
      onResponseError() {
        response.destroy();
      },
    },
  );
});
serveParent({ port: await portOf(server) });
