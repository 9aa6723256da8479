import { expect, test } from 'vitest';
import { causeOf, complaintIn } from './cause.ts';

const inNode = `file:///opt/toolhive/package/node_modules/server/dist/index.js:12
    throw new Error('BRAVE_API_KEY is required');
          ^

Error: API key BRAVE_API_KEY is required
    at file:///opt/toolhive/package/node_modules/server/dist/index.js:12:11
    at ModuleJob.run (node:internal/modules/esm/module_job:345:25)

Node.js v24.21.0`;

const inPython = `Traceback (most recent call last):
  File "/opt/toolhive/package/tools/x/bin/x", line 10, in <module>
    sys.exit(main())
             ^^^^^^
  File "/opt/toolhive/package/tools/x/lib/server.py", line 173, in main
    @server.list_resources()
     ^^^^^^^^^^^^^^^^^^^^^
AttributeError: 'Server' object has no attribute 'list_resources'`;

test.each([
  [
    inNode,
    'Error: API key BRAVE_API_KEY is required',
    'store it with thv secret set BRAVE_API_KEY and run the server with --secret BRAVE_API_KEY,target=BRAVE_API_KEY',
  ],
  [
    inPython,
    "AttributeError: 'Server' object has no attribute 'list_resources'",
    "run it with --with 'mcp<2', because it was written for version 1 of the Python SDK",
  ],
  [
    'cannot start: THE_SETTING is not set',
    'cannot start: THE_SETTING is not set',
    'run it with -e THE_SETTING=VALUE',
  ],
  ["KeyError: 'SITE_URL'", "KeyError: 'SITE_URL'", 'run it with -e SITE_URL=VALUE'],
  [
    'ready\n[stdout] {\n[stdout]   "jsonrpc": "2.0",\n[stdout]   "id": 1,\n[stdout] }',
    '[stdout]   "jsonrpc": "2.0",',
    'ask its author to write each message on one line, as MCP requires',
  ],
  [
    "Error: EROFS: read-only file system, open '/opt/toolhive/package/node_modules/@a/core/b.node'",
    "Error: EROFS: read-only file system, open '/opt/toolhive/package/node_modules/@a/core/b.node'",
    'run it with --allow-scripts @a/core, because its install script may write what the server cannot',
  ],
  [
    `only copying it into
    /opt/toolhive/package/node_modules/@ladybugdb/core
  was refused, which is a filesystem permission problem (read-only or non-writable
  node_modules), not a skipped install script.`,
    'was refused, which is a filesystem permission problem (read-only or non-writable',
    'run it with --allow-scripts @ladybugdb/core, because its install script may write what the server cannot',
  ],
  [
    'bwrap: execvp /opt/toolhive/bin/node: Argument list too long',
    'bwrap: execvp /opt/toolhive/bin/node: Argument list too long',
    'put its longest arguments, variables, or secrets into a file, and mount the file, because a program receives at most 128 KiB in each',
  ],
  [
    '[stdout] Content-Length: 142',
    '[stdout] Content-Length: 142',
    'ask its author to write each message on one line, as MCP requires',
  ],
  [
    'Traceback (most recent call last):\n  File "x", line 1\nModuleNotFoundError: No module named \'yaml\'',
    "ModuleNotFoundError: No module named 'yaml'",
    'run it with --with yaml, or the name of the package that contains yaml',
  ],
  [
    'Error: Could not locate the bindings file. Tried:\n → /opt/toolhive/package/node_modules/better-sqlite3/build/better_sqlite3.node\n',
    'Error: Could not locate the bindings file. Tried:',
    'run it with --allow-scripts better-sqlite3, which builds its native module',
  ],
  [
    'Warning: Cannot access directory /projects, skipping\nError: None of the specified directories are accessible',
    'Error: None of the specified directories are accessible',
    'mount a directory and name it after --, for example --volume DIR:/projects -- /projects',
  ],
  [
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/kubeconfig'",
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/kubeconfig'",
    'mount it with --volume FILE:/data/kubeconfig',
  ],
  [
    'Error: listen EADDRINUSE: address already in use :::8080',
    'Error: listen EADDRINUSE: address already in use :::8080',
    'name the port that the server listens on with --target-port',
  ],
  [
    'usage: server [-h] --site SITE\nserver: error: the following arguments are required: --site',
    'server: error: the following arguments are required: --site',
    'pass the arguments of the server after --',
  ],
  [
    'Error: unable to load the cluster configuration\nUsage:\n  server [flags]\n\nFlags:\n  --port string   Port (e.g. 8080)',
    'Error: unable to load the cluster configuration',
    'run it with a kubeconfig file: -v FILE:/data/kubeconfig:ro -e KUBECONFIG=/data/kubeconfig',
  ],
  [
    "[TypeError: fetch failed] {\n  [cause]: Error: getaddrinfo ENOTFOUND docs.example\n      at onlookupall (node:dns:123:26) {\n    errno: -3008,\n    code: 'ENOTFOUND',\n    syscall: 'getaddrinfo',\n    hostname: 'docs.example'\n  }\n}\n\nNode.js v24.21.0",
    '[cause]: Error: getaddrinfo ENOTFOUND docs.example',
    'replace the example host docs.example in the settings of the server by a real one',
  ],
  [
    "Error accessing directory /vault: Error: ENOENT: no such file or directory, stat '/vault'",
    "Error accessing directory /vault: Error: ENOENT: no such file or directory, stat '/vault'",
    'mount it with --volume DIR:/vault',
  ],
  [
    'httpx.ConnectError: getaddrinfo ENOTFOUND api.service.com',
    'httpx.ConnectError: getaddrinfo ENOTFOUND api.service.com',
    'check that its network rules allow api.service.com, and that this machine can resolve the name',
  ],
  [
    'Failed to connect to Neo4j: Failed to DNS resolve address db.service.com:7687: Name or service not known',
    'Failed to connect to Neo4j: Failed to DNS resolve address db.service.com:7687: Name or service not known',
    'check that its network rules allow db.service.com, and that this machine can resolve the name',
  ],
  [
    'curl: (6) Could not resolve host: your-instance.atlassian.net',
    'curl: (6) Could not resolve host: your-instance.atlassian.net',
    'replace the example host your-instance.atlassian.net in the settings of the server by a real one',
  ],
  [
    "ModuleNotFoundError: No module named 'fastmcp.tools.tool'",
    "ModuleNotFoundError: No module named 'fastmcp.tools.tool'",
    "run it with --with 'fastmcp<3', because it was written for an earlier version of FastMCP",
  ],
  [
    'File "/opt/x/lib/python3.11/site-packages/some_lib/__init__.py", line 1, in <module>\nModuleNotFoundError: No module named \'some_lib.old\'',
    "ModuleNotFoundError: No module named 'some_lib.old'",
    "run it with the version of some-lib that it was written for: --with 'some-lib<VERSION'",
  ],
  [
    'ImportError: libodbc.so.2: cannot open shared object file: No such file or directory',
    'ImportError: libodbc.so.2: cannot open shared object file: No such file or directory',
    'install the package of your system that contains libodbc.so.2',
  ],
  [
    "2026-11-26 03:09:01 - client - ERROR - Connection error: [Errno 111] Connect call failed ('127.0.0.1', 8022)",
    "2026-11-26 03:09:01 - client - ERROR - Connection error: [Errno 111] Connect call failed ('127.0.0.1', 8022)",
    'start the program that the server expects at port 8022. localhost is the sandbox itself, and leads to this machine only at ports that you allow (thv permission allow --help)',
  ],
  [
    "pydantic.errors.PydanticUserError: Please use 'typing_extensions.TypedDict' instead of 'typing.TypedDict'.\n\nFor further information visit https://errors.pydantic.dev/2.14/u/typed-dict-version",
    "pydantic.errors.PydanticUserError: Please use 'typing_extensions.TypedDict' instead of 'typing.TypedDict'.",
    undefined,
  ],
  [
    '[DEBUG] DEBUG_LOG_FILE environment variable: ""\nError: the key file is not JSON',
    'Error: the key file is not JSON',
    undefined,
  ],
  [
    'INFO: Application startup complete.\nINFO: Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)',
    'INFO: Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)',
    'if it serves HTTP instead of stdio, run it with --transport streamable-http --target-port 8000',
  ],
  [
    'Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables',
    'Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables',
    'store it with thv secret set SLACK_BOT_TOKEN and run the server with --secret SLACK_BOT_TOKEN,target=SLACK_BOT_TOKEN -e SLACK_TEAM_ID=VALUE',
  ],
  [
    'Missing API_KEY\nMissing API_SECRET\nbye',
    'Missing API_SECRET',
    'store them with thv secret set API_KEY and thv secret set API_SECRET and run the server with --secret API_KEY,target=API_KEY --secret API_SECRET,target=API_SECRET',
  ],
  [
    'Either SERVICE_API_KEY or SERVICE_API_KEY_FILE must be set',
    'Either SERVICE_API_KEY or SERVICE_API_KEY_FILE must be set',
    'store it with thv secret set SERVICE_API_KEY and run the server with --secret SERVICE_API_KEY,target=SERVICE_API_KEY',
  ],
  [
    'SERVICE_KEY_FILE or SERVICE_KEY is required',
    'SERVICE_KEY_FILE or SERVICE_KEY is required',
    'store it with thv secret set SERVICE_KEY and run the server with --secret SERVICE_KEY,target=SERVICE_KEY',
  ],
  [
    'Set OPENAI_API_KEY or OTHER_API_KEY: one is required',
    'Set OPENAI_API_KEY or OTHER_API_KEY: one is required',
    'store it with thv secret set OPENAI_API_KEY and run the server with --secret OPENAI_API_KEY,target=OPENAI_API_KEY',
  ],
  [
    'MAIL_TOKEN_PATH is not set',
    'MAIL_TOKEN_PATH is not set',
    'run it with -v FILE:/data/mail-token-path:ro -e MAIL_TOKEN_PATH=/data/mail-token-path',
  ],
  [
    `OAuth credentials not found.
   Set GOOGLE_OAUTH_CREDENTIALS to the path of your credentials file:
   export GOOGLE_OAUTH_CREDENTIALS="/path/to/gcp-oauth.keys.json"
- To use a custom token location, set CALENDAR_TOKEN_PATH environment variable`,
    'Set GOOGLE_OAUTH_CREDENTIALS to the path of your credentials file:',
    'run it with -v FILE:/data/google-oauth-credentials:ro -e GOOGLE_OAUTH_CREDENTIALS=/data/google-oauth-credentials',
  ],
  [
    'API_TOKEN is required\nAPI_URL environment variable (optional): another host\nLOG_FORMAT must be set, defaults to text',
    'API_TOKEN is required',
    'store it with thv secret set API_TOKEN and run the server with --secret API_TOKEN,target=API_TOKEN',
  ],
  [
    'GOOGLE_APPLICATION_CREDENTIALS environment variable missing',
    'GOOGLE_APPLICATION_CREDENTIALS environment variable missing',
    'run it with -v FILE:/data/google-application-credentials:ro -e GOOGLE_APPLICATION_CREDENTIALS=/data/google-application-credentials',
  ],
  [
    'NOTES_DIR is required',
    'NOTES_DIR is required',
    'run it with -v DIR:/data/notes-dir -e NOTES_DIR=/data/notes-dir',
  ],
  [
    'Error: invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable',
    'Error: invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable',
    'run it with a kubeconfig file: -v FILE:/data/kubeconfig:ro -e KUBECONFIG=/data/kubeconfig',
  ],
  [
    "Error: Cannot find module '../build/Release/native.node'\n    at /opt/toolhive/package/node_modules/bindings/bindings.js:1:1\n    at /opt/toolhive/package/node_modules/@scope/native/index.js:2:1",
    "Error: Cannot find module '../build/Release/native.node'",
    'run it with --allow-scripts @scope/native, which builds its native module',
  ],
  [
    'Error: No native build was found for platform=linux',
    'Error: No native build was found for platform=linux',
    'run it with --allow-scripts and the name of the npm package whose native module is missing',
  ],
  [
    'connect ECONNREFUSED 127.0.0.1:8888',
    'connect ECONNREFUSED 127.0.0.1:8888',
    'start the program that the server expects at port 8888. localhost is the sandbox itself, and leads to this machine only at ports that you allow (thv permission allow --help)',
  ],
])('finds the cause and the fix in %j', (output, line, fix) => {
  expect(causeOf(output)).toEqual({ line, fix });
});

