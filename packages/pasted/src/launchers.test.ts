import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isCommandLine, readCommandLine } from './launchers.ts';

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-pasted-'));
  await mkdir(join(directory, 'module'));
  await writeFile(join(directory, 'module/go.mod'), 'module example.com/server\n');
  await mkdir(join(directory, 'node'));
  const manifest = { main: './main.js', dependencies: { other: '1' } };
  await writeFile(join(directory, 'node/package.json'), JSON.stringify(manifest));
  await mkdir(join(directory, 'python/tools'), { recursive: true });
  await writeFile(
    join(directory, 'python/pyproject.toml'),
    '[project]\nname = "server"\ndependencies = ["mcp>=1,<2"]\n',
  );
  const empty = ['node/server.js', 'node/main.js', 'python/tools/other.py'];
  const archives = ['archive-1.0.0.tgz', 'wheel-1.0.0-py3-none-any.whl'];
  for (const path of [...empty, ...archives]) await writeFile(join(directory, path), '');
});
afterAll(() => rm(directory, { recursive: true }));

const read = (text: string, env: NodeJS.ProcessEnv = {}) =>
  readCommandLine(text.split(' '), { env, directory, readFile: (path) => readFile(path, 'utf8') });

describe('a pasted command', () => {
  test.each([
    ['mcp install python/tools/other.py --name my-server -v KEY=a --with pandas', 'uvx://mcp'],
    [
      'fastmcp install claude-desktop python/tools/other.py --server-name my-server --env KEY=a --with pandas',
      'uvx://fastmcp',
    ],
  ])('that installs a file for a client runs the file: %s', async (text, image) => {
    const { request } = await read(text);

    expect(request).toMatchObject({ image, name: 'my-server', env_vars: { KEY: 'a' } });
    expect(request.cmd_arguments?.at(-1)).toBe(join(directory, 'python/tools/other.py'));
    expect(request.python_with?.at(-1)).toBe('pandas');
  });

  test('of uvenv runs the package, with its arguments behind the dashes', async () => {
    const { request } = await read('uvenv run --python 3.13 acme-server -- --allow-write');

    expect(request).toMatchObject({
      image: 'uvx://acme-server',
      cmd_arguments: ['--allow-write'],
    });
  });

  test('of a container program has a hint in words, whatever it is called', async () => {
    await expect(read('docker constructor x')).rejects.toMatchObject({
      hint: 'use docker run with its image',
    });
  });

  test('for a container that runs already names the ways to start the server', async () => {
    await expect(read('docker exec -i box npx server')).rejects.toMatchObject({
      hint: expect.stringContaining('such as npx PACKAGE'),
    });
  });

  test.each([
    ['npx --node-options=--experimental-vm-modules -y server x', '--experimental-vm-modules'],
    ['npx --node-options --no-warnings server x', '--no-warnings'],
    ['npm exec --node-arg=--a --node-arg=--b -- server x', '--a --b'],
  ])('passes the options for Node.js to the server: %s', async (text, options) => {
    const { request } = await read(text);

    expect(request).toMatchObject({
      image: 'npx://server',
      cmd_arguments: ['x'],
      env_vars: { NODE_OPTIONS: options },
    });
  });

  test.each([
    ['npx -y @scope/server@1.2.0 --flag value', 'npx://@scope/server@1.2.0', ['--flag', 'value']],
    ['npx --yes --package=@scope/server server x', 'npx://@scope/server', ['x']],
    ['npx --y @scope/server', 'npx://@scope/server', []],
    ['bunx server', 'npx://server', []],
    ['npm exec -y -- server a', 'npx://server', ['a']],
    ['npm exec -y server -- --flag', 'npx://server', ['--flag']],
    ['npm x --package=@scope/server -- server --flag', 'npx://@scope/server', ['--flag']],
    ['npx -y server -- --flag', 'npx://server', ['--', '--flag']],
    ['npx --no-update-notifier --no-progress --strict-ssl=false server', 'npx://server', []],
    ['npx -y --ignore-scripts --omit=dev --include optional server', 'npx://server', []],
    ['pnpm --reporter=silent dlx server', 'npx://server', []],
    ['pnpm dlx server', 'npx://server', []],
    [String.raw`C:\nodejs\npx.cmd -y server`, 'npx://server', []],
    ['cmd /c npx -y server', 'npx://server', []],
    [
      '/usr/local/bin/uvx mcp-server-time --local-timezone UTC',
      'uvx://mcp-server-time',
      ['--local-timezone', 'UTC'],
    ],
    ['uvx --from mcp-server-time==1.0 mcp-server-time', 'uvx://mcp-server-time@1.0', []],
    ['uv tool run mcp_server', 'uvx://mcp_server', []],
    ['uvx --prerelease=allow server mcp', 'uvx://server', ['mcp']],
    ['pipx run mcp-server', 'uvx://mcp-server', []],
    ['pipx -q run mcp-server', 'uvx://mcp-server', []],
    ['uvx --managed-python --no-build --refresh-package a server', 'uvx://server', []],
    ['pipx run --fetch-missing-python --backend uv server', 'uvx://server', []],
    ['uv --quiet tool run mcp_server x', 'uvx://mcp_server', ['x']],
    ['uv tool -q run mcp_server', 'uvx://mcp_server', []],
    ['python -m uv tool run mcp_server', 'uvx://mcp_server', []],
    ['python3 -m pipx run mcp-server', 'uvx://mcp-server', []],
    ['pnpm -s dlx server', 'npx://server', []],
    ['pnpm --package=@scope/server dlx server x', 'npx://@scope/server', ['x']],
    ['yarn dlx -q server', 'npx://server', []],
    ['yarn -s dlx server', 'npx://server', []],
    ['npm --yes exec server', 'npx://server', []],
    ['bun --bun x server', 'npx://server', []],
    ['deno npm:server', 'npx://server', []],
    ['deno -A npm:@scope/server@1 x', 'npx://@scope/server@1', ['x']],
    ['deno x npm:server', 'npx://server', []],
    ['deno x -A @scope/server x', 'npx://@scope/server', ['x']],
    ['dx server@1', 'npx://server@1', []],
    ['deno run -A npm:@scope/server@1/stdio x', 'npx://@scope/server@1#program=stdio', ['x']],
    ['deno run -A npm:/server@^1.2/server', 'npx://server@^1.2', []],
    ['deno run -A --import-map map.json --cert ca.pem npm:server', 'npx://server', []],
    ['npx install', 'npx://install', []],
    ['uvx --from server run x', 'uvx://server#program=run', ['x']],
    ['go run -mod=mod -race example.com/server@v1 -v', 'go://example.com/server@v1', ['-v']],
    ['go run -ldflags=-s -gcflags all example.com/server@v1', 'go://example.com/server@v1', []],
    ['go run example.com/server@latest -v', 'go://example.com/server@latest', ['-v']],
  ])('%s', async (text, image, args) => {
    const { request, notes } = await read(text);

    expect(isCommandLine(text.split(' '))).toBe(true);
    expect(request).toMatchObject({ image, cmd_arguments: args });
    expect(notes).toEqual([]);
  });

  test.each([
    ['uvx run mcp-server --a b', 'uvx takes "run"', 'leave out "run": uvx mcp-server --a b'],
    ['uvx tool run mcp-server', 'uvx takes "tool"', 'leave out "tool run": uvx mcp-server'],
    ['uvx run --with b mcp-server', 'uvx takes "run"', 'leave out "run": uvx --with b mcp-server'],
    ['go run -tags x example.com/server@v1', 'the flag -tags of go run', 'omit -tags'],
    ['npx -p one -p two three', 'npx --package is supported only once', "name the server's package"],
    ['npx --no-install server', 'the flag --no-install', 'omit --no-install'],
    ['uv run https://example.com/server.py', 'loads a script from a web page', 'download the script'],
    ['uv run uvicorn server:app', 'the program uvicorn needs a project', 'add --directory'],
    ['varlock run -- npx server', 'varlock run passes secrets', 'store each secret with thv secret set'],
    ['sops exec-env secrets.yaml server', 'sops exec-env passes secrets', 'thv secret set'],
    ['doppler run --command server', 'doppler run passes secrets', 'thv secret set'],
    ['uvx install mcp-server', 'uvx takes "install"', 'leave out "install": uvx mcp-server'],
    ['bunx run server', 'npx takes "run"', 'leave out "run": npx server'],
    ['pnpm dlx exec server', 'npx takes "exec"', 'leave out "exec": npx server'],
    ['bunx', 'the package for npx is missing', 'add its name: npx NAME'],
    ['pnpm exec server', '"pnpm exec" does not start a package', 'use pnpm dlx NAME'],
    ['yarn server', '"yarn server" does not start a package', 'use yarn dlx NAME'],
    ['uv tool install server', '"uv tool" does not start a package', 'use uvx NAME or uv run'],
    ['pipx install server', '"pipx install" does not start a package', 'use pipx run NAME'],
    ['deno task start', '"deno task" does not start a package', 'use deno run npm:NAME'],
    ['brew x', 'the program "brew" cannot be run', 'use npx, uvx, go run'],
    ['corepack x', 'the program "x" cannot be run', 'use npx, uvx, go run'],
    ['npx cross-env', 'no command follows "npx"', 'paste the complete command'],
    ['doppler run -- npx server', 'doppler run passes secrets', 'store each secret with thv secret set'],
    [
      'op run --env-file=.env -- uvx server',
      'op run passes secrets',
      'store each secret with thv secret set',
    ],
  ])('%s is refused with the words that are wrong', async (text, message, hint) => {
    await expect(read(text)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    });
  });

  test.each([
    String.raw`node c:\users\me\server/build/index.js`,
    'node D:/work/server.js',
    String.raw`python C:\server\main.py`,
  ])('with a path of Windows is refused elsewhere: %s', async (text) => {
    await expect(read(text)).rejects.toThrow(
      `${text.split(' ')[1]} is a Windows path, and this machine has none`,
    );
  });

  test('keeps the options of Node.js, and leaves its version to ToolHive', async () => {
    const { request, notes } = await read('npx -y --node-options=--no-warnings -p node@20 -p server server');

    expect(request).toMatchObject({ image: 'npx://server', env_vars: { NODE_OPTIONS: '--no-warnings' } });
    expect(notes).toEqual([expect.stringContaining('ToolHive chooses the version of Node.js')]);
  });

  test('names the install scripts that pnpm would run', async () => {
    const { notes } = await read('pnpm dlx --allow-build=esbuild server');

    expect(notes).toEqual([expect.stringContaining('add --allow-scripts esbuild')]);
  });

  test('may begin with environment variables', async () => {
    const { request } = await read('env API_KEY=abc MODE=x npx -y server');

    expect(request).toMatchObject({ image: 'npx://server', env_vars: { API_KEY: 'abc', MODE: 'x' } });
  });

  test.each([
    ['uvx --with mcp<2 --python 3.12 server', ['mcp<2'], '3.12'],
    [
      'uvx -w mcp>=1,<2,httpx[socks,http2] -w=rich -p python3.11 server',
      ['mcp>=1,<2', 'httpx[socks,http2]', 'rich'],
      '3.11',
    ],
    ['pipx run --python /usr/bin/python3 server', undefined, '3'],
    ['uv tool run --python cpython@3.13 --from server server', undefined, '3.13'],
  ])('keeps the packages and the Python version of %s', async (text, python_with, python_version) => {
    const { request } = await read(text);

    expect(request).toMatchObject({ image: 'uvx://server', cmd_arguments: [], python_version });
    expect(request.python_with).toEqual(python_with);
  });

  test.each([
    ['uvx --prerelease=allow --with rich server mcp', 'allow'],
    ['uvx --prerelease if-necessary server mcp', 'if-necessary'],
    ['uv tool run --pre server mcp', 'allow'],
    ['uv run --prerelease=allow --exclude-newer 2026-01-31 --with server server mcp', 'allow'],
  ])('keeps the choice of pre-releases of %s', async (text, python_prerelease) => {
    const { request } = await read(text);

    expect(request).toMatchObject({ image: 'uvx://server', cmd_arguments: ['mcp'], python_prerelease });
  });

  test('names the values of --prerelease', async () => {
    await expect(read('uvx --prerelease=maybe server')).rejects.toMatchObject({
      message: '"maybe" is not a value of --prerelease',
      hint: expect.stringContaining('allow, disallow'),
    });
  });

  test.each([
    ['go run ./module --flag', 'go://module', ['--flag']],
    ['go run module/main.go module/tools.go --flag x.go', 'go://module', ['--flag', 'x.go']],
    ['npx -y node@22 node/server.js --flag', 'npx://node/server.js', ['--flag']],
    ['npx vite-node node/server.js', 'npx://node/server.js', []],
    ['uvx --from python/ server', 'uvx://python', []],
    ['uvx --directory python --from . server', 'uvx://python', []],
    ['poetry -C python run server a', 'uvx://python', ['a']],
    ['pdm run -p python server', 'uvx://python', []],
    ['node node/server.js --flag', 'npx://node/server.js', ['--flag']],
    ['node node/main.js', 'npx://node', []],
    ['node ./node --flag', 'npx://node', ['--flag']],
    ['node --no-warnings ./node/server', 'npx://node/server.js', []],
    ['npx -y ./node', 'npx://node', []],
    ['npx ./archive-1.0.0.tgz', 'npx://archive-1.0.0.tgz', []],
    ['python3 python/tools/other.py --flag', 'uvx://python/tools/other.py', ['--flag']],
    ['uvx ./wheel-1.0.0-py3-none-any.whl', 'uvx://wheel-1.0.0-py3-none-any.whl', []],
    ['uv run --directory python server a', 'uvx://python', ['a']],
    ['uv --directory python run tools/other.py a', 'uvx://python/tools/other.py', ['a']],
  ])('runs files of this machine: %s', async (text, image, args) => {
    const { request } = await read(text);

    const absolute = image.replace('://', `://${directory}/`);
    expect(isCommandLine(text.split(' '))).toBe(true);
    expect(request).toMatchObject({ image: absolute, cmd_arguments: args });
  });

  test.each([
    ['uvx fastmcp run python/tools/other.py', 'fastmcp', 'run FILE', ['mcp>=1,<2']],
    [
      'fastmcp run python/tools/other.py --with pandas --no-banner',
      'fastmcp',
      'run FILE',
      ['mcp>=1,<2', 'pandas'],
    ],
    [
      'fastmcp dev inspector --with=pandas python/tools/other.py',
      'fastmcp',
      'run FILE',
      ['mcp>=1,<2', 'pandas'],
    ],
    ['uvx fastmcp@2.3.4 run python/tools/other.py', 'fastmcp@2.3.4', 'run FILE', ['mcp>=1,<2']],
    [
      'uvx --from fastmcp<3 fastmcp run python/tools/other.py:app',
      'fastmcp',
      'run FILE:app',
      ['mcp>=1,<2', 'fastmcp<3'],
    ],
    ['uvx --with rich mcp dev python/tools/other.py', 'mcp', 'run FILE', ['mcp[cli]', 'mcp>=1,<2', 'rich']],
    [
      'uv run --with rich mcp dev python/tools/other.py',
      'mcp',
      'run FILE',
      ['mcp[cli]', 'mcp>=1,<2', 'rich'],
    ],
  ])('gives the server the file that it serves: %s', async (text, program, args, python_with) => {
    const { request } = await read(text);

    const file = `${directory}/python/tools/other.py`;
    expect(request).toMatchObject({
      image: `uvx://${program}`,
      cmd_arguments: args.replace('FILE', file).split(' '),
      volumes: [`${file}:${file}:ro`],
      python_with,
    });
  });

  test.each([
    'uvx --from server-tools python -m server_tools.main --flag',
    'uv run --with server-tools python -m server_tools.main --flag',
    'uv run --with=server-tools -m server_tools.main --flag',
  ])('starts a module of a package: %s', async (text) => {
    const { request } = await read(text);

    expect(request).toMatchObject({
      image: 'uvx://server-tools#program=python',
      cmd_arguments: ['-m', 'server_tools.main', '--flag'],
    });
    expect(request.python_with).toBeUndefined();
  });

  test('runs a Python script with the dependencies of its project', async () => {
    const { request } = await read('uv run --with rich --python 3.12 --project python python/tools/other.py');

    expect(request).toMatchObject({ python_with: ['mcp>=1,<2', 'rich'], python_version: '3.12' });
  });

  test('says that a script runs without the dependencies of the package around it', async () => {
    const { notes } = await read('node node/server.js');

    expect(notes).toEqual([expect.stringContaining(`run thv run ${directory}/node`)]);
  });

  test.each([
    ['npx -y https://example.com/server.zip', /thv run npx:\/\/NAME/],
    ['uvx --from git+ssh://git@example.com/server server', /git\+https:\/\/HOST\/OWNER\/REPO@REF/],
    ['uvx --from server src/server.py', /command that the package installs/],
    ['python -m mcp_server_time --x', /thv run uvx:\/\/mcp-server-time -- --x$/],
    ['uvx --with-editable . server', /omit --with-editable/],
    ['uvx --python pypy server', /use a version such as 3\.12/],
    ['bash scripts/start.sh', /use the command in it/],
    ['sh -e ./start', /use the command in it/],
    ['bash -c server', /use npx, uvx, go run, or docker run/],
    ['docker mcp gateway run', /docker mcp profile export PROFILE/],
  ])('is answered with what to do instead: %s', async (text, hint) => {
    await expect(read(text)).rejects.toMatchObject({ kind: 'invalid', hint: expect.stringMatching(hint) });
  });

  test.each([
    'ssh me@host npx -y one',
    'ssh -t host one',
    'sshpass -e ssh host one',
    'kubectl exec -i pod -- one',
  ])('is seen in a command for another machine: %s', async (text) => {
    const words = text.split(' ');

    expect(isCommandLine(words)).toBe(true);
    await expect(read(text)).rejects.toThrow('starts a server on another machine');
  });

  test('is seen in docker mcp gateway run', () => {
    expect(isCommandLine('docker mcp gateway run'.split(' '))).toBe(true);
  });

  test.each([
    'node',
    'docker',
    'docker --flag x',
    'filesystem',
    'npxx',
    'node -- server.js',
    'ssh',
    'oc -- --flag',
    'python --name x',
  ])('is not seen in %s', (text) => {
    expect(isCommandLine(text.split(' '))).toBe(false);
  });
});

