import { npmSourceOptions } from '../npm-source-options.ts';
import { pythonRequirement, type PackageScheme, type PackageSource } from '../source.ts';
import {
  linkGoBinary,
  linkNpmBin,
  linkPythonScript,
  npmSpec,
  programIn,
  pythonProgram,
  refuseOtherSources,
  requireValid,
  run,
  serverStage,
  trustSteps,
  releasesOf,
  withGo,
  withNpm,
  withUv,
  type BaseImages,
} from './dockerfile.ts';

/** The directory in which npm, uv, and Go record their downloads, before any code of a package runs. */
export const FACTS_PATH = '/download';

/** How a package of one ecosystem is built in two steps, with a check of the download between them. */
interface Steps {
  toolchain: (allowed: readonly string[]) => string[];
  /** Downloads the package, runs none of its code, and records the download. */
  download: (source: PackageSource, allowed: readonly string[]) => string[];
  /** From the download to `/app/server`. Install scripts run here. */
  finish: (source: PackageSource) => string[];
  /** Records the newest version, and downloads nothing. Undefined if only a download can find it. */
  lookUp?: (source: PackageSource) => string[];
}

const steps: Record<PackageScheme, Steps> = {
  npx: {
    toolchain: (allowed) => [...withNpm(allowed, FACTS_PATH), 'WORKDIR /app'],
    download: (source, allowed) => [
      run(
        'npm',
        'install',
        '--save-exact',
        '--ignore-scripts',
        ...npmSourceOptions(allowed),
        npmSpec(source),
      ),
      run('node', '-e', refuseOtherSources('/app'), ...allowed),
      run('node', '-e', recordNpm, source.name),
    ],
    finish: (source) => [
      run('node', '-e', runNpmScripts),
      run('node', '-e', linkNpmBin, source.name, ...programIn(source)),
    ],
    lookUp: ({ name }) => [run('node', '-e', lookUpNpm, name)],
  },
  uvx: {
    toolchain: (allowed) => withUv(allowed, FACTS_PATH),
    download: (source) => [
      ...releasesOf(source),
      run('python3', '-I', '-c', downloadPython, pythonRequirement(source), ...(source.options?.with ?? [])),
    ],
    finish: (source) => [run('sh', '-ec', linkPythonScript, 'sh', ...pythonProgram(source))],
    lookUp: (source) => [
      ...releasesOf(source),
      run('python3', '-I', '-c', lookUpPython, pythonRequirement(source), ...(source.options?.with ?? [])),
    ],
  },
  go: {
    toolchain: (allowed) => withGo(allowed, FACTS_PATH),
    download: ({ name, version = 'latest' }) => [
      run('go', 'install', `${name}@${version}`), // compiling runs no code of a module
      run('sh', '-ec', recordGo),
    ],
    finish: () => [run('sh', '-ec', linkGoBinary)],
  },
};

interface DockerfileOptions {
  isTrusting: boolean;
  allowed: readonly string[];
}

/** The Dockerfile that downloads a package from its registry, and runs none of its code. */
export function downloadDockerfileOf(
  source: PackageSource,
  base: BaseImages,
  options: DockerfileOptions,
): string {
  const { download } = steps[source.scheme];
  return [...toolchainOf(source, base, options), ...download(source, options.allowed), ''].join('\n');
}

/** The Dockerfile that turns the image of a checked download into the server's image. */
export function finishDockerfileOf(source: PackageSource, base: BaseImages, downloaded: string): string {
  requireValid(source, base);
  const { finish } = steps[source.scheme];
  return [`FROM ${downloaded} AS build`, ...finish(source), ...serverStage(source, base)].join('\n');
}

/** The Dockerfile that looks up the newest version of a package. Undefined if only a download can find it. */
export function lookUpDockerfileOf(
  source: PackageSource,
  base: BaseImages,
  { at, ...options }: DockerfileOptions & { at: number },
): string | undefined {
  const { lookUp } = steps[source.scheme];
  if (lookUp === undefined) return undefined;
  // Builders repeat only the steps after a line that has changed.
  return [...toolchainOf(source, base, options), `ENV LOOKED_UP=${at}`, ...lookUp(source), ''].join('\n');
}

function toolchainOf(
  source: PackageSource,
  base: BaseImages,
  { isTrusting, allowed }: DockerfileOptions,
): string[] {
  requireValid(source, base);
  return [
    `FROM ${base.build} AS build`,
    ...(isTrusting ? trustSteps : []),
    ...steps[source.scheme].toolchain(allowed),
  ];
}

/** The name of the file with the facts about npm and Python packages. */
export const FACTS_FILE = 'facts.json';

const askNpm = [
  `const { execFileSync } = require('child_process');`,
  `const { readFileSync, writeFileSync } = require('fs');`,
  `const [, name] = process.argv;`,
  `const npm = (...args) => execFileSync('npm', args, { encoding: 'utf8', maxBuffer: 2 ** 28 });`,
  `const tell = (facts) => writeFileSync('${FACTS_PATH}/${FACTS_FILE}', JSON.stringify(facts));`,
].join(' ');

/** Publication times are missing in some registries. */
const recordNpm = [
  askNpm,
  `const lock = JSON.parse(readFileSync('/app/node_modules/.package-lock.json'));`,
  `const { version } = lock.packages['node_modules/' + name];`,
  `let time;`,
  `try { time = JSON.parse(npm('view', name, 'time', '--json'))[version]; } catch {}`,
  `tell({ lock, time, registry: npm('config', 'get', 'registry').trim() });`,
].join(' ');