test.each([
  [
    'panic: no configuration\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:5 +0x1d\nexit status 2',
    'panic: no configuration',
  ],
  [
    'TypeError: x is not a function\n    at Object.<anonymous> (/a.js:1:1)\n    at node:internal\n\nNode.js v24.21.0',
    'TypeError: x is not a function',
  ],
  ['loading\nfatal: bad day\nbye', 'fatal: bad day'],
  ['\u001b[31monly this\u001b[0m', 'only this'],
])('finds the cause in %j', (output, line) => {
  expect(causeOf(output)).toEqual({ line });
});

test('finds nothing where nothing was written', () => {
  expect(causeOf('\n')).toBeUndefined();
});

test.each([
  ['connection refused localhost:8888\nretrying', 'connection refused localhost:8888'],
  ['dial tcp [::1]:5432: connection refused', 'dial tcp [::1]:5432: connection refused'],
])('finds why a server that runs does not answer in %j', (output, line) => {
  const complaint = complaintIn(output);

  expect(complaint?.line).toBe(line);
  expect(complaint?.fix).toContain('start the program that the server expects');
});

test('finds no complaint in the ordinary output of a server that runs', () => {
  expect(complaintIn('starting\nwarning: no cache\nlistening on stdio')).toBeUndefined();
});

test('takes nothing but plain names from what a server writes', () => {
  const cause = causeOf("No module named 'x; rm -rf ~'\nMY_KEY$(reboot)_X is required");

  expect(cause?.fix).not.toMatch(/[;$~]/);
});

