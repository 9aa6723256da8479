import { invalid } from '@toolhive/contract/failure';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { readDockerEnv } from './env-file.ts';
import { readOtherFlags } from './other-flags.ts';
import type { KnownFlags, OtherFlags } from './other-flags.ts';
import type { Pasted, PastedFrom } from './pasted.ts';
import { absolutePath, withPlaces, refuseWindowsPath } from './paths.ts';
import { hasPlaceholder } from './placeholders.ts';

interface Part {
  settings?: CreateWorkload;
  env?: Record<string, string>;
  volume?: string;
  resources?: NonNullable<CreateWorkload['resources']>;
  label?: readonly [string, string];
  note?: string;
  /** A published port, with the text of its flag. */
  published?: { text: string; host: number | undefined; container: number };
}

/** Converts one flag of `docker run` to a part of the request. Throws for flags that ToolHive does not support. */
type Translate = (value: string, from: PastedFrom) => Part | Promise<Part>;

const ignored: Translate = () => ({});
/** Ignores a flag that changes the server's environment, and says so. */
const ignoredBecause =
  (reason: string): Translate =>
  () => ({ note: reason });

const words = (text: string): string[] => text.trim().split(/\s+/);

/** The arguments of `docker run` that ToolHive understands. All others are refused by name. */
const translations: Record<string, { kind: 'switch' | 'value'; names: readonly string[]; read: Translate }> =
  {
    // ToolHive attaches to the container, removes it, and restarts it.
    session: {
      kind: 'switch',
      names:
        words(`--rm -i --interactive -t --tty -d --detach --init -q --quiet --read-only --sig-proxy --replace
        --no-healthcheck --disable-content-trust --tls-verify --rmi --oom-kill-disable --http-proxy`),
      read: ignored,
    },
    // ToolHive pulls missing images, writes its own logs, sets its own limits, and always drops these privileges.
    defaults: {
      kind: 'value',
      names: words(`--pull --restart --log-driver --log-opt -h --hostname --cap-drop -a --attach --domainname
        --stop-signal --stop-timeout --detach-keys --cidfile --isolation --expose --annotation --label-file --systemd
        --health-cmd --health-interval --health-retries --health-timeout --health-start-period --health-start-interval
        --memory-swap --memory-swappiness --memory-reservation --kernel-memory --oom-score-adj --pids-limit --ulimit
        -c --cpu-shares --cpu-period --cpu-quota --cpuset-cpus --cpuset-mems --blkio-weight --storage-opt
        --cpu-rt-period --cpu-rt-runtime --blkio-weight-device --device-read-bps --device-read-iops --device-write-bps
        --device-write-iops --network-alias --net-alias --mac-address --ip --ip6 --link-local-ip --sysctl
        --volume-driver`),
      read: ignored,
    },
    // Flags of the whole program, before its command.
    client: { kind: 'value', names: words('--log-level --config'), read: ignored },
    clientSwitch: { kind: 'switch', names: words('--debug --remote'), read: ignored },
    engine: {
      kind: 'value',
      names: words('--context --host --connection --url'),
      read: ignoredBecause('ToolHive uses its own container engine, and not the one that the command names'),
    },
    entrypoint: {
      kind: 'value',
      names: ['--entrypoint'],
      read: (program) => {
        throw invalid("Docker's --entrypoint replaces the program of the image, which ToolHive does not do", {
          hint: `omit --entrypoint ${program}, or use an image with this program`,
        });
      },
    },
    platform: {
      kind: 'value',
      names: ['--platform'],
      read: (platform) => ({
        note: `--platform ${platform}: the container engine chooses the platform of the image`,
      }),
    },
    part: {
      kind: 'value',
      names: ['--arch', '--os', '--variant'],
      read: ignoredBecause(
        '--arch, --os, and --variant: the container engine chooses the platform of the image',
      ),
    },
    ports: {
      kind: 'switch',
      names: ['-P', '--publish-all'],
      read: ignoredBecause('--publish-all has no effect: only the proxy of ToolHive reaches the server'),
    },
    user: { kind: 'value', names: ['-u', '--user'], read: readUser },
    directory: {
      kind: 'value',
      names: ['-w', '--workdir'],
      read: ignoredBecause('--workdir has no effect: the server starts in the directory of its image'),
    },
    tmpfs: {
      kind: 'value',
      names: ['--tmpfs', '--shm-size'],
      read: ignoredBecause('--tmpfs and --shm-size have no effect: the server has a private /tmp'),
    },
    dns: {
      kind: 'value',
      names: words('--dns --dns-search --dns-option --dns-opt'),
      read: ignoredBecause('the DNS flags have no effect: ToolHive resolves the names of hosts'),
    },
    memory: {
      kind: 'value',
      names: ['-m', '--memory'],
      read: (memory) => ({ resources: { memory } }),
    },
    cpus: { kind: 'value', names: ['--cpus'], read: readCpus },
    env: { kind: 'value', names: ['-e', '--env'], read: readVariable },
    envFile: {
      kind: 'value',
      names: ['--env-file'],
      read: async (file, from) => ({ env: readDockerEnv(await from.readFile(absolutePath(file, from))) }),
    },
    volume: {
      kind: 'value',
      names: ['-v', '--volume'],
      read: (value, from) => {
        // A placeholder can contain a colon: ${env:DATA}.
        const parts = value.match(/(?:\$\{[^}]*\}|\$\([^)]*\)|\$env:|^[A-Za-z]:(?=[\\/])|[^:])+/g) ?? [];
        const [source = '', target, mode = ''] = parts;
        return mountOf(source, target, /(^|,)ro(,|$)/.test(mode), from);
      },
    },
    mount: { kind: 'value', names: ['--mount'], read: readMount },
    publish: { kind: 'value', names: ['-p', '--publish'], read: readPublished },
    name: { kind: 'value', names: ['--name'], read: (name) => ({ settings: { name } }) },
    label: {
      kind: 'value',
      names: ['-l', '--label'],
      read: (label) => ({ label: [label.split('=', 1)[0] ?? '', label.slice(label.indexOf('=') + 1)] }),
    },
    network: { kind: 'value', names: ['--network', '--net'], read: readNetwork },
    privileged: {
      kind: 'switch',
      names: ['--privileged'],
      read: () => {
        throw invalid("ToolHive does not accept Docker's --privileged, because it removes the isolation", {
          hint: 'remove it. If the server needs it and you trust the server, use --permission-profile FILE with "privileged": true',
        });
      },
    },
  };

