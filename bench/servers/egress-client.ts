// A client of a host: `node egress-client.ts URL stream|requests N`. Writes how many milliseconds N MiB or N requests took.
import { Agent, get } from 'node:http';

const [url = '', kind = '', count = '1'] = process.argv.slice(2);
const requests = 3_000;

const agent = new Agent({ keepAlive: true, maxSockets: kind === 'stream' ? 1 : Number(count) });

function read(path: string, headers: Record<string, string> = {}): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  get(url + path, { agent, headers }, (response) => {
    let bytes = 0;
    response
      .on('data', (chunk: Buffer) => (bytes += chunk.length))
      .on('end', () => resolve(bytes))
      .on('error', reject);
  }).on('error', reject);
  return promise;
}

async function measure(): Promise<number> {
  await read('/'); // the connection
  const startedMs = performance.now();
  if (kind === 'stream') {
    const bytes = await read('/big', { 'x-mebibytes': count });
    if (bytes !== Number(count) * 2 ** 20) throw new Error(`${bytes} bytes arrived`);
  } else {
    let left = requests;
    const ask = async (): Promise<void> => {
      while (left-- > 0) await read('/');
    };
    await Promise.all(Array.from({ length: Number(count) }, ask));
  }
  return performance.now() - startedMs;
}

process.stdout.write(String(await measure()));
agent.destroy();
