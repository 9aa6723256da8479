import { resolve } from 'node:path';
import { invalid } from '@toolhive/contract/failure';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { readOtherFlags } from './other-flags.ts';
import type { KnownFlags } from './other-flags.ts';
import type { Pasted, PastedFrom } from './pasted.ts';

interface Part {
  settings?: CreateWorkload;
  env?: Record<string, string>;
  volume?: string;
  label?: readonly [string, string];
  note?: string;
}

/** Converts one flag of `docker run` to a part of the request. Throws for flags that ToolHive does not support. */
type Translate = (value: string, from: PastedFrom) => Part | Promise<Part>;

const ignored: Translate = () => ({});

/** The arguments of `docker run` that ToolHive understands. All others are refused by name. */
const translations: Record<string, { kind: 'switch' | 'value'; names: readonly string[]; read: Translate }> =
  {
    // ToolHive attaches to the container, removes it, and restarts it.
    session: {
      kind: 'switch',
      names: ['--rm', '-i', '--interactive', '-t', '--tty', '-d', '--detach', '--init', '-q', '--quiet'],
      read: ignored,
    },
    // ToolHive pulls missing images, writes its own logs, and always drops these privileges.
    defaults: {
      kind: 'value',
      names: [
        '--pull',
        '--restart',
        '--log-driver',
        '--log-opt',
        '-h',
        '--hostname',
        '--cap-drop',
        '-a',
        '--attach',
      ],
      read: ignored,
    },
    readOnly: { kind: 'switch', names: ['--read-only'], read: ignored },
    env: { kind: 'value', names: ['-e', '--env'], read: readVariable },
    envFile: {
      kind: 'value',
      names: ['--env-file'],
      read: async (file, { directory, readEnvFile }) => ({
        env: await readEnvFile(resolve(directory, file)),
      }),
    },
    volume: {
      kind: 'value',
      names: ['-v', '--volume'],
      read: (value, { directory }) => {
        const [source = '', target, mode = ''] = value.split(':');
        return mountOf(source, target, /(^|,)ro(,|$)/.test(mode), directory);
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

/** Flags that give a container more access to the machine than ToolHive grants. */
const dangerous =
  '--cap-add --security-opt --device --device-cgroup-rule --gpus --group-add --pid --ipc --uts --userns --cgroupns --cgroup-parent --volumes-from --link --add-host --runtime'.split(
    ' ',
  );

const readers = new Map(
  Object.values(translations).flatMap(({ names, read }) => names.map((name) => [name, read])),
);
const known: KnownFlags = Object.fromEntries([
  ...Object.values(translations).flatMap(({ names, kind }) => names.map((name) => [name, kind] as const)),
  ...dangerous.map((name) => [name, 'value'] as const),
]);

/** Parses the arguments of `docker run`. Refuses flags that weaken the isolation, and names ToolHive's equivalent. */
export async function readDockerRun(all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const { given, words } = readOtherFlags('docker run', all, known);
  const [image, ...args] = words;
  if (image === undefined) throw invalid('the image for docker run is missing');
  const parts: Part[] = [];
  for (const [flag, value] of given) {
    const read = readers.get(flag);
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
  return {
    request: {
      ...(Object.assign({}, ...parts.map((part) => part.settings)) as CreateWorkload),
      image,
      cmd_arguments: args,
      env_vars: Object.assign({}, ...parts.map((part) => part.env)) as Record<string, string>,
      volumes: parts.flatMap((part) => part.volume ?? []),
      labels: Object.fromEntries(parts.flatMap((part) => (part.label ? [part.label] : []))),
    },
    notes: parts.flatMap((part) => part.note ?? []),
  };
}

/** `NAME=value`, or `NAME` for the value that the variable has where docker runs. */
function readVariable(text: string, { env }: PastedFrom): Part {
  const equals = text.indexOf('=');
  if (equals !== -1) return { env: { [text.slice(0, equals)]: text.slice(equals + 1) } };
  const value = env[text];
  return value === undefined ? {} : { env: { [text]: value } };
}

function readMount(text: string, { directory }: PastedFrom): Part {
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
  return mountOf(first('source', 'src') ?? '', first('target', 'destination', 'dst'), isReadOnly, directory);
}

function mountOf(source: string, target: string | undefined, isReadOnly: boolean, directory: string): Part {
  if (target === undefined || !/^[./~]/.test(source)) throw namedVolume(source);
  const path = resolve(directory, source);
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
  return {
    settings: {
      transport: 'streamable-http',
      target_port: Number(container),
      ...(host === undefined ? {} : { proxy_port: Number(host) }),
    },
    note: `-p ${text}: ToolHive expects streamable HTTP on port ${container}. If the server uses another transport, add --transport after thv run`,
  };
}

function readNetwork(mode: string): Part {
  if (mode === 'none') return { settings: { network_mode: 'none' } };
  if (mode === 'bridge' || mode === 'default') return {};
  throw invalid(
    mode === 'host'
      ? "Docker's --network host gives the server access to all services on this machine, so ToolHive does not accept it"
      : `Docker's --network ${mode} connects the server to other containers, so ToolHive does not accept it`,
    { hint: `remove it. If you trust the server, add --network ${mode} after thv run` },
  );
}
