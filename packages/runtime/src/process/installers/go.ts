import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type ThvError, invalid, notFound, unavailable, unsupported } from '@toolhive/contract/failure';
import { type PackageSource, isLocalPath } from '../../source.ts';
import type { Installer } from './installers.ts';
import { type Install, innerPath } from './install.ts';
import { type ToolResult, type Workshop, distrustIn, runTool } from './tool.ts';

const exactVersion = /^v\d+\.\d+\.\d+(-[\w.-]+)?(\+[\w.-]+)?$/;
const localVersion = /^local-[0-9a-f]{16}$/;

/**
 * Go modules, from the module proxy or a folder of the machine. Compiling runs none of a module's code as long
 * as C is left out of it.
 */
export const goInstaller: Installer = {
  isPinned: (source) =>
    source.version !== undefined && (isLocalPath(source) ? localVersion : exactVersion).test(source.version),

  /** What a path means as a module is known to `go install` alone, and to the binary that it makes. */
  resolve: async () => undefined,

  async install(source, folder, workshop) {
    await mkdir(join(folder, 'bin'));
    if (isLocalPath(source)) return buildLocal(source.name, folder, workshop);
    const wanted = `${source.name}@${source.version ?? 'latest'}`;
    // The module cache would be read-only even to its owner without -modcacherw.
    const env = { GOFLAGS: '-mod=mod -modcacherw', GOBIN: join(folder, 'bin') };
    const result = await go(['install', wanted], { folder, env }, workshop);
    if (result.code !== 0) throw goFailure(source, result);
    const [binary] = await readdir(join(folder, 'bin'));
    if (binary === undefined) throw noProgram(source.name);
    const program = innerPath(source.name, `bin/${binary}`);
    return started(await versionOf(program, folder, workshop), program);
  },
};

async function buildLocal(path: string, folder: string, workshop: Workshop): Promise<Install> {
  if (!isAbsolute(path)) throw invalid(`the path ${path} of the Go module is not absolute`);
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) throw notFound(`folder ${path} not found`);
  const program = join(folder, 'bin', 'server');
  // The folder is the user's: its go.mod is not touched, and what version control says about it does not matter.
  const args = ['build', '-buildvcs=false', '-trimpath', '-o', program, '.'];
  const result = await go(args, { folder: path, env: { GOFLAGS: '-modcacherw' } }, workshop);
  if (result.code !== 0) throw goFailure({ kind: 'package', scheme: 'go', name: path }, result);
  return started(`local-${await digestOf(program)}`, 'bin/server');
}

const started = (version: string, command: string): Install => ({
  version,
  command,
  args: [],
  readOnlyPaths: [],
});

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex').slice(0, 16);
}

async function versionOf(program: string, folder: string, workshop: Workshop): Promise<string> {
  const { stdout } = await go(['version', '-m', program], { folder }, workshop);
  const version = /^\tmod\t\S+\t(\S+)/m.exec(stdout)?.[1];
  if (version === undefined) throw unavailable('go built a program that does not tell its version');
  return version;
}

interface GoPlace {
  folder: string;
  env?: Record<string, string>;
}

function go(args: string[], { folder, env }: GoPlace, workshop: Workshop): Promise<ToolResult> {
  return runTool(
    {
      name: 'go',
      args,
      cwd: folder,
      env: {
        CGO_ENABLED: '0',
        GOTOOLCHAIN: 'local',
        GOPATH: join(workshop.cacheDir, '.go', 'path'),
        GOCACHE: join(workshop.cacheDir, '.go', 'build'),
        ...env,
      },
      missing: 'install Go from https://go.dev/dl/ and see that it is on PATH',
      onLine: (line) => {
        const download = /^go: (downloading .+)$/.exec(line)?.[1];
        if (download !== undefined) workshop.report(download);
      },
    },
    workshop,
  );
}

const noProgram = (name: string) =>
  unsupported(`package ${name} has no program to run`, { hint: 'name the folder of its main package' });

/** Says in a line what was wrong, in the words of `go` where they help. */
function goFailure({ name, version }: PackageSource, { stderr }: Pick<ToolResult, 'stderr'>): ThvError {
  if (/is not a main package/.test(stderr)) return noProgram(name);
  const distrust = distrustIn(stderr);
  if (distrust !== undefined) return distrust;
  if (/dial tcp|no such host|connection refused|i\/o timeout|TLS handshake timeout/.test(stderr)) {
    return unavailable('cannot reach the Go module proxy', {
      hint: 'is the network up, and does GOPROXY name a proxy that answers?',
    });
  }
  if (/requires go >= /.test(stderr)) {
    return unavailable(`package ${name} needs a newer Go`, {
      hint: /requires go >= \S+.*$/m.exec(stderr)?.[0],
    });
  }
  if (/401 Unauthorized|403 Forbidden/.test(stderr)) {
    const reason = /server response:\s*(.+)/.exec(stderr)?.[1];
    return unavailable(`the Go module proxy does not give out ${name}${reason ? `: ${reason}` : ''}`, {
      hint: 'whoever runs the proxy that GOPROXY names decides that',
    });
  }
  if (/unknown revision|invalid version|@v\/v\S+\.info: 4\d\d/.test(stderr)) {
    return notFound(`version ${version ?? 'latest'} of package ${name} not found`);
  }
  if (
    /does not contain package|404 Not Found|410 Gone|400 Bad Request|cannot find module|unrecognized import path|malformed module path/.test(
      stderr,
    )
  ) {
    return notFound(`package ${name} not found`);
  }
  const lines = stderr.split('\n').filter((line) => line !== '' && !/^(go: downloading|#) /.test(line));
  return unsupported(`go could not build ${name}: ${lines[0] ?? 'it gave no reason'}`);
}
