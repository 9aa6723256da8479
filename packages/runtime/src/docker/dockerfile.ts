import { basename } from 'node:path';
import { invalid, unsupported } from '@toolhive/contract/failure';
import { npmSourceOptions } from '../npm-source-options.ts';
import { fileKindOf } from '../local-package.ts';
import {
  formatSource,
  isLocalPath,
  isRepository,
  parseSource,
  pythonRequirement,
  type PackageScheme,
  type PackageSource,
} from '../source.ts';

/** The image for installing a package, and the image for running it. */
export interface BaseImages {
  build: string;
  run: string;
}

/** The name of the Dockerfile in every build context, chosen so that no project file has the same name. */
export const DOCKERFILE = '.toolhive.Dockerfile';
/** The name of the file with certificate authorities in every build context. */
export const CERTIFICATES = '.toolhive.ca.crt';
/** The directory of the server in every image. */
const SERVER_PATH = '/app/server';
/** The home and working directory of every package. */
export const PACKAGE_HOME = '/home/server';
/** The file in which every Dockerfile records the installed version. */
export const VERSION_PATH = '/app/version';

/** Where recipes put the files of a local package. */
const LOCAL_PATH = '/app/package';
const SCRIPT_ENVIRONMENT = '/opt/uv-tools/script';
/** The programs of a Python package and its dependencies. The package decides the name of the environment that contains them. */
const PROGRAMS = '/app/programs';
const linkPrograms = `for folder in /opt/uv-tools/*/bin; do ln -sfn "$folder" ${PROGRAMS}; done`;

/** An image without `PATH` uses the default of the engine, which a variable would replace. */
const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

function withPrograms(...folders: string[]): string {
  return `ENV PATH=${folders.join(':')}:\${PATH:-${defaultPath}}`;
}

const copyLocal = [`WORKDIR ${LOCAL_PATH}`, 'COPY --chown=65534:65534 . .'];

/** How a package of one ecosystem becomes an image. */
interface Recipe {
  base: BaseImages;
  /** From an image with the tool chain to `/app/server`. */
  build: (source: PackageSource, allowed: readonly string[]) => string[];
  /** What the server's own image needs besides `/app`. `PATH` has the programs of dependencies, as with npx and uvx. */
  run: string[];
}

const recipes: Record<PackageScheme, Recipe> = {
  npx: {
    base: { build: 'node:22-alpine', run: 'node:22-alpine' },
    build: (source, allowed) => [
      ...withNpm(allowed),
      'WORKDIR /app',
      run('npm', 'install', '--save-exact', ...npmSourceOptions(allowed), npmSpec(source)),
      run('node', '-e', refuseOtherSources('/app'), ...allowed),
      run('node', '-e', linkNpmBin, source.name, ...programIn(source)),
    ],
    run: [
      'ENV NODE_ENV=production',
      withPrograms('/app/node_modules/.bin', `${LOCAL_PATH}/node_modules/.bin`),
    ],
  },
  uvx: {
    base: { build: 'python:3.13-slim', run: 'python:3.13-slim' },
    build: (source, allowed) => [
      ...withUv(allowed),
      ...releasesOf(source),
      ...installTool(source, pythonRequirement(source), source.name),
    ],
    run: [
      'COPY --from=build /opt/uv-tools /opt/uv-tools',
      'ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1',
      run('sh', '-ec', linkPrograms),
      withPrograms(PROGRAMS),
    ],
  },
  go: {
    base: { build: 'golang:1.25-alpine', run: 'alpine:3.22' },
    build: (source, allowed) => [
      ...withGo(allowed),
      run('go', 'install', `${source.name}@${source.version ?? 'latest'}`),
      run('sh', '-ec', linkGoBinary),
    ],
    run: ['COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt'],
  },
};

export const withNpm = (allowed: readonly string[], ...directories: string[]): string[] => [
  run('apk', 'add', '--no-cache', 'ca-certificates', ...gitFor(allowed)),
  'ENV NODE_ENV=production NPM_CONFIG_LOGLEVEL=error NPM_CONFIG_FUND=false NPM_CONFIG_AUDIT=false',
  'ENV NPM_CONFIG_UPDATE_NOTIFIER=false NPM_CONFIG_PROGRESS=false',
  ...unprivileged('/app', ...directories),
];

export const withUv = (allowed: readonly string[], ...directories: string[]): string[] => [
  run('apt-get', 'update'),
  run(...'apt-get install --yes --no-install-recommends ca-certificates'.split(' '), ...gitFor(allowed)),
  run('pip', 'install', '--no-cache-dir', '--disable-pip-version-check', 'uv'),
  'ENV UV_TOOL_DIR=/opt/uv-tools UV_TOOL_BIN_DIR=/app/bin UV_PYTHON_DOWNLOADS=never UV_NO_CACHE=1',
  ...unprivileged('/app', '/opt/uv-tools', ...directories),
];

