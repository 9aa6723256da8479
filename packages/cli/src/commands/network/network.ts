import type { Argument, Command, Flag } from '../../command.ts';
import { searchFlag, timeFlags } from '../flags.ts';

const workload: Argument = {
  name: 'name',
  description: 'The workload',
  required: true,
  completes: 'workload',
};

const places: Argument = {
  name: 'hosts',
  description: 'Hosts, optionally with a port: api.example.com:443, *.example.com',
  variadic: true,
};

const localPort = (description: string): Flag => ({
  name: 'local-port',
  kind: 'list',
  value: 'PORT',
  description,
});

/** The network access and the connection attempts of servers. */
export const networkCommands: readonly Command[] = [
  {
    path: 'network',
    summary: "Show a server's connection attempts",
    description:
      "Shows the egress gateway's decision about each host and port: the rule that allowed it, or the reason for the denial and the command that allows it.",
    arguments: [workload],
    flags: [
      { name: 'denied', kind: 'boolean', description: 'Show only denied connections' },
      {
        name: 'follow',
        shorthand: 'f',
        kind: 'boolean',
        description: 'Show new connection attempts, until Ctrl-C',
      },
      searchFlag('decisions whose host, port, rule, or reason contains'),
      ...timeFlags('decisions'),
    ],
    examples: [
      'thv network github',
      'thv network github --denied --since 1h',
      'thv network github --search example.com',
      'thv network github --follow',
    ],
    load: () => import('./decisions.ts'),
  },
  {
    path: 'permission show',
    summary: "Show a workload's permissions",
    arguments: [workload],
    examples: ['thv permission show github'],
    load: () => import('./show.ts'),
  },
  {
    path: 'permission allow',
    summary: "Add hosts to a workload's allowlist",
    description:
      'Applies to the next connection, without a restart unless the port is a new one. Without a port, the ports stay as they are.',
    arguments: [workload, places],
    flags: [localPort('A TCP port of this machine that the server reaches at its localhost')],
    examples: [
      'thv permission allow github api.example.com:443',
      "thv permission allow github '*.example.com'",
      'thv permission allow postgres --local-port 5432',
    ],
    load: async () => ({ run: (await import('./change.ts')).allow }),
  },
  {
    path: 'permission deny',
    summary: "Remove hosts from a workload's allowlist",
    description:
      'Connections that are open stay open until the server is restarted, except for those to ports of this machine.',
    arguments: [workload, places],
    flags: [localPort('A port of this machine that the server no longer reaches')],
    examples: [
      'thv permission deny github api.example.com',
      'thv permission deny postgres --local-port 5432',
    ],
    load: async () => ({ run: (await import('./change.ts')).deny }),
  },
  {
    path: 'permission tighten',
    summary: 'Restrict a workload to the hosts that its server has used',
    description:
      "Replaces the workload's rules with exactly the hosts and ports that it has used. `thv network NAME` lists them.",
    arguments: [workload],
    examples: ['thv permission tighten github'],
    load: async () => {
      const { changeWith } = await import('./change.ts');
      return { run: changeWith(() => ({ tighten: true })) };
    },
  },
  {
    path: 'learn',
    summary: 'Generate a permission profile from recorded use',
    description:
      'Starts learning mode: the server reaches every public host, but no private address, and ToolHive records each host and port, and the mounts that are used. Use the server, and then run `thv learn NAME --stop`. That command generates the smallest profile that covers the recorded use, compares that profile with the registry entry or the current profile, and applies the profile after confirmation. Recording the use of mounts requires inotifywait (package inotify-tools).',
    arguments: [workload],
    flags: [
      {
        name: 'for',
        kind: 'duration',
        value: 'TIME',
        description:
          'End learning mode after this time, up to 168h, and keep the record until --stop or --discard',
      },
      { name: 'stop', kind: 'boolean', description: 'Show the generated profile and apply it' },
      { name: 'discard', kind: 'boolean', description: 'End learning mode and keep the previous profile' },
      { name: 'keep-mounts', kind: 'boolean', description: 'With --stop, leave the mounts as they are' },
      { name: 'yes', shorthand: 'y', kind: 'boolean', description: 'Skip the confirmation' },
    ],
    examples: [
      'thv learn github',
      'thv learn github --for 1h',
      'thv learn github --stop',
      'thv learn github --discard',
    ],
    load: () => import('./learn.ts'),
  },
];