test('searches no more than a part of a long line', () => {
  const output = `${'A_A '.repeat(4_000_000)}\nError: no key`;

  expect(causeOf(output)?.line).toBe('Error: no key');
});

test.each([
  [
    'the SDK, if version 1 is chosen already',
    "ImportError: cannot import name 'Server' from 'mcp' (/x/site-packages/mcp/__init__.py)",
    { pythonWith: ['mcp<2'] },
  ],
  ['a part of a package', "ModuleNotFoundError: No module named 'bibtexparser.bibdatabase'", {}],
  [
    'a name in another package',
    "ImportError: cannot import name 'url_quote' from 'werkzeug.urls' (/x/site-packages/werkzeug/urls.py)",
    {},
  ],
  ['a package that another one brought along', "ModuleNotFoundError: No module named 'aiohttp'", {}],
  [
    'what came with the SDK, if version 1 is chosen already',
    "ModuleNotFoundError: No module named 'httpx'",
    { pythonWith: ['mcp<2'] },
  ],
  [
    'what a dependency expects of another one',
    "AttributeError: module 'lib' has no attribute 'X509_V_FLAG_NOTIFY_POLICY'",
    {},
  ],
  ['a part of FastMCP', "ModuleNotFoundError: No module named 'fastmcp.tools.tool'", {}],
])('a server that lacks %s gets the dependencies of its time', (_what, line, known) => {
  const frame = '  File "/opt/x/lib/python3.11/site-packages/other/__init__.py", line 1, in <module>';
  const cause = causeOf(`Traceback (most recent call last):\n${frame}\n${line}`, {
    publishedAt: '2025-01-20T06:32:59Z',
    ...known,
  });

  expect(cause).toEqual({
    line,
    fix: 'run it with --exclude-newer 2025-01-21, because its dependencies have changed since it was published',
  });
});

