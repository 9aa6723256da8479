import type { AuthorizationDecision, AuthorizationQuestion } from '@toolhive/contract/authorization';
import { conflict, invalid } from '@toolhive/contract/failure';
import { ListedResources } from '@toolhive/proxy/authorization';
import type { AccessAction } from '@toolhive/proxy/authorization';
import { openPolicies } from '@toolhive/access/workload-access';
import type { GovernanceWing } from '../wings/governance.ts';
import type { WorkloadsWing } from '../wings/workloads.ts';

/** Decides like a workload's proxy. Throws `invalid`, `not-found`, or, without policies, `conflict`. */
export async function checkAuthorization(
  core: GovernanceWing & WorkloadsWing,
  name: string,
  { principal, claims, arguments: given, annotations, ...targets }: AuthorizationQuestion,
): Promise<AuthorizationDecision> {
  const { id, runConfig } = core.workloads.require(name);
  const { action, target } = targetOf(targets);
  const { tool } = targets;
  using policies = await openPolicies(runConfig);
  if (policies === undefined) {
    throw conflict(`workload ${name} has no authorization policies, so every caller may do everything`, {
      hint: 'run it with --authz-config FILE',
    });
  }
  const decision = policies.decide({
    principal: { id: principal, claims: { ...claims, sub: principal } },
    action,
    target,
    arguments: given ?? undefined,
    listed: new ListedResources(core.pins.listedResources(id)),
    annotations: annotations ?? (tool === undefined ? undefined : core.pins.annotationsOf(id, tool)),
  });
  return {
    allowed: decision.isAllowed,
    policies: decision.policies.map((id) => ({ id, policy: policies.textOf(id) })),
    errors: [...decision.errors],
    warnings: [...policies.doubtsAbout(core.pins.offerOf(id).offered)],
  };
}

function targetOf({
  tool,
  prompt,
  resource,
  skill,
}: Pick<AuthorizationQuestion, 'tool' | 'prompt' | 'resource' | 'skill'>): {
  action: AccessAction;
  target: string;
} {
  const asked = [
    { action: 'call_tool', target: tool },
    { action: 'get_prompt', target: prompt },
    { action: 'read_resource', target: resource },
    { action: 'get_skill', target: skill },
  ] as const;
  const [found, other] = asked.flatMap(({ action, target }) =>
    target === undefined ? [] : [{ action, target }],
  );
  if (found === undefined || other !== undefined)
    throw invalid('specify exactly one of tool, prompt, resource, and skill', { hint: 'for example a tool' });
  return found;
}