/** Flags that give a container more access to the machine than ToolHive grants, except with these values. */
const dangerous: Readonly<Record<string, RegExp | undefined>> = {
  ...Object.fromEntries(
    words(`--cap-add --device --device-cgroup-rule --gpus --group-add --cgroup-parent --volumes-from --link --add-host
      --runtime`).map((flag) => [flag, undefined]),
  ),
  '--security-opt': /^(?:no-new-privileges(?:[:=]true)?|apparmor[:=]docker-default|seccomp[:=]builtin)$/,
  '--ipc': /^(?:private|none)$/,
  '--pid': /^private$/,
  '--uts': /^private$/,
  '--cgroupns': /^private$/,
  '--userns': /^(?:keep-id|auto|nomap)$/,
};

const readers = new Map(
  Object.values(translations).flatMap(({ names, read }) => names.map((name) => [name, read])),
);
const known: KnownFlags = Object.fromEntries([
  ...Object.values(translations).flatMap(({ names, kind }) => names.map((name) => [name, kind] as const)),
  ...Object.keys(dangerous).map((name) => [name, 'value'] as const),
]);

/** The programs that understand the flags of `docker run`. */
export const containerPrograms = ['docker', 'podman', 'nerdctl', 'finch', 'container'] as const;

/** Whether a word is one of them, maybe with its path. */
export function isContainerProgram(word: string): boolean {
  const [, name = ''] = /(?:^|[\\/])([a-z]+)(?:\.exe)?$/.exec(word) ?? [];
  return containerPrograms.some((program) => program === name);
}

/** The short forms of the program's own flags, which mean something else behind its command. */
const clientFlags: Readonly<Record<string, string>> = {
  '-H': '--host',
  '-c': '--context',
  '-l': '--log-level',
  '-D': '--debug',
  '-r': '--remote',
};
const longClientFlag = /^--(?:context|host|connection|url|log-level|config|debug|remote)(?:=|$)/;