test.each(["No module named 'aiohttp'", "No module named 'fastmcp.tools.tool'"])(
  'is not told to choose the same day again: %s',
  (line) => {
    const cause = causeOf(`ModuleNotFoundError: ${line}`, {
      publishedAt: '2025-01-20T06:32:59Z',
      pythonExcludeNewer: '2025-01-21',
    });

    expect(cause?.fix).toMatch(/^run it with --with /);
  },
);

test('a missing package of a shared name is added instead', () => {
  const cause = causeOf("ModuleNotFoundError: No module named 'google.generativeai'", {
    publishedAt: '2025-01-20T06:32:59Z',
  });

  expect(cause?.fix).toContain('--with google');
});

test('a server for the first versions of the Python SDK gets one of them', () => {
  const cause = causeOf(
    "ImportError: cannot import name 'McpError' from 'mcp.server' (/x/site-packages/mcp/server/__init__.py)",
  );

  expect(cause?.fix).toContain("--with 'mcp<1.2'");
});

test('a package that came with version 1 of the Python SDK comes with it again', () => {
  const output = "ModuleNotFoundError: No module named 'httpx'";

  expect(causeOf(output)?.fix).toContain("--with 'mcp<2'");
  expect(causeOf(output, { pythonWith: ['mcp<2'] })?.fix).toContain('--with httpx');
});

test('a bundle, to which no flag adds packages, needs its author', () => {
  const image = 'mcpb:///home/ada/notes.mcpb@sha256-01';
  const fixOf = (output: string) => causeOf(output, { image, publishedAt: '2025-06-01T00:00:00Z' })?.fix;

  expect(fixOf("AttributeError: 'Server' object has no attribute 'list_tools'")).toBe(
    'ask the author of the bundle to require mcp<2, because it was written for version 1 of the Python SDK',
  );
  expect(fixOf("ImportError: cannot import name 'x' from 'fastmcp.server'")).toBe(
    'ask the author of the bundle to name the versions of its dependencies, because its dependencies have changed since it was published',
  );
});

test('a missing module is not taken for a host name that could not be resolved', () => {
  const output = [
    'node:internal/modules/esm/resolve:272',
    '    throw new ERR_MODULE_NOT_FOUND(',
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/app/other.mjs' imported from /app/main.mjs",
  ].join('\n');

  expect(causeOf(output)?.fix ?? '').not.toContain('network');
});

test('a denied address is no name that could not be resolved', () => {
  const cause = complaintIn(
    '[toolhive] denied pypi.org:443: the name resolves to 203.0.113.80, which is a documentation address',
  );

  expect(cause).toBeUndefined();
});

test('a package for a newer Python names the version', () => {
  const cause = causeOf(
    'pydantic.errors.PydanticUserError: Please use `typing_extensions.TypedDict` instead of `typing.TypedDict` on Python < 3.12.',
  );

  expect(cause?.fix).toContain('--python 3.12');
});

test.each([
  ['ERROR:mcp_server_git.server:/home/me/notes does not exist'],
  ["Error: '/home/me/notes' is not a directory"],
  ['fatal: not a git repository: /home/me/notes'],
  ['Path `/home/me/notes`: No such file or directory'],
  ['Directory not found: /home/me/notes'],
  ["FileNotFoundError: [Errno 2] No such file or directory: '/home/me/notes'"],
])('a path that the user has named is mounted at the same place: %s', (line) => {
  const given = ['--repository', '/home/me/notes'];

  expect(causeOf(line, { given })?.fix).toBe('mount it with --volume /home/me/notes:/home/me/notes');
  expect(causeOf(line, { given: ['--repository=/home/me/notes'] })?.fix).toContain('/home/me/notes:/home');
  expect(causeOf(line)?.fix).toMatch(/^mount it with --volume (?:DIR|FILE):\/home\/me\/notes$/);
});