const lookUpNpm = [
  askNpm,
  `const found = JSON.parse(npm('view', name, 'version', 'time', '--json'));`,
  `const version = found.version ?? found;`,
  `tell({ version, time: found.time?.[version] });`,
].join(' ');

/**
 * Runs the install scripts as npm does during an installation: a dependency that is optional may fail. Packages that
 * have no scripts are not touched.
 */
const runNpmScripts = [
  `const { spawnSync } = require('child_process');`,
  `const { packages } = JSON.parse(require('fs').readFileSync('/app/node_modules/.package-lock.json'));`,
  `const scripted = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript);`,
  `const names = (isOptional) => [...new Set(scripted.filter(([, { optional = false }]) => optional === isOptional)`,
  `.map(([path]) => path.replace(/^.*node_modules[/]/, '')))];`,
  `const rebuild = (...names) => spawnSync('npm', ['rebuild', '--ignore-scripts=false', '--foreground-scripts', ...names], { stdio: 'inherit' }).status;`,
  `for (const name of names(true)) if (rebuild(name) !== 0) console.log('the optional package ' + name + ' was not built');`,
  `const needed = names(false);`,
  `if (needed.length > 0 && rebuild(...needed) !== 0) process.exit(1);`,
].join(' ');

const askUv = `
import json, os, pathlib, re, subprocess, sys
spec, *others = sys.argv[1:]
facts = pathlib.Path('${FACTS_PATH}')
lock = facts / 'pylock.toml'
requirements = facts / 'requirements.in'
requirements.write_text('\\n'.join([spec, *others]) + '\\n')
env = {**{name: value for name, value in os.environ.items() if name != 'UV_NO_CACHE'}, 'UV_CACHE_DIR': '/tmp/uv-cache'}
def uv(*args):
    done = subprocess.run(['uv', *map(str, args), '--python', sys.executable], stderr=subprocess.PIPE, text=True, env=env)
    sys.stderr.write(done.stderr)
    return done
def tell(value):
    (facts / '${FACTS_FILE}').write_text(json.dumps(value))
locked = uv('pip', 'compile', requirements, '--format', 'pylock.toml', '--output-file', lock, '--no-build', '--no-annotate', '--no-header', '--quiet')
needs_build = locked.returncode != 0 and re.search('no usable wheels|building (from )?source distributions? is disabled|no-build', locked.stderr, re.I)
`;

/**
 * Installs the wheels of a lock, and compares them with its hashes, which `uv tool install` does not do. A package
 * without wheels or without hashes is installed without a lock. If a dependency has the program of the package, uv
 * installs the dependency as a tool, with the package in its environment.
 */
const downloadPython = `${askUv}
def pins():
    for package in lock.read_text().split('[[packages]]\\n')[1:]:
        field = lambda name: re.search('^' + name + ' = "([^"]+)"$', package, re.M)[1]
        hashes = re.findall('sha256 = "([0-9a-f]{64})"', package)
        if not hashes or 'wheels = [' not in package:
            raise LookupError(field('name'))
        yield ' '.join([field('name') + '==' + field('version'), *('--hash=sha256:' + one for one in hashes)])
def install(*options):
    def tool(name, beside):
        return uv('tool', 'install', *options, *(word for other in beside for word in ('--with', other)), name)
    done = tool(spec, others)
    found = re.search('executable with the name \`[^\`\\\\s]+\` is available via dependency \`([A-Za-z0-9][\\\\w.-]*)\`', done.stderr)
    return tool(found[1], [spec, *others]) if done.returncode != 0 and found else done
def install_locked():
    pinned = facts / 'requirements.txt'
    pinned.write_text('\\n'.join(pins()) + '\\n')
    done = uv('pip', 'install', '--require-hashes', '--no-deps', '--no-build', '-r', pinned, '--target', '/tmp/checked')
    return done if done.returncode != 0 else install('--offline', '--no-build')
if locked.returncode != 0 and not needs_build:
    sys.exit(1)
try:
    done = install() if needs_build else install_locked()
    if not needs_build:
        tags = {path.parent.name: re.findall('^Tag: *(\\\\S+)', path.read_text(), re.M) for path in pathlib.Path('/tmp/checked').glob('*.dist-info/WHEEL')}
        tell({'lock': lock.read_text(), 'tags': tags, 'registry': os.environ.get('UV_DEFAULT_INDEX', 'https://pypi.org/simple')})
except LookupError:
    done = install()
sys.exit(done.returncode)
`;

const lookUpPython = `${askUv}
if needs_build:
    locked = uv('pip', 'compile', requirements, '--format', 'pylock.toml', '--output-file', lock, '--no-annotate', '--no-header', '--quiet')
if locked.returncode == 0:
    tell({'lock': lock.read_text()})
sys.exit(locked.returncode)
`;

/** The modules in the program, and the facts of the module proxy about the main module. */
const recordGo = [
  `go version -m /app/bin/* > ${FACTS_PATH}/modules;`,
  `module=$(sed -n 's/^\\tmod\\t\\([^\\t]*\\)\\t\\([^\\t]*\\).*/\\1@\\2/p' ${FACTS_PATH}/modules);`,
  `go list -m -json "$module" > ${FACTS_PATH}/module.json || true`,
].join(' ');