/** `docker --context NAME run` is `docker run --context NAME`. */
export function withClientFlagsBehind(all: readonly string[]): readonly string[] {
  const [program = '', ...rest] = all;
  if (!isContainerProgram(program)) return all;
  let at = 0;
  const flags: string[] = [];
  for (let word = rest[at]; word !== undefined; word = rest[at]) {
    const long = clientFlags[word] ?? word;
    if (!longClientFlag.test(long)) break;
    const hasValue = known[long] === 'value' && !long.includes('=');
    flags.push(long, ...(hasValue ? rest.slice(at + 1, at + 2) : []));
    at += hasValue ? 2 : 1;
  }
  const verbs = rest[at] === 'container' ? 2 : 1;
  return flags.length === 0
    ? all
    : [program, ...rest.slice(at, at + verbs), ...flags, ...rest.slice(at + verbs)];
}

/** Parses the arguments of `docker run`. Refuses flags that weaken the isolation, and names ToolHive's equivalent. */
export async function readDockerRun(all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const { given, words } = readOtherFlags('docker run', all, known);
  const [image, ...args] = words;
  if (image === undefined) throw invalid('the image for docker run is missing');
  const parts: Part[] = [];
  for (const [flag, value] of given) {
    const read = readers.get(flag);
    if (read === undefined && dangerous[flag]?.test(value) === true) continue;
    if (read === undefined) {
      throw invalid(
        `Docker's ${flag} gives the server more access to this machine, so ToolHive does not accept it`,
        {
          hint: `omit ${flag} ${value}`,
        },
      );
    }
    parts.push(await read(value, from));
  }
  const resources = Object.assign({}, ...parts.map((part) => part.resources)) as object;
  const env_vars = Object.assign({}, ...parts.map((part) => part.env)) as Record<string, string>;
  const speaksHttp = [...args, ...Object.values(env_vars)].some((word) => httpTransport.test(word));
  parts.push(...readPorts(parts, given, speaksHttp));
  return {
    request: {
      ...(Object.assign({}, ...parts.map((part) => part.settings)) as CreateWorkload),
      ...(Object.keys(resources).length === 0 ? {} : { resources }),
      image,
      cmd_arguments: args,
      env_vars,
      volumes: parts.flatMap((part) => part.volume ?? []),
      labels: Object.fromEntries(parts.flatMap((part) => (part.label ? [part.label] : []))),
    },
    notes: [...new Set(parts.flatMap((part) => part.note ?? []))],
  };
}

/** A server that asks for root is refused, because its author expects more access than ToolHive grants. */
function readUser(user: string): Part {
  if (!/^(?:0|root)(?:$|:)/.test(user)) {
    return { note: '--user has no effect: the server runs as the user that its image names' };
  }
  throw invalid(`Docker's --user ${user} runs the server as root, so ToolHive does not accept it`, {
    hint: `omit --user ${user}`,
  });
}

function readCpus(text: string): Part {
  const cpus = Number(text);
  if (text.trim() !== '' && Number.isFinite(cpus) && cpus >= 0)
    return cpus === 0 ? {} : { resources: { cpus } };
  throw invalid(`${JSON.stringify(text)} is not a number of CPUs`, { hint: 'use a number such as 1.5' });
}

/** `NAME=value`, or `NAME` for the value that the variable has where docker runs. */
function readVariable(text: string, { env }: PastedFrom): Part {
  const equals = text.indexOf('=');
  if (equals !== -1) return { env: { [text.slice(0, equals)]: text.slice(equals + 1) } };
  const value = env[text];
  return value === undefined ? {} : { env: { [text]: value } };
}

function readMount(text: string, from: PastedFrom): Part {
  const fields = new Map(
    text.split(',').map((field) => {
      const [key = '', ...value] = field.split('=');
      return [key.trim(), value.join('=')] as const;
    }),
  );
  const first = (...keys: string[]) =>
    keys.map((key) => fields.get(key)).find((value) => value !== undefined);
  const type = fields.get('type') ?? 'volume';
  if (type === 'tmpfs') return {}; // every server has a private /tmp
  if (type !== 'bind') throw namedVolume(text);
  const readOnly = first('readonly', 'ro');
  const isReadOnly = readOnly !== undefined && readOnly !== 'false';
  return mountOf(first('source', 'src') ?? '', first('target', 'destination', 'dst'), isReadOnly, from);
}

