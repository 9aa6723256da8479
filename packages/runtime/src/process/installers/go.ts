import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ThvError, unavailable, unsupported } from '@toolhive/contract/failure';
import { readIfThere } from '../../read-if-there.ts';
import * as z from 'zod';
import { goContents, goModulesIn } from '../../contents/go.ts';
import type { Artifact } from '../../runtime.ts';
import type { PackageSource } from '../../source.ts';
import { inside } from '../plan.ts';
import type { Installer } from './installers.ts';
import { type Install, innerPath } from './install.ts';
import { packageNotFound, versionNotFound } from './missing-package.ts';
import { otherSource } from './npm-sources.ts';
import { field, readPackageFile, readPackageJson, requireProgramFile } from './package-files.ts';
import { netrcFor, originsIn } from './registries.ts';
import { type InstallContext, type ToolResult, distrustIn, requireProgram, runTool } from './tool.ts';

/** An isolated program is not debugged. Without this information, a build needs a fifth less processor time and a third less disk space. */
const withoutDebugging = '-gcflags=all=-dwarf=false -ldflags=-s';

const exactVersion = /^v\d+\.\d+\.\d+(-[\w.-]+)?(\+[\w.-]+)?$/;

/** Go modules from the module proxy. Compiling runs none of a module's code as long as cgo is disabled. */
export const goInstaller: Installer = {
  keepsDownloads: true, // compiling the standard library takes longer than everything else

  isPinned: ({ version }) => version !== undefined && exactVersion.test(version),

  /** Only `go install` and the resulting binary know which module a path belongs to. */
  resolve: async () => undefined,

  newest: async () => undefined,

  preview: async () => undefined,

  async install(source, context) {
    const wanted = `${source.name}@${source.version ?? 'latest'}`;
    // The module cache would be read-only even to its owner without -modcacherw.
    const env = { GOFLAGS: `-mod=mod -modcacherw ${withoutDebugging}`, GOBIN: `${inside.package}/bin` };
    const result = await go(['install', '-v', wanted], { env }, context);
    if (result.code !== 0) throw goFailure(source, result);
    const [binary] = await readdir(join(context.folder, 'bin')).catch(() => []);
    if (binary === undefined) throw noProgram(source.name);
    const program = innerPath(source.name, `bin/${binary}`);
    await requireProgramFile(source.name, context.folder, program);
    const modules = await modulesOf(program, context);
    const [own] = modules;
    const contents = goContents(source.name, modules, own && (await timeOf(own, context)));
    if (contents !== undefined) await context.inspect(source, contents);
    return { ...started(versionIn(modules), program), contents };
  },
};

/** When a module version was published, as the module proxy says. */
async function timeOf({ name, version }: Artifact, { downloads }: InstallContext): Promise<unknown> {
  const escaped = name.replaceAll(/[A-Z]/g, (letter) => `!${letter.toLowerCase()}`);
  const file = `path/pkg/mod/cache/download/${escaped}/@v/${version}.info`;
  return field(await readPackageJson(downloads, file), 'Time');
}

/** Compiles a copy of the user's own code. */
export async function installLocalGo(
  { name, version = '' }: PackageSource,
  context: InstallContext,
  copy: string,
): Promise<Install> {
  // What version control says about the directory does not matter.
  const options = ['-v', '-buildvcs=false', '-trimpath', '-o', `${inside.package}/bin/server`];
  const call = {
    env: { GOFLAGS: `-modcacherw ${withoutDebugging}` },
    writable: { [SOURCE]: copy },
    cwd: SOURCE,
  };
  const result = await go(['build', '-C', SOURCE, ...options, '.'], call, context);
  if (result.code !== 0) throw goFailure({ kind: 'package', scheme: 'go', name }, result);
  const program = await readPackageFile(context.folder, 'bin/server', 1);
  if (program === undefined) throw noProgram(name);
  return started(version, 'bin/server');
}

const SOURCE = '/src';

const started = (version: string, command: string): Install => ({
  version,
  command,
  args: [],
  readOnlyPaths: [],
});

/** The modules in a program: the main module first, then its dependencies. */
async function modulesOf(program: string, context: InstallContext): Promise<Artifact[]> {
  const read = await go(['version', '-m', `${inside.package}/${program}`], { isOffline: true }, context);
  if (read.code !== 0) throw unavailable(`go cannot read the modules in ${program}: ${read.stderr.trim()}`);
  return goModulesIn(read.stdout);
}

function versionIn([own]: readonly Artifact[]): string {
  const version = own?.version;
  if (version !== undefined && exactVersion.test(version)) return version;
  throw unavailable('go built a program that does not contain its version');
}

interface GoCall {
  env?: Record<string, string>;
  writable?: Readonly<Record<string, string>>;
  cwd?: string;
  isOffline?: boolean;
}

