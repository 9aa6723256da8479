import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readCommandLine } from './launchers.ts';
import { readLocalPath } from './local-path.ts';

let directory: string;

const project = `[project]
name = "several"
dependencies = ["mcp>=1"]

[project.scripts]
several = "several:main"
several-http = "several.http:main"

[project.optional-dependencies]
db = ["duckdb>=1", "pyarrow"]
web = ["starlette"]

[dependency-groups]
base = ["rich"]
dev = ["pytest", { include-group = "base" }, { include-group = "dev" }]
`;
const poetry = `[tool.poetry]
name = "verse"
[tool.poetry.scripts]
verse-mcp = "verse:main"
`;
const pinned = `\uFEFF# made by pip-compile
-i https://pypi.org/simple
mcp[cli]==1.9.0 \\
    --hash=sha256:00 \\
    --hash=sha256:11
httpx >= 0.27, < 1  # for the client
pywin32==306; sys_platform == "win32"
uvicorn ; python_version >= "3.9"

-e ./own
pkg @ https://example.com/pkg.whl
`;
const files: Record<string, string> = {
  'several/pyproject.toml': project,
  'several/server.py': '',
  'verse/pyproject.toml': poetry,
  'plain/server.py': 'import mcp\n',
  'plain/requirements.txt': pinned,
  'alone/server.py': '# /// script\n# dependencies = ["mcp"]\n# ///\n',
  'alone/requirements.txt': 'flask\n',
  'private/server.py': '',
  'private/requirements.txt': '--extra-index-url https://packages.example.com/simple\nown-tool\n',
  'own/pyproject.toml':
    '[project]\nname = "own"\n[project.optional-dependencies]\nx = ["own_tool>=1"]\n[tool.uv.sources]\nown-tool = { index = "private" }\n',
  'own/server.py': '',
  'good.txt': 'mcp==1.9.0\r\nhttpx\r\n',
};

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-python-'));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), content);
  }
});
afterAll(() => rm(directory, { recursive: true }));

const read = (text: string) =>
  readCommandLine(text.split(' '), { env: {}, directory, readFile: (path) => readFile(path, 'utf8') });

describe('a project with several programs', () => {
  test.each([
    ['uv --directory several run several-http --port 1', 'several#program=several-http', ['--port', '1']],
    ['uv run --project several several', 'several#program=several', []],
    ['poetry --directory verse run verse-mcp', 'verse', []],
  ])('runs the one that the command names: %s', async (text, image, args) => {
    const { request } = await read(text);

    expect(request).toMatchObject({ image: `uvx://${directory}/${image}`, cmd_arguments: args });
  });

  test('has no program of a package that it only uses', async () => {
    await expect(read('uv --directory several run uvicorn app:app')).rejects.toMatchObject({
      kind: 'invalid',
      message: `the project in ${directory}/several has no program uvicorn`,
      hint: 'its programs are several, several-http',
    });
  });
});

describe('the optional parts of a project', () => {
  test.each([
    ['--extra db', ['duckdb>=1', 'pyarrow']],
    ['--extra web --group dev', ['starlette', 'pytest', 'rich']],
    ['--all-extras --no-group dev', ['duckdb>=1', 'pyarrow', 'starlette']],
    ['--all-groups', ['rich', 'pytest']],
  ])('are installed with %s', async (flags, python_with) => {
    const { request } = await read(`uv run --directory several ${flags} several`);

    expect(request.python_with).toEqual(python_with);
  });

  test.each([
    ['uv run --directory several --extra other several', 'no extra other', 'the project has db, web'],
    ['uv run --directory several --group other several', 'no group other', 'the project has base, dev'],
    ['uv run --directory plain --extra db server.py', 'need a project', 'add --directory'],
  ])('are named if they do not exist: %s', async (text, message, hint) => {
    await expect(read(text)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    });
  });
});

describe('a file of requirements', () => {
  test('beside a script is installed, with a note', async () => {
    const { request, notes } = await readLocalPath(['plain/server.py'], { directory });

    expect(request.python_with).toEqual(['mcp[cli]==1.9.0', 'httpx>=0.27,<1', 'uvicorn']);
    expect(notes).toEqual([
      `the packages in ${directory}/plain/requirements.txt are installed, without lines 10, 11`,
    ]);
  });

  test('gives way to the packages that the script names', async () => {
    const { request, notes } = await readLocalPath(['alone/server.py'], { directory });

    expect(request.python_with).toBeUndefined();
    expect(notes).toEqual([]);
  });

  test('of another registry is not installed from the public one', async () => {
    const { request, notes } = await readLocalPath(['private/server.py'], { directory });

    expect(request.python_with).toBeUndefined();
    expect(notes).toEqual([expect.stringContaining('they come from another registry')]);
    await expect(read('uv run --extra x --directory own server.py')).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('names another place for own-tool'),
    });
  });

  test.each([
    ['uvx --with-requirements good.txt server', ['mcp==1.9.0', 'httpx']],
    [
      'uv run --with rich --with-requirements good.txt several/server.py',
      ['mcp>=1', 'rich', 'mcp==1.9.0', 'httpx'],
    ],
  ])('is read for a flag: %s', async (text, python_with) => {
    expect((await read(text)).request.python_with).toEqual(python_with);
  });

  test('is refused for a flag if a line is no package', async () => {
    await expect(read('uvx --with-requirements plain/requirements.txt server')).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('line 10 in'),
    });
  });
});