function mountOf(source: string, target: string | undefined, isReadOnly: boolean, from: PastedFrom): Part {
  refuseWindowsPath(source);
  if (target === undefined || !/^(?:[./~`$%]|[A-Za-z]:)/.test(source)) throw namedVolume(source);
  const written = withPlaces(source, from);
  // The user has yet to say which directory that is.
  const path = hasPlaceholder(written) ? written : absolutePath(written, from);
  const volume = `${path}:${target}${isReadOnly ? ':ro' : ''}`;
  if (/\/(docker|podman|containerd|crio)[\w.-]*\.sock$/.test(path)) {
    throw invalid(
      `mounting ${path} gives the server control over this machine, so ToolHive does not accept it`,
      {
        hint: `remove it. If you trust the server, add --volume ${volume} after thv run`,
      },
    );
  }
  return { volume };
}

function namedVolume(text: string): Error {
  return invalid(`the docker volume ${JSON.stringify(text)} is not a directory on this machine`, {
    hint: 'create a directory, and mount it with -v /DIRECTORY:/PATH',
  });
}

/** `[ADDRESS:][HOST:]CONTAINER[/tcp]`: a server with a port speaks HTTP. */
function readPublished(text: string): Part {
  const [, host, container] = /^(?:(?:.*:)?(\d+):)?(\d+)(?:\/tcp)?$/.exec(text) ?? [];
  if (container === undefined) {
    throw invalid(`the published port ${JSON.stringify(text)} is not supported`, {
      hint: 'use the form -p HOST:CONTAINER with two port numbers',
    });
  }
  const published = {
    text,
    host: host === undefined ? undefined : Number(host),
    container: Number(container),
  };
  return { published };
}

/** `--http`, `--transport=sse`, `streamable_http`: the transport in an argument or variable. */
const httpTransport = /^(?:--?)?(?:[\w-]+=)?(?:streamable[-_]?http|http|sse)$/i;

/**
 * The first published port is that of the server, except in a container with its standard input and without a terminal,
 * which only a client that speaks there needs. Its arguments and variables can say otherwise.
 */
function readPorts(parts: readonly Part[], given: OtherFlags['given'], speaksHttp: boolean): Part[] {
  const [first, ...others] = parts.flatMap(({ published }) => published ?? []);
  if (first === undefined) return [];
  const has = (...names: string[]): boolean => given.some(([flag]) => names.includes(flag));
  const speaksStdio = has('-i', '--interactive') && !has('-t', '--tty', '-d', '--detach');
  if (speaksStdio && !speaksHttp) {
    const text = [first, ...others].map((port) => `-p ${port.text}`).join(' ');
    const note = `${text} has no effect: with -i, the server speaks stdio. If it speaks HTTP, add --transport streamable-http and --target-port ${first.container} after thv run. If a browser must reach it, for example to sign in, add --publish ${first.host ?? first.container}:${first.container}`;
    return [{ note }];
  }
  const { text, host, container } = first;
  const note = `-p ${text}: ToolHive expects streamable HTTP on port ${container}. If the server uses another transport, add --transport after thv run`;
  const left = others.map((port) => ({
    note: `-p ${port.text} has no effect: a workload has one port. If a browser must reach another one, add --publish ${port.host ?? port.container}:${port.container} after thv run`,
  }));
  const settings = {
    transport: 'streamable-http' as const,
    target_port: container,
    ...(host === undefined ? {} : { proxy_port: host }),
  };
  return [{ settings, note }, ...left];
}

function readNetwork(mode: string): Part {
  if (mode === 'none') return { settings: { network_mode: 'none' } };
  // Podman's own names for the network that each container has.
  if (/^(?:bridge|default|private|slirp4netns|pasta)$/.test(mode)) return {};
  throw invalid(
    mode === 'host'
      ? "Docker's --network host gives the server access to all services on this machine, so ToolHive does not accept it"
      : `Docker's --network ${mode} connects the server to other containers, so ToolHive does not accept it`,
    { hint: `remove it. If you trust the server, add --network ${mode} after thv run` },
  );
}