async function go(
  args: string[],
  { env, writable, cwd, isOffline }: GoCall,
  context: InstallContext,
): Promise<ToolResult> {
  const { root, registries, variables, netrc } = await readGoSettings(context);
  const { allowed } = context;
  let compiled = 0;
  return runTool(
    {
      name: 'go',
      command: [join(root, 'bin', 'go'), ...args],
      env: {
        ...variables,
        CGO_ENABLED: '0',
        GOTOOLCHAIN: 'local',
        GOENV: 'off',
        GOROOT: root,
        GOPATH: `${inside.downloads}/path`,
        GOCACHE: `${inside.downloads}/build`,
        GOTMPDIR: inside.downloads,
        // If no module proxy has a module, go would start git or another tool, depending on the response of the
        // module's host.
        GOVCS: [...allowed.map((source) => `${source}:git`), '*:off'].join(','),
        ...env,
      },
      files: netrc === '' ? {} : { [`${inside.home}/.netrc`]: netrc },
      readOnlyPaths: [root],
      ...(writable === undefined ? {} : { writable }),
      ...(cwd === undefined ? {} : { cwd }),
      ...(isOffline === true ? {} : { registries }),
      onLine: (line) => {
        if (isPackagePath(line)) context.report(`compiled ${(compiled += 1)} packages, the last one ${line}`);
        const download = /^go: (downloading .+)$/.exec(line)?.[1];
        if (download !== undefined) context.report(download);
      },
    },
    context,
  );
}

/** With -v, Go prints the path of each package that it compiles. */
const isPackagePath = (line: string): boolean => /^[\w.~-]+(?:\/[\w.~-]+)*$/.test(line);

const missing = 'install Go from https://go.dev/dl/ and add it to PATH';
const settingNames = ['GOPROXY', 'GOPRIVATE', 'GONOPROXY', 'GOSUMDB', 'GONOSUMDB', 'GOINSECURE'] as const;
const GoEnv = z.record(z.string(), z.string());

/** The location of Go and its settings, as reported by Go. */
async function readGoSettings({ env }: InstallContext) {
  const program = await requireProgram('go', { env }, missing);
  const names = ['GOROOT', ...settingNames];
  const chosen = Object.entries(env).filter(
    ([name]) => /^(?:PATH|HOME|XDG_CONFIG_HOME|GOENV|GOROOT)$/.test(name) || names.includes(name),
  );
  const options = { cwd: '/', env: { ...Object.fromEntries(chosen), GOTOOLCHAIN: 'local', GOFLAGS: '' } };
  const { stdout } = await promisify(execFile)(program, ['env', '-json', ...names], options);
  const { GOROOT: root = '', ...variables } = GoEnv.parse(JSON.parse(stdout));
  const sumdb =
    variables['GOSUMDB'] === 'off'
      ? []
      : ['https://sum.golang.org', ...(variables['GOSUMDB'] ?? '').split(' ')];
  const registries = originsIn([variables['GOPROXY'], ...sumdb]);
  const home = env['HOME'] ?? homedir();
  const netrc = netrcFor(await readIfThere(env['NETRC'] ?? join(home, '.netrc')), registries);
  return {
    root,
    variables,
    netrc,
    registries: registries.size === 0 ? new Set(['proxy.golang.org:443']) : registries,
  };
}

const noProgram = (name: string) =>
  unsupported(`package ${name} has no program to run`, { hint: 'specify the directory of its main package' });

/** Summarizes the error in one line, using the message from `go` if it is helpful. */
function goFailure(source: PackageSource, { stderr }: Pick<ToolResult, 'stderr'>): ThvError {
  const { name, version } = source;
  if (/is not a main package/.test(stderr)) return noProgram(name);
  const distrust = distrustIn(stderr);
  if (distrust !== undefined) return distrust;
  if (/dial tcp|no such host|connection refused|i\/o timeout|TLS handshake timeout/.test(stderr)) {
    return unavailable('cannot reach the Go module proxy', {
      hint: 'check the network, and the proxy in GOPROXY',
    });
  }
  if (/requires go >= /.test(stderr)) {
    return unavailable(`package ${name} needs a newer Go`, {
      hint: /requires go >= \S+.*$/m.exec(stderr)?.[0],
    });
  }
  if (/401 Unauthorized|403 Forbidden/.test(stderr)) {
    const reason = /server response:\s*(.+)/.exec(stderr)?.[1];
    return unavailable(`the Go module proxy does not serve ${name}${reason ? `: ${reason}` : ''}`, {
      hint: 'the operator of the GOPROXY proxy decides which modules it serves',
    });
  }
  if (/GOVCS disallows/.test(stderr)) {
    return otherSource(
      name,
      /module [^:]+|GOVCS disallows .*$/m.exec(stderr)?.[0] ??
        'the module is only available from version control',
    );
  }
  if (/replacement directory \S+ does not exist/.test(stderr)) {
    return unsupported(`the Go module ${name} replaces a module by a directory outside its own folder`, {
      hint: 'build the module from the directory that contains both, or use a published version',
    });
  }
  if (/unknown revision|invalid version|@v\/v\S+\.info: 4\d\d/.test(stderr)) {
    return versionNotFound(source, version ?? 'latest');
  }
  if (
    /does not contain package|404 Not Found|410 Gone|400 Bad Request|cannot find module|unrecognized import path|malformed module path/.test(
      stderr,
    )
  ) {
    return packageNotFound(source);
  }
  const lines = stderr
    .split('\n')
    .filter((line) => line !== '' && !isPackagePath(line) && !/^(go: downloading|#) /.test(line));
  return unsupported(`go could not build ${name}: ${lines[0] ?? 'it gave no reason'}`);
}
