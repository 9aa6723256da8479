import { extname, resolve } from 'node:path';
import { invalid } from '@toolhive/contract/failure';
import * as z from 'zod';
import type { TunnelProvider } from './tunnel-program.ts';

/** What can be said in `--provider-args`, in the words of the original. */
const Settings = z.strictObject({
  'auth-token': z.string().trim().min(1).optional(),
  url: z.url({ protocol: /^https?$/ }).optional(),
  'traffic-policy-file': z.string().min(1).optional(),
  pooling: z.boolean().optional(),
  'dry-run': z.boolean().optional(),
});

/** A line of the agent's log. Its fields have not changed since version 2. */
const LogLine = z.looseObject({
  lvl: z.string().optional(),
  msg: z.string().optional(),
  err: z.string().optional(),
  url: z.string().optional(),
});

/** Where the agent looks for its token. */
const tokenVariable = 'NGROK_AUTHTOKEN';

/** The agent of ngrok, which must be installed. */
export const ngrok: TunnelProvider = {
  program: 'ngrok',
  howToGet: 'install it from https://ngrok.com/download and add it to PATH',

  launch(endpoint, given) {
    const read = Settings.safeParse(given);
    if (!read.success) {
      const problems = read.error.issues.map(({ path, message }) => [...path, message].join(': '));
      throw invalid(`--provider-args cannot be used: ${problems.join('; ')}`);
    }
    const { url, pooling, 'auth-token': token, 'traffic-policy-file': policy } = read.data;
    if (policy !== undefined && !['.yml', '.yaml'].includes(extname(policy)))
      throw invalid('traffic-policy-file is not a .yml or .yaml file');
    if (token === undefined && !process.env[tokenVariable]?.trim())
      throw invalid('auth-token is required', {
        hint: `set ${tokenVariable}, or add --provider-args '{"auth-token": "TOKEN"}'`,
      });
    // Never as an argument, because all users of this machine can see arguments.
    const env: Record<string, string> = token === undefined ? {} : { [tokenVariable]: token };
    return {
      isDry: read.data['dry-run'] === true,
      arguments: [
        'http',
        endpoint.origin,
        '--log=stdout',
        '--log-format=json',
        '--log-level=info',
        // The proxy accepts only requests for its own host name.
        '--host-header=rewrite',
        ...(url === undefined ? [] : [`--url=${url}`]),
        ...(policy === undefined ? [] : [`--traffic-policy-file=${resolve(policy)}`]),
        ...(pooling === true ? ['--pooling-enabled'] : []),
      ],
      env,
    };
  },

  read(line) {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      // The agent also prints the reason for its end as text, on several lines.
      const [, problem] = /^ERROR:\s+(\S.*)$/.exec(line) ?? [];
      return problem === undefined ? {} : { problem };
    }
    const read = LogLine.safeParse(value);
    if (!read.success) return {};
    const { lvl = '', msg, err, url } = read.data;
    if (msg === 'started tunnel' && url !== undefined) return { url };
    const isProblem = ['warn', 'eror', 'crit'].includes(lvl);
    return isProblem ? { problem: err !== undefined && err !== '<nil>' ? err : (msg ?? '') } : {};
  },
};