test.each([
  '/usr/bin/uvx not found',
  '/opt/toolhive/package/x does not exist',
  'GET /api/v1/items not found: 404',
])('no mount helps: %s', (line) => {
  expect(causeOf(line)?.fix ?? '').not.toContain('--volume FILE:/usr');
  expect(causeOf(line)?.fix ?? '').not.toContain('/opt/');
});

const popen = `  File "/usr/lib/python3.11/subprocess.py", line 1026, in __init__
    self._execute_child(args, executable, preexec_fn, close_fds,`;

test.each([
  [`${popen}\nFileNotFoundError: [Errno 2] No such file or directory: 'deno'`, 'deno'],
  [
    'Error: spawn pandoc ENOENT\n    at ChildProcess._handle.onexit (node:internal/child_process:285:19)',
    'pandoc',
  ],
  ['exec: "kubectl": executable file not found in $PATH', 'kubectl'],
  ['/bin/sh: 1: ffmpeg: not found', 'ffmpeg'],
  ['bash: line 1: git: command not found', 'git'],
  ['[stdout] Error: uvx command not found. Please install uv first.', 'uvx'],
])('names the program that the server cannot start in %j', (output, program) => {
  expect(causeOf(output)?.fix).toBe(
    `install ${program} below /usr on this machine, or in the image of a container: the server starts this program`,
  );
});

test.each([
  ["FileNotFoundError: [Errno 2] No such file or directory: 'deno'", 'deno'],
  ['Error: uvx command not found. Please install uv first.', 'uv'],
])('adds the package of a missing program to a Python server: %j', (line, added) => {
  const fix = causeOf(`${popen}\n${line}`, { isPython: true })?.fix;

  expect(fix).toContain(`run it with --with ${added},`);
});

test.each([
  ["FileNotFoundError: [Errno 2] No such file or directory: 'config.json'"],
  ['ModuleNotFound Error: a part is missing'],
  ['The command not found in the list'],
])('takes neither a file, nor a word, for a program or a host: %j', (output) => {
  expect(causeOf(output)).toEqual({ line: output });
});

test('mounts the directories that the user has named', () => {
  const output =
    'Warning: Cannot access directory /home/me/a, skipping\nWarning: Cannot access directory /home/me/b, skipping\nError: None of the specified directories are accessible';
  const given = ['--flag', '/home/me/a', '/home/me/b', '/home/me/other', '/usr/lib'];

  expect(causeOf(output, { given })?.fix).toBe(
    'mount them with --volume /home/me/a:/home/me/a --volume /home/me/b:/home/me/b',
  );
  expect(causeOf(output, { given: ['/home/me/b'] })?.fix).toBe(
    'mount it with --volume /home/me/b:/home/me/b',
  );
});

test.each([
  'Error: unable to create kubernetes target provider: no current-context is set and no contexts are defined in kubeconfig.',
  'Error: no kubeconfig',
])('reads no reason in the descriptions of flags: %j', (error) => {
  const help = `Usage:
  server [flags]

Flags:
      --cluster-provider string   Strategy (one of: disabled, kubeconfig). If not set, the server will detect it
  -h, --help                      help for server
      --log-file string           Defines the log file. Required for stdio: API_KEY`;
  const cause = causeOf(`${error}\n${help}`);

  expect(cause?.line).toBe(error);
});

test.each([
  ['21st MCP endpoint unreachable (https://api.service.com/mcp): fetch failed'],
  ['TypeError: fetch failed for https://api.service.com'],
])('names the host of a request that failed: %j', (output) => {
  expect(complaintIn(output)?.fix).toBe(
    'check that its network rules allow api.service.com, and that this machine can resolve the name',
  );
});

test.each([
  'Error: Missing required environment variables:\n  - SITE_URL\n  - CONSUMER_KEY\n\nPlease set these environment variables before running the server.',
  '❌ The following environment variables are required:\n   • SITE_URL - your shop, with https\n   • CONSUMER_KEY=ck_...\n   • LOG_LEVEL (optional)',
  'Missing env vars:\n1. SITE_URL\n2. CONSUMER_KEY',
  'Please set the following in your .env file:\nSITE_URL\nCONSUMER_KEY\nExiting.',
])('names the variables of a list: %j', (output) => {
  const { line, fix } = causeOf(output) ?? {};

  expect(line).toMatch(/^[^\n]*: SITE_URL.* CONSUMER_KEY\S*$/);
  expect(fix).toBe(
    'store it with thv secret set CONSUMER_KEY and run the server with --secret CONSUMER_KEY,target=CONSUMER_KEY -e SITE_URL=VALUE',
  );
});