/** Which releases uv accepts. `withOptions` has checked the date, and the contract the mode. */
export const releasesOf = ({ options }: PackageSource): string[] => [
  ...(options?.excludeNewer === undefined ? [] : [`ENV UV_EXCLUDE_NEWER=${options.excludeNewer}`]),
  ...(options?.prerelease === undefined ? [] : [`ENV UV_PRERELEASE=${options.prerelease}`]),
];

export const withGo = (allowed: readonly string[], ...directories: string[]): string[] => [
  run('apk', 'add', '--no-cache', 'ca-certificates', ...gitFor(allowed)),
  'ENV CGO_ENABLED=0 GO111MODULE=on GOBIN=/app/bin GOPATH=/tmp/go',
  `ENV GOVCS=${[...allowed.map((source) => `${source}:git`), '*:off'].join(',')}`,
  ...unprivileged('/app', ...directories),
];

/** Without a name, the program is the one named like the tool that uv installed. */
const installTool = ({ options, program }: PackageSource, spec: string, name?: string): string[] => [
  run('uv', 'tool', 'install', ...(options?.with ?? []).flatMap((other) => ['--with', other]), spec),
  run(
    'sh',
    '-ec',
    name === undefined ? linkToolScript : linkPythonScript,
    'sh',
    ...(name === undefined ? [] : pythonProgram({ name, program })),
  ),
];

/** The arguments of `linkPythonScript`. */
export const pythonProgram = ({ name, program }: Pick<PackageSource, 'name' | 'program'>): string[] =>
  program === undefined ? [name, ''] : [program, 'exact'];

/** How the files of a local package, which are in the build context, become an image. */
const buildLocal: Record<PackageScheme, Recipe['build']> = {
  npx: (source, allowed) => {
    const file = basename(source.name);
    const kind = fileKindOf(source);
    const refuse = run(
      'node',
      '-e',
      refuseOtherSources(kind === 'archive' ? '/app' : LOCAL_PATH),
      ...allowed,
    );
    const steps = {
      script: [run('node', '-e', startScript, `${LOCAL_PATH}/${file}`)],
      archive: [
        'WORKDIR /app',
        run('npm', 'install', ...npmSourceOptions(allowed), '--allow-file=root', `${LOCAL_PATH}/${file}`),
        refuse,
        run('node', '-e', linkArchiveBin),
      ],
      directory: [
        run('npm', 'install', ...npmSourceOptions(allowed)),
        refuse,
        run('node', '-e', startScript, LOCAL_PATH),
      ],
    };
    return [...withNpm(allowed, LOCAL_PATH), ...copyLocal, ...steps[kind ?? 'directory']];
  },
  uvx: (source, allowed) => {
    const path = `${LOCAL_PATH}/${basename(source.name)}`;
    const steps = {
      script: [
        run('uv', 'venv', SCRIPT_ENVIRONMENT),
        run('sh', '-ec', startPythonScript, 'sh', path, ...(source.options?.with ?? [])),
      ],
      archive: installTool(source, path, source.program),
      directory: installTool(source, LOCAL_PATH, source.program),
    };
    return [
      ...withUv(allowed, LOCAL_PATH),
      ...releasesOf(source),
      ...copyLocal,
      ...steps[fileKindOf(source) ?? 'directory'],
    ];
  },
  go: (_source, allowed) => [
    ...withGo(allowed),
    'WORKDIR /src',
    'COPY . .',
    run('go', 'build', '-buildvcs=false', '-o', '/app/bin/', '.'),
    run('sh', '-ec', linkGoBinary),
  ],
};

/** The base images of a package's Dockerfile, or their replacements. */
export function baseImagesOf(
  { scheme, options }: PackageSource,
  replaced: Partial<Record<PackageScheme, BaseImages>>,
): BaseImages {
  if (replaced[scheme] !== undefined || options?.python === undefined)
    return replaced[scheme] ?? recipes[scheme].base;
  const image = `python:${options.python}-slim`;
  return { build: image, run: image };
}

/** The image in which programs of ours run that need Node.js, or its replacement. */
export const nodeImageOf = (replaced: Partial<Record<PackageScheme, BaseImages>>): string =>
  (replaced.npx ?? recipes.npx.base).run;

/**
 * Writes the Dockerfile that builds a package's image. External input appears only in exec form arrays and, as an
 * image reference, after `FROM`, so it cannot reach a shell or add a line.
 */