describe('a pasted docker run', () => {
  test('keeps what it says about the server', async () => {
    await writeFile(join(directory, 'one.env'), 'FROM=file\n');

    const { request, notes } = await read(
      'docker run -it --rm --init --name mine -e MODE=x -eTOKEN -e MISSING --env-file one.env -v ./data:/data:ro ' +
        '--mount type=bind,source=/srv,target=/srv --network none -l team=red example/server:1 --flag',
      { TOKEN: 'from outside' },
    );

    expect(request).toEqual({
      name: 'mine',
      network_mode: 'none',
      image: 'example/server:1',
      cmd_arguments: ['--flag'],
      env_vars: { MODE: 'x', TOKEN: 'from outside', FROM: 'file' },
      volumes: [`${directory}/data:/data:ro`, '/srv:/srv'],
      labels: { team: 'red' },
    });
    expect(notes).toEqual([]);
  });

  test('takes a published port for an HTTP server', async () => {
    const { request, notes } = await read('docker run -d -p 127.0.0.1:8080:3000 example/server');

    expect(request).toMatchObject({ transport: 'streamable-http', target_port: 3000, proxy_port: 8080 });
    expect(notes).toHaveLength(1);
  });

  test.each(['-i --rm', '--interactive', '-i=true'])(
    'takes a container with its standard input for a stdio server, whatever it publishes: %s',
    async (flags) => {
      const { request, notes } = await read(`docker run ${flags} -p 127.0.0.1:8085:8085 example/server`);

      expect(request).not.toHaveProperty('transport');
      expect(request).not.toHaveProperty('target_port');
      expect(notes).toEqual([expect.stringContaining('--target-port 8085')]);
    },
  );

  test.each([
    '-it -p 8080:3000 example/server',
    '-i -t -p 8080:3000 example/server',
    '-id -p 8080:3000 example/server',
    '-i -p 8080:3000 -e TRANSPORT_MODE=streamable-http example/server',
    '-i -p 8080:3000 example/server --transport=sse',
    '-i -p 8080:3000 example/server serve --http',
  ])('takes one in a terminal, in the background, or with that transport for HTTP: %s', async (words) => {
    const { request } = await read(`docker run ${words}`);

    expect(request).toMatchObject({ transport: 'streamable-http', target_port: 3000 });
  });

  test('takes the first of several published ports', async () => {
    const { request, notes } = await read('docker run -d -p 8000:80 -p 9000:90 example/server');

    expect(request).toMatchObject({ target_port: 80, proxy_port: 8000 });
    expect(notes).toEqual([
      expect.stringContaining('-p 8000:80: '),
      expect.stringMatching(/^-p 9000:90 has no effect: a workload has one port.*--publish 9000:90/),
    ]);
  });

  test.each([
    ['--privileged', '--permission-profile FILE'],
    ['--cpus many', 'use a number such as 1.5'],
    ['--cpus -1', 'use a number such as 1.5'],
    ['--network slirp4netns:allow_host_loopback=true', 'remove it'],
    ['--network host', 'add --network host after thv run'],
    ['--net=host', 'add --network host after thv run'],
    ['--network other', 'add --network other after thv run'],
    [
      '-v /var/run/docker.sock:/var/run/docker.sock',
      'add --volume /var/run/docker.sock:/var/run/docker.sock after',
    ],
    ['-v /run/user/1/podman/podman.sock:/x', 'add --volume'],
    ['--mount type=bind,src=/var/run/docker.sock,dst=/x', 'add --volume'],
    ['-v data:/data', 'create a directory'],
    ['--cap-add SYS_ADMIN', 'omit --cap-add SYS_ADMIN'],
    ['--security-opt=seccomp=unconfined', 'omit --security-opt'],
    ['--pid host', 'omit --pid host'],
    ['--device /dev/kvm', 'omit --device'],
    ['--user 0', 'omit --user'],
    ['--user root:root', 'omit --user'],
    ['--security-opt no-new-privileges:false', 'omit --security-opt'],
    ['--security-opt apparmor=unconfined', 'omit --security-opt'],
    ['--ipc=host', 'omit --ipc host'],
    ['--add-host host.docker.internal:host-gateway', 'omit --add-host'],
    ['--entrypoint /bin/sh', 'omit --entrypoint /bin/sh, or use an image'],
    ['-v $HOME/.docker/docker.sock:/s', `add --volume ${homedir()}/.docker/docker.sock:/s after`],
    ['-v ~/../../var/run/docker.sock:/s', 'add --volume /'],
  ])('does not take over %s', async (flags, hint) => {
    await expect(read(`docker run -i ${flags} example/server`)).rejects.toMatchObject({
      kind: 'invalid',
      hint: expect.stringContaining(hint),
    });
  });

  test.each([
    '--platform linux/amd64',
    '--security-opt no-new-privileges',
    '--security-opt=no-new-privileges:true',
    '--security-opt seccomp=builtin --cap-drop ALL --ulimit nofile=1024 --pids-limit=100',
    '--user 1000:1000 -w /app --shm-size=1g --tmpfs /run:rw',
    '--stop-timeout 5 --health-cmd none --no-healthcheck --dns 1.1.1.1 --expose 80',
    '--userns=keep-id --ipc private --replace',
    '--network pasta --cpus 0',
    '--platform=linux/arm64/v8 --security-opt no-new-privileges=true --security-opt seccomp=builtin',
    '--arch amd64 --os=linux --http-proxy=false --publish-all',
    '--cpu-rt-runtime 1 --device-read-bps /dev/sda:1mb --blkio-weight-device=/dev/sda:1 --volume-driver local',
    '-i=true -t=false --init=true --sig-proxy=false',
  ])('runs without the effect of %s', async (flags) => {
    const { request } = await read(`docker run -i --rm ${flags} example/server a`);

    expect(request).toEqual({
      image: 'example/server',
      cmd_arguments: ['a'],
      env_vars: {},
      volumes: [],
      labels: {},
    });
  });

  test('says which flags have no effect on the server', async () => {
    const { notes } = await read(
      'podman run --platform linux/arm64 -u 1000 --workdir /x --rm -i example/server',
    );

    expect(notes.map((note) => note.split(' ')[0])).toEqual(['--platform', '--user', '--workdir']);
  });

  test.each([
    ['docker --context desktop-linux run -i', 1],
    ['docker -H unix:///run/docker.sock --log-level=error container run -i', 1],
    ['podman --remote --connection work run -i', 1],
    ['docker -D -l error run -i', 0],
  ])('has flags before its command: %s', async (text, notes) => {
    const words = `${text} example/server a`.split(' ');
    const read = await readCommandLine(words, { env: {}, directory, readFile: () => Promise.resolve('') });

    expect(isCommandLine(words)).toBe(true);
    expect(read.request).toMatchObject({ image: 'example/server', cmd_arguments: ['a'], labels: {} });
    expect(read.notes).toHaveLength(notes);
  });

  test('keeps its limits', async () => {
    const { request } = await read('docker run -m 512m --cpus=1.5 example/server');

    expect(request.resources).toEqual({ memory: '512m', cpus: 1.5 });
  });

  test.each([
    ['~/data:/data', `${homedir()}/data:/data`],
    ['$HOME/data:/data:ro,z', `${homedir()}/data:/data:ro`],
    ['~:/data', `${homedir()}:/data`],
    ['$(pwd):/data', 'DIRECTORY:/data'],
    ['$PWD/x:/data', 'DIRECTORY/x:/data'],
    ['.:/data', 'DIRECTORY:/data'],
    ['${HOME}/data:/data', `${homedir()}/data:/data`],
    ['%USERPROFILE%/data:/data:ro', `${homedir()}/data:/data:ro`],
    ['$env:USERPROFILE/data:/data', `${homedir()}/data:/data`],
    ['${PWD}/x:/data', 'DIRECTORY/x:/data'],
  ])('mounts the directory that a shell would read: %s', async (volume, expected) => {
    const { request } = await read(`docker run -v ${volume} example/server`);

    expect(request.volumes).toEqual([expected.replace('DIRECTORY', directory)]);
  });

  test.each([
    ['type=bind,source=~/data,target=/data', `${homedir()}/data:/data`],
    ['type=bind,src=$HOME/data,dst=/data,readonly', `${homedir()}/data:/data:ro`],
    ['type=bind,src=${PWD},dst=/data', 'DIRECTORY:/data'],
  ])('mounts the directory that a shell would read in --mount: %s', async (mount, expected) => {
    const { request } = await read(`docker run --mount ${mount} example/server`);

    expect(request.volumes).toEqual([expected.replace('DIRECTORY', directory)]);
  });

  test.each([
    ['~ada/data:/data', 'begins with ~ada'],
    ['$DATA/x:/data', 'begins with $DATA'],
    ['$env:DATA/x:/data', 'begins with $env:DATA'],
    ['%DATA%:/data', 'begins with %DATA%'],
    [String.raw`C:\Users\me\data:/data`, 'is a Windows path'],
    ['c:/Users/me:/data:ro', 'is a Windows path'],
  ])('mounts no directory with the name of %s', async (volume, message) => {
    await expect(read(`docker run -v ${volume} example/server`)).rejects.toThrow(message);
  });

  test('reads its environment file as docker does', async () => {
    await writeFile(join(directory, 'docker.env'), '# comment\nA="a b" # x\n\nB = c\n');

    const { request } = await read('docker run --env-file docker.env example/server');

    expect(request.env_vars).toEqual({ A: '"a b" # x', B: ' c' });
  });
});