test.each([
  '错误：API_KEY 环境变量未设置，服务器拒绝启动',
  '❌ 以下环境变量未设置：\n   - API_KEY',
  '❌ 请设置环境变量 API_KEY',
  '警告: 未找到API_KEY环境变量。请设置您的API密钥。',
  'エラー: API_KEY環境変数が設定されていません',
  'API_KEY 환경 변수가 설정되어 있지 않습니다.',
  'Ошибка: Переменная окружения API_KEY не определена или пуста!',
  'Error: Не задана переменная окружения API_KEY',
  'Error: falta la variable de entorno API_KEY',
  'Erro: a variável API_KEY é obrigatória',
  "Erreur : la variable d'environnement API_KEY est requise",
  'Fehler: die Umgebungsvariable API_KEY fehlt',
])('names a variable whatever language the server speaks: %j', (output) => {
  expect(causeOf(output)?.fix).toBe(
    'store it with thv secret set API_KEY and run the server with --secret API_KEY,target=API_KEY',
  );
});

test.each([
  '配置文件不存在: /home/server/.config/db-assistant/config.toml',
  '配置文件 /home/server/.config/db-assistant/config.toml 不存在',
  'Файл не найден: /home/server/.config/db-assistant/config.toml',
  'No existe el archivo /home/server/.config/db-assistant/config.toml',
])('names a directory whatever language the server speaks: %j', (output) => {
  expect(causeOf(output)?.fix).toBe(
    'mount your own files for this server with --volume DIR:/home/server/.config/db-assistant',
  );
});

test('takes the first of a list of alternatives', () => {
  const output =
    'Error: No authentication method provided. Please set one of:\n- CREDENTIALS_FILE to the path of your key file\n- ACCOUNT_KEY to the text of the key\n- PRIVATE_KEY and CLIENT_EMAIL';

  expect(causeOf(output)?.fix).toBe(
    'run it with -v FILE:/data/credentials-file:ro -e CREDENTIALS_FILE=/data/credentials-file',
  );
});

/** What Python prints when a class of a dependency, or of the server, cannot be made. */
const loading = (place: string) => `Traceback (most recent call last):
  File "/opt/toolhive/package/tools/x/bin/x", line 4, in <module>
    from x.__main__ import main
  File "/opt/toolhive/package/tools/x/lib/python3.12/site-packages/x/__main__.py", line 10, in ${place}
    from fastmcp import FastMCP
  File "/opt/toolhive/package/tools/x/lib/python3.12/site-packages/fastmcp/settings.py", line 58, in <module>
    class Settings(BaseSettings):
  File "/opt/toolhive/package/tools/x/lib/python3.12/site-packages/pydantic/fields.py", line 293, in __init__
    raise TypeError('cannot specify both default and default_factory')
TypeError: cannot specify both default and default_factory`;

test('offers the dependencies of its time to a server that cannot be loaded with newer ones', () => {
  const known = { publishedAt: '2025-05-01T12:00:00Z' };

  expect(causeOf(loading('<module>'), known)?.fix).toContain('--exclude-newer 2025-05-02');
  expect(causeOf(loading('main'), known)?.fix).toBeUndefined();
  expect(causeOf(loading('<module>'))?.fix).toBeUndefined();
});

test('takes no other list for variables', () => {
  const output = 'Error: API_KEY is required\nLoaded settings:\n  - LOG_LEVEL=debug\n  - DATA_HOST=x';

  expect(causeOf(output)?.fix).not.toContain('DATA_HOST');
});

test('asks for a network only if the server has none', () => {
  const output = 'ERROR: Could not download the model: [Errno -2] Name or service not known';

  expect(causeOf(output)?.fix).toContain('--permission-profile network');
  expect(causeOf(output, { hasNetwork: true })?.fix).toBe(
    'check that this machine can resolve the names of the hosts that the server needs',
  );
});

test.each([
  '[stdout] Ok to proceed? (y)',
  'Password: ',
  'Overwrite the file? [y/N]',
  'Enter your API key: ',
  'Passphrase for key_1:',
  'Press any key to continue . . .',
])('tells how to answer a question: %j', (output) => {
  expect(complaintIn(output)?.fix).toContain('pass the answer in an argument or an environment variable');
});

test.each([
  'Error: stdin is not a TTY',
  'EOFError: EOF when reading a line',
  'termios.error: (25, "Inappropriate ioctl for device")',
  'Raw mode is not supported on the current process.stdin, which Ink uses as input stream by default.',
])('tells that a server has no terminal: %j', (output) => {
  expect(complaintIn(output)?.fix).toContain('servers have no terminal');
});

test.each(['started in the background, pid 9', 'server daemonized (pid 9)'])(
  'tells to stay in the foreground: %j',
  (output) => {
    expect(complaintIn(output)?.fix).toBe('start it with the argument that keeps it in the foreground');
  },
);

test.each([
  'password: set',
  'Listing tokens in the background',
  'enter: handler ready',
  'using api key',
  'Password: \nsigned in',
  'the refresh started in the background\nready',
])('sees no question in %j', (output) => {
  expect(complaintIn(output)).toBeUndefined();
});

test('explains why a server cannot listen on a port that leads to this machine', () => {
  const line = 'Error: listen EADDRINUSE: address already in use 127.0.0.1:5432';

  expect(causeOf(line, { localPorts: [5432] })?.fix).toBe(
    'let the server listen on another port, because port 5432 leads to this machine (--allow-local-port)',
  );
  expect(causeOf(line, { localPorts: [6379] })?.fix).toContain('--target-port');
});