export function dockerfileOf(
  source: PackageSource,
  base: BaseImages,
  { isTrusting = false, allowed = [] }: { isTrusting?: boolean; allowed?: readonly string[] } = {},
): string {
  requireValid(source, base);
  const recipe = recipes[source.scheme];
  return [
    `FROM ${base.build} AS build`,
    ...(isTrusting ? trustSteps : []),
    ...(isLocalPath(source) ? buildLocal[source.scheme](source, allowed) : recipe.build(source, allowed)),
    ...serverStage(source, base),
  ].join('\n');
}

/** Throws unless nothing in the source or the image references can add a line to a Dockerfile. */
export function requireValid(source: PackageSource, base: BaseImages): void {
  if (isRepository(source)) {
    throw unsupported('packages from Git repositories run only in the sandbox, not with a container engine', {
      hint: 'set TOOLHIVE_RUNTIME=process for the daemon, or clone the repository and run its directory',
    });
  }
  // The source may come from an edited file, so it needs the same checks as user input.
  parseSource(formatSource(source));
  for (const image of [base.build, base.run]) {
    if (parseSource(image).kind !== 'image')
      throw invalid(`${image} is not an image that packages can be built on`);
  }
}

/** The server's own image, which takes over the content of the stage `build`. */
export const serverStage = ({ scheme }: PackageSource, base: BaseImages): string[] => [
  '',
  `FROM ${base.run}`,
  'COPY --from=build /app /app',
  ...recipes[scheme].run,
  // A volume or a tmpfs is mounted at this path. A new volume inherits the owner of the directory below it.
  run('sh', '-ec', `mkdir -p ${PACKAGE_HOME}; chown 65534:65534 ${PACKAGE_HOME}`),
  `ENV HOME=${PACKAGE_HOME}`,
  `WORKDIR ${PACKAGE_HOME}`,
  'USER 65534:65534', // the user "nobody" in every base image
  `ENTRYPOINT ${JSON.stringify([SERVER_PATH])}`,
  '',
];

/** The path of the certificate authorities that every base image trusts, and the path for additional ones. */
const systemBundle = '/etc/ssl/certs/ca-certificates.crt';
const ownCertificates = '/usr/local/share/ca-certificates/toolhive.crt';

/** Before anything is fetched. What the system's own tool makes of its list later has them, too. */
export const trustSteps = [
  `COPY ${CERTIFICATES} ${ownCertificates}`,
  run('sh', '-ec', `mkdir -p /etc/ssl/certs; cat ${ownCertificates} >> ${systemBundle}`),
  `ENV NODE_EXTRA_CA_CERTS=${systemBundle} SSL_CERT_FILE=${systemBundle} GIT_SSL_CAINFO=${systemBundle}`,
  `ENV PIP_CERT=${systemBundle} REQUESTS_CA_BUNDLE=${systemBundle}`,
];

export function run(...command: string[]): string {
  return `RUN ${JSON.stringify(command)}`;
}

/** Packages from a package registry need no git, so packages cannot start it. */
const gitFor = (allowed: readonly string[]) => (allowed.length === 0 ? [] : ['git']);

/** From here on, everything runs as "nobody", who may write to these directories and to /tmp. */
function unprivileged(...directories: string[]): string[] {
  const list = directories.join(' ');
  return [
    run('sh', '-ec', `mkdir -p ${list}; chown 65534:65534 ${list}`),
    'USER 65534:65534',
    'ENV HOME=/tmp',
  ];
}

/**
 * Fails the build if a dependency comes neither from a package registry nor from a source in the arguments. A local
 * package's manifest may list such dependencies.
 */
export const refuseOtherSources = (place: string) =>
  [
    ...(place === LOCAL_PATH
      ? [
          `const { existsSync, readFileSync } = require('fs');`,
          `const read = (path) => JSON.parse(readFileSync('${place}/' + path));`,
          `const lock = 'node_modules/.package-lock.json';`,
          `const packages = { own: read('package.json'), ...(existsSync(lock) ? read(lock).packages : {}) };`,
        ]
      : [
          `const { packages } = JSON.parse(require('fs').readFileSync('${place}/node_modules/.package-lock.json'));`,
        ]),
    `const elsewhere = /^(git|https?|file|github|gitlab|bitbucket|gist|ssh)[:+]|^[^@\\s:]+\\/|^[.~\\/]/;`,
    `const source = (spec) => spec.replace(/^github:|^(?=[^:@\\s]+\\/[^:@\\s]+$)/, 'github.com/').replace(/^(git\\+)?[a-z]+:\\/\\/([^@\\/]*@)?/, '').replace(/(\\.git)?(#.*)?$/, '');`,
    `for (const { dependencies, optionalDependencies } of Object.values(packages))`,
    `for (const [name, spec] of Object.entries({ ...dependencies, ...optionalDependencies }))`,
    `if (elsewhere.test(spec) && !process.argv.slice(1).some((one) => (source(spec) + '/').startsWith(one + '/')))`,
    `throw new Error(name + ' comes from ' + spec + ' and not from a package registry. If you trust the source, run thv config set-package-sources ' + source(spec));`,
  ].join(' ');

