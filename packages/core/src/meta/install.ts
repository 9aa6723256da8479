import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { ThvError } from '@toolhive/contract/failure';
import { BuiltInServerName } from '@toolhive/contract/names';
import { printable } from '@toolhive/contract/printable';
import { isObject } from '@toolhive/proxy/message';
import type * as z from 'zod';
import type { Core } from '../core.ts';
import { createWorkload } from '../workloads/creation/create.ts';
import { ToolFailure, toolFailure } from './meta-call.ts';
import type { MetaCall, MetaResult } from './meta-call.ts';
import type { InstallServer } from './tool-inputs.ts';

interface InstallerOptions {
  /** Whether models may install servers without asking the user. */
  allowsInstall: boolean;
  /** The group that a new workload gets. */
  groupOf: () => string;
}

/** The question to the user in `inputRequests`. */
const questionKey = 'install';

/** Answers `install_server`: runs a server of the registry if the user agrees. */
export class Installer {
  readonly #core: Core;
  readonly #options: InstallerOptions;
  /** Signs questions, so that an answer counts only for the server and the access that the user was asked about. */
  readonly #key = randomBytes(32);

  constructor(core: Core, options: InstallerOptions) {
    this.#core = core;
    this.#options = options;
  }

  async install({ name }: z.output<typeof InstallServer>, call: MetaCall): Promise<MetaResult> {
    const about = await this.#describe(name);
    if (!this.#options.allowsInstall) {
      const answer = this.#answerIn(name, about, call);
      if (answer === undefined) return this.#ask(name, about, call);
      if (answer === 'declined') throw new ToolFailure(`the user declined to install ${name}`);
    }
    try {
      const report = reporter(call);
      const { name: workload } = await createWorkload(
        this.#core,
        { image: name, group: this.#options.groupOf() },
        { report, signal: call.signal },
      );
      await this.#core.workloads.require(workload).follow(report, call.signal);
      return { value: { server_name: workload, status: 'running' } };
    } catch (error) {
      if (!(error instanceof ThvError)) throw error;
      const hint = error.hint === undefined ? '' : ` (${error.hint})`;
      throw new ToolFailure(`${name} could not be installed: ${error.message}${hint}`);
    }
  }

  /** Describes a registry entry for the user. Throws `ToolFailure` for an unknown name. */
  async #describe(name: string): Promise<string> {
    if (BuiltInServerName.safeParse(name).success) throw new ToolFailure(`${name} is a part of ToolHive`);
    const { server, remote_server: remote } = await this.#core.registry
      .server(name)
      .catch((error: unknown) => {
        throw toolFailure(error);
      });
    if (remote !== undefined) return `ToolHive will connect to ${printable(remote.url)}.`;
    const outbound = server?.permissions?.network?.outbound;
    const hosts = outbound?.allow_host ?? [];
    const network =
      outbound?.insecure_allow_all === true
        ? 'Network access: all public hosts.'
        : hosts.length === 0
          ? 'Network access: none.'
          : `Network access: ${printable(hosts.join(', '))}.`;
    const source = server?.package?.source ?? server?.image ?? name;
    return `ToolHive will install and run ${printable(source)}. ${network} It cannot access files on this machine.`;
  }

  #ask(name: string, about: string, { caller }: MetaCall): MetaResult {
    if (caller.client.capabilities['elicitation'] === undefined)
      throw new ToolFailure(
        `the user must agree to install ${name}, but the client does not support elicitation. Ask the user to run thv run ${name}, or to set ALLOW_INSTALL=true for meta-mcp`,
      );
    const inputRequests = {
      [questionKey]: {
        method: 'elicitation/create',
        params: {
          mode: 'form',
          message: `A model asks to install the MCP server ${name}. ${about} Do you agree?`,
          requestedSchema: {
            type: 'object',
            properties: { agree: { type: 'boolean', title: `Install ${name}`, default: false } },
            required: ['agree'],
          },
        },
      },
    };
    return {
      passed: {
        resultType: 'input_required',
        inputRequests,
        requestState: this.#sign(name, about, caller.principal),
      },
    };
  }

  /** Reads the answer to a question. Undefined if the registry entry has changed since the question. */
  #answerIn(name: string, about: string, { params, caller }: MetaCall): 'agreed' | 'declined' | undefined {
    const { inputResponses, requestState } = params;
    const response = isObject(inputResponses) ? inputResponses[questionKey] : undefined;
    if (!isObject(response) || typeof requestState !== 'string') return undefined;
    const [given, expected] = [
      Buffer.from(requestState),
      Buffer.from(this.#sign(name, about, caller.principal)),
    ];
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    const { action, content } = response;
    return action === 'accept' && isObject(content) && content['agree'] === true ? 'agreed' : 'declined';
  }

  #sign(name: string, about: string, principal: string): string {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([name, about, principal]))
      .digest('base64url');
  }
}

/** Reports an installation's progress, if the client wants to know. */
function reporter({ params, notify }: MetaCall): (message: string) => void {
  const { progressToken } = isObject(params['_meta']) ? params['_meta'] : {};
  let progress = 0;
  return (message) => {
    if (progressToken === undefined) return;
    notify('notifications/progress', { progressToken, progress: ++progress, message });
  };
}