test.each([
  `Missing variables:\n${`${' '.repeat(499)}x\n`.repeat(100)}`,
  `${'不存在'.repeat(166)}\n`.repeat(100),
  `Missing variables:\n${Array.from({ length: 99 }, (_, line) => Array.from({ length: 70 }, (_each, at) => `A_${line}_${at}`).join(' ')).join('\n')}`,
  Array.from(
    { length: 100 },
    (_, line) => `missing ${Array.from({ length: 70 }, (_each, at) => `A_${line}_${at}`).join(' ')}`,
  ).join('\n'),
  `Error: /home/server/${'a/'.repeat(240)}\n`.repeat(100),
  `TypeError: x\nTraceback (most recent call last)\n${`  File "${'/site-packages'.repeat(34)}\n`.repeat(98)}`,
])('reads hostile output as often as it comes (%#)', (output) => {
  const found = Array.from({ length: 50 }, () =>
    complaintIn(output, { publishedAt: '2025-05-01T12:00:00Z' }),
  );

  expect(new Set(found.map((cause) => cause?.fix)).size).toBe(1);
});

test('reads output full of control sequences that do not end', () => {
  const output = `Error: no\n${'\u001b]'.repeat(30_000)}\nError: API_KEY is required`;
  const outputs = Array.from({ length: 50 }, () => causeOf(output)?.fix);

  expect(new Set(outputs).size).toBe(1);
  expect(outputs[0]).toContain('API_KEY');
});