export function npmSpec({ name, version }: PackageSource): string {
  return version === undefined ? name : `${name}@${version}`;
}

/** The program that a source names, as an argument of a script. */
export const programIn = ({ program }: PackageSource): string[] => (program === undefined ? [] : [program]);

/** The rule of npx: the command that the source names, a package's only one, or else the one named like the package. */
export const linkNpmBin = [
  `const { readFileSync, symlinkSync, writeFileSync } = require('fs');`,
  `const name = process.argv[1];`,
  `const { bin = {}, version } = JSON.parse(readFileSync('/app/node_modules/' + name + '/package.json'));`,
  `const own = name.split('/').pop();`,
  `const commands = typeof bin === 'string' ? [own] : Object.keys(bin);`,
  `const asked = process.argv[2];`,
  `const command = !asked && commands.length === 1 ? commands[0] : commands.find((known) => known === (asked ?? own));`,
  `if (!command) throw new Error(name + ' has no command ' + (asked ?? 'to run') + ': ' + commands.join(', '));`,
  `symlinkSync('/app/node_modules/.bin/' + command, '${SERVER_PATH}');`,
  `writeFileSync('${VERSION_PATH}', version);`,
].join(' ');

/** The same for an archive, whose name only npm knows. */
const linkArchiveBin = [
  `const { dependencies } = JSON.parse(require('fs').readFileSync('/app/package.json'));`,
  `process.argv[1] = Object.keys(dependencies)[0];`,
  `{ ${linkNpmBin} }`,
].join(' ');

/** Starts a script, or the program that a directory's package.json names. */
const startScript = [
  `const { accessSync, readFileSync, statSync, writeFileSync } = require('fs');`,
  `const [, path] = process.argv;`,
  `const programOf = () => {`,
  `const { bin, main = 'index.js', name = '' } = JSON.parse(readFileSync(path + '/package.json'));`,
  `const own = name.split('/').pop();`,
  `const commands = typeof bin === 'object' ? bin : { [own]: bin ?? main };`,
  `const names = Object.keys(commands);`,
  `return path + '/' + commands[names.length === 1 ? names[0] : own]; };`,
  `const program = statSync(path).isDirectory() ? programOf() : path;`,
  `accessSync(program);`,
  `const quoted = "'" + program.replaceAll("'", "'\\\\''") + "'";`,
  `writeFileSync('${SERVER_PATH}', '#!/bin/sh\\nexec node ' + quoted + ' "$@"\\n', { mode: 0o755 });`,
].join(' ');

/** Installs the dependencies in a script's metadata (PEP 723) and the other arguments. */
const startPythonScript = [
  `script=$1; shift;`,
  `if grep -q '^# /// script' "$script"; then set -- -r "$script" "$@"; fi;`,
  `if [ $# -gt 0 ]; then uv pip install --python ${SCRIPT_ENVIRONMENT} "$@"; fi;`,
  `ln -s "$script" /app/script;`,
  `printf '#!/bin/sh\\nexec ${SCRIPT_ENVIRONMENT}/bin/python /app/script "$@"\\n' > ${SERVER_PATH};`,
  `chmod 755 ${SERVER_PATH}`,
].join(' ');

/** The script named like the first argument, or else the package's only one, unless the second argument asks for exactly that name. */
export const linkPythonScript = [
  `cd /app/bin;`,
  `if [ -e "$1" ]; then script=$1; else [ -z "$2" ]; set -- *; [ $# -eq 1 ]; script=$1; fi;`,
  `ln -s "/app/bin/$script" ${SERVER_PATH};`,
  `uv tool list | sed -n '1s/^[^ ]* v//p' > ${VERSION_PATH}`,
].join(' ');

/** The same for a local package, whose name only uv knows. */
const linkToolScript = `set -- "$(uv tool list | sed -n '1s/ v.*//p')" ''; ${linkPythonScript}`;

export const linkGoBinary = [
  `mv /app/bin/* ${SERVER_PATH};`,
  `go version -m ${SERVER_PATH} | sed -n 's/^\\tmod\\t[^\\t]*\\t\\([^\\t]*\\).*/\\1/p' > ${VERSION_PATH}`,
].join(' ');
