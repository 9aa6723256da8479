import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Risk } from '@toolhive/contract/risk';
import { isWithin } from './mounts.ts';

/** Access that needs the user's consent. */
export interface Danger {
  risk: Risk;
  text: string;
}

interface Sensitive {
  risk: Risk;
  paths: readonly string[];
  /** Whether a directory that contains one of the paths is as dangerous as the path itself. */
  alsoAbove: boolean;
  /** Continues "the server can access SOURCE, ". */
  why: string;
}

const engineSockets = [
  '/var/run/docker.sock',
  '/run/docker.sock',
  '/run/podman/podman.sock',
  '/var/run/podman/podman.sock',
  '/run/containerd/containerd.sock',
  '/var/run/containerd/containerd.sock',
  '/run/crio/crio.sock',
  ...(process.getuid === undefined ? [] : ['docker.sock', 'podman/podman.sock']).map(
    (socket) => `/run/user/${process.getuid?.()}/${socket}`,
  ),
];

const keyDirectories = [
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.kube',
  '.docker',
  '.config/gcloud',
  '.netrc',
  '.npmrc',
];

/** Of Colima, Docker Desktop, and Rancher Desktop, with the directories that contain them. */
const socketsInHome = [
  '.colima',
  '.colima/default',
  '.colima/default/docker.sock',
  '.docker/run',
  '.docker/run/docker.sock',
  '.rd',
  '.rd/docker.sock',
];

/** Mount sources that give a server more access than their path suggests. The first match is reported. */
function sensitiveSources(home: string): Sensitive[] {
  return [
    { risk: 'mount-root', paths: ['/'], alsoAbove: false, why: 'which is every file on this machine' },
    {
      risk: 'mount-engine-socket',
      paths: engineSockets,
      alsoAbove: true,
      why: 'with the socket of a container engine, which gives full control of this machine',
    },
    {
      risk: 'mount-system',
      paths: ['/proc', '/sys', '/dev'],
      alsoAbove: false,
      why: 'which exposes the kernel and its devices',
    },
    {
      risk: 'mount-system',
      paths: ['/etc', '/root', '/boot', '/var', '/run'],
      alsoAbove: false,
      why: 'which contains system files',
    },
    {
      risk: 'mount-home',
      paths: [home],
      alsoAbove: true,
      why: 'which contains your home directory with its keys and passwords',
    },
    {
      risk: 'mount-engine-socket',
      paths: socketsInHome.map((path) => join(home, path)),
      alsoAbove: false,
      why: 'with the socket of a container engine, which gives full control of the engine',
    },
    {
      risk: 'mount-credentials',
      paths: keyDirectories.map((path) => join(home, path)),
      alsoAbove: false,
      why: 'which contains credentials',
    },
  ];
}

/** Worked out once, because lists of workloads ask for each of them. */
let ofThisUser: Sensitive[] | undefined;

/** What a person should know about mount sources, given as absolute paths. */
export function mountWarnings(sources: readonly string[], home?: string): string[] {
  return sources.flatMap((source) => dangerOfMount(source, home)?.text ?? []);
}

/** Why mounting an absolute path is dangerous. Undefined if it is not. */
export function dangerOfMount(source: string, home?: string): Danger | undefined {
  const sensitive =
    home === undefined ? (ofThisUser ??= sensitiveSources(homedir())) : sensitiveSources(home);
  const found = sensitive.find(({ paths, alsoAbove }) =>
    paths.some((path) => isSame(source, path) || (alsoAbove && isWithin(path, source))),
  );
  if (found !== undefined) return { risk: found.risk, text: `the server can access ${source}, ${found.why}` };
  if (!/^\/(?:home|Users)\/[^/]+$/.test(source)) return undefined;
  return {
    risk: 'mount-home',
    text: `the server can access ${source}, which contains a user's home directory`,
  };
}

/** The source itself, or for a system directory also everything inside it. */
function isSame(source: string, path: string): boolean {
  return source === path || (systemDirectories.has(path) && isWithin(source, path));
}

/** Nothing in these is an ordinary file of a user. */
const systemDirectories: ReadonlySet<string> = new Set(['/proc', '/sys', '/dev', '/etc', '/boot']);