/** What Pydantic prints for a model without a value for each of the fields. */
const pydantic = (model: string, ...fields: string[]) => `Traceback (most recent call last):
  File "/opt/toolhive/package/tools/x/lib/python3.12/site-packages/x/config.py", line 43, in <module>
    settings = Settings()
               ^^^^^^^^^^
pydantic_core._pydantic_core.ValidationError: ${fields.length} validation error${fields.length === 1 ? '' : 's'} for ${model}
${fields.map((field) => `${field}\n  Field required [type=missing, input_value={}, input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.14/v/missing`).join('\n')}`;

/** What Zod prints for missing variables. */
const zod = (message: string, ...names: string[]) => `ZodError: ${JSON.stringify(
  names.map((name) => ({ code: 'invalid_type', expected: 'string', path: [name], message })),
  null,
  2,
)}
    at get error (file:///opt/toolhive/package/node_modules/zod/lib/index.mjs:587:31)`;

test.each([
  [
    pydantic('Settings', 'weather_api_token'),
    'Settings: weather_api_token: Field required',
    'store it with thv secret set WEATHER_API_TOKEN and run the server with --secret WEATHER_API_TOKEN,target=WEATHER_API_TOKEN',
  ],
  [
    pydantic('AppConfig', 'site_url', 'SITE'),
    'AppConfig: SITE: Field required',
    'run it with -e SITE_URL=VALUE -e SITE=VALUE',
  ],
  [zod('Required', 'SITE_URL'), 'SITE_URL: Required', 'run it with -e SITE_URL=VALUE'],
  [
    zod('Invalid input: expected string, received undefined', 'SITE_URL', 'REGION'),
    'REGION: Invalid input: expected string, received undefined',
    'run it with -e SITE_URL=VALUE -e REGION=VALUE',
  ],
])('the variables of %j are named', (output, line, fix) => {
  expect(causeOf(output)).toEqual({ line, fix });
});

test.each([
  [
    pydantic('Settings', 'api_token'),
    'pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings: api_token: Field required [type=missing, input_value={}, input_type=dict]',
  ],
  [
    pydantic('Forecast', 'site_url'),
    'pydantic_core._pydantic_core.ValidationError: 1 validation error for Forecast: site_url: Field required [type=missing, input_value={}, input_type=dict]',
  ],
])('no variable is guessed from %j', (output, line) => {
  expect(causeOf(output)).toEqual({ line });
});

test.each([
  ['[stdout] MCP daemon listening on 127.0.0.1:3009', 3009],
  ['Server is running on port 3000', 3000],
  ['MCP server started on port: 8080', 8080],
  ['HTTP server listening at :4000', 4000],
])('a server that only says where it listens may serve HTTP: %s', (line, port) => {
  expect(causeOf(line)?.fix).toBe(
    `if it serves HTTP instead of stdio, run it with --transport streamable-http --target-port ${port}`,
  );
});

test.each(['MCP server running on stdio', 'Server started at 12:30:15', 'the server supports 20 tools'])(
  'no port is read from %j',
  (line) => {
    expect(causeOf(line)).toEqual({ line });
  },
);

test('a server that waits for the answer of a browser is told from one that hangs', () => {
  const url = `https://accounts.example/auth?client_id=1&redirect_uri=http%3A%2F%2Flocalhost%3A46825&scope=a`;
  const output = `[INFO] Authorize this app by visiting this url: ${url}\n[INFO] Received SIGTERM, shutting down.`;

  const cause = causeOf(output);

  expect(cause?.line).toContain(url);
  expect(cause?.fix).toMatch(/^run it with --publish 46825, and sign in at the address/);
  expect(causeOf(output, { publishedPorts: [46_825] })?.fix).toMatch(/^open the address/);
  expect(causeOf(output.replace('%3A46825', ''))?.fix).toMatch(/^sign in once with the same command outside/);
  const long = output.replace('scope=a', '').replace('client_id', `scope=${'a'.repeat(900)}&client_id`);
  expect(causeOf(long)?.fix).toContain('--publish 46825');
  expect(causeOf(output.replace('localhost', 'app.example'))?.fix).toBeUndefined();
});

test('a variable that limits a server is not needed', () => {
  const output =
    '[INFO] 18 tools registered (set MAPS_ENABLED_TOOLS to limit)\nHTTP server listening on 0.0.0.0:3000';

  expect(causeOf(output)?.fix).toContain('--target-port 3000');
});

test.each([
  ['botocore.exceptions.NoCredentialsError: Unable to locate credentials', 'AWS_SHARED_CREDENTIALS_FILE'],
  ['CredentialsProviderError: Could not load credentials from any providers', '-v DIR:/data/aws:ro'],
  ['Exception: Failed to create boto3 client for ec2: You must specify a region.', '-e AWS_REGION=REGION'],
  [
    'Error: Could not load the default credentials. Browse to https://x for more information.',
    'GOOGLE_APPLICATION_CREDENTIALS',
  ],
  [
    'Authentication failed. Run: gcloud auth application-default login',
    '-v FILE:/data/google-application-credentials:ro',
  ],
])('names the credentials of a cloud that the server looks for: %s', (line, part) => {
  expect(causeOf(line)?.fix).toContain(part);
});

test.each([
  [
    'Error: OAuth keys file not found. Please place gcp-oauth.keys.json in current directory or /home/server/.gmail-mcp',
    '/home/server/.gmail-mcp',
  ],
  ['Token file /home/server/.config/docs/token.json does not exist', '/home/server/.config/docs'],
  ["Error: Cannot find '/home/server/.netrc'.", '/home/server/.netrc'],
])('the user chooses what to mount for %s', (line, place) => {
  expect(causeOf(line)?.fix).toBe(`mount your own files for this server with --volume DIR:${place}`);
});

test.each([
  'Error: supabaseUrl is required; the URL is missing',
  'A Shortcut api token is required.',
  'RuntimeError: An API key is required to call the API.',
  'AzureDevOpsValidationError: Organization URL is required',
  'Error: Environment Variables not set - please check your .env file',
  'No API token',
])('a setting without a name is passed as its README says: %s', (line) => {
  expect(causeOf(line)?.fix).toMatch(/^pass it as the README of the server says/);
  expect(causeOf(line, { image: '' })?.fix).toBeUndefined();
});

test.each([
  'Error: the key file is not JSON',
  'Error: unexpected token in JSON',
  'fetch failed: url is wrong',
])('no setting is missing in %j', (line) => {
  expect(causeOf(line)?.fix ?? '').not.toContain('README');
});

test.each([
  ['Error: no token found. Please run: npx @gongrzhe/server-gmail-autoauth-mcp auth', 'auth'],
  ['Credentials not found. Please run with "auth" argument first.', 'auth'],
  ["Not signed in. Use 'login' first", 'login'],
  ['No cached session. Run with --login to sign in', '--login'],
  ['Please run `uvx some-server --auth` once', '--auth'],
  ['No token. Run: server.mjs auth', 'auth'],
  ["run 'calendar-mcp login' first", 'login'],
  ['Run uvx --from tool-x x-cli authenticate', 'authenticate'],
])('a command for a sign-in runs in the place of the server: %s', (output, word) => {
  expect(causeOf(output, { name: 'mail' })?.fix).toBe(
    `if this is its command for a sign-in, run thv exec mail -- ${word}`,
  );
});

test.each([
  ['Run with --login to sign in', { name: 'mail', given: ['--login'] }],
  ['Run with --login to sign in', {}],
  ['starting the login service', { name: 'mail' }],
  ['cannot run the login page', { name: 'mail' }],
  ['use author or authority', { name: 'mail' }],
])('a command that was given, or that is none, is not recommended: %s', (output, server) => {
  expect(causeOf(output, server)?.fix ?? '').not.toContain('thv exec');
});

test.each([
  [
    'uvx://mcp-image-tools@8.0.0',
    "run it with --with mcp, or uvx 'mcp-image-tools[mcp]' if its README names such an extra, because its package does not require mcp itself",
  ],
  ['uvx:///home/ada/server', 'run it with --with mcp, because its package does not require mcp itself'],
])('a package whose server is optional needs the SDK: %s', (image, fix) => {
  const server = { image, isPython: true, publishedAt: '2026-09-14T00:00:00Z' };

  expect(causeOf("ModuleNotFoundError: No module named 'mcp'", server)?.fix).toBe(fix);
});
