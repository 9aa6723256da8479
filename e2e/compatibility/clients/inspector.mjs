import { execFile } from 'node:child_process';

// The Inspector's command line answers one request per run, and its exit code is not 0 for an error result.
const ask = (...words) =>
  new Promise((resolve, reject) => {
    const args = ['--cli', process.argv[2], '--transport', 'http', ...words];
    execFile('node_modules/.bin/mcp-inspector', args, (_error, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout));
      } catch (cause) {
        reject(new Error(`the Inspector wrote no JSON: ${stdout} ${stderr}`, { cause }));
      }
    });
  });
const call = async (name) => (await ask('--method', 'tools/call', '--tool-name', name)).content[0].text;
process.stdout.write(
  JSON.stringify({
    tools: (await ask('--method', 'tools/list')).tools.map(({ name }) => name),
    text: await call('test_simple_text'),
    error: await call('test_error_handling'),
  }),
);
