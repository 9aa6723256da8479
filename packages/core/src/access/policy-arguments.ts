import type { Policy } from '@cedar-policy/cedar-wasm/nodejs';
import { cedar } from './cedar.ts';

/** The call arguments that policies read. Other arguments do not influence a decision. */
export interface ReadArguments {
  /** Returns the arguments that policies may read. */
  of(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
}

const prefix = 'arg_';
const suffix = '_present';

/** Returns the arguments that valid policies read. */
export function argumentsReadBy(policies: readonly Policy[]): ReadArguments {
  const found = new Set<string>();
  const isComplete = policies.every((policy) => {
    const answer = cedar().policyToJson(policy);
    return answer.type === 'success' && collect(answer.json.conditions, found);
  });
  if (!isComplete) return { of: (given) => given };
  if (found.size === 0) return { of: () => nothing };
  return { of: (given) => Object.fromEntries(Object.entries(given).filter(([name]) => found.has(name))) };
}

const nothing: Readonly<Record<string, unknown>> = {};

/**
 * Collects the argument names that an expression reads. Returns false if the expression could read any argument,
 * because it uses the context or an entity as a whole.
 */
function collect(expression: unknown, found: Set<string>): boolean {
  if (Array.isArray(expression)) return expression.every((part) => collect(part, found));
  if (typeof expression !== 'object' || expression === null) return true;
  return Object.entries(expression).every(([operator, operand]: [string, unknown]) => {
    if (operator === 'Var') return operand !== 'context';
    if (operator !== '.' && operator !== 'has') return collect(operand, found);
    const { left, attr } = operand as { left: object; attr: string | string[] };
    const [name = ''] = [attr].flat();
    if (name.startsWith(prefix)) {
      found.add(name.slice(prefix.length));
      if (name.endsWith(suffix)) found.add(name.slice(prefix.length, -suffix.length));
    }
    return 'Var' in left || collect(left, found);
  });
}
